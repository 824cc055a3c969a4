"""What images lose when they are stored, as a user reads it; each printed command is run on what printed it."""

import io
import json
import shlex
import shutil
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import shardkit
from shardkit.dataset.manifest import read_manifest
from shardkit.images.profiles import other_profile, to_srgb
from shardkit.testing import encoded, write_tree

from .calling import IN_PROCESS_RUNNER, call, convert

MAX = 65535


def samples(low, high, seed, shape=(24, 32)):
    """uint16 samples that take both ends of a range."""
    made = np.random.default_rng(seed).integers(low, high + 1, shape).astype(np.uint16)
    made.flat[:2] = low, high
    return made


def folders(root, make, count=6, classes="ab"):
    """Class folders of files that `make(number)` gives as (ending, bytes)."""
    files = {}
    for number in range(count):
        ending, data = make(number)
        files[f"{classes[number % len(classes)]}/{number:02}.{ending}"] = data
    return write_tree(root, files)


def stored(dataset):
    """The pictures of a dataset by key."""
    return {row.key: np.asarray(Image.open(io.BytesIO(row["image"]))) for row in shardkit.open(str(dataset), "train")}


def commands(said):
    """The commands in what was printed, without their comments, by comment."""
    lines = [line.strip().partition("  # ") for line in said.splitlines() if line.strip().startswith("shardkit ")]
    return {comment: line.strip() for line, _, comment in lines}


def run(command):
    return call(*shlex.split(command)[1:])


def png16(values):
    """A PNG with 16 bits a channel: grey, grey with alpha, RGB or RGBA."""
    height, width, *rest = values.shape
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[rest[0] if rest else 1]

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    header = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tiff(values, photometric, extra=(), order="<"):
    """A TIFF of uint8 or uint16[height, width, bands]."""
    height, width, bands = values.shape
    bits = values.dtype.itemsize * 8
    pixels = values.astype(f"{order}u{values.dtype.itemsize}").tobytes()
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [bits] * bands), (259, 3, [1]), (262, 3, [photometric])]
    tags += [(273, 4, [8]), (277, 3, [bands]), (278, 4, [height]), (279, 4, [len(pixels)])]
    tags += [(338, 3, extra)] if extra else []
    start, entries, more = 8 + len(pixels), b"", b""
    after = start + 2 + 12 * len(tags) + 4
    for tag, kind, numbers in tags:
        body = struct.pack(f"{order}{len(numbers)}{'H' if kind == 3 else 'I'}", *numbers)
        if len(body) > 4:
            body, more = struct.pack(order + "I", after + len(more)), more + body
        entries += struct.pack(order + "HHI", tag, kind, len(numbers)) + body.ljust(4, b"\0")
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", start)
    return head + pixels + struct.pack(order + "H", len(tags)) + entries + bytes(4) + more


NARROW = {
    "offset": (31744, 35839, 16, lambda values: ("png", encoded(Image.fromarray(values)))),
    "12 bits": (0, 4095, 16, lambda values: ("tif", tiff(values[..., None], 1))),
    "12 bits, other byte order": (0, 4095, 16, lambda values: ("tif", tiff(values[..., None], 1, order=">"))),
    "10 bits": (0, 1023, 4, lambda values: ("pgm", encoded(Image.fromarray(values), "PPM"))),
    "12 bits, colours": (16, 4000, 16, lambda values: ("png", png16(np.stack([values, values[::-1], values], -1)))),
    "12 bits, colours, TIFF": (16, 4000, 16, lambda values: ("tif", tiff(np.stack([values] * 3, -1), 2))),
}


@pytest.mark.parametrize("case", NARROW)
def test_a_narrow_range_of_16_bits_stops_until_it_is_mapped_or_accepted(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    low, high, levels, make = NARROW[case]
    arrays = [samples(low, high, number) for number in range(6)]
    source = folders(tmp_path / "s", lambda number: make(arrays[number]))
    result = call("convert", "s", "out")
    assert result.exit_code == 2
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert f"6 of 6 images have more than 8 bits a channel, such as a/00.{make(arrays[0])[0]}, " in result.stderr
    assert f"samples are {low} to {high} of 65535: the high 8 bits would keep {levels} levels of 256" in result.stderr
    ways = commands(result.stderr)
    assert [*ways] == [
        f"in all of them the sample {low} becomes black and {high} white",
        "the same: the range that the images of SOURCE use",
        "keep the high 8 of 16 bits, with these few levels of grey",
    ]
    wanted = {
        f"scale={low}:{high}": [np.rint((one.astype(float) - low) * 255 / (high - low)) for one in arrays],
        "scale=auto": [np.rint((one.astype(float) - low) * 255 / (high - low)) for one in arrays],
        "high": [one >> 8 for one in arrays],
    }
    for (option, pictures), command in zip(wanted.items(), ways.values(), strict=True):
        assert run(f"{command} --overwrite").exit_code == 0
        by_number = sorted(stored("out").items(), key=lambda one: one[0][2:])
        found = [one if one.ndim == 2 else one[..., 0] for _, one in by_number]
        assert all(np.array_equal(a, b) for a, b in zip(found, pictures, strict=True)), command
        assert read_manifest("out").options["bit_depth"] == (f"scale={low}:{high}" if "scale" in option else "high")
        assert "nothing to do" in run(command).stderr
    assert source.exists()


def test_appended_images_get_the_range_of_the_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders(tmp_path / "s", lambda number: ("png", encoded(Image.fromarray(samples(1000, 2000, number)))))
    more = [samples(1000 if number else 900, 1500, 10 + number) for number in range(6)]
    folders(tmp_path / "more", lambda number: ("png", encoded(Image.fromarray(more[number]))), classes="ba")
    convert("s", "out", "--bit-depth", "scale=auto")
    result = call("append", "out", "more", "--group-by", "none")
    assert result.exit_code == 0, result.stderr
    assert "1 image of them have samples beyond" in result.stderr
    new = stored("out")["b/00.png"]
    assert np.array_equal(new, np.clip(np.rint((more[0].astype(float) - 1000) * 255 / 1000), 0, 255))
    other = call("append", "out", "more", "--bit-depth", "scale=0:4095")
    assert other.exit_code == 2
    assert "it was made with --bit-depth scale=1000:2000" in other.stderr
    # The dataset's images have 8 bits, so nothing of the above is said of them again.
    again = call("convert", "out", "new")
    assert again.exit_code == 0
    assert "16 bits" not in again.stderr
    assert read_manifest("new").options["bit_depth"] == "scale=1000:2000"


@pytest.mark.slow  # a pipeline of Beam
def test_a_runner_maps_by_the_same_range(tmp_path):
    source = folders(tmp_path / "s", lambda number: ("png", encoded(Image.fromarray(samples(1000, 2000, number)))))
    result = call("convert", source, tmp_path / "a", IN_PROCESS_RUNNER)
    assert result.exit_code == 2
    assert f"--bit-depth scale=1000:2000 {IN_PROCESS_RUNNER}" in result.stderr
    convert(source, tmp_path / "a", "--bit-depth", "scale=auto", IN_PROCESS_RUNNER)
    convert(source, tmp_path / "b", "--bit-depth", "scale=auto")
    assert read_manifest(tmp_path / "a").digest == read_manifest(tmp_path / "b").digest


def test_without_checking_narrow_images_are_rejected_and_accepted(tmp_path):
    source = folders(tmp_path / "s", lambda number: ("png", encoded(Image.fromarray(samples(0, 1023, number)))))
    result = call("convert", source, tmp_path / "out", "--check", "header")
    assert result.exit_code == 1
    assert "6 narrow_bit_depth" in result.stderr or "narrow_bit_depth" in result.output
    assert "no image was opened" not in result.stderr
    options = ["--check", "header", "--accept", "narrow_bit_depth"]
    done = call("convert", source, tmp_path / "out", *options)
    assert done.exit_code == 0, done.stderr
    assert len(stored(tmp_path / "out")) == 6
    assert "with --check header no image was opened" in done.stdout
    scaled = call("convert", source, tmp_path / "scaled", "--check", "header", "--bit-depth", "scale=0:1023")
    assert scaled.exit_code == 0
    assert stored(tmp_path / "scaled")["a/00.png"].max() == 255
    auto = call("plan", source, "--check", "header", "--bit-depth", "scale=auto")
    assert auto.exit_code == 2
    assert "needs to know the contents" in auto.stderr


def test_a_finished_conversion_takes_in_what_is_accepted_later(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(number):
        values = samples(0, 1023, number)
        return "png", encoded(Image.fromarray(values if number == 3 else values.astype(np.uint8)))

    folders(tmp_path / "s", make, count=30)
    convert("s", "out", "--check", "header")
    shutil.copytree("out", "whole")
    assert "nothing to do" in call("convert", "s", "out", "--check", "header").stderr
    for output, comment, repeated in (
        ("out", "add them; what is published stays", "append"),
        ("whole", "convert all images again", "convert"),
    ):
        command = f"shardkit convert s {output} --check header --accept narrow_bit_depth"
        said = run(command)
        assert (said.exit_code, len(stored(output))) == (1, 29)
        assert "1 image that was rejected when this dataset was made can be used now: b/03.png; " in said.stderr
        way = commands(said.stderr)[comment]
        assert way.startswith(f"shardkit {repeated} ")
        assert run(way).exit_code == 0
        assert np.array_equal(stored(output)["b/03.png"], samples(0, 1023, 3) >> 8)
        for again in (command, way.removesuffix(" --overwrite"), f"shardkit convert s {output} --check header"):
            assert (run(again).exit_code, "nothing to do" in run(again).stderr) == (0, True)


def test_a_wide_range_is_said_and_stored_as_before(tmp_path):
    values = [samples(0, MAX, number) for number in range(6)]
    source = folders(tmp_path / "s", lambda number: ("png", encoded(Image.fromarray(values[number]))))
    said = convert(source, tmp_path / "out")
    assert "6 of 6 images have more than 8 bits a channel" in said
    assert "the samples use 0 to 65535 of 65535" in said
    assert np.array_equal(stored(tmp_path / "out")["a/00.png"], values[0] >> 8)


def test_a_loss_that_goes_with_the_class_stops(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(number):
        values = samples(0, MAX, number)
        return "png", encoded(Image.fromarray(values if number % 2 == 0 else (values >> 8).astype(np.uint8)))

    folders(tmp_path / "s", make, count=30)
    result = call("plan", "s")
    assert result.exit_code == 2
    assert "all 15 images of the class 'a' have more than 8 bits a channel, and none of the 15 of 'b'" in result.stderr
    (command,) = commands(result.stderr).values()
    assert command == "shardkit plan s --accept loss_by_class"
    accepted = run(command)
    assert accepted.exit_code == 0
    assert "the others have 8 and are stored as they are" in accepted.stderr
    found = json.loads(run(f"{command} --json").stdout)["findings"]
    assert {one["code"]: one["kind"] for one in found if one["code"] in {"bit_depth", "loss_by_class"}} == {
        "bit_depth": "warns",
        "loss_by_class": "warns",
    }


@pytest.mark.parametrize(
    ("met", "stops"),
    [
        ([(15, 15), (0, 15)], True),
        ([(3, 3), (0, 3)], False),  # by chance
        ([(5, 5), *[(2, 5)] * 20, (0, 5)], False),  # turned photographs of few images a class
        ([(20, 20), *[(0, 20)] * 99], True),  # one class came from another place
        ([(0, 20), *[(20, 20)] * 99], True),
        ([(20, 20), *[(10, 20)] * 20], False),  # no class has none
        ([(98, 100), (1, 100)], True),
    ],
)
def test_classes_that_are_met_by_chance_do_not_stop(met, stops):
    from shardkit.conversion.planning.checks.losses import _by_class, _Step
    from shardkit.conversion.planning.labels import ExampleLabels

    strata = np.repeat(np.arange(len(met)), [total for _, total in met]).astype(np.int32)
    mask = np.concatenate([np.arange(total) < number for number, total in met])
    labels = ExampleLabels([f"c{number}" for number in range(len(met))], strata)
    assert bool([*_by_class(_Step("CMYK colours", mask), labels)]) == stops


WEBPS = {  # the options of Pillow, what is stored, and whether that loses once more
    "lossy": ({"quality": 80}, "JPEG", True),
    "lossy with metadata": (
        {"quality": 80, "exif": b"Exif\0\0II*\0\x08\0\0\0\0\0"},
        "JPEG",
        True,
    ),  # a chunk VP8X before
    "lossless": ({"lossless": True}, "PNG", False),
    "lossy, transparent": ({"quality": 80, "alpha": True}, "PNG", False),
    "lossy, animated": ({"quality": 80, "frames": 2}, "PNG", False),
}


def webp(number, *, alpha=False, frames=1, **options):
    """A WebP of noise."""
    made = [np.random.default_rng([number, one]).integers(0, 256, (24, 32, 4), np.uint8) for one in range(frames)]
    first, *more = [Image.fromarray(one if alpha else one[..., :3]) for one in made]
    return "webp", encoded(first, "WEBP", **options, **({"save_all": True, "append_images": more} if more else {}))


@pytest.mark.parametrize("case", WEBPS)
def test_webp_that_is_encoded_with_loss_again_is_said(case, tmp_path):
    options, kind, is_said = WEBPS[case]
    said = call("convert", folders(tmp_path / "s", lambda number: webp(number, **options)), tmp_path / "out").stdout
    assert {Image.open(io.BytesIO(row["image"])).format for row in shardkit.open(str(tmp_path / "out"), "train")} == {
        kind
    }
    hint = "6 lossy images, such as a/00.webp, a/02.webp, a/04.webp, turned upright or converted; encoded again with "
    assert (hint in said) == is_said
    flattened = call("plan", tmp_path / "s", "--background", "white").stdout
    assert (hint in flattened) == (is_said or case == "lossy, transparent")


def test_webp_of_one_class_that_is_encoded_with_loss_again_stops(tmp_path):
    def one(number):
        return (
            webp(number) if number % 2 else ("png", encoded(Image.fromarray(samples(0, 255, number).astype(np.uint8))))
        )

    result = call("plan", folders(tmp_path / "s", one, count=30))
    assert result.exit_code == 2
    said = "all 15 images of the class 'b' have to be encoded again as JPEG, and none of the 15 of 'a'"
    assert said in result.stderr


def test_pages_and_frames_are_counted(tmp_path):
    def pages(number, count):
        return [Image.fromarray((samples(0, 255, 100 * number + one)).astype(np.uint8)) for one in range(count)]

    def stack(number):
        first, *more = pages(number, 24)
        return "tif", encoded(first, "TIFF", save_all=True, append_images=more)

    source = folders(tmp_path / "s", stack, count=12)
    said = convert(source, tmp_path / "out")
    assert (
        "12 of 12 images have 24 pages or frames, such as a/00.tif, a/02.tif, a/04.tif: the first one is stored" in said
    )
    assert np.array_equal(stored(tmp_path / "out")["a/00.tif"], np.asarray(pages(0, 24)[0]))

    def moving(number):
        first, *more = pages(number, 2 + number)
        kind = ("GIF", "WEBP", "PNG")[number % 3]
        return kind.lower(), encoded(first.convert("RGB"), kind, save_all=True, append_images=more)

    said = call("plan", folders(tmp_path / "moving", moving)).stderr
    assert "6 of 6 images have 2 to 7 pages or frames" in said


@pytest.mark.parametrize(
    ("photometric", "extra", "bands"),
    [
        (2, (0,), "4 bands (red, green, blue, 1 unspecified)"),
        (2, (), "4 bands (red, green, blue, 1 of no meaning)"),
        (2, (1, 0), "5 bands (red, green, blue, 1 associated alpha, 1 unspecified)"),
        (1, (0,) * 7, "8 bands (grey, 7 unspecified)"),
    ],
)
def test_a_tiff_with_more_bands_is_refused_with_their_names(photometric, extra, bands, tmp_path):
    number = int(bands[0])
    values = np.random.default_rng(0).integers(0, 256, (8, 8, number)).astype(np.uint8)
    files = {f"{c}/{i}.tif": tiff(values + i, photometric, extra) for c in "ab" for i in range(2)}
    result = call("plan", write_tree(tmp_path / "s", files))
    assert f"The TIFF has {bands}" in result.output
    assert result.exit_code == 1


def test_alpha_is_said_and_flattened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pictures = []
    for number in range(6):
        colours = np.random.default_rng(number).integers(0, 256, (16, 16, 4)).astype(np.uint8)
        colours[:8, :, 3], colours[8:, :, 3] = 0, 255
        pictures.append(colours)
    folders(tmp_path / "s", lambda number: ("png", encoded(Image.fromarray(pictures[number]))))
    result = call("convert", "s", "out")
    assert result.exit_code == 0
    assert "6 of 6 images have transparent pixels" in result.stderr
    assert np.array_equal(stored("out")["a/00.png"], pictures[0])  # as before
    ways = commands(result.stderr)
    done = run(ways["white shows where they are transparent"])
    assert done.exit_code == 0, done.stderr
    found = stored("out")["a/00.png"]
    assert (found[:8] == 255).all()
    assert np.array_equal(found[8:], pictures[0][8:, :, :3])
    assert read_manifest("out").options["background"] == "#ffffff"
    assert "flattened; as --background '#ffffff' says" in done.stdout
    assert run("shardkit plan s --background '#12345'").exit_code == 2
    opaque = folders(tmp_path / "opaque", lambda number: ("png", encoded(Image.fromarray(pictures[number][..., :3]))))
    convert(opaque, "kept", "--background", "white")
    assert shardkit.open("kept", "train")[0]["image"] in {path.read_bytes() for path in opaque.rglob("*.png")}


def profile(name, red, green, blue, gamma):
    """An ICC profile of three colorants, adapted to D50, and a gamma."""

    def fixed(*values):
        return b"".join(struct.pack(">i", round(value * 65536)) for value in values)

    curve = b"curv\0\0\0\0\0\0\0\1" + struct.pack(">H", round(gamma * 256))
    text = b"desc\0\0\0\0" + struct.pack(">I", len(name) + 1) + name.encode() + bytes(79)
    tags = {b"desc": text, b"wtpt": b"XYZ \0\0\0\0" + fixed(0.9642, 1, 0.8249), b"cprt": b"text\0\0\0\0-\0"}
    tags |= {c + b"XYZ": b"XYZ \0\0\0\0" + fixed(*xyz) for c, xyz in ((b"r", red), (b"g", green), (b"b", blue))}
    tags |= {c + b"TRC": curve for c in (b"r", b"g", b"b")}
    start, table, body = 132 + 12 * len(tags), b"", b""
    for key, value in tags.items():
        table += key + struct.pack(">II", start + len(body), len(value))
        body += value + bytes(-len(value) % 4)
    head = struct.pack(">I4sI4s4s4s", start + len(body), b"lcms", 0x02400000, b"mntr", b"RGB ", b"XYZ ")
    head += bytes(12) + b"acsp" + bytes(28) + fixed(0.9642, 1, 0.8249)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


P3 = profile("Display P3", (0.5151, 0.2412, -0.0011), (0.2920, 0.6922, 0.0419), (0.1571, 0.0666, 0.7841), 2.2)
ADOBE = profile("Adobe RGB (1998)", (0.6097, 0.3111, 0.0195), (0.2053, 0.6257, 0.0609), (0.1492, 0.0632, 0.7446), 2.2)
SRGB = profile("c2", (0.4361, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141), 2.2)


def test_profiles_other_than_srgb_are_found_by_their_colours():
    from PIL import ImageCms

    made = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    found = [other_profile(one) for one in (P3, ADOBE, SRGB, made, None, b"", P3[:150], bytes(300))]
    assert found == ["Display P3", "Adobe RGB (1998)", None, None, None, None, None, None]
    assert other_profile(profile("", (0.4361, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141), 1.0))


def test_damaged_profiles_are_left_out():
    image = Image.new("RGB", (2, 2), (200, 60, 30))
    for position in range(0, len(ADOBE), 5):
        damaged = ADOBE[:position] + b"\xff" + ADOBE[position + 1 :]
        if other_profile(damaged) is not None:
            assert to_srgb(image, damaged).mode == "RGB"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_colours_of_other_profiles_are_converted_when_they_are_encoded_again_and_counted_when_kept(kind, tmp_path):
    def make(number):
        picture = Image.new("RGB", (32, 24), (200, 60 + number, 30))
        picture.putpixel((0, 0), (number, number, number))
        options = {"quality": 100, "subsampling": 0} if kind == "JPEG" else {"lossless": True} if kind == "WEBP" else {}
        return kind.lower(), encoded(picture, kind, icc_profile=ADOBE, **options)

    source = folders(tmp_path / "s", make)
    result = call("convert", source, tmp_path / "out")
    assert "6 of 6 images have a colour profile other than sRGB (6 Adobe RGB (1998)), such as a/00" in result.output
    is_kept = kind in {"JPEG", "PNG"}
    assert ("6 are stored as they are, with colours that the reader takes for sRGB" in result.stderr) == is_kept
    convert(source, tmp_path / "small", "--max-side", "16")
    # Adobe RGB's (200, 60, 30) is a stronger red than sRGB has: (235, 56, 17) by the colorants of both.
    wanted = {"out": (200, 60, 30) if is_kept else (235, 56, 17), "small": (235, 56, 17)}
    for name, colour in wanted.items():
        found = stored(tmp_path / name)[f"a/00.{kind.lower()}"][-8, -8].astype(int)
        assert np.abs(found - colour).max() <= 4, (name, found)
