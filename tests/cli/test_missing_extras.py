"""With the base install, commands that need an extra name it in one line; the others work."""

import json
import subprocess
import sys

import pytest

from .calling import SAMPLE_DATA, TIMEOUT_SECONDS, environment, without_progress

# The packages that `pip install .` installs without extras are allowed; those of the extras are hidden.
WITHOUT_EXTRAS = """
import sys

class Hidden:
    names = {"apache_beam", "PIL", "defusedxml", "yaml", "tensorflow", "keras", "jinja2", "matplotlib"}
    names |= {"simplejpeg", "starlette"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
CALL_ALL = """
import json
from click.testing import CliRunner
from shardkit.cli import main
results = [CliRunner().invoke(main, arguments) for arguments in {calls!r}]
print(json.dumps([(result.exit_code, result.stdout, result.stderr) for result in results]))
"""


def run_without_extras(program):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS + program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shardkit(*calls):
    """Exit code, standard output and standard error of each call, all from one process."""
    program = CALL_ALL.format(calls=[[str(argument) for argument in call] for call in calls])
    return json.loads(run_without_extras(program))


def test_what_needs_no_extra_works_without(dataset):
    shown = {
        ("info", dataset): "'ant'",
        ("info", dataset, "--json"): '"classes"',
        ("info", dataset, "--rejected"): "",
        ("plan", dataset, "--explain"): "3 shards, as requested.",
        ("plan", dataset, "--json"): '"plan_digest"',
        ("verify", dataset, "--leaks", "--quiet"): "",
        **{(command, "--help"): "Usage: " for command in ("convert", "plan", "info", "verify")},
    }
    for (call, wanted), (code, stdout, stderr) in zip(shown.items(), shardkit(*shown), strict=True):
        assert (code, without_progress(stderr)) == (0, []), call
        assert wanted in stdout, call


def test_what_needs_an_extra_names_it_with_its_command_in_one_line(dataset, tmp_path):
    package = {
        ("convert", SAMPLE_DATA / "shapes", tmp_path / "out"): "PIL, defusedxml, simplejpeg, yaml",
        ("plan", SAMPLE_DATA / "voc"): "PIL, defusedxml, simplejpeg, yaml",
        ("verify", dataset, "--deep"): "PIL",
        ("preview", dataset, "-o", tmp_path / "sheet.png"): "PIL",
        ("verify", dataset, "--runner=FlinkRunner"): "apache_beam",
        ("report", dataset, "-o", tmp_path / "page.html"): "jinja2",
        ("view", dataset): "starlette",
    }
    for (call, wanted), (code, stdout, stderr) in zip(package.items(), shardkit(*package), strict=True):
        assert (code, stdout) == (2, ""), call
        assert stderr.startswith("Error: "), call
        assert stderr.count("\n") == 1, call
        on_beam = any("--runner" in str(word) for word in call)
        extra = f"[{call[0]}]" if call[0] in {"report", "view"} else "[beam]" if on_beam else "[convert]"
        assert all(word in stderr for word in (wanted, "pip install ", extra)), call
    assert list(tmp_path.iterdir()) == []


READ = """
Hidden.names -= {{"tensorflow", "keras"}}
from shardkit import reader

train_fn = reader.make_dataset_fn({dataset!r}, "train", global_batch_size=4, image_size=(8, 8))
print(train_fn.read_batch(0)[0].shape)
try:
    reader.preview(train_fn)
except ImportError as error:
    print(error)
"""


def test_a_dataset_is_read_with_the_extra_tensorflow_alone(dataset):
    *_, shape, error = run_without_extras(READ.format(dataset=str(dataset))).splitlines()
    assert shape == "(4, 8, 8, 3)"
    assert error.startswith("preview needs PIL, which is not installed: pip install ")


IN_PYTHON = """
import shardkit

def read():
    from shardkit import reader

for function in (read, lambda: shardkit.convert("photos", "OUT"), lambda: shardkit.plan("photos")):
    try:
        function()
    except ImportError as error:
        print(error)
"""


def test_in_python_a_missing_extra_is_an_import_error_with_its_command():
    reading, *converting = run_without_extras(IN_PYTHON).splitlines()
    assert "shardkit.reader needs tensorflow, which is not installed: pip install " in reading
    assert "[tensorflow]" in reading
    assert len(converting) == 2
    assert all("pip install " in line and "[convert]" in line for line in converting)


@pytest.mark.parametrize(
    ("record", "where", "wanted"),
    [
        (None, ".", "pip install 'shardkit[convert]'"),  # from an index
        ({"url": "https://example.org/shardkit.whl"}, ".", "pip install 'shardkit[convert]'"),
        ({"url": "file://{}"}, "..", "pip install '{}[convert]'"),
        ({"url": "file://{}", "dir_info": {"editable": True}}, ".", "pip install '.[convert]'"),
        ({"url": "file://{}/removed"}, ".", "pip install 'shardkit[convert]'"),
    ],
)
def test_the_command_installs_from_where_shardkit_came(record, where, wanted, tmp_path, monkeypatch):
    from shardkit import extras

    checkout = tmp_path / "a checkout"
    checkout.mkdir()
    (checkout / "setup.cfg").touch()
    monkeypatch.chdir(checkout / where)
    url = None if record is None else record["url"].format(str(checkout).replace(" ", "%20"))
    text = None if record is None else json.dumps(record | {"url": url})

    class Distribution:
        def read_text(self, name):
            assert name == "direct_url.json"
            return text

    monkeypatch.setattr(extras.importlib.metadata, "distribution", lambda _: Distribution())
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "site-packages" / "shardkit" / "extras.py"))
    assert extras.install_command("convert") == wanted.format(checkout)
