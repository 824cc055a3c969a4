import fcntl
import gc
import json
import linecache
import os
import shutil
import urllib.request
import uuid

import pytest
from hypothesis import settings

from .storage.s3.faulty_server import S3Server

# Before anything imports TensorFlow: its start-up notes would drown what a failing test says.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Otherwise each parser of arguments looks for a dozen files of translations; Beam makes a hundred parsers a pipeline.
os.environ["LANGUAGE"] = "C"

# A busy machine is no fault of the code: no example is timed.
settings.register_profile("shardkit", deadline=None)
settings.load_profile("shardkit")

# Without a display, a network or a user: nothing of Chromium's own is fetched.
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_configure():
    """Leave out what no test sees: waiting for the disk, which costs minutes on a slow one, and needless `stat`s."""
    os.fsync = os.fstat  # it also refuses a descriptor that is closed
    # Beam asks for each frame of each step of a pipeline whether its file has changed.
    linecache.checkcache = lambda filename=None: None


# Programs that wait for each other, for more than 10 s: at the end of a run, the other test processes would wait, too.
FIRST = ("tests/reader/test_readme_snippets.py", "tests/programs/test_programs.py", "tests/engines/")


def pytest_collection_modifyitems(items):
    """Begin with the tests that wait longest."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def pytest_collection_finish():
    """Keep the imported libraries out of the garbage collector's passes, which take a tenth of the time otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture
def frequent_progress(monkeypatch):
    """Progress is polled a hundred times a second: tests wait for it."""
    monkeypatch.setattr("shardkit.parallel.progress.POLL_SECONDS", 0.01)
    monkeypatch.setattr("shardkit.parallel.progress.POLL_SHARE", 0)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Return the folder of that name, made by the first of all test processes that asks for it; not to be changed.

    A fixture's scope ends at its test process; with pytest-xdist there are several.

    Args:
        name: Name of the folder.
        make: Function that gets the path of the new folder and fills it.
    """
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root

    def folder_of(name, make):
        folder, is_made = root / name, root / f"{name}-is-made"
        with open(root / f"{name}-lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not is_made.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a process that failed
                folder.mkdir()
                make(folder)
                is_made.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def found_once(made_once):
    """Return what a function returned that was called by the first of all test processes, as JSON passes it on.

    Args:
        name: Name of the folder that the function gets.
        find: Function of the path of a new folder.
    """

    def found(name, find):
        folder = made_once(name, lambda folder: (folder / "found.json").write_text(json.dumps(find(folder))))
        return json.loads((folder / "found.json").read_text())

    return found


@pytest.fixture(scope="session")
def s3_server():
    """A real S3 server on the loopback device, for the whole session, that fails on request."""
    with S3Server() as server:
        yield server


@pytest.fixture
def s3_bucket(s3_server, monkeypatch):
    """The s3:// URL of an empty bucket; the environment says where the server is, as it would for a user."""
    variables = {
        "AWS_ENDPOINT_URL": s3_server.url,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    bucket = uuid.uuid4().hex
    request = urllib.request.Request(f"{s3_server.url}/{bucket}", method="PUT")  # noqa: S310 - our own server
    urllib.request.urlopen(request).close()  # noqa: S310
    yield f"s3://{bucket}"
    s3_server.recover()


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium, one for all tests; they are skipped where there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium; tests/report/install_chromium.sh installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def _only_tab(browser):
    return browser.new_context().new_page()


@pytest.fixture
def show(_only_tab):
    """Return a function that shows a URL in Chromium: the tab is one for all tests, as another costs three page loads.

    Args:
        url: The page's address.
        width: Width of the window.
        scheme: "light" or "dark".
        listeners: Functions by the event of the page that they are called with, during the test.
    """
    listening = []

    def show_url(url, width, scheme, **listeners):
        for event, listener in listeners.items():
            _only_tab.on(event, listener)
            listening.append((event, listener))
        _only_tab.set_viewport_size({"width": width, "height": 900})
        _only_tab.emulate_media(color_scheme=scheme)
        _only_tab.goto(url)
        return _only_tab

    _only_tab.context.clear_cookies()
    yield show_url
    for event, listener in listening:
        _only_tab.remove_listener(event, listener)
    _only_tab.goto("about:blank")
