"""Keras `fit` with BackupAndRestore and ResumeCallback, killed by SIGKILL once the optimizer has taken KILL_AT steps.

keras_resume.py DATASET LOG BACKUP_FOLDER GLOBAL_BATCH_SIZE EPOCHS SAVE_FREQ KILL_AT ORDER

KILL_AT 0: not killed. ORDER: `behind` or `before` is the place of ResumeCallback. Into the log go the recorder's lines,
and one {"epoch": …} or {"step": …} after each of them.
"""

import os
import signal
import sys

import keras
from devices import mirrored
from recording import Recorder, classifier, with_id

from shardkit import reader

dataset, log, folder, global_batch_size, epochs, save_freq, kill_at, order = sys.argv[1:]
strategy = mirrored(2)
train_fn = reader.make_dataset_fn(
    dataset, "train", global_batch_size=int(global_batch_size), image_size=(8, 8), map_fn=with_id
)
recorder = Recorder(log)


class Killer(keras.callbacks.Callback):
    """Says what has been done, and ends this process in the middle of it."""

    def on_epoch_begin(self, epoch, logs=None):
        recorder.write({"epoch": epoch})

    def on_train_batch_end(self, batch, logs=None):
        step = int(self.model.optimizer.iterations.numpy())
        recorder.write({"step": step})
        if step == int(kill_at):
            os.kill(os.getpid(), signal.SIGKILL)


with strategy.scope():
    model = classifier(recorder, 8 * 8 * 3)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
callbacks = [
    keras.callbacks.BackupAndRestore(folder, save_freq=save_freq if save_freq == "epoch" else int(save_freq)),
    reader.ResumeCallback(train_fn),
]
model.fit(
    strategy.distribute_datasets_from_function(train_fn),
    steps_per_epoch=train_fn.steps_per_epoch,
    epochs=int(epochs),
    callbacks=[*(callbacks if order == "behind" else reversed(callbacks)), Killer()],
    shuffle=False,
    verbose=0,
)
recorder.write({"weights": [float(abs(weight).sum()) for weight in model.get_weights()]})
