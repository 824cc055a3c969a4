"""`shardkit view` as a user meets it: a process, a browser, keys, and the command that applies what was decided."""

import contextlib
import os
import shlex
import shutil
import signal
import socket
import socketserver
import tempfile
import threading
import time
import types
import urllib.parse
from pathlib import Path

import pytest
from PIL import Image

import shardkit
from shardkit.images import inspection, pillow

from ..cli.calling import SAMPLE_DATA, call, environment, start, start_forked
from .conftest import HOSTILE


@contextlib.contextmanager
def serving(dataset, folder):
    """A running `shardkit view`, with the current folder as that of its files."""
    process = start_forked("view", dataset, "--no-browser", cwd=folder)
    process.address = process.stdout.readline().strip()
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def served(dataset, tmp_path_factory):
    with serving(dataset, tmp_path_factory.mktemp("served")) as process:
        yield process


@pytest.fixture
def opened(show):
    """Return the page in a window of some width; at the end nothing foreign was asked for, and no script failed."""
    said = []

    def open_page(served, width=1400, scheme="light"):
        origin = getattr(served, "origin", served.address.partition("?")[0])
        known = (origin, "data:", served.address)
        listeners = {
            "pageerror": lambda error: said.append(str(error)),
            "console": lambda message: "400 (Bad Request)" in message.text or said.append(message.text),
            "dialog": lambda dialog: (said.append(dialog.message), dialog.dismiss()),
            "request": lambda request: request.url.startswith(known) or said.append(request.url),
        }
        page = show(served.address, width, scheme, **listeners)
        page.wait_for_selector("#grid [role=option] img")
        return page

    yield open_page
    assert said == []


def chosen(page):
    """The label of the image that keys act on, as a screen reader finds it."""
    active = "document.getElementById(document.getElementById('grid').getAttribute('aria-activedescendant'))"
    return page.evaluate(f"{active}.getAttribute('aria-label')")


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


def classes(dataset):
    """The names of the classes of each example."""
    return {one.key: one.label_names for split in ("train", "validation") for one in shardkit.open(str(dataset), split)}


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
    assert command in out
    assert "Traceback" not in err

    monkeypatch.chdir(tmp_path)
    before = classes(dataset)

    def refuse(*_, **__):
        raise AssertionError("an image was decoded")

    for module in (pillow, inspection):
        monkeypatch.setattr(module, "open_image", refuse, raising=False)
    monkeypatch.setattr(Image, "open", refuse)
    done = call(*shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    after = classes("NEW")
    assert before.keys() - after.keys() == {"red/03.png", f"red/{HOSTILE}"}
    assert {key for key in after if after[key] != before[key]} == {"red/wrong.png"}
    assert after["red/wrong.png"] == ["blue"]


def test_several_are_selected_and_corrected_at_once(opened, served_once, tmp_path):
    page = opened(served_once)
    keys = "#grid [aria-selected=true] .key"
    tiles = page.locator("#grid [role=option]")
    number = page.locator("#num-selected")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert number.inner_text() == "3 selected"
    tiles.nth(5).click(modifiers=["Control"])
    tiles.nth(0).locator(".tick").click()
    assert number.inner_text() == "3 selected"
    chosen_keys = page.locator(keys).all_inner_texts()
    assert chosen_keys == [tiles.nth(at).locator(".key").inner_text() for at in (1, 2, 5)]
    page.keyboard.press("d")  # the gallery has the focus after a click
    page.wait_for_selector("#decided:has-text('3 dropped')")
    assert sorted((tmp_path / "drop.txt").read_text().split("\n")[:-1]) == sorted(chosen_keys)
    assert not number.is_visible()
    page.keyboard.press("u")
    page.wait_for_selector("#decided:has-text('Nothing')")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    tiles.nth(2).click(modifiers=["Shift"])
    page.get_by_role("group", name="Selected images").get_by_role("button", name="Relabel").click()
    assert page.locator("#relabel-key").inner_text() == "3 images"
    page.keyboard.type("blue")
    page.keyboard.press("Enter")
    page.wait_for_selector("#decided:has-text('relabelled, 0 dropped')")
    page.keyboard.press("Control+a")
    assert number.inner_text() == "28 selected"
    page.keyboard.press("Escape")
    assert not number.is_visible()


def test_keys_act_on_the_gallery_after_every_control(opened, served):
    page = opened(served)

    def search(text):
        page.get_by_label("Search").fill(text)
        page.keyboard.press("Enter")

    for control in (
        lambda: search("blue"),
        lambda: page.get_by_role("button", name="Reset").click(),
        lambda: page.get_by_role("button", name="Conflicts").click(),
        lambda: page.get_by_role("button", name="All").click(),
        lambda: (page.get_by_role("button", name="Keys").click(), page.keyboard.press("Escape")),
        lambda: (page.keyboard.press("Enter"), page.wait_for_selector("#large[open]"), page.keyboard.press("Escape")),
        lambda: (page.keyboard.press("r"), page.get_by_role("button", name="Cancel").click()),
        lambda: page.locator("#scroller").click(position={"x": 2, "y": 2}),
        lambda: page.locator("#zoom").click(),
    ):
        control()
        page.wait_for_selector("#grid:focus", state="attached", timeout=5000)
    search("nothing has this")
    page.wait_for_selector("#status:has-text('0 images')")
    assert page.evaluate("document.activeElement.id") == "words"


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    """Datasets with boxes and with masks, of the sample data."""
    folder = tmp_path_factory.mktemp("annotated")
    for name in ("coco", "masks"):
        assert call("convert", SAMPLE_DATA / name, folder / name).exit_code == 0
    return folder


def test_boxes_are_a_table_with_a_filter_of_classes_and_are_switched_off(opened, annotated):
    with serving(annotated / "coco", annotated) as served:
        page = opened(served)
        page.keyboard.press("Enter")
        page.wait_for_selector("#boxes tbody tr")
        [example] = [
            one for one in shardkit.open(annotated / "coco", "train") if one.key in page.locator("#record").inner_text()
        ]
        assert (
            page.locator("#boxes tbody tr").count() == len(example.boxes) == page.locator("#large-boxes rect").count()
        )
        left, top = (example.boxes[0, side] * example[name] for side, name in ((1, "width"), (0, "height")))
        shown = page.locator("#boxes tbody tr").first.inner_text().split()
        assert shown[:3] == [example.label_names[0], f"{left:.0f}", f"{top:.0f}"]
        name = example.label_names[0]
        page.get_by_label("Boxes of the class").select_option(name)
        assert page.locator("#large-boxes rect").count() == example.label_names.count(name)
        assert set(page.locator("#boxes tbody th").all_inner_texts()) == {name}
        page.locator("#large").press("m")
        assert not page.locator("#large-boxes").is_visible()
        assert page.locator("#large-picture").is_visible()
        page.keyboard.press("Escape")
        assert page.locator("#grid img").first.get_attribute("src").endswith("&bare=1")


def test_a_mask_has_a_legend_an_opacity_and_a_switch(opened, annotated):
    with serving(annotated / "masks", annotated) as served:
        page = opened(served)
        page.keyboard.press("Enter")
        page.wait_for_selector("#legend tr")
        [example] = [
            one
            for one in shardkit.open(annotated / "masks", "train")
            if one.key in page.locator("#record").inner_text()
        ]
        shares = example.annotations().shares
        legend = [row.split("\t") for row in page.locator("#legend tr").all_inner_texts()]
        assert legend == [
            [example.annotations().name(one), f"{share:.1%}".replace("%", " %")] for one, share in shares.items()
        ]
        opacity = "getComputedStyle(document.querySelector('#large-mask')).opacity"
        page.get_by_label("Opacity of the mask").fill("20")
        assert page.evaluate(opacity) == "0.2"
        page.get_by_role("button", name="Masks").click()
        assert not page.locator("#large-mask").is_visible()
        assert page.get_by_role("button", name="Masks").get_attribute("aria-pressed") == "false"


@contextlib.contextmanager
def another_user():
    """Run the block without the rights of root and of the files' owner."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def command_lines():
    """Those of all processes, as every user of the machine can read them."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            yield file.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_another_user_finds_the_token_neither_on_a_command_line_nor_in_a_file(opened, dataset, tmp_path):
    everyones = Path(tempfile.mkdtemp())  # pytest's folders are this user's
    everyones.chmod(0o755)
    browser = tmp_path / "browser"
    written = tmp_path / "url"
    waits = f"while [ -e {written} ]; do sleep 0.1; done"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/new; mv {tmp_path}/new {written}; {waits}\n')
    browser.chmod(0o755)
    variables = environment(BROWSER=f"{browser} %s", DISPLAY=":0")
    variables.pop("SSH_CONNECTION", None)
    process = start("view", dataset, cwd=everyones, env=variables)
    try:
        address = process.stdout.readline().decode().strip()
        while not written.exists():
            time.sleep(0.01)
        url, token = written.read_text().strip(), address.partition("token=")[2]
        [file] = everyones.iterdir()
        assert url == file.as_uri()
        assert token in file.read_text()
        with another_user():
            assert os.access(everyones, os.R_OK | os.X_OK, effective_ids=True)
            with pytest.raises(PermissionError):
                file.read_bytes()
            lines = [*command_lines()]
        assert any(url in line for line in lines)
        assert not any(token in line for line in lines)
        opened(types.SimpleNamespace(address=url, origin=address.partition("?")[0]))  # from the file to the page
        assert not file.exists()
    finally:
        written.unlink(missing_ok=True)
        process.kill()
        process.communicate()
        shutil.rmtree(everyones)


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
    assert (
        page.get_by_role("alert")
        .inner_text()
        .startswith("the condition “hight > 3” cannot be read: there is no column")
    )
    page.get_by_label("Condition").fill("night")
    page.keyboard.press("Enter")
    page.wait_for_selector("#error:has-text('Search finds words in keys and classes')")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_selector("#status:has-text('28 images')")
    page.get_by_role("button", name="Rejected").click()
    page.wait_for_selector("#grid [role=option]:has-text('truncated')")
