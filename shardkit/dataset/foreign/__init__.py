"""TFRecord files that other programs wrote: what their records mean.

| module | contents |
|---|---|
| `compression`, `frames` | GZIP and ZLIB told from the first bytes; records one by one, also after a damaged one |
| `values` | where a value lies in a record; the image in it |
| `found_features` | the features of the first records: kinds, lengths, samples |
| `record_layout`, `inferring`, `image_feature`, `label_feature`, `box_features` | which feature is what |
| `tfds_folder` | what `features.json`, `dataset_info.json` and `*.labels.txt` say |
| `label_names` | from a label's number to the name of its class |
| `file_names` | splits, stems and shard sets from names of files |

Pure functions and small values: no TensorFlow, no Beam, no Pillow. Reading such files as a source belongs in
`record_sources/tfrecord`.
"""
