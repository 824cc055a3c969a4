"""Read Label Studio's JSON exports: boxes around shapes, or choices as classes."""
