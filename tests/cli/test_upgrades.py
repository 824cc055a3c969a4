"""Other versions of libraries: extras keep each other's, and a dataset that was made with others is still finished."""

import configparser
import importlib.metadata
import re
import shlex
import subprocess
import sys

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from shardkit import software
from shardkit.conversion.writing.steps import ConversionSteps
from shardkit.testing import digests_of, write_class_folders

from .calling import SAMPLE_DATA, call, convert

EXTRAS = ("7z", "beam", "convert", "excel", "heif", "report", "tensorflow", "view")
# Their bounds exclude a major version that does not exist: with it, an extra gets a bound too.
WITHOUT_NEXT_MAJOR = {"idna", "pyparsing", "six", "typing-extensions"}


def requirements(text):
    return [Requirement(line) for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def ranges(extra):
    """The versions of each package that the extra allows, by its own requirements and those of all that it installs."""
    config = configparser.ConfigParser()
    config.read(SAMPLE_DATA.parent / "setup.cfg")
    extras = {name: requirements(text) for name, text in config["options.extras_require"].items()}
    left, seen, found = [*requirements(config["options"]["install_requires"]), *extras[extra]], set(), {}
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        if name == "shardkit":
            left += [inner for other in one.extras for inner in extras[other]]
            continue
        found[name] = found.get(name, SpecifierSet()) & one.specifier
        if (name, *one.extras) in seen:
            continue
        seen.add((name, *one.extras))
        installed = {"tensorflow": "tensorflow-cpu"}.get(name, name)
        for text in importlib.metadata.distribution(installed).requires or ():
            inner = Requirement(text)
            if inner.marker is None or any(inner.marker.evaluate({"extra": of}) for of in ("", *one.extras)):
                left.append(inner)
    return found


def limit(specifiers):
    """The version below which all versions of a range are; None if there is none."""
    limits = []
    for one in specifiers:
        if one.operator == "<":
            limits.append(Version(Version(one.version).base_version))  # also of <7.0.0.dev0
        elif one.operator == "~=":
            limits.append(Version(str(Version(one.version).major + 1)))
    return min(limits, default=None)


def test_every_extra_stays_within_the_versions_of_the_others_so_that_none_moves_them():
    limits = {}
    for extra in EXTRAS:
        for package, specifiers in ranges(extra).items():
            if package not in WITHOUT_NEXT_MAJOR:
                limits.setdefault(package, {})[extra] = limit(specifiers)
    assert {"numpy", "pillow", "protobuf", "pyarrow", "pyyaml"} <= limits.keys()
    different = {package: found for package, found in limits.items() if len(set(found.values())) > 1}
    assert different == {}


@pytest.fixture
def source(tmp_path):
    return write_class_folders(tmp_path / "source", {"cat": 4, "dog": 4})


@pytest.fixture
def other_versions(monkeypatch):
    """Give this process other versions of packages; the returned function takes them."""

    def change(**changed):
        versions = {**software.versions.__wrapped__(), **changed}
        monkeypatch.setattr(software, "versions", lambda: versions)

    return change


def test_a_finished_dataset_made_with_other_versions_is_finished(source, tmp_path, other_versions):
    convert(source, tmp_path / "out")
    before = digests_of(tmp_path / "out")
    pillow = software.versions()["pillow"]
    assert "it was made with" not in convert(source, tmp_path / "out")
    other_versions(pillow="99.0", libjpeg_turbo="9.0", jpeg_encoder="0")
    said = " ".join(convert(source, tmp_path / "out").split())
    assert f"nothing to do (it was made with pillow {pillow} (99.0 is installed))" in said
    assert digests_of(tmp_path / "out") == before
    said = convert(source, tmp_path / "out", "--seed", "5", exit_code=1)  # what differs is the seed
    assert "--seed was 0 and is 5" in said
    assert "pillow" not in said


def test_a_finished_dataset_of_another_build_of_a_library_says_what_differs(source, tmp_path, other_versions):
    convert(source, tmp_path / "out")
    other_versions(libjpeg_turbo="9.0")
    said = " ".join(convert(source, tmp_path / "out").split())
    assert re.search(r"nothing to do \(libjpeg_turbo was \S+ and is 9.0\)", said)


def test_an_interrupted_conversion_with_other_versions_names_the_command_that_restores_them(
    source, tmp_path, other_versions, monkeypatch
):
    def killed(*_):
        raise RuntimeError("killed")

    convert(source, tmp_path / "whole")
    with monkeypatch.context() as patched:
        patched.setattr(ConversionSteps, "publish", killed)
        with pytest.raises(RuntimeError, match="killed"):
            call("convert", source, tmp_path / "out")
    with monkeypatch.context() as patched:
        versions = {**software.versions(), "pillow": "99.0", "pyarrow": "99.0"}
        patched.setattr(software, "versions", lambda: versions)
        said = " ".join(convert(source, tmp_path / "out", exit_code=1).split())
    (command,) = re.findall(r"`(pip install [^`]+)`", said)
    found = software.versions()
    assert command == f"pip install pillow=={found['pillow']} pyarrow=={found['pyarrow']}"
    # These are the versions of this environment, so the command has nothing to do, and the conversion goes on.
    pip = [sys.executable, "-m", *shlex.split(command), "--no-index", "--no-deps", "--disable-pip-version-check"]
    done = subprocess.run(pip, capture_output=True, text=True, check=True)
    assert done.stdout.count("already satisfied") == 2
    convert(source, tmp_path / "out")
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "whole")
