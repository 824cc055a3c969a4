import pytest


@pytest.fixture(autouse=True)
def unasked(request, monkeypatch):
    """Most tests here are about what is recognised; whether it is proved, or asked for, is for those of `proving`."""
    if "proving" not in request.node.path.parts:
        monkeypatch.setattr("shardkit.sources.opening.refuse_doubtful", lambda *_: None)
        monkeypatch.setattr("shardkit.sources.opening.with_offers", lambda error, _: error)


@pytest.fixture
def tmp_path(tmp_path):
    """A folder that is alone: images of a table are also searched beside its folder, where other tests have theirs."""
    folder = tmp_path / "alone"
    folder.mkdir()
    return folder
