"""Read the layouts of object detection: a package for each format.

| package | format |
|---|---|
| `coco`, `voc`, `yolo` | COCO's JSON, Pascal VOC's XML, YOLO and darknet |
| `cvat`, `label_studio`, `labelme` | exports of labelling tools |
| `kitti`, `wider_face` | KITTI, WIDER FACE |
| `box_tables` | tables with one row per box, such as those of Open Images |

Each package has a module `layout` with the Source; its other modules find files and parse labels. What formats have in
common is in `paired_files` (VOC, YOLO, KITTI, Labelme: one annotation file per image) and in `annotation_files` (CVAT,
Label Studio, WIDER FACE, tables: few files that name many images); COCO reads its file into columns instead. For
several of them: `image_paths` finds the folder that the paths in a label file start at, `rows` builds the rows of the
listing, and `other_exports` refuses exports that no layout reads.
"""
