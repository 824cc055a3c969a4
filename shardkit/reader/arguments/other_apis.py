"""Arguments of Keras, tf.data and other readers that people type, and what to use here instead of each."""

_NORMALISE = "images=reader.Images((height, width), mean=127.5, std=127.5) gives values from -1 to 1"
_ORDER = "training=True reshuffles all examples in each epoch, training=False does not shuffle"
_EVALUATE = "training=False is one pass that sees every example once"
_EPOCHS = "training does not end: fit takes epochs=, and steps_per_epoch=train_fn.steps_per_epoch"
_WHOLE = "batches of training are always whole; for training=False there is last_batch='short'"
_TAKE = "take=1000 reads as many examples, always the same; fold=(0, 5) divides for cross-validation"
_MAP = "map_fn=lambda features, seed: (features['image'], features['label']) is called for each example"
_DATASET = "the dataset's folder is the first argument, such as 'OUT'"
_SIZE = "image_size=(224, 224) is (height, width)"

READER_WORDS = {
    "augment": "images=reader.Images((height, width), augment='imagenet') crops and mirrors at random; flip=True only "
    "mirrors",
    "shuffle": _ORDER,
    "buffer_size": "shuffling needs no buffer: each epoch is a permutation of all examples",
    "repeat": "training=True does not end, training=False is one pass",
    "epochs": _EPOCHS,
    "steps_per_epoch": _EPOCHS,
    "eval": _EVALUATE,
    "validation": _EVALUATE,
    "drop_remainder": _WHOLE,
    "prefetch": "TensorFlow chooses it",
    "validation_split": "a dataset is divided when it is made: shardkit.convert(…, splits='train=0.8,validation=0.2')",
    "normalize": _NORMALISE,
    "rescale": _NORMALISE,
    "label_mode": "labels are class numbers in the order of train_fn.class_names, with one_hot=True rows of 0 and 1",
    "color_mode": "images=reader.Images((height, width), grayscale=True)",
    "interpolation": "images=reader.Images((height, width), resize_method='antialias'), or 'bilinear', the default",
    "target_size": _SIZE,
    "class_weight": "sample_weight='balanced', or a weight by class name",
    "data_dir": _DATASET,
    "directory": _DATASET,
    "transform": _MAP,
    "collate_fn": "batch_map_fn=lambda element, seed: element is called for each batch",
    "max_examples": _TAKE,
    "initial_epoch": "start_step=100 starts at that step of the order",
}
"""What to do instead of each argument of both `make_dataset_fn` and `make_dataset` that does not exist."""

_RANK = "num_workers=2, worker_index=0 are the number of processes and the number of this one, from 0"
_RANKS = ("rank", "world_size", "shard_index", "num_shards")
_CONTEXT = (
    "a strategy gives the input function its worker in the input context; without a strategy, "
    "reader.make_dataset(dataset, split, global_batch_size=64, num_workers=2, worker_index=0) reads one worker's part"
)
MAKE_DATASET_WORDS = READER_WORDS | dict.fromkeys(_RANKS, _RANK)
MAKE_DATASET_FN_WORDS = READER_WORDS | dict.fromkeys((*_RANKS, "num_workers", "worker_index"), _CONTEXT)

IMAGES_WORDS = {
    "normalize": "mean=127.5, std=127.5 gives values from -1 to 1, mean=0, std=255 those from 0 to 1",
    "rescale": "mean=0, std=255 gives values from 0 to 1, mean=127.5, std=127.5 those from -1 to 1",
    "image_size": "Images((height, width))",
    "target_size": "Images((height, width))",
    "augmentation": "augment='imagenet' crops and mirrors at random, flip=True only mirrors",
    "color_mode": "images have 3 channels, with grayscale=True one",
    "interpolation": "resize_method='antialias' is smoother than the default, 'bilinear'",
    "center_crop": "eval_fit='crop', eval_crop_fraction=0.875 cuts the centre out in evaluation",
    "random_crop": "crop_scale=(0.08, 1) is the share of the area of random crops in training",
    "horizontal_flip": "flip=True mirrors half of the images in training",
    "training": "make_dataset_fn takes training=",
}
"""The same for `Images`."""
