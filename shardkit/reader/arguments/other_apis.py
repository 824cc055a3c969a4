"""List the arguments of Keras, tf.data and other readers, and what to use here instead of each."""

_NORMALISE = "images=reader.Images((height, width), mean=127.5, std=127.5) gives values from -1 to 1"
_NO_AUGMENTATION = (
    "images=reader.Images((height, width), crop_scale=(1, 1), flip=False) turns random crops and flips off"
)
_SPLITS = "a dataset is divided when it is made: shardkit convert --splits train=0.8,validation=0.2"
_SIZE = "image_size=(224, 224) is (height, width)"
_PARALLEL = "TensorFlow chooses it"

READER_WORDS = {
    "augment": _NO_AUGMENTATION,
    "augmentation": _NO_AUGMENTATION,
    "shuffle": "training=True reshuffles all examples in each epoch, training=False does not shuffle",
    "shuffle_files": "training=True reshuffles all examples in each epoch",
    "buffer_size": "shuffling needs no buffer: each epoch is a permutation of all examples",
    "repeat": "training=True does not end, training=False is one pass",
    "epochs": "training does not end: fit takes epochs=, and steps_per_epoch=train_fn.steps_per_epoch",
    "num_epochs": "training does not end: fit takes epochs=, and steps_per_epoch=train_fn.steps_per_epoch",
    "drop_remainder": "batches of training are always whole; for training=False there is last_batch=",
    "pad": "with training=False, last_batch='short' returns batches without padding",
    "padding": "with training=False, last_batch='short' returns batches without padding",
    "prefetch": _PARALLEL,
    "num_parallel_calls": _PARALLEL,
    "validation_split": _SPLITS,
    "subset": "the split is the second argument, such as 'train'",
    "normalize": _NORMALISE,
    "normalise": _NORMALISE,
    "rescale": _NORMALISE,
    "label_mode": "map_fn= with tf.one_hot makes other labels",
    "color_mode": "images=reader.Images((height, width), grayscale=True)",
    "height": _SIZE,
    "width": _SIZE,
    "shape": _SIZE,
    "class_weight": "sample_weight='balanced', or a weight by class name",
}
"""What to do instead of each argument of `make_dataset_fn` that does not exist."""

IMAGES_WORDS = {
    "normalize": "mean=127.5, std=127.5 gives values from -1 to 1, mean=0, std=255 those from 0 to 1",
    "normalise": "mean=127.5, std=127.5 gives values from -1 to 1, mean=0, std=255 those from 0 to 1",
    "rescale": "mean=0, std=255 gives values from 0 to 1, mean=127.5, std=127.5 those from -1 to 1",
    "scale": "mean=0, std=255 gives values from 0 to 1, crop_scale= is the share of the area of random crops",
    "height": "Images((height, width))",
    "width": "Images((height, width))",
    "augment": "crop_scale=(1, 1), flip=False turns random crops and flips off",
    "channels": "images have 3 channels, with grayscale=True one",
}
"""The same for `Images`."""
