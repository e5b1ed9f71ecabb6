"""options.py - every option of the hook through the Python file, checked by a decoder that shares nothing with it.

Usage: options.py WORK_DIR
"""
import glob
import json
import os
import shutil
import sys
import warnings

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import assay_hook  # noqa: E402
import records  # noqa: E402
import tfevents  # noqa: E402
from assay_hook import Collection, ReductionConfig, SaveConfig, SaveConfigMode, modes  # noqa: E402

WORK = sys.argv[1]
X = numpy.array([[-1.5, 2.0, 0.25], [4.0, -3.0, 0.5]], numpy.float32)


def fresh(name="trial"):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


EXAMPLES = {"net.weight": X, "net.bias": X[0], "x_relu": X, "loss_output_0": X[0, 0]}


def record(steps=6, tensors=None, mode=modes.TRAIN, collections=(), **arguments):
    """Records `steps` steps of the tensors {name: array} and decodes what came of it."""
    path = fresh()
    hook = assay_hook.Hook(path, **arguments)
    for collection in collections:
        hook.add_collection(collection)
    hook.set_mode(mode)
    for _ in range(steps):
        hook.step()
        for name, value in (tensors or EXAMPLES).items():
            hook._save(name, value)
    counts = hook.counts()
    hook.close()
    assert counts["errors"] == 0, counts
    return tfevents.Trial(path)


def steps_of(trial, tensor):
    return [step for (step, _), s in sorted(trial.steps.items()) if tensor in s.tensors]


EVERY = dict(save_config=SaveConfig(save_interval=1))


def test_which_steps():
    table = [  # arguments, steps of net.weight, of loss_output_0
        (dict(include_collections=["weights"]), [0], [0]),
        (dict(save_config=SaveConfig(save_interval=2)), [], [0, 2, 4]),
        (dict(include_collections=["weights"], save_config=SaveConfig(save_interval=2, start_step=2)), [2, 4], [2, 4]),
        (dict(include_collections=["weights"], save_config=SaveConfig(end_step=0, save_steps=[1, 5])), [1, 5], [1, 5]),
        (dict(include_collections=["weights"], save_config={"TRAIN": {"save_interval": 3}}), [0, 3], [0, 3]),
        (dict(include_collections=["weights"], save_config=SaveConfig({modes.EVAL: SaveConfigMode(1)})), [0], [0]),
        (dict(include_collections=["weights"], save_config=SaveConfigMode(4)), [0, 4], [0, 4]),
        (dict(include_collections=["weights"], save_config=SaveConfig(save_interval=3),
              collections=[Collection("weights", save_config=SaveConfig({modes.TRAIN: SaveConfigMode(2)}))]),
         [0, 2, 4], [0, 3]),
        (dict(include_collections=["weights"], save_config=SaveConfig(save_interval=3),
              collections=[Collection("weights", save_config=SaveConfig({modes.EVAL: SaveConfigMode(2)}))]),
         [0, 3], [0, 3]),
        (dict(include_collections=["mine"], save_config=SaveConfig(save_interval=5),
              collections=[Collection("mine", include_regex=["weight$"])]), [0, 5], [0, 5]),
        (dict(save_all=True, save_config=SaveConfig(save_interval=4)), [0, 4], [0, 4]),
        (dict(include_regex=r"t\.w", save_config=SaveConfig(save_interval=4)), [0, 4], [0, 4]),
    ]
    for arguments, weights, losses in table:
        trial = record(**arguments)
        assert steps_of(trial, "net.weight") == weights and steps_of(trial, "loss_output_0") == losses, arguments


def test_which_tensors():
    table = [
        (dict(), ["loss_output_0"]),
        (dict(include_collections=["weights", "biases"]), ["loss_output_0", "net.bias", "net.weight"]),
        (dict(include_regex=["relu", "bias"]), ["loss_output_0", "net.bias", "x_relu"]),
        (dict(save_all=True), ["loss_output_0", "net.bias", "net.weight", "x_relu"]),
        (dict(include_collections=["all"]), ["loss_output_0", "net.bias", "net.weight", "x_relu"]),
        (dict(include_collections=["named"], collections=[Collection("named", tensor_names=["x_relu"])]),
         ["loss_output_0", "x_relu"]),
    ]
    for arguments, expected in table:
        trial = record(1, **EVERY, **arguments)
        assert sorted(trial.steps[0, "worker_0"].tensors) == expected, arguments


def test_dtypes():
    names = "float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128"
    values = {name: numpy.array([[1, 0, 100], [3, 2, 1]]).astype(name) for name in names.split()}
    values["big-endian"] = numpy.array([1.5, -2.0], ">f8")
    values["transposed"] = X.T
    values["scalar"] = numpy.float64(3.5)
    values["strings"] = numpy.array(["a", "", "\u00fc\u03c0"])
    values["empty"] = numpy.zeros((0, 3), numpy.float32)
    (step,) = record(1, values, save_all=True, **EVERY).steps.values()
    assert "empty" not in step.tensors  # as the reference, which writes nothing for it
    for name, value in values.items():
        if name != "empty":
            code, got = step.tensors[name]
            assert code == assay_hook._DTYPES.get(value.dtype.newbyteorder("=").name, 0), name
            assert got.shape == value.shape and (got == value).all(), name
    assert step.checksums == {"constant"}


def test_dtypes_without_numpy():
    """bfloat16 and both float8: 1, -2 and 0.5, by their bits."""
    bits = {"bfloat16": numpy.array([0x3F80, 0xC000, 0x3F00], numpy.uint16),
            "float8_e5m2": numpy.array([0x3C, 0xC0, 0x38], numpy.uint8),
            "float8_e4m3fn": numpy.array([0x38, 0xC0, 0x30], numpy.uint8)}
    path = fresh()
    hook = assay_hook.Hook(path, save_all=True, **EVERY, reduction_config=ReductionConfig(
        ["min", "max", "sum"], save_raw_tensor=True))
    hook.step()
    for name, value in bits.items():
        status = assay_hook._lib.assay_hook_save(hook._handle, name.encode(), assay_hook._DTYPES[name], 1,
                                                 hook._shape((3,)), value.ctypes.data)
        assert status == 0
    hook.close()
    (step,) = tfevents.Trial(path).steps.values()
    for name, value in bits.items():
        code, got = step.tensors[name]
        assert code == assay_hook._DTYPES[name] and (got == value).all()
        figures = [float(step.tensors["smdebug/reductions/%s/%s" % (r, name)][1]) for r in ("min", "max", "sum")]
        assert figures == [-2.0, 1.0, -0.5], (name, figures)


def reductions_of(x, ddof):
    x = x.astype(numpy.float64)
    out = {}
    for prefix, v in (("", x), ("abs_", numpy.abs(x))):
        figures = dict(min=v.min(), max=v.max(), mean=v.mean(), std=v.std(ddof=ddof), variance=v.var(ddof=ddof),
                       sum=v.sum(), prod=v.prod(), l1=numpy.abs(v).sum(), l2=numpy.sqrt((v * v).sum()))
        out.update({prefix + name: figure for name, figure in figures.items()})
    return out


def test_reductions():
    plain, norms = ["min", "max", "mean", "std", "variance", "sum", "prod"], ["l1", "l2"]
    rng = numpy.random.default_rng(3)
    values = {"small": X, "one": X[:1, :1], "ints": numpy.arange(-3, 9), "large": rng.normal(7, 2, (300, 50)),
              "half": X.astype(numpy.float16)}
    config = ReductionConfig(plain, plain, norms, norms, save_raw_tensor=True, save_shape=True)
    for ddof in (0, 1):
        with numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the sample variance of one element
            extra = {"sample_variance": True} if ddof else {}
            (step,) = record(1, values, save_all=True, reduction_config=config, **EVERY, **extra).steps.values()
            for name, value in values.items():
                for reduction, expected in reductions_of(value, ddof).items():
                    code, got = step.tensors["smdebug/reductions/%s/%s" % (reduction, name)]
                    assert got.shape == () and code == (1 if value.dtype == numpy.float32 else 2)
                    assert numpy.isclose(float(got), expected, rtol=1e-6, atol=0, equal_nan=True), (
                        name, reduction, float(got), expected)
                assert step.shapes[name] == list(value.shape) and name in step.tensors
    table = [  # what is on disk of a tensor: raw, reductions, shape
        (ReductionConfig(["min"]), False, 1, False),
        (ReductionConfig(["min"], save_raw_tensor=True), True, 1, False),
        (ReductionConfig(save_shape=True), False, 0, True),
        (None, True, 0, False),
    ]
    for config, raw, count, shape in table:
        (step,) = record(1, {"a": X}, save_all=True, reduction_config=config, **EVERY).steps.values()
        assert ("a" in step.tensors, len(step.tensors) - raw, "a" in step.shapes) == (raw, count, shape)
    trial = record(1, include_collections=["weights", "biases"], reduction_config=ReductionConfig(["min"]), **EVERY,
                   collections=[Collection("biases", reduction_config=ReductionConfig(norms=["l2"]))])
    assert sorted(trial.steps[0, "worker_0"].tensors) == ["loss_output_0", "smdebug/reductions/l2/net.bias",
                                                          "smdebug/reductions/min/net.weight"]


def test_modes_and_scalars():
    path = fresh()
    hook = assay_hook.Hook(path, save_config=SaveConfig(save_interval=2), include_collections=["gradients", "weights"])
    for i in range(6):
        hook.set_mode(modes.EVAL if i % 3 == 2 else modes.TRAIN)
        hook.step()
        hook._save("gradient/net.weight", X)
        hook._save("net.weight", X)
        hook.save_scalar("rate", i / 4)
    hook.close()
    trial = tfevents.Trial(path)
    numbers = [(step, s.mode, s.mode_step) for (step, _), s in sorted(trial.steps.items())]
    assert numbers == [(0, "TRAIN", 0), (1, "TRAIN", 1), (2, "EVAL", 0), (3, "TRAIN", 2), (4, "TRAIN", 3),
                       (5, "EVAL", 1)]
    assert steps_of(trial, "net.weight") == [0, 2, 3] and steps_of(trial, "gradient/net.weight") == [0, 3]
    assert [float(s.tensors["scalar/rate"][1][0]) for _, s in sorted(trial.steps.items())] == [i / 4 for i in range(6)]
    path = fresh()  # a collection that matches scalars thins them out
    hook = assay_hook.Hook(path, include_collections=["rates"])
    hook.get_collection("rates").include("^scalar/")
    hook.get_collection("rates").save_config = SaveConfig(save_interval=3)
    for i in range(6):
        hook.step()
        hook.save_scalar("rate", i)
    hook.close()
    assert steps_of(tfevents.Trial(path), "scalar/rate") == [0, 3]


def test_files():
    trial = record(2, save_all=True, checksum="crc32c", end_marker="never", **EVERY)
    assert not trial.ended and {k for s in trial.steps.values() for k in s.checksums} == {"true"}
    assert all(abs(t - os.path.getmtime(trial.path)) < 60 for s in trial.steps.values() for t in s.wall_times)
    assert not os.path.exists(record(0, dry_run=True).path)
    try:
        record(1)
        assay_hook.Hook(os.path.join(WORK, "trial"))
        raise SystemExit("a directory in use was taken")
    except RuntimeError as error:
        assert "holds something" in str(error)
    hook = assay_hook.Hook(os.path.join(WORK, "trial"), existing="continue")
    hook.step()
    hook._save("loss_output_0", X[0, 0])
    hook.save_scalar("x", 1)
    hook.close()
    assert sorted(step for step, _ in tfevents.Trial(os.path.join(WORK, "trial")).steps) == [0, 1]


def test_late_members():
    path = fresh()
    hook = assay_hook.Hook(path, **EVERY)
    for _ in range(2):
        hook.step()
        hook.save_tensor("extra", [1, 2, 3])
        hook.save_tensor("truth", numpy.arange(3), "labels")
    hook.close()
    trial = tfevents.Trial(path)
    assert steps_of(trial, "extra") == [0, 1] and steps_of(trial, "truth") == [0, 1]
    collections = trial.collections["worker_0"]["collections"]
    assert collections["default"]["tensor_names"] == ["extra"] and collections["labels"]["tensor_names"] == ["truth"]


def test_one_collection_in_two_hooks():
    """Each hook has all of it; an interval that is set counts from the first step on, and a wrong one is one warning."""
    collection = Collection("relu", include_regex=["relu"], save_config=SaveConfig(save_interval=10))
    for _ in range(2):
        path = fresh()
        hook = assay_hook.Hook(path, include_collections=[collection])
        hook.set_interval("relu", 1)
        for _ in range(3):
            hook.step()
            hook.save_tensor("relu1", [1.0, 2.0])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            hook.set_interval("relu", float("inf"))
        hook.close()
        assert len(told) == 1 and steps_of(tfevents.Trial(path), "relu1") == [0, 1, 2]


def test_strings_as_the_reference():
    """A string tensor of a trial of the reference, saved again: the same bytes but for time, checksum, and the worker."""
    index = sorted(glob.glob(os.path.join(HERE, "..", "data", "trials", "xgboost", "index", "*", "*.json")))[0]
    with open(index) as file:
        meta = json.load(file)
    entry = next(e for e in meta["tensor_payload"] if e["tensorname"].endswith("/Feature"))
    with open(os.path.join(HERE, "..", "data", "trials", "xgboost", meta["meta"]["event_file_name"]), "rb") as file:
        file.seek(entry["start_idx"])
        theirs = file.read(entry["length"])
    value = tfevents.Event.FromString(theirs[12:-4]).summary.value[0]
    _, texts = tfevents.tensor(value)
    trial = record(1, {entry["tensorname"]: texts}, mode=modes.GLOBAL, save_all=True, **EVERY)
    with open(glob.glob(os.path.join(trial.path, "events", "*", "*"))[0], "rb") as file:
        ours = records.frame(records.inside(file.read()[12:-4], (5, 1), lambda value: records.join(f for f in records.fields(value) if f[0] != 7)))
    assert len(texts) > 1 and ours[:13] + ours[21:] == theirs[:13] + theirs[21:]


def board(path):
    found = {}
    for name in glob.glob(os.path.join(path, "*", "events.out.tfevents.*")):
        with open(name, "rb") as file:
            events = [tfevents.Event.FromString(payload) for _, _, payload, kind in tfevents.records(file.read(), name)
                      if kind == "true"]
        assert events[0].file_version == "brain.Event:2"
        found[os.path.basename(os.path.dirname(name))] = [(e.step, v) for e in events[1:] for v in e.summary.value]
    return found


def test_tensorboard():
    folder = os.path.join(WORK, "board")
    shutil.rmtree(folder, ignore_errors=True)
    quiet = Collection("biases", save_histogram=False)
    values = {"net.weight": X, "net.bias": X[0], "loss_output_0": numpy.float32(2.5),
              "gradient/net.weight": numpy.array([1, numpy.inf])}
    trial = record(2, values, tensorboard_dir=folder, include_collections=["weights", "biases", "gradients"],
                   collections=[quiet], **EVERY)
    shown = board(folder)
    assert list(shown) == ["TRAIN"] and trial.ended
    tags = [(step, v.tag) for step, v in shown["TRAIN"]]
    # The gradient has an infinity, for which there is no bucket.
    assert tags == [(s, t) for s in (0, 1) for t in ("weights/net.weight", "loss_output_0")], tags
    histogram, scalar = shown["TRAIN"][0][1].histo, shown["TRAIN"][1][1]
    assert scalar.simple_value == 2.5
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (-3.0, 4.0, 6.0, X.sum())
    assert histogram.sum_squares == (X.astype(float) ** 2).sum() and sum(histogram.bucket) == 6
    limits = list(histogram.bucket_limit)
    counts, _ = numpy.histogram(X, [-numpy.inf] + limits)
    assert limits == sorted(limits) and limits[0] < -3.0 < 4.0 < limits[-1]
    assert counts.tolist() == list(histogram.bucket)
    assert "tensorboard" in os.listdir(record(1, export_tensorboard=True, **EVERY).path)


def test_file_of_the_reference():
    path = fresh()
    config = os.path.join(WORK, "config.json")
    with open(config, "w") as file:
        json.dump({"S3OutputPath": "s3://bucket/prefix", "LocalPath": path,
                   "HookParameters": {"save_interval": "2", "eval.save_interval": 1, "include_regex": "relu,never"},
                   "CollectionConfigurations": [
                       {"CollectionName": "weights"},
                       {"CollectionName": "custom", "CollectionParameters": {
                           "include_regex": "bias", "save_steps": "1,3", "reductions": "min, abs_max"}}]}, file)
    os.environ["SMDEBUG_CONFIG_FILE_PATH"] = config
    assay_hook.del_hook()
    hook = assay_hook.get_hook(create_if_not_exists=True)
    del os.environ["SMDEBUG_CONFIG_FILE_PATH"]
    hook.set_mode(modes.TRAIN)
    for _ in range(5):
        hook.step()
        for name in ("net.weight", "net.bias", "x_relu"):
            hook._save(name, X)
    hook.close()
    trial = tfevents.Trial(path)
    assert steps_of(trial, "net.weight") == steps_of(trial, "x_relu") == [0, 2, 4]
    assert steps_of(trial, "smdebug/reductions/abs_max/net.bias") == [0, 1, 2, 3, 4] and not steps_of(trial, "net.bias")


def test_mistakes_are_told():
    for arguments in (dict(save_config=SaveConfig(save_interval=0)), dict(include_regex="("), dict(queue_policy="x"),
                      lambda: dict(reduction_config=ReductionConfig(["median"])), dict(include_workers="some"),
                      lambda: dict(save_config=SaveConfig(save_interval="ten")), dict(nonsense=1)):
        try:
            assay_hook.Hook(fresh(), **(arguments() if callable(arguments) else arguments))
        except ValueError as error:
            assert str(error), arguments
        else:
            raise SystemExit("%s was taken" % arguments)
    os.environ["ASSAY_HOOK"] = "off"
    hook = assay_hook.Hook(fresh(), save_all=True)
    hook.step()
    hook._save("x", X)
    hook.close()
    del os.environ["ASSAY_HOOK"]
    assert not os.path.exists(os.path.join(WORK, "trial"))


def main():
    os.makedirs(WORK, exist_ok=True)
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    for name, test in tests:
        test()
        print("passed " + name)
    sys.exit(0 if len(tests) >= 12 else 1)


if __name__ == "__main__":
    main()
