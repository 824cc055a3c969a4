"""shardkit: folders of labelled images to balanced TFRecord shards, and the tf.data input function over them."""
