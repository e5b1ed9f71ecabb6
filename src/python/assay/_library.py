"""Finds libassay and declares its functions (include/assay/trial.h). Nothing else here knows ctypes."""
import ctypes
import os

from .exceptions import AssayError

MAX_DIMS = 64


class Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 512)]


class StepInfo(ctypes.Structure):
    _fields_ = [("step", ctypes.c_int64), ("mode_step", ctypes.c_int64), ("mode", ctypes.c_int)]


class Problem(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("file", ctypes.c_char_p), ("text", ctypes.c_char_p), ("step", ctypes.c_int64),
                ("offset", ctypes.c_int64), ("is_loss", ctypes.c_bool)]


class Saved(ctypes.Structure):
    _fields_ = [("step", ctypes.c_int64), ("mode_step", ctypes.c_int64), ("worker", ctypes.c_uint32),
                ("kinds", ctypes.c_uint32), ("mode", ctypes.c_int32), ("reserved", ctypes.c_int32)]


class Head(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("dims", ctypes.c_int32), ("elements", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
                ("wall_time", ctypes.c_double), ("shape", ctypes.c_int64 * MAX_DIMS)]


class Stats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("count", "nan", "pos_inf", "neg_inf", "zeros")] + [
        (name, ctypes.c_double) for name in ("min", "max", "sum", "squares", "magnitudes", "deviations", "scaled_squares",
                                             "scaled_deviations", "scaled_magnitudes")]


OK, ENOTFOUND, EIO, EFORMAT, ENOMEM, EUNSUPPORTED, EBUDGET = 0, -3, -4, -5, -6, -10, -12
AS_SAVED, AS_FLOAT32, AS_FLOAT64 = 0, 1, 2
NONE = 0xFFFFFFFF  # no such tensor

_R, _TEXT, _SIZE, _PTR = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p
_U32, _U64, _INT, _BOOL = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int, ctypes.c_bool
SIGNATURES = {  # name: (result, arguments)
    "open": (_INT, [_TEXT, ctypes.POINTER(_R), _PTR]), "close": (None, [_R]), "version": (_TEXT, []),
    "location": (_TEXT, [_R]), "ended": (_BOOL, [_R]), "workers": (_U32, [_R]), "expected_workers": (_U32, [_R]), "said_workers": (_U32, [_R]),
    "worker": (_TEXT, [_R, _U32]), "steps": (_U64, [_R]), "step": (ctypes.POINTER(StepInfo), [_R, _U64]),
    "missing": (_SIZE, [_R, _U64, ctypes.POINTER(ctypes.POINTER(_U32))]), "problems": (_U64, [_R]),
    "problem": (_INT, [_R, _U64, ctypes.POINTER(Problem)]), "tensors": (_U32, [_R]),
    "tensor": (_PTR, [_R, _U32, ctypes.POINTER(_SIZE)]), "find": (_U32, [_R, _TEXT, _SIZE]),
    "collections": (_U32, [_R]), "collection": (_TEXT, [_R, _U32]), "collection_regex": (_TEXT, [_R, _U32, _U32]),
    "select": (_INT, [_R, _TEXT, _TEXT, _PTR, _PTR]),
    "saved": (_INT, [_R, _U32, ctypes.POINTER(_PTR), ctypes.POINTER(_SIZE), _PTR]),
    "head": (_INT, [_R, _U32, _SIZE, _PTR, _PTR]), "read": (_INT, [_R, _U32, _SIZE, _INT, _PTR, _SIZE, _PTR, _PTR]),
    "read_strings": (_INT, [_R, _U32, _SIZE, _PTR, _SIZE, _PTR, _SIZE, _PTR]),
    "reduction": (_INT, [_R, _U32, _SIZE, _INT, ctypes.POINTER(ctypes.c_double), _PTR]),
    "kind_name": (_TEXT, [_INT]), "kind": (_INT, [_TEXT]), "stats": (_INT, [_R, _U32, _SIZE, ctypes.POINTER(Stats), _PTR]),
    "read_rows": (_INT, [_R, _U32, _PTR, _SIZE, _INT, _PTR, _SIZE, _PTR, _PTR, _PTR]),
    "place": (_INT, [_R, _U32, _SIZE, _BOOL, _PTR, _SIZE, ctypes.POINTER(_U64), _PTR, _PTR]), "keep": (None, [_R, _SIZE]),
}
STATS = ("mean", "variance", "std", "l1", "l2", "abs_mean", "abs_max", "min", "max")


def places(name):
    """Where the library may lie: beside this package (a wheel), below the prefix that it is installed in, or where the sources are built."""
    here = os.path.dirname(os.path.abspath(__file__))
    yield os.environ.get("ASSAY_LIBRARY")
    yield os.path.join(here, name)
    prefix = os.path.normpath(os.path.join(here, "..", "..", "..", ".."))  # of PREFIX/share/assay/python/assay
    for folder in ("lib", "lib64", os.path.join("lib", os.uname().machine + "-linux-gnu")):
        yield os.path.join(prefix, folder, name)
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(here))), "build", "src", "recording", name)


def load(name="libassay.so.0"):
    found = next((p for p in places(name) if p and os.path.exists(p)), None)
    try:
        library = ctypes.CDLL(found or name)  # a bare name is looked for where the system looks
    except OSError as error:
        raise ImportError("%s cannot be loaded (%s): install assay, or set ASSAY_LIBRARY to its path" % (name, error)) from None
    for function, (result, arguments) in SIGNATURES.items():
        entry = getattr(library, "assay_recording_" + function)
        entry.restype, entry.argtypes = result, arguments
    for function in STATS:
        entry = getattr(library, "assay_stats_" + function)
        entry.restype, entry.argtypes = ctypes.c_double, [ctypes.POINTER(Stats)]
    return library


lib = load()


def text(raw):
    """Names may hold any byte: those that are no UTF-8 survive the way back."""
    return raw.decode("utf-8", "surrogateescape")


def raw(name):
    return name.encode("utf-8", "surrogateescape")


def fail(status, error):
    """Raises what a status means."""
    said = text(error.text)
    if status == ENOMEM:
        raise MemoryError(said)
    raise AssayError(said, status)


def must(status, error):
    if status != OK:
        fail(status, error)
