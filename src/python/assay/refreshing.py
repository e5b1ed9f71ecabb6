"""Trials that look at what has come, or do not, for a while; and small parsers. The reference has them in smdebug.analysis.utils."""
import contextlib


@contextlib.contextmanager
def _set(trials, looks):
    each = list(trials) if isinstance(trials, (list, tuple)) else [trials]
    before = [trial.dynamic_refresh for trial in each]
    for trial in each:
        trial.dynamic_refresh = looks
    try:
        yield trials
    finally:
        for trial, was in zip(each, before):
            trial.dynamic_refresh = was


def no_refresh(trials):
    """with no_refresh(trial): what has come since is not looked at."""
    return _set(trials, False)


def refresh(trials):
    """with refresh(trial): it is."""
    return _set(trials, True)


def parse_list_from_str(arg, delimiter=","):
    """A list from itself, or from a text; None is an empty one."""
    return arg if isinstance(arg, list) else (arg.split(delimiter) if arg else [])


def parse_bool(arg, default):
    """A truth from itself, or from True, true, False, false as text; None is the default."""
    if arg is None:
        return default
    if arg in (True, "True", "true"):
        return True
    if arg in (False, "False", "false"):
        return False
    raise ValueError("%r is neither true nor false" % (arg,))
