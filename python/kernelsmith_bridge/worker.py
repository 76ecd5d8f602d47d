"""The worker: one process that has PyTorch loaded, and a forked child for each request.

Requests are lines of JSON on standard input; answers go to the descriptor that KERNELSMITH_REPLY_FD names,
because tasks print to stdout. A request is {"id", "op", "path", "format", ...}; an answer is {"id", "ok": true, "result"}
or {"id", "ok": false, "error": {"kind", "message", "file", "line", "column", "output"}}. The child has
limits of time and memory, so whatever a task does ends in an answer.

ops: describe, export, evaluate, reduce, draw, versions, quit.
"""

import json
import os
import resource
import secrets
import select
import signal
import sys
import tempfile
import time
import warnings

# What is left of a task's own output in an error message.
OUTPUT_TAIL = 2000
# A busy machine extends a limit to at most so many times itself.
MOST_PATIENCE = 9
DEFAULT_SECONDS = 60.0
DEFAULT_GIB = 8.0
# Larger than this, parameters and inputs are made without data for an export.
REAL_EXPORT_BYTES = 1 << 28
FAKE_EXPORT_REASON = "the task's tensors are too large to be made here"


def child_main(request, report):
    """Runs in the fork. report(dict) sends a line to the worker."""
    from kernelsmith_bridge.errors import explain
    from kernelsmith_bridge.formats import open_task

    current = ["starting"]

    def stage(name):
        current[0] = name
        report({"stage": name})

    root = os.path.realpath(request["path"])
    root = root if os.path.isdir(root) else os.path.dirname(root)
    own = os.path.dirname(os.path.realpath(__file__))

    def is_task_file(name):
        if not os.path.isabs(name):  # "<string>": code that was made up at run time
            return False
        real = os.path.realpath(name)
        return real.startswith(root + os.sep) and not real.startswith(own + os.sep) and "site-packages" not in real

    gib = float(request.get("gib", DEFAULT_GIB))
    try:
        task = open_task(request, stage)
        result = perform(task, request, stage, is_task_file)
        from kernelsmith_bridge.formats import SUITE_FOLDER
        from kernelsmith_bridge.loading import task_sources

        result["sources"] = sorted({*task_sources(task.root()), *task_sources(SUITE_FOLDER)})
        report({"ok": True, "result": result})
    except BaseException as exception:
        error = explain(exception, current[0], is_task_file, gib)
        if not error.file:
            error.file = request["path"]
        if os.environ.get("KERNELSMITH_BRIDGE_DEBUG"):
            import traceback

            traceback.print_exception(exception)
        report({"ok": False, "error": error.as_json()})


def perform(task, request, stage, is_task_file):
    from kernelsmith_bridge.cpu_only import cpu_only

    op = request["op"]
    with cpu_only():
        if op == "describe":
            return task.describe() if hasattr(task, "describe") else describe_by_building(task)
        if op == "export":
            return export(task, request, stage, is_task_file)
        if op == "evaluate":
            from kernelsmith_bridge.evaluating import evaluate

            call = task.build()
            return evaluate(call, request, request["folder"], request["stem"], stage)
        if op == "reduce":
            from kernelsmith_bridge.reducing import reduce

            return reduce(request, stage)
        if op == "draw":
            from kernelsmith_bridge.drawing import draw

            return draw(request, stage)
    from kernelsmith_bridge.errors import invalid

    raise invalid(f"unknown request '{op}'")


def describe_by_building(task):
    module = task.load()
    return {"summary": (getattr(module, "__doc__", None) or "").strip()}


def build_for_export(task, request, stage, is_task_file):
    """Fake tensors first: they cost nothing and tell how large the real ones are. Real ones are needed
    for constants that the code computes from data, so they are used where they are small."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    call = None
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            call = task.build()
    except Exception:
        return task.build()
    size = sum(p.tensor.numel() * p.tensor.element_size() for p in call.placeholders)
    return task.build() if size <= REAL_EXPORT_BYTES else call


def export(task, request, stage, is_task_file):
    from kernelsmith_bridge.encode import Encoder
    from kernelsmith_bridge.tracing import trace_backward, trace_forward

    call = build_for_export(task, request, stage, is_task_file)
    stage("tracing the " + task.direction)
    trace = trace_forward if task.direction == "forward" else trace_backward
    traced = trace(call, is_task_file)
    stage("writing the graph")
    document = Encoder(call, traced, task.name, task.direction).encode(request["folder"], request["stem"])
    return {"nodes": len(document["nodes"])}


def limit_memory(gib):
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = used + int(gib * (1 << 30))
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_child(request, pipe, log, replies, token):
    """Never returns."""
    os.setsid()
    os.close(replies)  # a task must not be able to answer in the worker's name
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)

    def report(message):
        data = (json.dumps({**message, "token": token}) + "\n").encode()
        while data:
            data = data[os.write(pipe, data):]

    try:
        import torch

        limit_memory(float(request.get("gib", DEFAULT_GIB)))
        torch.set_num_threads(int(request.get("threads", 2)))
        child_main(request, report)
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(0)


def tail(log):
    size = os.lseek(log, 0, os.SEEK_END)
    os.lseek(log, max(0, size - OUTPUT_TAIL), os.SEEK_SET)
    return os.read(log, OUTPUT_TAIL).decode("utf-8", "replace")


def death(status, stage):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = {signal.SIGSEGV: "segmentation fault", signal.SIGKILL: "killed", signal.SIGABRT: "aborted"}.get(
            number, signal.Signals(number).name)
        return f"the task crashed while {stage}: {name} (signal {number})"
    return f"the task ended the process while {stage} (exit code {os.WEXITSTATUS(status)})"


def handle(request, replies):
    seconds = float(request.get("seconds", DEFAULT_SECONDS))
    reader, writer = os.pipe()
    # A task that writes to descriptors at random must not be taken for an answer.
    token = secrets.token_hex(8)
    with tempfile.TemporaryFile() as log_file:
        log = log_file.fileno()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            run_child(request, writer, log, replies, token)
        os.close(writer)
        answer = {}
        try:
            answer = listen(pid, reader, seconds, token)
        finally:
            os.close(reader)
            # The task may have left processes of its own behind.
            for kill in (lambda: os.killpg(pid, signal.SIGKILL), lambda: os.kill(pid, signal.SIGKILL)):
                try:
                    kill()
                except (ProcessLookupError, PermissionError):
                    pass
            if not answer.pop("reaped", False):
                os.waitpid(pid, 0)
        if not answer["ok"]:
            answer["error"]["output"] = tail(log)
        return answer


def failure(kind, message, reaped=False):
    error = {"kind": kind, "message": message, "file": "", "line": 0, "column": 0}
    return {"ok": False, "error": error, "reaped": reaped}


def waited_for_processor(pid):
    """Seconds in which the process was ready to run and had no processor."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def listen(pid, reader, seconds, token):
    """The child's answer, or why there is none."""
    start = time.monotonic()
    deadline = start + seconds
    stage, buffer, status = "starting", b"", None
    while True:
        # Not end of file but the child's death ends the wait: a process it left behind may hold the pipe.
        left = min(deadline - time.monotonic(), 0.05 if status is None else 0)
        ready, _, _ = select.select([reader], [], [], max(left, 0))
        data = os.read(reader, 1 << 16) if ready else b""
        buffer += data
        while b"\n" in buffer:
            line, buffer = buffer.split(b"\n", 1)
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if not isinstance(message, dict) or message.pop("token", None) != token:
                continue
            if "stage" in message:
                stage = message["stage"]
            elif "ok" in message:
                message["reaped"] = status is not None
                return message
        if status is not None and not data:
            return failure("invalid_input", death(status, stage), reaped=True)
        if time.monotonic() >= deadline:
            # Time without a processor does not count, within reason.
            deadline = start + seconds + min(waited_for_processor(pid), MOST_PATIENCE * seconds)
        if time.monotonic() >= deadline:
            return failure("timeout", f"no result within {seconds:g} s while {stage}", status is not None)
        if ready and not data:
            time.sleep(0.01)  # the task closed the pipe and lives on
        if status is None:
            done, code = os.waitpid(pid, os.WNOHANG)
            status = code if done else None


def warm_up():
    """Loads in the parent what every child needs, so that no child pays for it."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # a thread pool would not survive the fork
    from kernelsmith_bridge import drawing, encode, evaluating, formats, reducing, tracing  # noqa: F401
    from kernelsmith_bridge.call import Call

    # Forward only: autograd refuses to run in a fork once its threads exist.
    call = Call("warm_up", lambda x: torch.softmax(x, -1), ["x"], [torch.zeros(2, 2)])
    tracing.trace_forward(call, lambda name: False)


def versions():
    import torch

    return {"torch": torch.__version__, "python": sys.version.split()[0]}


def main():
    replies = int(os.environ.pop("KERNELSMITH_REPLY_FD", "1"))
    warm_up()
    for line in sys.stdin:
        if not line.strip():
            continue
        request = json.loads(line)
        if request["op"] == "quit":
            break
        answer = {"ok": True, "result": versions()} if request["op"] == "versions" else handle(request, replies)
        answer["id"] = request.get("id", 0)
        data = (json.dumps(answer) + "\n").encode()
        while data:
            data = data[os.write(replies, data):]
