"""How the programs that read by tf.data, Keras's and JAX's, read images and labels: `READING` of each module."""
