"""The numbers of random crops."""

CROP_SCALE = (0.8, 1.0)  # random crops for training cover this share of an image
FLIP = True  # mirror half of the images; False if left and right matter, as in text
