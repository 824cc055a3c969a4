"""The format of a dataset on disk, as described in README.md of this folder.

| module | contents |
|---|---|
| `manifest/` | ``manifest.json``: read, check, seal |
| `index/` | the index of a shard, the indexes of many shards, groups |
| `tfrecord`, `example` | TFRecord frames and ``tf.train.Example``, without TensorFlow |
| `features` | names, types and roles of features |
| `tfds_metadata` | the files that TFDS reads |
| `conditions/` | conditions on columns of the index |
| `foreign/` | TFRecord files that other programs wrote |

Producing a dataset belongs in `writing`, checking one in `verification`.
"""
