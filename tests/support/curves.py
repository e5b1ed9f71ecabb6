"""curves.py - trials of made losses, with noise from a seed, for what is known of the rules about them."""
import numpy

from answers import rule
from made import Made

COURSE = dict(against="start", diff_percent=5, plateau_percent=25)


def noise(seed, n, tails=False):
    random = numpy.random.default_rng(seed)
    return random.standard_t(2, n) if tails else random.normal(0, 1, n)


def losses(folder, curve, more=None):
    made = Made(folder, collections={"losses": "^loss$"})
    for step, loss in enumerate(curve):
        made.step(step, "TRAIN", step, dict({"loss": float(loss)}, **{k: float(v[step]) for k, v in (more or {}).items()}))
    return made.end()


def guessed(folder, name, curve, targets):
    """Losses with their targets beside them, from which the loss of a guess follows."""
    made = Made(folder, collections={"losses": "Loss_output_0$"})
    for step, loss in enumerate(curve):
        made.step(step, "TRAIN", step, {name + "_output_0": float(loss), name + "_input_1": targets(numpy.random.default_rng(step))})
    return made.end()


def stands(name, expected):
    return rule(name, "LossNotDecreasing", expected, **COURSE)
