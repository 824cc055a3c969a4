"""List the arguments of Keras, tf.data and other readers, and what to use here instead of each."""

_NORMALISE = "images=reader.Images((height, width), mean=127.5, std=127.5) gives values from -1 to 1"
_AUGMENT = (
    "images=reader.Images((height, width), augment='imagenet') crops and mirrors at random; flip=True only mirrors"
)
_SPLITS = "a dataset is divided when it is made: shardkit.convert(…, splits='train=0.8,validation=0.2')"
_SIZE = "image_size=(224, 224) is (height, width)"
_PARALLEL = "TensorFlow chooses it"
_DATASET = "the dataset's folder is the first argument, such as 'OUT'"
_EVALUATE = "training=False is one pass that sees every example once"
_TRAIN = "training=True (the default) is endless, training=False is one pass"
_ORDER = "training=True reshuffles all examples in each epoch, training=False does not shuffle"
_EPOCHS = "training does not end: fit takes epochs=, and steps_per_epoch=train_fn.steps_per_epoch"
_WHOLE = "batches of training are always whole; for training=False there is last_batch='short'"
_TAKE = "take=1000 reads as many examples, always the same; fold=(0, 5) divides for cross-validation"
_MAP = "map_fn=lambda features, seed: (features['image'], features['label']) is called for each example"
_BATCH_MAP = "batch_map_fn=lambda element, seed: element is called for each batch"
_LABELS = "labels are class numbers in the order of train_fn.class_names, with one_hot=True rows of 0 and 1"
_METHOD = "resize_method='antialias' is smoother than the default, 'bilinear'"
_FLIP = "flip=True mirrors half of the images in training"
_CROP = "crop_scale=(0.08, 1) is the share of the area of random crops in training"

READER_WORDS = {
    "augment": _AUGMENT,
    "augmentation": _AUGMENT,
    "shuffle": _ORDER,
    "shuffle_files": _ORDER,
    "shuffle_seed": "seed=0 is the seed of order and augmentation",
    "reshuffle_each_iteration": _ORDER,
    "buffer_size": "shuffling needs no buffer: each epoch is a permutation of all examples",
    "shuffle_buffer_size": "shuffling needs no buffer: each epoch is a permutation of all examples",
    "sampler": "sampling='class_balanced' draws every class equally often; order='block' reads blocks of records",
    "deterministic": "the order follows from seed=0 and the step alone, on any number of workers",
    "repeat": "training=True does not end, training=False is one pass",
    "epochs": _EPOCHS,
    "num_epochs": _EPOCHS,
    "steps": _EPOCHS,
    "steps_per_epoch": _EPOCHS,
    "eval": _EVALUATE,
    "evaluate": _EVALUATE,
    "evaluation": _EVALUATE,
    "validation": _EVALUATE,
    "test": _EVALUATE,
    "is_training": _TRAIN,
    "train": _TRAIN,
    "mode": _TRAIN,
    "drop_remainder": _WHOLE,
    "drop_last": _WHOLE,
    "pad": "with training=False, last_batch='short' returns batches without padding",
    "padding": "with training=False, last_batch='short' returns batches without padding",
    "prefetch": _PARALLEL,
    "prefetch_factor": _PARALLEL,
    "num_parallel_calls": _PARALLEL,
    "pin_memory": _PARALLEL,
    "persistent_workers": _PARALLEL,
    "validation_split": _SPLITS,
    "subset": "the split is the second argument, such as 'train'",
    "normalize": _NORMALISE,
    "normalise": _NORMALISE,
    "rescale": _NORMALISE,
    "label_mode": _LABELS,
    "class_mode": _LABELS,
    "labels": _LABELS,
    "class_names": _LABELS,
    "color_mode": "images=reader.Images((height, width), grayscale=True)",
    "interpolation": "images=reader.Images((height, width), resize_method='antialias'), or 'bilinear', the default",
    "crop_to_aspect_ratio": "images=reader.Images((height, width), eval_fit='crop'), which is the default",
    "pad_to_aspect_ratio": "images=reader.Images((height, width), eval_fit='pad')",
    "height": _SIZE,
    "width": _SIZE,
    "shape": _SIZE,
    "target_size": _SIZE,
    "input_shape": _SIZE,
    "class_weight": "sample_weight='balanced', or a weight by class name",
    "data_dir": _DATASET,
    "directory": _DATASET,
    "path": _DATASET,
    "root": _DATASET,
    "name": _DATASET,
    "as_supervised": "image_size=(224, 224) makes elements (images, labels); without it they are dicts of features",
    "with_info": "train_fn.class_names, train_fn.num_classes and train_fn.num_examples are known without it",
    "decoders": "without image_size= and images=, elements have the encoded images",
    "download": "shardkit reads what `shardkit convert` wrote",
    "transform": _MAP,
    "transforms": _MAP,
    "preprocessing": _MAP,
    "preprocessing_function": _MAP,
    "collate_fn": _BATCH_MAP,
    "limit": _TAKE,
    "max_examples": _TAKE,
    "max_samples": _TAKE,
    "num_samples": _TAKE,
    "skip": "start_step=100 starts at that step of the order",
    "initial_epoch": "start_step=100 starts at that step of the order",
    "strategy": "strategy.distribute_datasets_from_function(train_fn) takes the input function",
}
"""What to do instead of each argument of both `make_dataset_fn` and `make_dataset` that does not exist."""

_RANK = "num_workers=2, worker_index=0 are the number of processes and the number of this one, from 0"

MAKE_DATASET_WORDS = READER_WORDS | dict.fromkeys(
    ("rank", "world_size", "shard_index", "num_shards", "index", "num_replicas", "process_index", "process_count"),
    _RANK,
)
"""The same for `make_dataset`, which reads the part of one worker."""

_CONTEXT = (
    "a strategy gives the input function its worker in the input context; without a strategy, "
    "reader.make_dataset(dataset, split, global_batch_size=64, num_workers=2, worker_index=0) reads one worker's part"
)

MAKE_DATASET_FN_WORDS = (
    READER_WORDS
    | dict.fromkeys(("num_workers", "worker_index", "workers", *(MAKE_DATASET_WORDS.keys() - READER_WORDS)), _CONTEXT)
    | dict.fromkeys(("context", "input_context"), "call what it returns with the context: train_fn(context)")
)
"""The same for `make_dataset_fn`, whose function a strategy calls for each worker."""

IMAGES_WORDS = {
    "normalize": "mean=127.5, std=127.5 gives values from -1 to 1, mean=0, std=255 those from 0 to 1",
    "normalise": "mean=127.5, std=127.5 gives values from -1 to 1, mean=0, std=255 those from 0 to 1",
    "rescale": "mean=0, std=255 gives values from 0 to 1, mean=127.5, std=127.5 those from -1 to 1",
    "scale": "mean=0, std=255 gives values from 0 to 1, crop_scale= is the share of the area of random crops",
    "height": "Images((height, width))",
    "width": "Images((height, width))",
    "shape": "Images((height, width))",
    "image_size": "Images((height, width))",
    "image_shape": "Images((height, width))",
    "target_size": "Images((height, width))",
    "resize": "Images((height, width)) resizes to it",
    "augmentation": "augment='imagenet' crops and mirrors at random, flip=True only mirrors",
    "channels": "images have 3 channels, with grayscale=True one",
    "color_mode": "images have 3 channels, with grayscale=True one",
    "interpolation": _METHOD,
    "method": _METHOD,
    "antialias": _METHOD,
    "crop_to_aspect_ratio": "eval_fit='crop'",
    "center_crop": "eval_fit='crop', eval_crop_fraction=0.875 cuts the centre out in evaluation",
    "pad_to_aspect_ratio": "eval_fit='pad'",
    "random_crop": _CROP,
    "crop": _CROP,
    "horizontal_flip": _FLIP,
    "random_flip": _FLIP,
    "training": "make_dataset_fn takes training=",
}
"""The same for `Images`."""
