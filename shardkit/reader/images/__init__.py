"""From an encoded image to a training tensor: crop windows, decoding, resizing, annotations, MixUp and CutMix.

Everything here is a TensorFlow function of tensors. The random numbers come from `orders`, the bytes from `records`.
"""
