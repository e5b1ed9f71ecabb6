"""trial_api.py - the trial API by the reference's names: what its own tests of trials check, on recorded trials.

Usage: trial_api.py WORK_DIR        (ASSAY_TRIALS; PYTHONPATH has assay and assay_hook)
"""
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import numpy

import assay
import assay_hook
from assay import exceptions
from assay.exceptions import (AssayError, InvalidWorker, NoMoreData, ShapeUnavailableForStep, StepNotYetAvailable, StepUnavailable,
                              TensorUnavailable, TensorUnavailableForStep)
from assay.modes import ModeKeys, StepState
from assay.trials import create_trial

TRIALS, WORK = Path(os.environ["ASSAY_TRIALS"]), Path(sys.argv[1])
TRAIN, EVAL, PREDICT, GLOBAL = ModeKeys
BIAS = "ConvNet_conv1.bias"


def raises(kind, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        return str(error)
    raise AssertionError("%s did not raise %s" % (call, kind.__name__))


def steps_and_modes():
    trial = create_trial(str(TRIALS / "ddp"), name="four")
    assert trial.name == "four" and trial.path == str(TRIALS / "ddp") and trial.num_workers == 4 and trial.loaded_all_steps
    assert trial.workers() == ["worker_%d" % i for i in range(4)]
    assert trial.modes() == [TRAIN, EVAL]
    assert trial.steps(TRAIN) == list(range(0, 100, 10)) and trial.steps("EVAL") == trial.steps(mode=EVAL) == [0, 1]
    assert trial.steps(PREDICT) == [] and trial.steps() == trial.steps(GLOBAL) and len(trial.steps()) == 12
    assert trial.steps(assay_hook.modes.TRAIN) == trial.steps(TRAIN), "the hook's modes are as good"
    assert "no mode" in raises(ValueError, trial.steps, "TRAINING")
    for mode in (TRAIN, EVAL):
        for step in trial.steps(mode):
            at = trial.global_step(mode, step)
            assert (trial.mode(at), trial.mode_step(at)) == (mode, step) == trial.mode_modestep(at)
    assert trial.global_step(TRAIN, 5) is None and trial.global_step(GLOBAL, 7) == 7 and trial.mode_modestep(7) == (None, None)
    assert trial.last_complete_step == trial.steps()[-1]
    assert trial.has_passed_step(50, TRAIN) == StepState.AVAILABLE
    assert trial.has_passed_step(55, TRAIN) == trial.has_passed_step(1000, TRAIN) == StepState.UNAVAILABLE
    trial.wait_for_steps([0, 50, 90], TRAIN)
    assert "55" in raises(StepUnavailable, trial.wait_for_steps, [0, 55], TRAIN)
    assert "ended with step 90" in raises(NoMoreData, trial.wait_for_steps, [1000], TRAIN)


def missing_workers():
    trial = assay.open(TRIALS / "ddp_partial")
    missing = trial.incomplete()
    assert len(missing) == 2 and set(map(tuple, missing.values())) == {("worker_2",)}
    assert trial.steps() == trial.steps(show_incomplete_steps=True), "it has ended: nothing is hidden"
    step = max(missing)
    assert trial.has_passed_step(step) == StepState.AVAILABLE and trial.last_complete_step < min(missing)
    assert trial.tensor(BIAS).workers(step) == ["worker_0", "worker_1"]
    assert "worker_2" in raises(TensorUnavailableForStep, trial.tensor(BIAS).value, step, worker="worker_2")
    # The same while it goes on: incomplete steps are left out unless asked for.
    going = WORK / "going"
    shutil.copytree(TRIALS / "ddp_partial", going)
    os.remove(going / "training_job_end.ts")
    trial = assay.open(going)
    assert not trial.loaded_all_steps and set(trial.steps(show_incomplete_steps=True)) - set(trial.steps()) == set(missing)
    assert trial.tensor(BIAS).steps() == trial.steps() and trial.tensor(BIAS).steps(show_incomplete_steps=True)[-1] == step
    assert trial.has_passed_step(step) == StepState.NOT_YET_AVAILABLE and trial.has_passed_step(5) == StepState.UNAVAILABLE
    assert trial.has_passed_step(step + 1) == StepState.NOT_YET_AVAILABLE


def names_and_collections():
    trial = assay.open(TRIALS / "ddp")
    names = trial.tensor_names()
    assert len(names) == 26 and names == sorted(names) and [t.name for t in trial.tensors()] == names
    assert trial.tensor_names(regex="bias$") == [n for n in names if n.endswith("bias")]
    assert trial.tensor_names(regex=["^gradient/.*bias", "relu|act1"]) == [
        n for n in names if (n.startswith("gradient/") and "bias" in n) or "act1" in n]
    assert trial.tensor_names(regex="no such thing") == []
    gradients = trial.tensor_names(collection="gradients")
    assert gradients == [n for n in names if n.startswith("gradient/")] == trial.tensor_names(collection=trial.collection("gradients"))
    assert trial.collections()["gradients"].tensor_names == set(gradients) and trial.collection("gradients").name == "gradients"
    assert any("gradient" in pattern for pattern in trial.collection("gradients").include_regex)
    assert not set(gradients) & set(trial.tensor_names(mode=EVAL)) and set(gradients) < set(trial.tensor_names(mode=TRAIN))
    assert trial.tensor_names(step=0, mode=EVAL) == trial.tensor_names(mode=EVAL)
    assert trial.tensor_names(step=10, mode=TRAIN, collection="gradients") == gradients
    assert trial.tensor_names(step=11, mode=TRAIN) == trial.tensor_names(step=-5) == trial.tensor_names(mode=PREDICT) == []
    raises(ValueError, trial.tensor_names, regex="a", collection="gradients")
    assert 'did you mean "gradients"' in raises(AssayError, trial.tensor_names, collection="gradient")
    assert "column" in raises(AssayError, trial.tensor_names, regex="(")
    assert 'did you mean "gradients"' in raises(AssayError, trial.collection, "gradeints")
    assert "ConvNet_conv1.bias" in raises(TensorUnavailable, trial.tensor, "ConvNet_conv1.bais")


def tensors_and_workers():
    trial = assay.open(TRIALS / "ddp")
    assert trial.has_tensor(BIAS) and not trial.has_tensor("nothing")
    assert "'nothing'" in raises(TensorUnavailable, trial.tensor, "nothing")
    tensor = trial.tensor(BIAS)
    assert tensor is trial.tensor(BIAS) and tensor.steps() == trial.steps() and tensor.steps(EVAL) == [0, 1]
    assert tensor.prev_steps(50, 3, TRAIN) == [30, 40, 50] == tensor.prev_steps(55, 3, TRAIN)
    assert tensor.prev_steps(50, mode=TRAIN) == tensor.prev_steps(50, None, TRAIN) == [0, 10, 20, 30, 40, 50] and tensor.prev_steps(-1, 3, TRAIN) == []
    first = tensor.value(0, TRAIN)
    assert first.dtype == numpy.float32 and first.shape == (3,) == tensor.shape(0, TRAIN)
    assert (first == tensor.value(0, worker="worker_0")).all() and (first != tensor.value(0, TRAIN, "worker_1")).any()
    first[:] = 0
    assert tensor.value(0, TRAIN).any(), "a value is the caller's own"
    values = tensor.values(TRAIN, "worker_3")
    assert list(values) == trial.steps(TRAIN) and all((values[s] == tensor.value(s, TRAIN, "worker_3")).all() for s in values)
    assert list(tensor.values()) == trial.steps() and tensor.values(PREDICT) == {}
    raises(StepUnavailable, tensor.value, 11, TRAIN)
    assert "worker_0" in raises(InvalidWorker, tensor.value, 0, TRAIN, "worker_9")
    gradient = trial.tensor("gradient/" + BIAS)
    assert "was not saved at step 0 of mode EVAL" in raises(TensorUnavailableForStep, gradient.value, 0, EVAL)
    mapped = trial.tensor("ConvNet_fc1.weight").mapped(0, TRAIN, "worker_2")
    assert not mapped.flags.writeable and (mapped == trial.tensor("ConvNet_fc1.weight").value(0, TRAIN, "worker_2")).all()


def reductions():
    raw, saved = assay.open(TRIALS / "ddp"), assay.open(TRIALS / "reductions")
    tensor, value = raw.tensor(BIAS), raw.tensor(BIAS).value(0).astype(numpy.float64)
    assert tensor.reduction_values(0) == {}
    wanted = {"min": value.min(), "max": value.max(), "mean": value.mean(), "std": value.std(), "variance": value.var(),
              "sum": value.sum(), "prod": value.prod(), "l1": abs(value).sum(), "l2": numpy.sqrt((value ** 2).sum())}
    for name, number in wanted.items():
        assert numpy.isclose(tensor.reduction_value(0, name), number, rtol=1e-12), name
    for name, number in {"min": abs(value).min(), "max": abs(value).max(), "mean": abs(value).mean(), "std": abs(value).std(),
                         "sum": abs(value).sum(), "l2": wanted["l2"]}.items():
        assert numpy.isclose(tensor.reduction_value(0, name, abs=True), number, rtol=1e-12), name
    tensor = saved.tensor(BIAS)
    found = tensor.reduction_values(0)
    assert {("l1", False), ("mean", False), ("mean", True), ("std", False)} < set(found)
    for (name, absolute), number in found.items():
        assert tensor.reduction_value(0, name, abs=absolute) == number
    assert tensor.shape(0) == (3,)
    assert "its value" in raises(TensorUnavailableForStep, tensor.value, 0)
    assert "prod" in raises(TensorUnavailableForStep, tensor.reduction_value, 0, "prod")
    raises(TensorUnavailableForStep, tensor.statistics, 0)
    assert "no reduction" in raises(ValueError, tensor.reduction_value, 0, "median")


def global_only():
    trial = assay.open(TRIALS / "xgboost")
    assert trial.modes() == [GLOBAL] and trial.steps(TRAIN) == [] and trial.steps()[:3] == [0, 2, 4]
    features = trial.tensor("trees/Feature").value(0)
    assert features.dtype.kind == "U" and features[0] == "f36" and "Leaf" in features
    raises(AssayError, trial.tensor("trees/Feature").statistics, 0)


def global_between():
    """Steps in no mode of their own, between those of training: they count among all steps, and not among those of training."""
    hook = assay_hook.Hook(str(WORK / "between"), save_all=True, save_config=assay_hook.SaveConfig(save_interval=1))
    for step in range(6):
        hook.set_mode(assay_hook.modes.GLOBAL if step % 2 else assay_hook.modes.TRAIN)
        hook.step()
        hook.save_tensor("number", numpy.int64(step))
    hook.close()
    number = assay.open(WORK / "between").tensor("number")
    for again in range(2):
        assert [int(number.value(step)) for step in number.steps()] == list(range(6)) == number.steps()
    assert [int(number.value(step, TRAIN)) for step in number.steps(TRAIN)] == [0, 2, 4] and number.steps(TRAIN) == [0, 1, 2]


def refused():
    assert "no/such" in raises(AssayError, assay.open, "no/such/trial")
    (WORK / "empty").mkdir()
    raises(AssayError, assay.open, WORK / "empty")
    assert issubclass(exceptions.StepUnavailable, AssayError) and issubclass(ShapeUnavailableForStep, TensorUnavailableForStep)


def damage():
    cut = WORK / "cut"
    shutil.copytree(TRIALS / "healthy", cut)
    trial = assay.open(cut)
    step = trial.steps()[3]
    event = next(cut.glob("events/%012d/*" % step))
    os.truncate(event, event.stat().st_size // 2)
    last = [n for n in trial.tensor_names(step=step)]
    damaged = {}
    for name in last:
        try:
            trial.tensor(name).value(step)
        except AssayError as error:
            damaged[name] = str(error)
    assert 0 < len(damaged) < len(last) and all(event.name in text for text in damaged.values()), damaged
    for name in last:
        for other in trial.tensor(name).steps():
            if other != step:
                trial.tensor(name).value(other)
    os.remove(next(cut.glob("index/*/%012d_*" % trial.steps()[4])))
    trial.refresh()
    assert [p["kind"] for p in trial.problems() if p["is_loss"]] == ["events-without-index"], trial.problems()


def dtypes():
    """What numpy has comes as it is, what it lacks comes widened; scalars, and a shape that changes."""
    out = WORK / "dtypes"
    hook = assay_hook.Hook(str(out), save_all=True, save_config=assay_hook.SaveConfig(save_interval=1))
    kept = {}
    for step in range(3):
        hook.step()
        for name in ("float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool",
                     "complex64", "complex128"):
            array = (numpy.arange(12 + step) - 3).astype(name).reshape(1, -1)
            hook.save_tensor(name, array)
            kept[name, step] = array
        hook.save_tensor("scalar", numpy.float64(step))
        kept["scalar", step] = numpy.float64(step)
        try:
            import torch
            bfloat = torch.arange(5 + step).to(torch.bfloat16) / 3
            hook.save_tensor("bfloat16", bfloat)
            kept["bfloat16", step] = bfloat.float().numpy()
        except ImportError:
            pass
    hook.close()
    trial = assay.open(out)
    for (name, step), array in kept.items():
        for again in range(2):
            value = trial.tensor(name).value(step)
            assert value.shape == array.shape and value.dtype == array.dtype and (value == array).all(), (name, step, value)
        assert (trial.tensor(name).mapped(step) == array).all()


def growing():
    """A trial that grows while it is read: steps that come, waiting for them, and the end."""
    out = WORK / "growing"
    hook = assay_hook.Hook(str(out), include_collections=["weights"], save_config=assay_hook.SaveConfig(save_interval=2))
    hook.set_mode(assay_hook.modes.TRAIN)

    def record(count):
        for step in range(count):
            hook.step()
            hook.save_tensor("w.weight", numpy.full(3, step, "f4"))

    record(5)  # steps 0, 2 and 4, of which 4 is not closed yet
    hook._must(assay_hook._lib.assay_hook_flush(hook._handle))
    trial = assay.Trial(out, look_every=0.02)
    assert not trial.loaded_all_steps and trial.steps(TRAIN) == [0, 2]
    assert trial.has_passed_step(1, TRAIN) == StepState.UNAVAILABLE and trial.has_passed_step(4, TRAIN) == StepState.NOT_YET_AVAILABLE
    tensor = trial.tensor("w.weight")
    raises(StepNotYetAvailable, tensor.value, 4, TRAIN)

    def go_on():
        record(4)
        hook.close()

    thread = threading.Thread(target=go_on)
    thread.start()
    trial.wait_for_steps([0, 4, 8], TRAIN)
    thread.join()
    while not trial.loaded_all_steps:  # the marker comes behind the last step
        time.sleep(0.01)
    assert trial.steps(TRAIN) == [0, 2, 4, 6, 8] == tensor.steps(TRAIN) and (tensor.value(4, TRAIN) == 4).all()
    raises(NoMoreData, trial.wait_for_steps, [10], TRAIN)


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for check in (steps_and_modes, missing_workers, names_and_collections, tensors_and_workers, reductions, global_only, global_between,
                  refused, damage, dtypes, growing):
        check()
        print("%s: as it should be" % check.__name__)
    shutil.rmtree(WORK)


main()
