"""How a process ended: by an exception that nobody caught, or in order. A hook that closes behind such an exception says so in its trial.

What is caught is no end, and neither is what a session at a prompt goes on behind. sys.exit(), a signal that ends the process at
once and os._exit() are not seen here.
"""
import atexit
import contextlib
import os
import re
import sys
import threading
import weakref

_MESSAGE = 1 << 14  # bytes that are looked at; the library keeps less
_hooks = weakref.WeakKeyDictionary()  # hooks that record: the thread that made each
_PASSING = "_assay_recordings"  # of an exception: files of the recordings that were closed while it was on its way
_library = _ours = None
_said = False


def _words(kind, error):
    """Its kind as tracebacks name it, and the first line of its message."""
    module, name = getattr(kind, "__module__", ""), getattr(kind, "__qualname__", str(kind))
    try:
        message = next(iter(str(error).strip().splitlines()), "")
    except Exception:  # noqa: B902
        message = ""
    return [text.encode(errors="replace")[:_MESSAGE].replace(b"\0", b" ")
            for text in (name if module in ("builtins", "__main__", None) else "%s.%s" % (module, name), message)]


def _tell(hook, kind, error, passing):
    if hook._handle and hook._pid == os.getpid():
        _library.assay_hook_ended_by(hook._handle, *_words(kind, error), passing)


def _settle(path):
    """What was on its way when the recording was closed has ended the process."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        said = re.sub(r',\s*"crc32c": "[0-9a-f]{8}"', "", text.replace('\n "passing": {', '\n "failed": {', 1))
        with open(path + ".tmp", "w", encoding="utf-8", newline="") as file:
            file.write(said)
        os.replace(path + ".tmp", path)


def _ended(kind, error, thread=None):
    """Nobody has caught it: in the main thread, or in one that recorded."""
    if kind is None or issubclass(kind, SystemExit) or hasattr(sys, "ps1") or sys.flags.interactive:
        return
    for hook, made_in in list(_hooks.items()):
        if thread is None or made_in == thread:
            _tell(hook, kind, error, 0)
    while thread is None and error is not None:
        for path in error.__dict__.pop(_PASSING, ()):
            _settle(path)
        error = error.__cause__


def _watch_process():
    before, of_threads = sys.excepthook, threading.excepthook

    def excepthook(kind, error, trace):
        global _said
        _said = True
        with contextlib.suppress(Exception):
            _ended(kind, error)
        before(kind, error, trace)

    def threading_hook(arguments):
        with contextlib.suppress(Exception):
            _ended(arguments.exc_type, arguments.exc_value, getattr(arguments.thread, "ident", 0))
        of_threads(arguments)

    sys.excepthook, threading.excepthook = excepthook, threading_hook
    return excepthook


def _at_exit(close):
    """Somebody may have put another sys.excepthook in place of ours: the interpreter keeps what it printed last."""
    kind, error = getattr(sys, "last_type", None), getattr(sys, "last_value", None)
    if kind is not None and not _said and sys.excepthook is not _ours:
        with contextlib.suppress(Exception):
            _ended(kind, error)
    close()


def watch(hook, library):
    """From now on: it is closed when the process exits, and told of what ends the process."""
    global _library, _ours
    if _library is None:
        _library, _ours = library, _watch_process()
    _hooks[hook] = threading.get_ident()
    hook._at_exit = lambda: _at_exit(hook.close)
    atexit.register(hook._at_exit)


def closing(hook):
    """It is about to be closed, perhaps on the way of an exception that goes on behind it."""
    atexit.unregister(hook._at_exit)
    kind, error = sys.exc_info()[:2]
    if hook._handle and error is not None and hook.out_dir is not None and not issubclass(kind, SystemExit):
        _tell(hook, kind, error, 1)
        path = os.path.join(os.path.abspath(hook.out_dir), "run", "%s.json" % hook.worker)
        error.__dict__.setdefault(_PASSING, []).append(path)  # the exception has it, so that it lives no longer than that
