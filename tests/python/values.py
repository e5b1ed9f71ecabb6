"""values.py - every value of every trial with expected values is what they say, through Python.

Usage: values.py [FOLDER]        default: ASSAY_TRIALS

Workers, modes, steps, collections and their members, incomplete steps; of each tensor, step and worker the dtype, shape, counts and
figures of the array, the figures that the library gives, strings, and saved reductions. Counts are equal, numbers within 1e-9; a sum
whose terms cancel also within a few roundings of the sum of magnitudes.
"""
import json
import math
import os
import sys
from pathlib import Path

import numpy

import assay

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["ASSAY_TRIALS"])


def number(value):
    return float(value)  # "nan", "inf" and "-inf" are texts


def close(found, expected, magnitude):
    found, expected = float(found), number(expected)
    if found == expected or (math.isnan(found) and math.isnan(expected)):
        return True
    return abs(found - expected) <= max(1e-9 * abs(expected), 1e-15 * number(magnitude) if math.isfinite(number(magnitude)) else 0)


def figures(value):
    """What the expected values have of an array, taken in double by numpy."""
    x = value.astype(numpy.float64).ravel()
    with numpy.errstate(all="ignore"):
        return {"nan": numpy.isnan(x).sum(), "inf": numpy.isinf(x).sum(), "zero": (x == 0).sum(), "min": x.min(), "max": x.max(),
                "mean": x.mean(), "sum": x.sum(), "std": x.std(), "abs_mean": numpy.abs(x).mean(), "l1": numpy.abs(x).sum(),
                "l2": numpy.sqrt((x * x).sum())}


def check_value(where, tensor, row, at):
    value = tensor.value(*at)
    assert list(value.shape) == row["shape"] == list(tensor.shape(*at)), (where, value.shape)
    if row["dtype"] == "string":
        assert value.ravel()[:8].tolist() == row["strings"], where
        return
    assert str(value.dtype) == row["dtype"], (where, value.dtype)
    again = tensor.mapped(*at)
    assert again.dtype == value.dtype and again.tobytes() == value.tobytes(), where
    expected = {key: row[key] for key in ("nan", "inf", "zero", "min", "max", "mean", "sum", "std", "abs_mean", "l1", "l2")}
    magnitude = {"sum": row["l1"], "mean": row["abs_mean"]}
    by_library = tensor.statistics(*at)
    by_library["zero"] = by_library.pop("zeros")
    for found in (figures(value), by_library):
        for key, wanted in expected.items():
            overflow = key in ("l2", "std") and not math.isfinite(float(found[key]))  # numpy's squares, where the library scales
            assert close(found[key], wanted, magnitude.get(key, 0)) or (overflow and found is not by_library), (where, key, found[key], wanted)


def check_trial(name):
    expected = json.loads((FOLDER / (name + ".values.json")).read_text())
    trial = assay.open(FOLDER / name)
    assert trial.workers() == expected["workers"] and trial.loaded_all_steps and not trial.problems()
    assert {mode.name for mode in trial.modes()} | {"GLOBAL"} == set(expected["steps"])
    for mode, steps in expected["steps"].items():
        assert trial.steps(assay.modes[mode]) == steps, (name, mode)
    assert sorted(trial.incomplete()) == expected["incomplete_steps"]
    members = {c.name: sorted(c.tensor_names) for c in trial.collections().values()}
    assert members == {key: sorted(value) for key, value in expected["collections"].items()}, name
    assert trial.tensor_names() == sorted(expected["tensors"])
    count = 0
    for tensor_name, rows in expected["tensors"].items():
        tensor = trial.tensor(tensor_name)
        found = sum(len(tensor.workers(step, mode)) for mode in trial.modes() for step in tensor.steps(mode))
        assert found == len(rows), (name, tensor_name, found, len(rows))
        for row in rows:
            at = (row["step"], assay.modes[row["mode"]], row["worker"])
            where = (name, tensor_name) + at
            if "reductions" in row:
                saved = {("abs_" if absolute else "") + kind: value
                         for (kind, absolute), value in tensor.reduction_values(*at).items()}
                assert set(saved) == set(row["reductions"]), where
                assert all(close(saved[kind], value, 0) for kind, value in row["reductions"].items()), where
            else:
                check_value(where, tensor, row, at)
            count += 1
    return count


names = sorted(path.name[:-len(".values.json")] for path in FOLDER.glob("*.values.json"))
checked = {name: check_trial(name) for name in names}
assert checked and all(checked.values()), checked
print("%d values of %d trials" % (sum(checked.values()), len(checked)))
