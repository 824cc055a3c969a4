"""The numbers of a program; `shardkit script` fits them to the dataset."""

DATASET = "OUT"
TRAIN = "train"
VALIDATION = "validation"
IMAGE_SIZE = (64, 64)  # height and width, in pixels
GLOBAL_BATCH_SIZE = 64  # of all GPUs of all machines together
EPOCHS = 20
LEARNING_RATE = 1e-3  # after the warm-up; it then falls to 0 along a cosine
WARM_UP = 0.05  # share of the steps
WEIGHT_DECAY = 1e-2
SEED = 0  # of the weights, the order of the examples, and augmentation
CHECKPOINTS = "checkpoints"  # folder; several machines must share it
STEPS_PER_CHECKPOINT = 500  # one is also saved after each epoch
