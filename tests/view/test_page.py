"""`shardkit view` as a user meets it: a process, a browser, keys, and the command that applies what was decided."""

import contextlib
import shlex
import signal
import socket
import socketserver
import threading
import types
import urllib.parse

import pytest
from PIL import Image

import shardkit
from shardkit.images import inspection, pillow

from ..cli.calling import call, start
from .conftest import HOSTILE


@contextlib.contextmanager
def serving(dataset, folder):
    """A running `shardkit view`, with the current folder as that of its files."""
    process = start("view", dataset, "--no-browser", cwd=folder)
    process.address = process.stdout.readline().decode().strip()
    yield process
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def served(dataset, tmp_path_factory):
    with serving(dataset, tmp_path_factory.mktemp("served")) as process:
        yield process


@pytest.fixture
def opened(browser):
    """Return the page in a window of some width; at the end nothing foreign was asked for, and no script failed."""
    said = []

    def open_page(served, width=1400, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: "400 (Bad Request)" in message.text or said.append(message.text))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        origin = served.address.partition("?")[0]
        page.on("request", lambda request: request.url.startswith((origin, "data:")) or said.append(request.url))
        page.goto(served.address)
        page.wait_for_selector("#grid [role=option] img")
        return page

    yield open_page
    assert said == []


def chosen(page):
    return page.locator("#grid [aria-selected=true]").get_attribute("aria-label")


def go_to(page, key):
    """By keyboard, as a reader does who cannot see."""
    page.keyboard.press("Home")
    for _ in range(40):
        if key in chosen(page):
            return
        page.keyboard.press("ArrowRight")
    raise AssertionError(key)


@pytest.fixture
def served_once(dataset, tmp_path):
    with serving(dataset, tmp_path) as process:
        yield process


def test_by_keyboard_alone_a_dataset_is_corrected(opened, served_once, dataset, tmp_path, monkeypatch):
    page = opened(served_once)
    assert "token" not in page.url
    go_to(page, "red/wrong.png")
    page.keyboard.press("Enter")
    page.wait_for_selector("#record tr")
    assert "red/wrong.png" in page.locator("#record").inner_text()
    page.keyboard.press("r")
    page.keyboard.type("lu")
    page.keyboard.press("Enter")
    page.wait_for_selector("#decided:has-text('1 relabelled')")
    go_to(page, "red/wrong.png")
    page.keyboard.press("d")
    page.wait_for_selector("#decided:has-text('0 relabelled, 1 dropped')")
    page.keyboard.press("u")  # back to the decision before
    page.wait_for_selector("#decided:has-text('1 relabelled, 0 dropped')")
    assert page.locator("#large-state").inner_text() == "relabelled: blue"
    page.keyboard.press("Escape")
    for key, number in (("red/03.png", 1), (HOSTILE, 2), ("blue/04.png", 3)):
        go_to(page, key)
        page.keyboard.press("d")
        page.wait_for_selector(f"#decided:has-text('{number} dropped')")
    page.keyboard.press("u")
    page.wait_for_selector("#decided:has-text('2 dropped')")
    assert "blue/04.png" in chosen(page)
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    command = page.locator("#command").input_value()
    assert command == f"shardkit convert {dataset} NEW --labels fixes.csv --drop drop.txt"
    served_once.send_signal(signal.SIGINT)
    out, err = served_once.communicate(timeout=30)
    assert served_once.returncode == 0, err
    assert command in out.decode()
    assert "Traceback" not in err.decode()

    monkeypatch.chdir(tmp_path)

    def refuse(*_, **__):
        raise AssertionError("an image was decoded")

    for module in (pillow, inspection):
        monkeypatch.setattr(module, "open_image", refuse, raising=False)
    monkeypatch.setattr(Image, "open", refuse)
    done = call(*shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    before, after = (
        {one.key: one.label_names for split in ("train", "validation") for one in shardkit.open(str(path), split)}
        for path in (dataset, "NEW")
    )
    assert before.keys() - after.keys() == {"red/03.png", f"red/{HOSTILE}"}
    assert {key for key in after if after[key] != before[key]} == {"red/wrong.png"}
    assert after["red/wrong.png"] == ["blue"]


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (800, "dark"), (360, "light")])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(opened, served, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = opened(served, width, scheme)

    def problems():
        found = Axe().run(page).response["violations"]
        return [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in {"serious", "critical"}]

    page.keyboard.press("d")
    page.wait_for_selector("#command:visible")
    assert problems() == []
    page.keyboard.press("Enter")
    page.wait_for_selector("#record tr")
    if scheme == "dark":  # the dialogs once
        page.keyboard.press("r")
        page.wait_for_selector("#new-label-options li")
        assert problems() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture
def forwarded(served):
    """Another port that leads to the page, as `ssh -L` with two numbers makes it."""
    page = urllib.parse.urlsplit(served.address)

    def pipe(reads, writes):
        with contextlib.suppress(OSError):
            while data := reads.recv(1 << 16):
                writes.sendall(data)
            writes.shutdown(socket.SHUT_WR)

    class Forward(socketserver.BaseRequestHandler):
        def handle(self):
            with socket.create_connection((page.hostname, page.port)) as other:
                threading.Thread(target=pipe, args=(self.request, other), daemon=True).start()
                pipe(other, self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Forward) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield types.SimpleNamespace(address=f"http://localhost:{server.server_address[1]}/?{page.query}")
        server.shutdown()


def test_the_page_works_through_a_tunnel_with_another_port(opened, forwarded):
    page = opened(forwarded)
    go_to(page, "red/05.png")
    page.keyboard.press("d")
    page.wait_for_selector("#grid .dropped:has-text('red/05.png')")
    page.keyboard.press("u")
    page.wait_for_selector("#grid .dropped:has-text('red/05.png')", state="detached")


def test_filters_are_used_and_their_errors_read(opened, served):
    page = opened(served)
    page.get_by_role("combobox", name="Class").fill("bl")
    page.keyboard.press("Enter")
    page.wait_for_selector("#status:has-text('13 images')")
    page.get_by_label("Condition").fill("hight > 3")
    page.keyboard.press("Enter")
    page.wait_for_selector("#error:visible")
    assert "hight" in page.get_by_role("alert").inner_text()
    page.get_by_role("button", name="Reset").click()
    page.wait_for_selector("#status:has-text('28 images')")
    page.get_by_role("button", name="Rejected").click()
    page.wait_for_selector("#grid [role=option]:has-text('truncated')")
