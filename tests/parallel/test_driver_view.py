"""Workers on other hosts than the driver: checked once per process, and named."""

import platform
import shutil
from dataclasses import replace

import pytest

from shardkit.errors import MachineError
from shardkit.parallel import driver_view
from shardkit.parallel.driver_view import DriverView, check_worker
from shardkit.sources import hosts
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import write_tree

HOST = f"host {platform.node()}"


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    monkeypatch.setattr(driver_view, "_compared", {})
    monkeypatch.setattr(hosts, "PAUSES_SECONDS", ())


@pytest.fixture
def photos(tmp_path):
    return write_tree(tmp_path / "photos", {"cat/1.png": b"1", "dog/2.png": b"2", ".DS_Store": b"x"})


def view(photos):
    return DriverView.of([open_source(str(photos)).folder])


def with_versions(driver, **changed):
    return replace(driver, versions=tuple(sorted({**dict(driver.versions), **changed}.items())))


def test_a_worker_like_the_driver_may_work(photos):
    check_worker(view(photos))
    check_worker(None)


@pytest.mark.parametrize("name", ["pillow", "pyarrow", "numpy", "shardkit", "libjpeg_turbo", "python", "beam"])
def test_another_version_is_refused_by_host_name_and_version(name, photos):
    driver = view(photos)
    here = dict(driver.versions)[name]
    with pytest.raises(MachineError) as raised:
        check_worker(with_versions(driver, **{name: "9.9"}))
    what = "cannot work for the driver" if name in {"python", "beam"} else "would write other bytes than the driver"
    remedy = "install the same versions on every worker"
    assert str(raised.value) == f"{HOST} {what}, it has {name} {here} (the driver: 9.9); {remedy}"


def test_an_encoder_that_writes_other_bytes_alone_is_named(photos):
    with pytest.raises(MachineError, match=r"png_encoder \w+ \(the driver: 00\)"):
        check_worker(with_versions(view(photos), png_encoder="00"))
    with pytest.raises(MachineError, match=r"it has pillow \S+ \(the driver: 9\.9\); install"):
        check_worker(with_versions(view(photos), png_encoder="00", pillow="9.9"))


def test_a_library_that_one_side_lacks_is_said(photos):
    with pytest.raises(MachineError, match=r"libfoo not installed \(the driver: 1\)"):
        check_worker(with_versions(view(photos), libfoo="1"))


def hide(photos):
    shutil.rmtree(photos)
    photos.mkdir()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shutil.rmtree, "sees no file in this folder, the driver saw 2; mount"),
        (hide, "sees no file in this folder, the driver saw 2; mount"),
        (
            lambda photos: shutil.rmtree(photos / "cat"),
            "sees 1 files and folders in this folder, the driver saw 2; mount",
        ),
        (
            lambda photos: (photos / "cat").rename(photos / "cow"),
            "sees 2 files and folders in this folder, the driver saw 2 under other names; mount",
        ),
    ],
)
def test_another_top_listing_is_refused_by_host_name(change, said, photos):
    driver = view(photos)
    change(photos)
    with pytest.raises(MachineError) as raised:
        check_worker(driver)
    assert str(raised.value).startswith(f"{photos}: {HOST} {said}")


def test_what_operating_systems_leave_behind_is_not_compared(photos):
    driver = view(photos)
    (photos / "Thumbs.db").touch()
    check_worker(driver)


def test_a_folder_that_a_cache_shows_late_is_waited_for(photos, monkeypatch):
    driver = view(photos)
    (photos / "cat").rename(photos / "hidden")
    monkeypatch.setattr(hosts, "PAUSES_SECONDS", (0, 0))
    pauses = iter([lambda: None, lambda: (photos / "hidden").rename(photos / "cat")])
    monkeypatch.setattr(hosts.time, "sleep", lambda _: next(pauses)())
    check_worker(driver)


def test_the_comparison_is_made_once_per_process(photos):
    driver = view(photos)
    check_worker(driver)
    hide(photos)
    check_worker(driver)


def test_object_stores_are_not_compared():
    assert DriverView.of([open_folder("s3://bucket/photos?region=eu-west-1")]).folders == ()
