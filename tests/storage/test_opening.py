"""Which folder a path or URL names."""

import pytest

from shardkit.errors import CallError
from shardkit.storage import LocalFolder, RemoteFolder, open_folder


@pytest.mark.parametrize("url", ["/a/b", "/a/b/", "/a/./c/../b", "file:///a/b"])
def test_a_local_folder_is_opened_by_path_or_url(url):
    assert open_folder(url) == LocalFolder("/a/b")


def test_a_remote_folder_is_opened_by_url(s3_bucket):
    for url in (s3_bucket, f"{s3_bucket}/", f"{s3_bucket}/a", f"{s3_bucket}/a/"):
        folder = open_folder(url)
        assert isinstance(folder, RemoteFolder)
        assert folder.url == url.rstrip("/")
        assert folder.resolve("b") == f"{url.removeprefix('s3://').rstrip('/')}/b"


def test_relative_and_home_paths_mean_what_they_do_in_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert open_folder("a").url == str(tmp_path / "a")
    assert open_folder("~/a").url == str(tmp_path / "home/a")


@pytest.mark.parametrize("url", ["http://host/a", "hdfs://host/a", "S3X://a", "azure://a"])
def test_another_scheme_is_refused_by_name(url):
    with pytest.raises(CallError):
        open_folder(url)
