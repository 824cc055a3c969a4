import io
import json
from dataclasses import replace
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

from shardkit import software
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.plan import make_plan
from shardkit.conversion.planning.plan_file import PlannedDataset, PlannedSplit, ShardTask, find_planned
from shardkit.conversion.writing.unfinished import find_unfinished
from shardkit.errors import MachineError, StaleRunError
from shardkit.naming import ShardName
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.run_token import Run
from shardkit.storage import open_folder
from shardkit.testing import inventory_table, write_plan, write_tree


def small_plan(**options):
    table = inventory_table(["cat", "dog"] * 20)
    splits = {"train": Fraction(3, 4), "test": Fraction(1, 4)}
    return make_plan(Inventory(table, "class folders", {}), ConvertOptions.of({"splits": splits, **options}))


def test_every_shard_has_its_name_and_its_row_group():
    plan = small_plan(shards={"train": 2, "test": 1}, split_by="stratified")
    assert plan_file.shard_tasks(plan) == [
        ShardTask(ShardName("train", 0, 2), 0, plan.digest),
        ShardTask(ShardName("train", 1, 2), 1, plan.digest),
        ShardTask(ShardName("test", 0, 1), 2, plan.digest),
    ]


def test_a_worker_reads_the_rows_of_its_shard_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(plan_file, "SHARDS_PER_FILE", 4)
    output, plan = open_folder(str(tmp_path)), small_plan(shards=3)
    plan_file.write_rows(output, plan)
    start = 0
    for task, count in zip(
        plan_file.shard_tasks(plan), [count for split in plan.splits for count in split.shard_counts], strict=True
    ):
        rows = plan_file.read_shard_rows(output, task)
        assert rows.to_pylist() == plan.rows(start, count).to_pylist()
        start += count
    assert start == plan.num_examples
    files = sorted((tmp_path / plan_file.FOLDER).iterdir())
    assert [pq.read_metadata(file).num_row_groups for file in files] == [4, 2]


def test_large_shards_are_started_first(tmp_path):
    splits = [PlannedSplit("small", 10, [1, 1]), PlannedSplit("large", 90, [9, 9])]
    plan = small_plan()
    output = open_folder(str(tmp_path))
    planned = replace(PlannedDataset.of(output, "", plan), splits=splits)
    small, large = plan_file.shard_tasks(planned)[:2], plan_file.shard_tasks(planned)[2:]
    assert planned.unfinished([]) == [*large, *small]
    assert planned.unfinished([large[0].name]) == [large[1], *small]


def test_all_but_the_rows_is_read_back_from_one_file(tmp_path):
    output, plan = open_folder(str(tmp_path)), small_plan(shards=2)
    assert find_planned(output) is None
    write_plan(output, plan)
    planned, written = find_planned(output), PlannedDataset.of(output, "run", plan)
    assert planned.description == json.loads(json.dumps(plan.description()))
    assert replace(planned, description=written.description) == written
    assert [*find_planned(output).shard_counts] == [task.name for task in plan_file.shard_tasks(plan)]


def test_the_plan_of_an_earlier_run_is_not_how_far_this_run_is(tmp_path):
    output = open_folder(str(tmp_path))
    write_plan(output, small_plan())
    steps = []
    for token in (None, "run", "another run"):  # the driver was stopped; the run that planned; one that resumes it
        if token is not None:
            Run(output, token).start()
        steps.append(find_unfinished(output).step)
    assert steps == ["writing", "writing", "checking"]


def test_a_damaged_plan_is_none(tmp_path):
    output = open_folder(str(tmp_path))
    write_plan(output, small_plan())
    whole = output.read(plan_file.PATH)
    without_footer = io.BytesIO()
    pq.write_table(small_plan().rejected, without_footer)
    for damaged in (b"", b"{", whole[:-9], whole[:40] + whole[80:], without_footer.getvalue()):
        write_tree(tmp_path, {plan_file.PATH: damaged})
        assert find_planned(output) is None


def test_a_worker_that_would_write_other_bytes_says_why_and_writes_nothing(tmp_path, monkeypatch):
    output = open_folder(str(tmp_path))
    plan = small_plan()
    task = plan_file.shard_tasks(plan)[0]
    plan_file.write_rows(output, plan)
    others = {**software.versions(), "pillow": "9.0"}
    monkeypatch.setattr(software, "versions", lambda: others)
    with pytest.raises(MachineError, match=r"pillow was \S+ and is 9\.0; install the same"):
        plan_file.read_shard_rows(output, task)


def test_a_worker_of_an_earlier_plan_stops(tmp_path):
    output = open_folder(str(tmp_path))
    write_plan(output, small_plan(seed=7))
    task = replace(plan_file.shard_tasks(small_plan(seed=7))[0], plan_digest="of another plan")
    for read in (plan_file.read_shard_rows, lambda *_: plan_file.planned_facts(output, task.plan_digest)):
        with pytest.raises(StaleRunError, match="this run's plan has of another plan; another run wrote it"):
            read(output, task)


def test_equal_plans_are_equal_files(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_plan(open_folder(str(tmp_path / name)), small_plan())
    for path in (plan_file.PATH, plan_file.rows_path(0)):
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
