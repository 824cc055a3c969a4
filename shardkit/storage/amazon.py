"""Where pyarrow's file system for S3 needs help: timeouts, retries, and errors that say what to do."""

import re
from dataclasses import dataclass
from typing import Any

# An answer that takes longer than this without a byte is asked for again. The client's own limit of 3 s is too short
# for stores that copy a large object before they answer, and for long listings.
ANSWER_SECONDS = 20.0
CONNECT_SECONDS = 10.0
# With pauses of up to 1, 2, 4 and 8 s between them: by itself pyarrow asks 30 times in 6 s, which does not wait long
# enough for a store that says SlowDown.
MAX_ATTEMPTS = 5


def with_time_limits(filesystem: Any) -> Any:
    """Return the same S3FileSystem with the timeouts and retries above, which no URL can set."""
    from pyarrow import fs

    _, (options,) = filesystem.__reduce__()  # the options that pyarrow parsed from the URL and the environment
    limits = {"request_timeout": ANSWER_SECONDS, "connect_timeout": CONNECT_SECONDS}
    return fs.S3FileSystem(**{**options, **limits, "retry_strategy": fs.AwsStandardS3RetryStrategy(MAX_ATTEMPTS)})


@dataclass(frozen=True, slots=True)
class Fault:
    """What a class of S3's errors means.

    Attributes:
        pattern: Regular expression of the errors; searched in pyarrow's message.
        said: What it means, in a few words.
        remedy: What the user can do.
        is_transient: Whether the same request may succeed later.
        is_of_object: Whether other objects of the same store can be read.
    """

    pattern: str
    said: str
    remedy: str
    is_transient: bool = False
    is_of_object: bool = False


# In this order: a missing body makes some errors known by their HTTP status only.
FAULTS = (
    Fault(
        r"ExpiredToken|TokenRefreshRequired|InvalidToken|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH"
        r"|INVALID_CLIENT_TOKEN_ID|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION_TOKEN|NOT_INITIALIZED"
        # Without a body, which has the code.
        r"|\(HTTP status 400\) during \w+ operation: (?:No response body\.?)?$",
        "the credentials have expired or are not valid",
        "renew them (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile)",
    ),
    Fault(
        r"ACCESS_DENIED|\(HTTP status 403\)",
        "access denied",
        "allow it to the credentials in use ({permission})",
    ),
    Fault(
        r"REQUEST_TIME_TOO_SKEWED|REQUEST_EXPIRED",
        "the clock of this host differs from the store's",
        "set the clock",
    ),
    Fault(
        r"PermanentRedirect|\(HTTP status 301\)|AuthorizationHeaderMalformed",
        "the bucket is in another region",
        "name it with AWS_DEFAULT_REGION, or with ?region= at the end of the URL",
    ),
    Fault(r"NO_SUCH_BUCKET|NoSuchBucket", "there is no such bucket", "create it, or correct the URL"),
    Fault(
        r"INVALID_OBJECT_STATE|InvalidObjectState",
        "the object is archived",
        "restore it, or leave it out with `ignore`",
        is_of_object=True,
    ),
    Fault(
        # pyarrow's own failure: the error's text is longer than the bytes that were asked for.
        r"SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE(?!.*Failed to flush)|INTERNAL_ERROR|THROTTLING|REQUEST_TIMEOUT"
        r"|\(HTTP status 5\d\d\)",
        "the store is overloaded or out of order",
        "try later, or with fewer workers",
        is_transient=True,
    ),
    Fault(
        "NETWORK_CONNECTION",
        "the store does not answer",
        "check the network and AWS_ENDPOINT_URL",
        is_transient=True,
    ),
)
ANSWERS_EVERYTHING = (
    "the server answers for objects and buckets that do not exist, so it is no store, but a login page or a proxy; "
    "check AWS_ENDPOINT_URL and the network, then run the same command again"
)
CONTRADICTION = "Failed to flush response stream"  # pyarrow, if an answer is longer than it was said to be
UNKNOWN_FAULT = Fault("", "the store refuses", "check the URL, the credentials and the network", is_transient=True)

# `When listing objects under key 'x' in bucket 'y': AWS Error ACCESS_DENIED during ListObjectsV2 operation: Access …`
_AWS_ERROR = re.compile(
    r"AWS Error (?P<code>\w+)(?: \((?P<status>[^)]*)\))? during (?P<operation>\w+) operation: (?P<message>.*)",
    re.DOTALL,
)
_NOISE = re.compile(r"Unable to parse ExceptionName: \w+ Message: | \(Request ID: [^)]*\)|No response body\.?")
# What the policy of a user must allow, by the beginning of the operation's name.
_PERMISSIONS = {
    "List": "s3:ListBucket",
    "Head": "s3:GetObject, and s3:ListBucket to tell a missing object",
    "Get": "s3:GetObject",
    "Delete": "s3:DeleteObject",
    "Copy": "s3:GetObject and s3:PutObject",
}


@dataclass(frozen=True, slots=True)
class Explained:
    """One error of S3 in words.

    Attributes:
        fault: Its class.
        text: What it means, S3's own words and the remedy.
    """

    fault: Fault
    text: str


def may_hide_cause(said: str) -> bool:
    """Return whether a message of `explain` is about an answer to HEAD that says no more than "forbidden"."""
    return "access denied (HeadObject, ACCESS_DENIED)" in said


def explain(said: str) -> Explained | None:
    """Return what pyarrow said about an error of S3, in words; None if it is no error of S3."""
    found = _AWS_ERROR.search(said)
    if found is None:
        return None
    fault = next((one for one in FAULTS if re.search(one.pattern, said)), UNKNOWN_FAULT)
    operation = found["operation"]
    permission = next((words for start, words in _PERMISSIONS.items() if operation.startswith(start)), "s3:PutObject")
    message = _NOISE.sub("", found["message"]).strip().rstrip(".")
    code = (found["status"] or "") if found["code"] == "UNKNOWN" else found["code"]
    details = ", ".join(filter(None, (operation, code, message)))
    return Explained(fault, f"{fault.said} ({details}); {fault.remedy.format(permission=permission)}")
