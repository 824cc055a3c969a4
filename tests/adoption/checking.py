"""What the tests of adoption ask of a dataset and of the messages."""

from shardkit.parallel.progress import Silent
from shardkit.parallel.threads import ThreadExecutor
from shardkit.storage import LocalFolder
from shardkit.verification.dataset import verify_dataset


def problems(dataset, *, deep=True):
    return [str(one) for one in verify_dataset(LocalFolder(str(dataset)), ThreadExecutor(2), Silent(), deep=deep)[1]]


class Said(Silent):
    """A listener that keeps the messages."""

    def __init__(self):
        self.text = ""

    def say(self, text, level="info"):
        self.text += text + "\n"
