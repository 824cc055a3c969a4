"""The cause of an engine's error, in texts as Beam and Flink give them."""

import pytest

from shardkit.doctor.failure import cause_line

JAVA = """java.util.concurrent.ExecutionException: org.apache.flink.runtime.client.JobExecutionException: Job failed.
\tat java.base/java.util.concurrent.CompletableFuture.reportGet(CompletableFuture.java:396)
\tat org.apache.beam.runners.flink.FlinkPipelineRunner.run(FlinkPipelineRunner.java:123)
Caused by: org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy
\tat org.apache.flink.runtime.executiongraph.failover.ExecutionFailureHandler.getResult(Handler.java:176)
\t... 4 more
Caused by: java.io.IOException: Connection refused: localhost/127.0.0.1:50000
\tat java.base/sun.nio.ch.Net.pollConnect(Native Method)
\t... 12 more
"""
PYTHON_IN_JAVA = """java.lang.RuntimeException: Error received from SDK harness for instruction 4: \
Traceback (most recent call last):
  File "apache_beam/runners/worker/sdk_worker.py", line 310, in _execute
    response = task()
ModuleNotFoundError: No module named 'shardkit'

\tat org.apache.beam.runners.fnexecution.control.FnApiControlClient$ResponseStreamObserver.onNext(Fn.java)
\tat org.apache.beam.vendor.grpc.v1p69p0.io.grpc.stub.ServerCalls$1.onMessage(ServerCalls.java:262)
"""
CHAINED = """Traceback (most recent call last):
  File "a.py", line 1, in f
ValueError: the first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 2, in g
RuntimeError: the last [while running 'WriteShards/WriteShard']

"""
GRPC = """<_InactiveRpcError of RPC that terminated with:
\tstatus = StatusCode.UNAVAILABLE
\tdetails = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Connection refused"
\tdebug_error_string = "UNKNOWN:Error received from peer {grpc_status:14}"
>"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (GRPC, "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Connection refused"),
        (JAVA, "java.io.IOException: Connection refused: localhost/127.0.0.1:50000"),
        (PYTHON_IN_JAVA, "ModuleNotFoundError: No module named 'shardkit'"),
        (CHAINED, "the last"),
        # One error without a cause: not its last frame.
        (
            "java.lang.AbstractMethodError: 'void f()'\n\tat org.x.Y.z(Y.java:1)\n",
            "java.lang.AbstractMethodError: 'void f()'",
        ),
        ("RuntimeError: a sentence", "a sentence"),
        ("a sentence", "a sentence"),
        # From Flink 1.19.3, as Beam passes it on.
        (
            (
                "Pipeline BeamApp-root-1122125144-f48cf365_904c6879-bd5f-4303-8edf-b5962a0 failed in state FAILED: "
                "java.lang.IllegalStateException: Process died with exit code 1"
            ),
            "java.lang.IllegalStateException: Process died with exit code 1",
        ),
        ("\tat org.x.Y.z(Y.java:1)\n", ""),
        ("", ""),
    ],
)
def test_the_cause_is_shown_and_not_the_last_line(text, cause):
    assert cause_line(text) == cause


def test_a_cause_is_cut_to_a_length_that_a_terminal_shows():
    assert cause_line("x" * 9999).endswith("…")
    assert len(cause_line("x" * 9999)) <= 500
