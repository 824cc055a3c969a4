import json

import pytest

from shardkit.errors import DataError
from shardkit.testing import opened, write_tree

# Columns and keys of each tool's own export; none of these is read.
LABEL_STUDIO_ROW = '/data/upload/1/a.jpg,1,"[{""x"": 1, ""rectanglelabels"": [""cat""]}]",1,7\n'
VIA_ROW = 'a.jpg,9,"{}",1,0,"{""name"":""rect"",""x"":1}","{""name"":""cat""}"\n'
VIA = {"a.jpg9": {"filename": "a.jpg", "size": 9, "regions": [{"shape_attributes": {"name": "rect"}}]}}
CREATE_ML = [
    {"image": "a.jpg", "annotations": [{"label": "cat", "coordinates": {"x": 1, "y": 2, "width": 3, "height": 4}}]}
]
SUPERVISELY = {"size": {"height": 8, "width": 8}, "objects": [{"classTitle": "cat", "points": {"exterior": []}}]}
EXPORTS = {
    "Label Studio CSV": (
        "project.csv",
        "image,id,label,annotator,annotation_id\n" + LABEL_STUDIO_ROW,
        "export 'JSON' there",
    ),
    "VIA CSV": (
        "via_region_data.csv",
        "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes\n"
        + VIA_ROW,
        "in VIA, export 'COCO format'",
    ),
    "VIA JSON": ("via_region_data.json", json.dumps(VIA), "in VIA, export 'COCO format'"),
    "VIA project": (
        "via_project.json",
        json.dumps({"_via_settings": {}, "_via_img_metadata": VIA}),
        "export 'COCO format'",
    ),
    "CreateML": (
        "_annotations.createml.json",
        json.dumps(CREATE_ML),
        r"export 'COCO' instead \(Roboflow: 'COCO JSON'\)",
    ),
    "Supervisely": ("a.jpg.json", json.dumps(SUPERVISELY), "the app 'Export to COCO'"),
    "Supervisely's project": (
        "meta.json",
        json.dumps({"classes": [{"title": "cat", "shape": "rectangle"}], "tags": [], "projectType": "images"}),
        "the app 'Export to COCO'",
    ),
    "Vertex AI": (
        "data.jsonl",
        json.dumps({"imageGcsUri": "gs://b/1.jpg", "classificationAnnotation": {"displayName": "cat"}}),
        "write a CSV file",
    ),
    "SageMaker Ground Truth": (
        "output.manifest",
        json.dumps({"source-ref": "s3://b/1.jpg", "job": 0, "job-metadata": {"class-name": "cat"}}),
        "write a CSV file",
    ),
}


@pytest.mark.parametrize(("name", "data", "message"), EXPORTS.values(), ids=EXPORTS.keys())
def test_an_export_that_is_not_read_is_refused_with_the_one_to_choose(name, data, message, tmp_path):
    root = write_tree(tmp_path / "s", {name: data.encode(), "a.jpg": b"x", "images/b.jpg": b"x"})
    for source in (root, root / name):
        with pytest.raises(DataError, match=f"{name}: this is .*{message}"):
            opened(source)


def test_an_export_in_split_folders_is_refused(tmp_path):
    data = json.dumps(CREATE_ML).encode()
    files = {
        f"{split}/{name}": one
        for split in ("train", "valid")
        for name, one in (("_annotations.createml.json", data), ("a.jpg", b"x"))
    }
    with pytest.raises(DataError, match=r"train/_annotations.createml.json: this is CreateML's JSON"):
        opened(write_tree(tmp_path / "s", files))


def test_class_folders_next_to_other_files_are_still_read(tmp_path):
    files = {"cat/a.jpg": b"x", "dog/b.jpg": b"x", "notes.json": b'{"label": "x"}', "labels.csv": b"image,label\n"}
    assert opened(write_tree(tmp_path / "s", files)).layout == "class folders"
