"""Read TFRecord files that other programs wrote as a source.

What their records mean in general is in `dataset/foreign`, which knows nothing of sources.
"""
