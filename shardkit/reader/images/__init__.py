"""From an encoded image to a training tensor: decoding, resizing, annotations, MixUp and CutMix.

Everything here is a TensorFlow function of tensors. The windows, the flips and the bytes come from `shardkit.fetch`.
"""
