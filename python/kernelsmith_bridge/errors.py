"""One error type for everything a task can do wrong, with the place in the task's own source."""

import re
import sys
import traceback


class TaskError(Exception):
    """kind is one of the names of ErrorKind in src/support/result.h, in snake case."""

    def __init__(self, kind, message, file=None, line=0, column=0):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.file = file
        self.line = line
        self.column = column

    def as_json(self):
        return {
            "kind": self.kind,
            "message": self.message,
            "file": self.file or "",
            "line": self.line or 0,
            "column": self.column or 0,
        }


def invalid(message, **where):
    return TaskError("invalid_input", message, **where)


def unsupported(message, **where):
    return TaskError("unsupported", message, **where)


def lower_first(text):
    """Diagnostics start in lower case; names such as `Model` or `CUDA` stay as they are."""
    if len(text) > 1 and text[0].isupper() and text[1].islower() and not text.split(" ")[0].endswith("()"):
        return text[0].lower() + text[1:]
    return text


def first_line(text):
    text = str(text).strip()
    return lower_first(text.splitlines()[0]) if text else ""


def user_frame(exception, is_task_file):
    """The innermost frame of the traceback that lies in the task's own files."""
    found = (None, 0)
    for frame in traceback.extract_tb(exception.__traceback__):
        if is_task_file(frame.filename):
            found = (frame.filename, frame.lineno)
    return found


_DATA_DEPENDENT = ("GuardOnDataDependentSymNode", "DataDependentOutputException", "DynamicOutputShapeException")
_OUT_OF_MEMORY = re.compile(r"can't allocate memory|DefaultCPUAllocator|Cannot allocate memory|out of memory", re.I)
_STORAGE_OVERFLOW = re.compile(r"Storage size calculation overflowed|numel: integer multiplication overflow", re.I)


def explain(exception, stage, is_task_file, memory_gib):
    """Any exception of the task's code as the TaskError that its author can act on."""
    if isinstance(exception, TaskError):
        if exception.file is None:
            exception.file, exception.line = user_frame(exception, is_task_file)
        return exception
    file, line = user_frame(exception, is_task_file)
    where = {"file": file, "line": line}
    if isinstance(exception, ModuleNotFoundError):
        return TaskError("missing_tool", f"the task needs the Python package '{exception.name}', which is not installed", **where)
    if isinstance(exception, SyntaxError):
        return invalid(
            f"syntax error: {first_line(exception.msg)}",
            file=exception.filename, line=exception.lineno, column=exception.offset,
        )
    text = str(exception)
    name = type(exception).__name__
    if name in _DATA_DEPENDENT or "data-dependent" in text:
        return unsupported("unsupported: a shape or a branch depends on the values of a tensor", **where)
    if isinstance(exception, MemoryError) or _OUT_OF_MEMORY.search(text) or _STORAGE_OVERFLOW.search(text):
        return TaskError("timeout", f"out of memory while {stage}: the limit is {memory_gib:g} GiB", **where)
    if isinstance(exception, RecursionError):
        return invalid(f"endless recursion while {stage}", **where)
    if isinstance(exception, SystemExit):
        return invalid(f"the task called exit({exception.code!r}) while {stage}", **where)
    if isinstance(exception, KeyboardInterrupt):
        return invalid(f"the task raised KeyboardInterrupt while {stage}", **where)
    return invalid(f"{name} while {stage}: {first_line(text)}" if text else f"{name} while {stage}", **where)


def internal(exception):
    """Our own bug: the whole traceback goes to stderr for the log."""
    traceback.print_exception(exception, file=sys.stderr)
    return TaskError("internal", f"{type(exception).__name__}: {first_line(exception)}")
