"""Pictures with the structure of photographs, copies of them, and pictures that look alike by nature."""

import io
import random

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFont

SIZE = (240, 180)


def photo(number, size=SIZE):
    """A picture of coarse and fine blurs; another number is another photograph."""
    rng = np.random.default_rng(number)
    layers = [rng.integers(0, 256, (*grid, 3), np.uint8) for grid in ((4, 5), (9, 12))]
    coarse, fine = (Image.fromarray(layer).resize(size, Image.Resampling.BICUBIC) for layer in layers)
    return Image.blend(coarse, fine, 0.3)


def encoded(image, quality=90):
    """A picture as a JPEG."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def as_png(image):
    """A picture as a PNG."""
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def scaled(image, factor):
    """A picture with sides that are so many times as long."""
    return image.resize((round(image.width * factor), round(image.height * factor)), Image.Resampling.BICUBIC)


def cropped(image, share):
    """A picture without a share of its width and height, cut off at the left and the top."""
    return image.crop((round(image.width * share), round(image.height * share), *image.size))


COPIES = {
    "half": lambda image: encoded(scaled(image, 0.5)),
    "double": lambda image: encoded(scaled(image, 2)),
    "quality": lambda image: encoded(image, 50),
    "png": as_png,
    "crop": lambda image: encoded(cropped(image, 0.03)),
    "bright": lambda image: encoded(ImageEnhance.Brightness(image).enhance(1.1)),
}


TEXT = "the of and to in is that for it as was with be by on not he his but at are this have from or had"
FONT = ImageFont.load_default(size=24)


def page(number):
    """A page of text on a form, the same form for all."""
    rng = random.Random(number)  # noqa: S311 -- words, not secrets
    image = Image.new("RGB", (240, 320), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((8, 8, 232, 312), outline="black", width=2)
    draw.rectangle((8, 8, 232, 40), fill="gray")
    for top in range(44, 284, 34):
        draw.text((14, top), " ".join(rng.choices(TEXT.split(), k=rng.randint(1, 5))), font=FONT, fill="black")
        draw.line((8, top + 34, 232, top + 34), fill="silver")
    return image


def digit(number):
    """A digit like those of MNIST, enlarged: white strokes of a varying place, width and slant on black."""
    rng = np.random.default_rng(number)
    image = Image.new("L", (112, 112))
    draw = ImageDraw.Draw(image)
    draw.text(tuple(rng.integers(20, 36, 2).tolist()), str(number % 10), fill=255, font_size=int(rng.integers(64, 84)))
    return image


def icon(number):
    """A symbol in the middle of a white square."""
    rng = np.random.default_rng(number)
    image = Image.new("RGB", (96, 96), "white")
    draw = ImageDraw.Draw(image)
    colour = tuple(rng.integers(0, 160, 3).tolist())
    box = [30 - number % 7, 30 - number % 5, 66 + number % 3, 66 + number % 4]
    (draw.ellipse, draw.rectangle, draw.rounded_rectangle)[number % 3](box, fill=colour)
    return image
