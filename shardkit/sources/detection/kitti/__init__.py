"""KITTI's object labels: one text file per image."""
