"""Decoding, crops, annotations and mixup: everything between an encoded image and a training tensor."""
