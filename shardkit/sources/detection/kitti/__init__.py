"""KITTI's object labels: one text file per image. `labels` reads one file, `layout` pairs them with images."""
