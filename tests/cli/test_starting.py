"""What happens before a command runs: Ctrl-C while modules load, and the encoding of file names."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from shardkit.testing import digests_of, write_class_folders

from .calling import SAMPLE_DATA, TIMEOUT_SECONDS, call, environment, run

# A library that, like some, answers Ctrl-C in its import with another error.
INTERRUPTED_MODULE = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    raise ImportError("no import under KeyboardInterrupt")
"""
# No locale of a fresh machine has ISO-8859-1; ASCII takes the same way.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def own_ctrl_c():
    """The processes started here answer Ctrl-C; in the background of a shell they would inherit that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# The first is loaded before the command line is read, the last in the middle of the command.
@pytest.mark.parametrize("module", ["click", "pydantic", "pyarrow"])
@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.usefixtures("own_ctrl_c")
def test_ctrl_c_while_a_module_is_loaded_ends_with_130_and_no_traceback(tmp_path, module, log_format):
    (tmp_path / f"{module}.py").write_text(INTERRUPTED_MODULE)
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env["PYTHONPATH"]])
    ended = run("plan", SAMPLE_DATA / "shapes", "--log-format", log_format, env=env)
    assert ended.returncode == 130, ended.stderr
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    [said] = ended.stderr.splitlines()
    assert (json.loads(said)["message"] if log_format == "json" else said).startswith("Interrupted. ")


@pytest.mark.parametrize("seconds", [0.002, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
@pytest.mark.usefixtures("own_ctrl_c")
def test_ctrl_c_soon_after_the_start_ends_with_130_and_no_traceback(seconds):
    """As the installed script starts; before its first module is loaded, Python itself answers."""
    script = "from shardkit.__main__ import main; main()"
    command = [sys.executable, "-X", "importtime", "-c", script, "plan", SAMPLE_DATA / "shapes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True) as run:
        for line in run.stderr:
            if line.rstrip().endswith(" shardkit.__main__"):
                break
        time.sleep(seconds)
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
    assert run.returncode == 130, said
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("Interrupted. ")


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Calls of commands, with the folder that each writes."""
    folder = tmp_path_factory.mktemp("calls")
    shapes, first, second, more = SAMPLE_DATA / "shapes", folder / "first", folder / "second", folder / "more"
    assert call("convert", shapes, first).exit_code == 0
    assert call("convert", shapes, second, "--seed", "1").exit_code == 0
    write_class_folders(more / "new", {"circle": 8}, width=64, height=64)
    return {
        "convert": (["convert", shapes, "WRITTEN"], None),
        "plan": (["plan", shapes], None),
        "verify": (["verify", first, "--deep"], None),
        "diff": (["diff", first, second], None),
        "append": (["append", "WRITTEN", more], first),
    }


MOMENTS = 40


@pytest.mark.parametrize(
    ("name", "moments"),
    [
        ("plan", [0.97]),
        ("verify", [0.5]),
        *(
            pytest.param(name, [i / MOMENTS for i in range(int(1.1 * MOMENTS))], marks=pytest.mark.slow)
            for name in ("convert", "plan", "verify", "diff", "append")
        ),
    ],
)
@pytest.mark.usefixtures("own_ctrl_c")
def test_ctrl_c_at_any_moment_says_so_or_the_result_is_complete(name, moments, calls, tmp_path):
    """Moments are shares of the time that the command takes, from when its first module is loaded."""
    words, copied = calls[name]

    def ended(seconds):
        """Exit code, standard output and errors of the command, interrupted after so many seconds; None for never."""
        written = tmp_path / f"written-{seconds}"
        if copied:
            shutil.copytree(copied, written)
        script = "from shardkit.__main__ import main; main()"
        command = [
            sys.executable,
            "-X",
            "importtime",
            "-c",
            script,
            *[written if one == "WRITTEN" else one for one in words],
        ]
        with open(tmp_path / "stderr", "w+") as stderr:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=environment(), text=True)
            while " shardkit.__main__\n" not in (tmp_path / "stderr").read_text():
                time.sleep(0.001)
            if seconds is not None:
                time.sleep(0.005 + seconds)
                process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        lines = (tmp_path / "stderr").read_text().splitlines()
        return process.returncode, out, [line for line in lines if not line.startswith("import time:")]

    begin = time.monotonic()
    code, out, _ = ended(None)
    whole = time.monotonic() - begin
    for moment in moments:
        found, said, errors = ended(moment * whole)
        if found == 130:
            assert errors[-1].startswith("Interrupted. "), (moment, errors)
        else:
            assert found == code, (moment, errors)
            assert len(said.splitlines()) == len(out.splitlines())
        assert not any("Traceback" in line for line in errors), (moment, errors)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Two classes whose names are not ASCII, below a folder with such a name; the name of one file is not UTF-8."""
    folder = tmp_path_factory.mktemp("Büro") / "Ünïcode"
    for name in ("circle", "square"):
        images = sorted((SAMPLE_DATA / "shapes" / name).iterdir())[:4]
        (folder / f"{name}é").mkdir(parents=True)
        for image in images:
            shutil.copy(image, folder / f"{name}é" / f"ö{image.name}")
    odd = os.fsencode(folder / "circleé") + b"/\xff.jpg"
    shutil.copy(images[0], odd)
    return folder


def test_names_are_utf8_whatever_the_locale_of_the_command(source):
    expected = call("plan", source, "--json", "--max-rejected", "1")
    ended = run("plan", source, "--json", "--max-rejected", "1", env=environment(**ASCII))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == json.loads(expected.stdout)
    assert ended.stderr.replace("\\u2026", "…") == expected.stderr


def test_names_are_utf8_whatever_the_locale_of_a_program(source, tmp_path):
    program = "import sys, shardkit; shardkit.convert(*sys.argv[1:], max_rejected=1, workers=1)"
    subprocess.run(
        [sys.executable, "-c", program, source, tmp_path / "ascii"], check=True, env=environment(**ASCII), timeout=120
    )
    call("convert", source, tmp_path / "utf8", "--max-rejected", "1")
    assert digests_of(tmp_path / "ascii") == digests_of(tmp_path / "utf8")
    rejected = call("info", tmp_path / "ascii", "--json").stdout
    assert json.loads(rejected)["rejected"]["by_reason"] == {"bad_name": 1}
