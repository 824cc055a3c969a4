"""The errors that users meet, as Beam, gRPC, Flink and Spark write them, and the sentence for each."""

import pytest

from shardkit.doctor.failure import HINTS, failure_sentence, hint_for

TEXTS = {
    "flink-version": [
        (
            "java.lang.AbstractMethodError: Receiver class org.apache.beam.runners.flink.translation.Impulse does "
            " not define or inherit an implementation of the resolved method"
        ),
        "Caused by: java.lang.NoClassDefFoundError: org/apache/flink/api/common/eventtime/WatermarkStrategy",
    ],
    "docker": [
        (
            "Caused by: java.io.IOException: Received exit code 125 for command 'docker run -d --network=host "
            "apache/beam_python3.11_sdk:2.77.0 --id=1-1'. stderr: Unable to find image"
        ),
        (
            "subprocess.CalledProcessError: Command '['docker', 'run', '-d', '--network=host', 'shardkit:none', "
            "'--id=worker_5', '--logging_endpoint=localhost:34455', '--control_endpoint=localhost:42603', "
            "'--artifact_endpoint=localhost:42603', ']' returned non-zero exit status 125."
        ),
        'java.io.IOException: Cannot run program "docker": error=2, No such file or directory',
    ],
    "jar-404": [
        (
            "Unable to fetch remote job server jar at https://repo.maven.apache.org/maven2/org/apache/beam/"
            "beam-runners-flink-2.2-job-server/2.77.0/x.jar: HTTP Error 404: Not Found. "
            "If no Internet access at runtime, stage the jar at /root/.apache_beam/cache/jars/x.jar"
        ),
    ],
    "jar-network": [
        "Unable to fetch remote job server jar at http://x/y.jar: <urlopen error [Errno -2] Name or service not known>"
    ],
    "no-java": ["[Errno 2] No such file or directory: 'java'", "No such file or directory: '/opt/jdk/bin/java'"],
    "no-package": ["ModuleNotFoundError: No module named 'shardkit'", "No module named 'shardkit.beam'"],
    "boot": ["java.lang.IllegalStateException: Process died with exit code 1"],
    "versions": [
        (
            "java.util.concurrent.TimeoutException: Waited 3 minutes (plus 523416 nanoseconds delay) for "
            "com.google.common.util.concurrent.SettableFuture@3c2f[status=PENDING]"
        ),
    ],
    "slots": [
        (
            "org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException: Could not acquire the minimum "
            "required resources."
        ),
    ],
    "died": ["org.apache.beam.vendor.grpc.v1p69p0.io.grpc.StatusRuntimeException: CANCELLED: client cancelled"],
    "memory": ["Caused by: java.lang.OutOfMemoryError: Java heap space"],
    "refused": [
        # From Flink 1.19.3 without a worker pool.
        "java.net.ConnectException: java.net.ConnectException: finishConnect(..) failed: Connection refused",
        "java.net.ConnectException: Connection refused: localhost/127.0.0.1:50000",
        "io.grpc.StatusRuntimeException: UNAVAILABLE: io exception",
        'details = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:8098"',
    ],
    "unknown-host": ["java.net.UnknownHostException: flink-jobmanager: Name or service not known"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_an_error_that_users_meet_has_its_hint(name, text):
    [hint] = [hint for hint in HINTS if hint.name == name]
    assert hint_for(text) == hint.sentence


def test_every_hint_has_a_text():
    assert list(TEXTS) == [hint.name for hint in HINTS]


@pytest.mark.parametrize(
    "text",
    ["", "KeyError: 'label'", "photos/a.jpg: truncated", "no space left on device", "No module named 'my_own_package'"],
)
def test_other_errors_have_none(text):
    assert hint_for(text) == ""


def test_the_error_weighs_more_than_the_log():
    assert "worker died" in hint_for("CANCELLED: client cancelled", "AbstractMethodError")


def test_the_sentence_has_the_cause_what_it_means_and_the_file():
    said = failure_sentence(
        "Caused by: java.io.IOException: Connection refused: x:1\n\tat a.B.c(B.java:1)", "", "/var/x.log"
    )
    assert said.startswith(
        "the runner failed: java.io.IOException: Connection refused: x:1. Likely: nothing answers at"
    )
    assert said.endswith(". The engine's messages are in /var/x.log")


def test_an_error_without_words_is_told_from_the_log():
    assert failure_sentence("", "Caused by: a.b.SomeError: gone\n", None) == "the runner failed: a.b.SomeError: gone"
