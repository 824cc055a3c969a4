import pytest

from shardkit.conversion.writing.reject_limit import RejectLimit
from shardkit.errors import CallError


@pytest.mark.parametrize(
    ("text", "num_rejected", "num_files", "allowed"),
    [
        ("5%", 0, 0, True),
        ("5%", 5, 100, True),
        ("5%", 6, 100, False),
        ("5%", 1, 19, False),  # of few images, one is more than the share
        ("5%", 1, 20, True),
        ("0.1%", 1, 1000, True),  # exact: 0.1 is no binary fraction
        ("0.1%", 1, 999, False),
        ("29%", 29, 100, True),  # of floating-point numbers, 0.29 * 100 is less than 29
        ("0%", 0, 10, True),
        ("0%", 1, 10, False),
        ("100%", 10, 10, True),
        ("0", 0, 10, True),
        ("0", 1, 10, False),
        ("100", 100, 100, True),
        ("100", 101, 10**6, False),
        (" 7 ", 7, 10, True),
        ("7 %", 7, 100, True),
    ],
)
def test_a_limit_is_a_count_or_a_share(text, num_rejected, num_files, allowed):
    assert RejectLimit.parse(text).allows(num_rejected, num_files) is allowed


@pytest.mark.parametrize(
    "text", ["", "%", "abc", "-1", "-1%", "1.5", "101%", "5%%", "nan", "inf", "1/0", "0x10", "5 per cent"]
)
def test_anything_else_is_refused_by_name(text):
    with pytest.raises(CallError, match="max_rejected is a count such as 100") as raised:
        RejectLimit.parse(text)
    assert repr(text) in str(raised.value)


def test_the_text_is_kept_for_messages():
    assert RejectLimit.parse(" 5% ").text == "5%"
