"""Run Python programs in processes forked from this one, which has imported what takes seconds.

fork_server.py CONTROL MODULE…

Imports of TensorFlow are too much for each of the programs that the tests start. CONTROL is the descriptor of a stream
socket. A request is the length of its JSON and four descriptors, then the JSON: argv, environment, working directory.
The descriptors are standard input, output and error, and a socket that gets the process's id and then its exit code.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import socket
import sys

import numpy as np

HEAD_BYTES = 8


def receive(control):
    """Return the next request and its descriptors; exit when the tests have ended."""
    head, descriptors, _, _ = socket.recv_fds(control, HEAD_BYTES, 4)
    data = b""
    while head and len(data) < int.from_bytes(head, "big"):
        data += control.recv(int.from_bytes(head, "big") - len(data))
    if not data:
        sys.exit()
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
    np.random.seed()  # programs must not share the state of this process's generator


def wait_for_request(control):
    """Return in a new process for each program; this process itself stays here."""
    while True:
        request, (*descriptors, status) = receive(control)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # leave no zombies
                pass
        if os.fork() == 0:
            break
        for descriptor in (*descriptors, status):
            os.close(descriptor)
    control.close()
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
    gc.freeze()  # no garbage collection of a program goes through the imports
    wait_for_request(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_path(sys.argv[0], run_name="__main__")
