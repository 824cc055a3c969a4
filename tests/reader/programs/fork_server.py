"""Run Python programs in processes forked from this one, which has imported what takes seconds.

fork_server.py LISTENER MODULE…

Imports of TensorFlow are too much for each of the programs that the tests start, and for each process of tests.
LISTENER is the descriptor of a stream socket that listens. A request on one of its connections is the length of its
JSON and four descriptors, then the JSON: argv, environment, working directory. The descriptors are standard input,
output and error, and a socket that gets the process's id and then its exit code. This process ends with the last
connection.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import socket
import sys

import numpy as np

HEAD_BYTES = 8


def receive(control):
    """Return a request and its descriptors; None if the connection has ended."""
    head, descriptors, _, _ = socket.recv_fds(control, HEAD_BYTES, 4)
    data = b""
    while head and len(data) < int.from_bytes(head, "big"):
        data += control.recv(int.from_bytes(head, "big") - len(data))
    if not data:
        return None, ()
    return json.loads(data), descriptors


def become_program(request, descriptors):
    """Make this process look like `python argv[0] …` in its folder and environment."""
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.argv = request["argv"]
    sys.path[0] = os.path.dirname(sys.argv[0])
    # Those of this process know whether its outputs were terminals or files.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - until the process ends, as below
    sys.stdout = open(1, "w", buffering=1 if os.isatty(1) else -1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    np.random.seed()  # programs must not share the state of this process's generator


def wait_for_request(listener):
    """Return in a new process for each program; this process itself stays here until all connections have ended."""
    controls = [listener.accept()[0]]
    while controls:
        ready, _, _ = select.select([listener, *controls], [], [])
        if listener in ready:
            controls.append(listener.accept()[0])
            continue
        request, received = receive(ready[0])
        if request is None:
            controls.remove(ready[0])
            continue
        *descriptors, status = received
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # leave no zombies
                pass
        if os.fork() == 0:
            break
        for descriptor in (*descriptors, status):
            os.close(descriptor)
    else:
        os.unlink(listener.getsockname())
        sys.exit()
    for one in (listener, *controls):
        one.close()
    process = os.fork()
    if process == 0:
        os.close(status)
        become_program(request, descriptors)
        return
    # Only the program itself may keep the pipes open.
    for descriptor in descriptors:
        os.close(descriptor)
    os.write(status, process.to_bytes(HEAD_BYTES, "big"))
    _, ended = os.waitpid(process, 0)
    os.write(status, os.waitstatus_to_exitcode(ended).to_bytes(HEAD_BYTES, "big", signed=True))
    os._exit(0)


if __name__ == "__main__":
    for module in sys.argv[2:]:
        importlib.import_module(module)
    if "tensorflow" in sys.modules:
        # TensorFlow optimises each graph before its first step: a third of the time of these programs, of a few steps.
        sys.modules["tensorflow"].config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    gc.freeze()  # no garbage collection of a program goes through the imports
    wait_for_request(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_path(sys.argv[0], run_name="__main__")
