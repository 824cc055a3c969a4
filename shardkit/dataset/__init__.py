"""What is on disk: manifest, index, TFRecord frames, tf.train.Example and features. No conversion, no TensorFlow."""
