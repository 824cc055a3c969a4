"""The jobs of the page of programs, as far as they run without a cluster: Slurm's commands are stand-ins."""

import os
import shlex
import subprocess

import pytest
import yaml

from shardkit.testing import write_class_folders

from ..cli.calling import call
from ..pages import CHECKOUT, marked_with
from .test_programs import SPLITS, free_port, printed, python_of  # noqa: F401 - a fixture

JOBS = {name: block.code for name, block in marked_with("job: ").items()}
# `srun` starts its command once on each machine; here on this one, at the same time.
STAND_INS = {
    "scontrol": "[ \"$*\" = 'show hostnames first,second' ] && printf 'localhost\\n' && sleep 0.1 && echo second",
    "srun": """for i in 0 1; do SLURM_PROCID=$i "$@" & jobs+=($!); done
for job in ${jobs[@]}; do wait $job || exit; done""",
    "torchrun": 'echo "torchrun $*"',
    "python": 'echo "python $* of $COORDINATOR $PROCESS_ID/$NUM_PROCESSES"',
}


@pytest.fixture
def submitted(tmp_path):
    """Run a job's script in a folder, as Slurm runs it on the first of two machines; what it printed."""

    def submit(script, **stand_ins):
        (tmp_path / "bin").mkdir()
        for name, text in {**STAND_INS, **stand_ins}.items():
            program = tmp_path / "bin" / name
            program.write_text(f"#!/bin/bash\n{text}\n")
            program.chmod(0o755)
        (tmp_path / "train.sbatch").write_text(script)
        slurm = {"JOB_NODELIST": "first,second", "JOB_NUM_NODES": "2", "JOB_ID": "17", "GPUS_ON_NODE": "1"}
        env = {**os.environ, **{f"SLURM_{name}": value for name, value in slurm.items()}, "PYTHONPATH": str(CHECKOUT)}
        env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
        done = subprocess.run(
            ["/bin/bash", "train.sbatch"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return submit


def test_slurm_starts_a_launcher_on_each_machine(submitted):
    options = "--rdzv-id 17 --rdzv-backend c10d --rdzv-endpoint localhost:29500"
    assert submitted(JOBS["slurm"]) == [f"torchrun --nnodes 2 --nproc-per-node 1 {options} train.py"] * 2


def test_slurm_starts_the_program_for_jax_on_each_machine(submitted):
    head, _, _ = JOBS["slurm"].partition("srun ")
    said = submitted(head + JOBS["slurm-jax"])
    assert sorted(said) == [f"python train.py of localhost:29500 {index}/2" for index in range(2)]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_machines_of_slurm_train_together(submitted, tmp_path, python_of):  # noqa: F811 - the fixture
    source = write_class_folders(tmp_path / "in", {"ant": 20, "bee": 20})
    assert call("convert", str(source), str(tmp_path / "OUT"), *SPLITS).exit_code == 0
    (tmp_path / "train.py").write_text(printed(tmp_path / "OUT", "torch", PROCESSES=1))
    script = JOBS["slurm"].replace("29500", str(free_port())).replace("train.py", "train.py --epochs 1")
    said = submitted(script, torchrun=f'exec {shlex.quote(python_of("torch"))} -m torch.distributed.run "$@"')
    assert [line.partition(":")[0] for line in said if line.startswith("epoch")] == ["epoch 1 of 1"]


def test_kubernetes_finds_the_first_pod_by_the_name_that_the_service_gives_it():
    service, job = yaml.safe_load_all(JOBS["kubernetes"])
    name, pod = job["metadata"]["name"], job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert service["spec"]["selector"] == {"job-name": name}
    options = dict(word.removeprefix("--").split("=") for word in container["args"][:-1])
    assert options["rdzv-endpoint"].partition(":")[0] == f"{name}-0.{service['metadata']['name']}"
    assert pod["subdomain"] == service["metadata"]["name"]
    assert int(options["nnodes"]) == job["spec"]["completions"] == job["spec"]["parallelism"]
    assert int(options["nproc-per-node"]) == container["resources"]["limits"]["nvidia.com/gpu"]
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    asked = [word.partition(" ")[0] for word in JOBS["slurm"].split("--")[1:]]
    assert set(options) <= set(asked)


def test_imagenet_is_trained_by_flags_of_the_program(tmp_path, monkeypatch):
    counts = {"train/ant": 2, "train/bee": 2, "val/ant": 2, "val/bee": 2}
    write_class_folders(tmp_path / "ILSVRC", counts, width=200, height=200)
    monkeypatch.chdir(tmp_path)
    convert, script, start = map(shlex.split, JOBS["imagenet"].splitlines())
    assert call(*convert[1:]).exit_code == 0
    assert start[0] == "torchrun"
    assert script[-2:] == [">", "train.py"]
    flags = start[start.index("train.py") + 1 :]
    assert {"--epochs", "--batch-size", "--weights"} == set(flags[::2])
    text = printed(tmp_path / "OUT", script[script.index("--for") + 1])
    assert all(f'"{flag}"' in text for flag in flags[::2])
    assert "resnet50(weights=" in text
    assert "PHOTOGRAPHS = True" in text
    assert "\nCROP_SCALE = (0.3, 1.0)  #" in text  # what the page says to change
