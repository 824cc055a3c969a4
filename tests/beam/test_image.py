"""The workers' image names one version for each package that setup.cfg asks for. It is not built here."""

import configparser
import re

from packaging.requirements import Requirement
from packaging.version import Version

from ..pages import CHECKOUT

IMAGE = CHECKOUT / "pipelines" / "image"
EXTRAS = ("beam", "excel", "heif")


def pinned():
    lines = (IMAGE / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))


def test_each_package_that_a_worker_needs_is_pinned_in_its_range():
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / "setup.cfg")
    extras = setup["options.extras_require"]
    wanted = [setup["options"]["install_requires"], extras["convert"], *(extras[extra] for extra in EXTRAS)]
    lines = [line for text in wanted for line in text.splitlines() if line and not line.startswith(("#", "shardkit["))]
    required = {found.name.lower(): found.specifier for found in map(Requirement, lines)}
    assert required.keys() == pinned().keys()
    assert [name for name, versions in required.items() if Version(pinned()[name]) not in versions] == []


def test_the_image_is_of_the_beam_that_is_pinned_and_installs_the_extras():
    text = (IMAGE / "Dockerfile").read_text(encoding="utf-8")
    assert f"ARG BEAM={pinned()['apache-beam']}\n" in text
    assert re.search(r"\$\{wheel\}\[(.*)\]", text)[1] == ",".join(EXTRAS)
    assert [path for path in re.findall(r"^COPY (\S+)", text, re.MULTILINE) if path.startswith("pipelines/")] == [
        "pipelines/image/constraints.txt"
    ]
