"""What workers report, and what is found wrong with it."""

import dataclasses

import pytest

from shardkit.doctor.worker_report import (
    PROBES,
    LookJob,
    SourceView,
    WorkerReport,
    as_payload,
    look,
    merged,
    of_payload,
)
from shardkit.doctor.workers import check_workers, other_versions
from shardkit.naming import WORK_FOLDER
from shardkit.parallel.run_token import Run
from shardkit.sources.visibility import view_folder
from shardkit.storage import open_folder
from shardkit.testing import write_class_folders

VERSIONS = {"python": "3.11.7", "beam": "2.77.0", "pillow": "12.3.0", "numpy": "2.1.0"}
VIEW = SourceView(4, 10)
GOOD = WorkerReport("a", 1, VERSIONS, VIEW, probe="p")


def found(*reports, probes=("p",)):
    return [(check.status, check.found) for check in check_workers(reports, VERSIONS, VIEW, probes)]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"source": SourceView(0, 0)}, "host a: SOURCE: 0 entries, the driver sees 4"),
        ({"source": SourceView(4, 11)}, "host a: SOURCE: other names than the driver sees"),
        ({"source": SourceView(error="Permission denied")}, "host a: SOURCE: Permission denied"),
        ({"output_error": "Read-only file system", "probe": ""}, "host a: OUTPUT: Read-only file system"),
        ({"probe": "elsewhere"}, "host a: the driver does not see what it wrote into OUTPUT"),
        ({"versions": VERSIONS | {"pillow": "11.0.0"}}, "host a: pillow 11.0.0 (driver 12.3.0)"),
        ({"versions": VERSIONS | {"beam": "2.70.0"}}, "host a: beam 2.70.0 (driver 2.77.0)"),
    ],
)
def test_a_host_that_lacks_something_is_named(changed, sentence):
    assert found(GOOD, dataclasses.replace(GOOD, **changed)) == [("failed", sentence)]


def test_patch_versions_of_python_and_beam_may_differ_and_of_nothing_else():
    assert other_versions(VERSIONS, VERSIONS | {"python": "3.11.2", "beam": "2.77.1"}) == ""
    assert other_versions(VERSIONS, VERSIONS | {"numpy": "2.1.1"}) == "numpy 2.1.1 (driver 2.1.0)"
    assert other_versions(VERSIONS, VERSIONS | {"libheif": "1.2"}) == "libheif 1.2 (driver none)"


def test_the_same_fault_of_several_processes_of_a_host_is_told_once():
    bad = dataclasses.replace(GOOD, source=SourceView())
    assert len(found(bad, dataclasses.replace(bad, process=2), dataclasses.replace(bad, host="b"))) == 2


def test_good_workers_are_counted_and_none_at_all_is_a_fault():
    [(status, sentence)] = found(GOOD, dataclasses.replace(GOOD, process=2), dataclasses.replace(GOOD, host="b"))
    assert (status, sentence.partition(" see ")[0]) == ("ok", "3 processes on 2 hosts")
    assert found() == [("failed", "the job ended, and no worker reported")]


def test_reports_of_a_process_are_merged_and_travel_as_text():
    reports = [GOOD, dataclasses.replace(GOOD, host="b"), GOOD]
    assert [(report.host, report.num_elements) for report in merged(reports)] == [("a", 2), ("b", 1)]
    assert of_payload(as_payload(merged(reports))) == merged(reports)


@pytest.fixture
def job(tmp_path):
    """What a worker gets: a job, the folder that the driver has made, and the token in it."""
    source = write_class_folders(tmp_path / "source", {"ant": 1, "bee": 1})
    output = open_folder(str(tmp_path / "out"))
    output.create()
    return LookJob(str(source), SourceView.of(str(source))), output, Run(output).start()


def test_a_worker_looks_once_and_leaves_a_file_that_the_driver_sees(job):
    report, (wanted, output, _) = look(*job), job
    assert look(*job) is report
    assert (report.output_error, output.stat(report.probe).num_bytes) == ("", 1 << 20)
    assert report.source == SourceView.of(wanted.source_url) != SourceView.of(f"{wanted.source_url}/ant")
    assert {"python", "beam", "numpy", "shardkit", "pillow", "pyarrow", "jpeg_encoder"} <= report.versions.keys()


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_worker_that_sees_another_output_writes_nothing(is_replaced, job):
    output = job[1]
    output.remove_tree(WORK_FOLDER)
    if is_replaced:
        Run(output).start()
    report = look(*job)
    assert "the driver wrote there" in report.output_error
    assert output.stat(PROBES) is None


def test_what_is_not_there_is_an_error_and_not_an_empty_folder(tmp_path):
    assert SourceView.of(str(tmp_path / "none")).error == "there is no such file or folder"
    (tmp_path / "table.csv").write_text("a,b\n")
    assert SourceView.of(str(tmp_path / "table.csv")) == SourceView(4)
    assert SourceView.of("hdfs://host/path").error


def test_doctor_and_convert_see_a_folder_by_the_same_rule(tmp_path):
    """What systems leave behind on one host is no difference."""
    source = write_class_folders(tmp_path / "source", {"ant": 1, "bee": 1})
    seen = SourceView.of(str(source))
    assert (seen.num_entries, seen.names_sum) == view_folder(open_folder(str(source)))
    (source / ".DS_Store").touch()
    assert seen.difference(SourceView.of(str(source))) == ""
    (source / "ant").rename(source / "cat")
    assert seen.difference(SourceView.of(str(source))) == "other names than the driver sees"
