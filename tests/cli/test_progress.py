"""Progress of a phase: what is measured, and its lines for a terminal, a pipe and a scheduler."""

import json
import logging
from datetime import datetime, timezone

import pytest

from shardkit.cli.progress import displays
from shardkit.cli.progress.measure import WINDOW_SECONDS, Progress, Status, duration, live_line, plain_line
from shardkit.testing import write_class_folders

from .calling import run_forked

HUGE = Status("extracting", 9000.0, 11_234_567, 12_345_678, False, 1234.5, 12_345)


def lines(progress, reports):
    """The plain line after each (seconds, done, total, rejected)."""
    found = []
    for seconds, *report in reports:
        progress.update(*report, seconds)
        found.append(plain_line(progress.status(seconds)))
    return found


def test_rate_and_time_left_begin_with_the_first_image_and_not_with_the_engine_or_the_listing():
    assert lines(
        Progress("checking", None, 0.0),
        [
            (31, 0, 0, 0),
            (62, 0, 5_000, 0),  # listing
            (70, 100, 8_000, 0),
            (72, 300, 8_000, 1),  # too short to be a rate
            (100, 1_300, None, 2),
            (131, 4_370, 8_000, None),
        ],
    ) == [
        "checking: listing the images",
        "checking: 5,000 images found so far",
        "checking: 100 of 8,000 images",
        "checking: 300 of 8,000 images, 1 rejected",
        "checking: 1,300 of 8,000 images, 40 images/s, 3 min left, 2 rejected",
        "checking: 4,370 of 8,000 images, 70 images/s, 52 s left, 2 rejected",
    ]


def test_what_an_earlier_run_finished_is_no_part_of_the_rate():
    reports = [(60, 600, None, None), (90, 600, None, None), (100, 700, None, None)]
    assert lines(Progress("writing", 1000, 0.0), reports)[-1] == "writing: 700 of 1,000 images, 10 images/s, 30 s left"


def test_the_rate_follows_a_change_within_the_window():
    progress = Progress("writing", 10**6, 0.0)
    for second in range(1, 2 * WINDOW_SECONDS):
        progress.update(1000 * min(second, WINDOW_SECONDS) + 10 * max(0, second - WINDOW_SECONDS), None, None, second)
    assert progress.status(second).rate == pytest.approx((1000 + 299 * 10) / 300, rel=0.3)


def test_a_phase_that_stands_still_has_no_time_left():
    progress = Progress("writing", 100, 0.0)
    for second in range(2 * WINDOW_SECONDS):
        progress.update(50, None, None, second)
    assert plain_line(progress.status(second)) == "writing: 50 of 100 images"


def test_more_than_all_is_not_shown():
    [line] = lines(Progress("checking", None, 0.0), [(1, 300, 250, 0)])
    assert line == "checking: 250 of 250 images"


def test_a_phase_that_reports_nothing_shows_its_time():
    progress = Progress("planning", None, 0.0)
    assert [plain_line(progress.status(seconds)) for seconds in (0, 30)] == ["planning", "planning: 30 s"]
    assert live_line(progress.status(0), 79) == "planning"


@pytest.mark.parametrize("columns", [20, 39, 59, 79, 99, 119, 200])
def test_the_line_of_a_terminal_never_wraps(columns):
    assert len(live_line(HUGE, columns)) <= columns


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            200,
            f"extracting {'━' * 18}── 11,234,567 of 12,345,678 images  1,234 images/s, 15 min left, 12,345 rejected",
        ),
        (99, "extracting ━━━━━━━━━─ 11,234,567 of 12,345,678 images  1,234 images/s, 15 min left, 12,345 rejected"),
        (89, "extracting 11,234,567 of 12,345,678 images  1,234 images/s, 15 min left, 12,345 rejected"),
        (79, "extracting 11,234,567 of 12,345,678 images  15 min left, 12,345 rejected"),
        (30, "extracting 11,234,567 of 12,34"),
    ],
)
def test_the_bar_then_the_rate_are_left_out(columns, line):
    assert live_line(HUGE, columns) == line


def test_the_bar_is_ascii_where_the_terminal_is():
    status = Status("writing", 1.0, 50, 100, False, None, 1, "shards", "problems")
    assert live_line(status, 79, is_ascii=True) == "writing    ##########---------- 50 of 100 shards  1 problem"


def test_the_time_left_is_said_in_words():
    found = [duration(seconds) for seconds in (0.2, 40, 119, 720, 12_000)]
    assert found == ["0 s", "40 s", "119 s", "12 min", "3 h 20 min"]


def test_a_line_for_schedulers_has_the_numbers_and_the_message():
    status = Status("writing", 10.0, 50, 100, False, 5.0, 3)
    time = datetime(2026, 5, 4, 3, 2, 1, 999_999, timezone.utc)
    assert json.loads(displays.json_line("info", plain_line(status), status, time)) == {
        "time": "2026-05-04T03:02:01.999Z",
        "level": "info",
        "phase": "writing",
        "done": 50,
        "total": 100,
        "rate": 5.0,
        "seconds_left": 10.0,
        "rejected": 3,
        "message": "writing: 50 of 100 images, 5.0 images/s, 10 s left, 3 rejected",
    }


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["convert", "a", "b", "--log-format", "json"], "json"),
        (["convert", "a", "b", "--log-format=json", "--bogus"], "json"),
        (["convert", "--log-format=json", "--log-format", "text"], "text"),
        (["convert", "a", "b", "--", "--log-format=json"], "text"),  # Beam's
        (["convert", "a", "b", "--log-format"], "text"),
        ([], "text"),
    ],
)
def test_the_format_is_known_before_the_options_are_checked(arguments, found):
    assert displays.log_format_of(arguments) == found


def test_log_records_of_other_packages_are_lines_too(capsys):
    displays._Records().emit(logging.LogRecord("beam", logging.WARNING, "x.py", 1, "line\n%s", ("é",), None))
    found = json.loads(capsys.readouterr().err)
    assert (found["level"], found["message"]) == ("warning", "line\né")


def test_with_json_every_line_is_an_object_and_exit_code_and_standard_output_stay_the_same(tmp_path):
    source = write_class_folders(tmp_path / "source", {"ant": 6, "bee": 6})
    (source / "ant" / "bad.png").write_bytes(b"no image")
    done = run_forked("convert", source, tmp_path / "out", "--log-format", "json", "--max-rejected", "1")
    said = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.returncode, {line["level"] for line in said}) == (0, {"info"})
    last = {line["phase"]: (line["done"], line["total"], line["rejected"]) for line in said}
    assert list(last) == ["recognising", None, "checking", "planning", "writing", "publishing"]
    assert (last["checking"], last["writing"]) == ((13, 13, 1), (12, 12, 1))
    assert "\nrejected: 1" in done.stdout
    refused = run_forked("convert", source, tmp_path / "out", "--log-format=json", "--seed", "9")
    [*_, error] = map(json.loads, refused.stderr.splitlines())
    assert (refused.returncode, refused.stdout, error["level"]) == (1, "", "error")
    assert "--overwrite" in error["message"]
