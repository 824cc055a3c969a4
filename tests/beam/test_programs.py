"""The programs in pipelines/ run as their page prints them, and as the launcher of a Flex template calls them."""

import json
import os
import runpy
import subprocess
import sys

import pytest

import shardkit
from shardkit.cli.convert import convert
from shardkit.testing import digests_of

from ..cli.calling import SAMPLE_DATA, call, environment
from ..pages import CHECKOUT, runnable

PROGRAM = CHECKOUT / "pipelines" / "convert.py"
PARAMETERS = json.loads((CHECKOUT / "pipelines" / "flex_template.json").read_text(encoding="utf-8"))["parameters"]


def test_the_programs_run_as_their_page_prints_them(tmp_path):
    for name in ("pipelines", "sample_data"):
        (tmp_path / name).symlink_to(CHECKOUT / name)
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    code = runnable("sh")["programs"].code
    variables = environment(PATH=path)
    done = subprocess.run(
        ["/bin/sh", "-e"], input=code, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    splits = "train=0.8,validation=0.2"
    assert call("convert", SAMPLE_DATA / "shapes", tmp_path / "threads", "--splits", splits).exit_code == 0
    assert digests_of(tmp_path / "CONVERTED") == digests_of(tmp_path / "threads")
    joined = shardkit.read_manifest(tmp_path / "JOINED")
    assert [one.num_examples for one in joined.splits.values()] == [192, 48]
    assert "PublishedDataset(path=" in done.stdout


def test_an_option_that_neither_shardkit_nor_beam_knows_is_refused(tmp_path):
    words = ["--source", str(SAMPLE_DATA / "shapes"), "--output", str(tmp_path / "out"), "--runner=FnApiRunner"]
    done = subprocess.run(
        [sys.executable, PROGRAM, *words, "--resise=32"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert (done.returncode, "no such option: --resise; did you mean --resize?" in done.stderr) == (2, True), (
        done.stderr
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "said"), [("--min_sid=9", "did you mean --min_side?"), ("--splits=most", "error: splits")]
)
def test_a_wrong_option_of_a_users_pipeline_is_a_sentence(option, said, monkeypatch, capsys, tmp_path):
    of_job = ["--images", str(SAMPLE_DATA), "--labels_csv", "labels.csv", "--output", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", ["write_dataset.py", *of_job, option])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(CHECKOUT / "pipelines" / "write_dataset.py"), run_name="__main__")
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_launcher_of_a_flex_template_gives_parameters_and_dataflows_options(monkeypatch):
    given = {"source": "gs://bucket/photos", "output": "gs://bucket/OUT", "overwrite": "true", "resize": "256"}
    of_dataflow = ["--runner=DataflowRunner", "--labels=team=vision", "--project=p"]
    monkeypatch.setattr("sys.argv", ["convert.py", *(f"--{name}={one}" for name, one in given.items()), *of_dataflow])
    monkeypatch.setattr("shardkit.__main__.main", lambda: None)
    runpy.run_path(str(PROGRAM), run_name="__main__")
    assert sys.argv[1:] == [
        *("convert", "gs://bucket/photos", "gs://bucket/OUT", "--resize=256", "--project=p", "--no-wait"),
        *("--overwrite", "--", "--runner=DataflowRunner", "--labels=team=vision"),
    ]


def test_the_parameters_of_the_flex_template_are_options_of_convert():
    flags = {flag for option in convert.params for flag in option.opts}
    names = [one["name"] for one in PARAMETERS if not one.get("isOptional")]
    assert names == ["source", "output"]
    assert {f"--{one['name']}" for one in PARAMETERS if one.get("isOptional")} <= flags
