"""keras_batches.py - the callback of Keras, the wrapper of tf.GradientTape and the tracker of Accelerate, driven by the least that calls what these
libraries document, in the documented order.

Usage: keras_batches.py WORK_DIR        (PYTHONPATH has assay_hook)
"""
import shutil
import sys
import warnings
from pathlib import Path

import numpy
from assay_hook import SaveConfig, modes
from assay_recording.callbacks import AccelerateTracker
from assay_recording.keras import KerasHook

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tfevents  # noqa: E402

WORK = Path(sys.argv[1])


def fresh():
    fresh.made += 1
    return str(WORK / str(fresh.made))


fresh.made = 0


class Variable:
    def __init__(self, name, value):
        self.name, self.value = name, numpy.array(value, "f4")

    def numpy(self):
        return self.value

    def __array__(self, dtype=None):
        return self.value if dtype is None else self.value.astype(dtype)


class Layer:
    name = "dense"

    def __init__(self):
        self.weights = [Variable("dense/kernel:0", [[1, 2]]), Variable("dense/bias:0", [3])]


class Optimizer:
    applied = 0

    def apply_gradients(self, grads_and_vars, name=None):
        self.applied += len(list(grads_and_vars))


class Symbolic:
    """A tensor inside a tf.function."""
    name = "grad"


class Model:
    """fit() with validation, predict(): as Keras calls a callback."""

    def __init__(self, eager=True):
        self.layers, self.optimizer, self.eager = [Layer()], Optimizer(), eager

    def batches(self, hook, kind, count, logs):
        getattr(hook, "on_%s_begin" % kind)()
        for batch in range(count):
            getattr(hook, "on_%s_batch_begin" % kind)(batch, {"batch": batch, "size": 4})
            if kind == "train":
                variables = self.layers[0].weights
                gradients = [numpy.full(v.value.shape, batch, "f4") if self.eager else Symbolic() for v in variables]
                self.optimizer.apply_gradients(zip(gradients, variables))
            getattr(hook, "on_%s_batch_end" % kind)(batch, dict(logs, batch=batch, size=4))
            if kind == "train" and batch == count - 1:
                self.batches(hook, "test", 1, {"loss": 7.0})
        getattr(hook, "on_%s_end" % kind)()

    def fit(self, hook, batches=3):
        hook.set_params({"epochs": 1})
        hook.set_model(self)
        hook.on_epoch_begin(0)
        self.batches(hook, "train", batches, {"loss": numpy.float32(0.5), "accuracy": 0.25})
        hook.on_epoch_end(0, {})


def read(hook):
    hook.close()
    return tfevents.Trial(hook.out_dir)


def keras():
    hook = KerasHook(fresh(), include_collections=["weights", "biases", "gradients"], save_config=SaveConfig(save_interval=1))
    model = Model()
    model.fit(hook)
    model.batches(hook, "predict", 1, {})
    assert hook.mode is modes.GLOBAL and model.optimizer.applied == 6
    trial = read(hook)
    assert [(s.mode, s.mode_step) for (_, _), s in sorted(trial.steps.items())] == [("TRAIN", 0), ("TRAIN", 1), ("TRAIN", 2), ("EVAL", 0), ("PREDICT", 0)]
    at = {name: value.tolist() for name, (_, value) in trial.steps[1, "worker_0"].tensors.items()}
    assert at == {"loss": [0.5], "accuracy": [0.25], "dense/weights/dense/kernel:0": [[1, 2]], "dense/weights/dense/bias:0": [3],
                  "gradients/dense/kernel:0Grad": [[1, 1]], "gradients/dense/bias:0Grad": [1]}, at
    members = {name: set(c["tensor_names"]) for name, c in trial.collections["worker_0"]["collections"].items()}
    assert members["losses"] == {"loss"} and members["metrics"] == {"accuracy"}
    assert members["gradients"] == {"gradients/dense/kernel:0Grad", "gradients/dense/bias:0Grad"} and "dense/weights/dense/kernel:0" in members["weights"]


def a_function_of_tensorflow():
    """Gradients without values: one warning, and the rest is there."""
    hook = KerasHook(fresh(), include_collections=["gradients"], save_config=SaveConfig(save_interval=1))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Model(eager=False).fit(hook, 2)
    assert len([w for w in said if "run_eagerly" in str(w.message)]) == 1, [str(w.message) for w in said]
    assert set(read(hook).steps[0, "worker_0"].tensors) == {"loss", "accuracy"}


class Tape:
    def __init__(self, persistent=False):
        self.watched, self.inside = [], 0

    def __enter__(self):
        self.inside += 1
        return self

    def __exit__(self, *error):
        self.inside -= 1

    def watch(self, tensor):
        self.watched.append(tensor)

    def gradient(self, target, sources, output_gradients=None):
        return [None if v.name.endswith("bias:0") else numpy.full(v.value.shape, 9, "f4") for v in sources]


def tapes():
    hook = KerasHook(fresh(), save_all=True, save_config=SaveConfig(save_interval=2))
    variables, inner = Layer().weights, []
    for step in range(3):
        inner.append(Tape())
        with hook.wrap_tape(inner[-1]) as tape:
            tape.watch("x")
            loss = Variable("", 0.5 + step)
        gradients = tape.gradient(loss, variables)
        assert gradients[1] is None and inner[-1].watched == ["x"] and inner[-1].inside == 0
        hook.save_tensor("logits", numpy.ones(2), "outputs")
    trial = read(hook)
    assert sorted(step for step, _ in trial.steps) == [0, 2]
    at = {name: value.tolist() for name, (_, value) in trial.steps[2, "worker_0"].tensors.items()}
    assert at == {"loss": 2.5, "dense/weights/dense/kernel:0": [[1, 2]], "dense/weights/dense/bias:0": [3], "gradients/dense/kernel:0Grad": [[9, 9]],
                  "logits": [1, 1]}, at


def accelerate():
    """As Accelerator calls a tracker: made, configured, logged to, finished."""
    tracker = AccelerateTracker(fresh(), budget=None)
    assert tracker.name == "assay" and tracker.requires_logging_directory is False
    tracker.store_init_configuration({"lr": 0.1})
    for step in range(3):
        tracker.log({"train_loss": 1.0 - step, "note": "text"}, step=step)
        tracker.log({"lr": 0.1}, step=step)
    out = tracker.tracker.out_dir
    tracker.finish()
    assert tracker.tracker is None
    trial = tfevents.Trial(out)
    values = {step: {name: value.tolist() for name, (_, value) in at.tensors.items()} for (step, _), at in trial.steps.items()}
    assert values == {n: {"scalar/train_loss": [1.0 - n], "scalar/lr": [0.1]} for n in range(3)}, values


shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
for test in (keras, a_function_of_tensorflow, tapes, accelerate):
    test()
shutil.rmtree(WORK)
