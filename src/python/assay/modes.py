"""Modes of steps, and whether a step is there: the enumerations of the reference, with its numbers."""
import difflib
import enum


class ModeKeys(enum.Enum):
    """Equal to the same mode of assay_hook, which may be installed without this package."""
    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4

    def __eq__(self, other):
        return self is other or (type(other).__name__ == "ModeKeys" and getattr(other, "name", None) == self.name)

    def __hash__(self):
        return hash(self._name_)


class StepState(enum.Enum):
    UNAVAILABLE = 0
    AVAILABLE = 1
    NOT_YET_AVAILABLE = 2


def mode_of(mode):
    """A mode from itself, its name, or the same member of another enumeration (assay_hook.modes, the reference's)."""
    if isinstance(mode, ModeKeys):
        return mode
    name = mode if isinstance(mode, str) else getattr(mode, "name", None)
    try:
        return ModeKeys[name.upper()]
    except (KeyError, AttributeError):
        near = difflib.get_close_matches(str(mode).upper(), [m.name for m in ModeKeys], 1)
        raise ValueError("%r is no mode%s; modes are %s" % (mode, " (did you mean %s?)" % near[0] if near else "",
                                                            ", ".join(m.name for m in ModeKeys))) from None
