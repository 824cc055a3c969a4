"""Object detection layouts: COCO, Pascal VOC and YOLO."""
