"""names.py - the modules and names of the reference, as scripts import them from assay and from the package smdebug, and what they do.

Usage: names.py WORK_DIR [s3]   (ASSAY_TRIALS; PYTHONPATH has assay, smdebug and assay_hook)
"""
import importlib
import json
import os
import shutil
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy

import assay
import assay.names
import assay_hook

TRIALS, WORK = Path(os.environ["ASSAY_TRIALS"]), Path(sys.argv[1])
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
SCRIPT = """
import {0}.pytorch as smd
from {0} import CollectionKeys, ReductionConfig, SaveConfig, SaveConfigMode, modes
from {0}.analysis.utils import no_refresh, parse_bool, parse_list_from_str, refresh
from {0}.core.access_layer.utils import has_training_ended, training_has_ended
from {0}.core.collection_manager import CollectionManager
from {0}.core.config_constants import DEFAULT_COLLECTIONS_FILE_NAME
from {0}.core.json_config import CONFIG_FILE_PATH_ENV_STR, DEFAULT_SAGEMAKER_OUTDIR
from {0}.core.locations import IndexFileLocationUtils
from {0}.core.modes import ModeKeys
from {0}.core.reader import FileReader
from {0}.core.tensor import StepState, Tensor
from {0}.core.utils import SagemakerSimulator, ScriptSimulator, is_s3
from {0}.core.writer import FileWriter
from {0}.exceptions import *
from {0}.pytorch.collection import *
from {0}.pytorch.hook import *
from {0}.rules import Rule, invoke_rule
from {0}.rules.req_tensors import RequiredTensors
from {0}.rules.rule import Rule
from {0}.rules.rule_invoker import invoke_rule
from {0}.trials import LocalTrial, S3Trial, Trial, create_trial
from {0}.trials.utils import create_trial
"""


def raises(kind, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        return str(error)
    raise AssertionError("%s did not raise %s" % (call, kind.__name__))


def write(path, steps, names=("foo_0", "foo_1"), worker="algo-1", mode=None, collections=True):
    from assay.core.writer import FileWriter
    for step in steps:
        with FileWriter(trial_dir=str(path), step=step, worker=worker) as writer:
            for name in names:
                writer.write_tensor(tdata=numpy.full((2, 3), step, "f4"), tname=name, mode=mode, mode_step=step)
    if collections:
        manager = assay_hook.CollectionManager()
        manager.add("default")
        manager.get("default").tensor_names = list(names)
        manager.export(str(path), "worker_0_collections.json")
    return path


def modules_of_both_packages():
    made = []
    for package in ("assay", "smdebug"):
        space = {}
        exec(SCRIPT.format(package), space)
        made.append(space)
    ours, theirs = made
    for name in set(theirs) - {"__builtins__", "smd"}:
        assert ours[name] is theirs[name], name
    assert ours["Hook"] is assay_hook.Hook and ours["smd"].get_hook is assay_hook.get_hook and ours["Rule"] is assay.Rule
    for name in assay.names.MODULES:
        module = importlib.import_module(("smdebug." + name).rstrip("."))
        assert all(hasattr(module, each) for each in assay.names.contents(name)), name
    assert "assay_hook.Hook" in raises(ImportError, importlib.import_module, "smdebug.tensorflow.session")
    assert raises(ImportError, importlib.import_module, "assay.core.no_such")
    table = json.dumps(sorted(assay.names.MODULES))
    page = (Path(__file__).resolve().parents[2] / "docs" / "from-sagemaker-debugger.md").read_text()
    missing = [name for name in assay.names.MODULES if name and "`smdebug.%s`" % name not in page]
    assert not missing, (missing, len(table))


def near_names_are_suggested():
    trial = assay.open(TRIALS / "flip")
    name = trial.tensor_names()[0]
    assert 'did you mean "%s"' % name in raises(assay.AssayError, trial.tensor, name[:-1] + "x" + name[-1])
    assert "did you mean TRAIN" in raises(ValueError, trial.steps, "TRIAN")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert trial.tensor_names(regex="wieght") == trial.tensor_names(regex="wieght") == [] and trial.tensor_names(regex="weight")
        assert trial.tensor_names(regex="^nothing like that$") == []
    assert [str(w.message) for w in said] == ['no tensor matches "wieght" (did you mean "weight"?)'], said


def modes_are_the_same():
    hook_mode, mode = assay_hook.modes.TRAIN, assay.modes.TRAIN
    assert hook_mode == mode and mode == hook_mode and {mode: 1}[hook_mode] == 1 and mode != assay_hook.modes.EVAL
    assert assay_hook.SaveConfig({mode: assay_hook.SaveConfigMode(3)}).get_save_config(mode).save_interval == 3


def exceptions_have_the_kinds_of_the_reference():
    e = importlib.import_module("assay.exceptions")
    for name, kind in (("Type", TypeError), ("Runtime", RuntimeError), ("Value", ValueError), ("NotImplemented", NotImplementedError)):
        assert issubclass(getattr(e, "SMDebug%sError" % name), (e.SMDebugError, kind))
    made = [e.StepNotYetAvailable(3, assay.modes.TRAIN), e.StepUnavailable(3, assay.modes.TRAIN), e.TensorUnavailable("t"), e.InvalidWorker("w"),
            e.TensorUnavailableForStep("t", 3), e.TensorUnavailableForStep("t", 3, assay.modes.EVAL, has_reductions=True),
            e.ShapeUnavailableForStep("t", 3), e.NoMoreData(3, assay.modes.TRAIN, 2), e.NoMoreProfilerData(5), e.MissingCollectionFiles(),
            e.RuleEvaluationConditionMet("R", 3, end_of_rule=True), e.InvalidCollectionConfiguration("c"), e.IndexReaderException("m"),
            e.InsufficientInformationForRuleInvocation("R", "m"), e.SMDebugCustomerError("c")]
    assert all(isinstance(error, e.SMDebugError) and str(error) for error in made)
    assert made[5].has_reductions and "reduction" in str(made[5]) and made[10].end_of_rule
    # What the hook raises is caught by them, too.
    raises(e.SMDebugValueError, assay_hook.SaveConfig, save_interval="ten")
    raises(e.SMDebugTypeError, assay_hook.Collection("c").include, 5)
    ended = WORK / "ended"
    importlib.import_module("assay.core.access_layer.utils").training_has_ended(str(ended))
    raises(e.SMDebugRuntimeError, assay_hook.Hook, str(ended))


def event_files():
    """What FileWriter writes, trials and FileReader read."""
    from assay.core.reader import FileReader
    from assay.core.writer import FileWriter
    from assay.exceptions import AssayError, SMDebugTypeError, SMDebugValueError
    path = WORK / "written"
    values = {name: numpy.arange(6).astype(name).reshape(2, 3) for name in ("f4", "f8", "f2", "i1", "i8", "u2", "?", "c8", ">f4")}
    values["texts"] = numpy.array(["a", "", "\u00fc"])
    for checked in (False, True):
        with FileWriter(str(path), "worker_0", step=int(checked), write_checksum=checked) as writer:
            for name, value in values.items():
                writer.write_tensor(value, name, mode=assay.modes.EVAL, mode_step=7 + checked, timestamp=12.5)
            writer.write_shape("shaped", (4, 5))
    assay_hook.CollectionManager(create_default=True).export(str(path), "worker_0_collections.json")
    trial = assay.open(path)
    assert trial.steps() == [0, 1] and trial.steps(assay.modes.EVAL) == [7, 8] and not trial.problems(), trial.problems()
    for name, value in values.items():
        found = trial.tensor(name).value(8, "EVAL")
        assert (found == value).all() and found.dtype.kind == value.dtype.kind, name
    assert trial.tensor("shaped").shape(0) == (4, 5)
    file = next(path.glob("events/000000000001/*"))
    read = {name: (step, value, mode, mode_step) for name, step, value, mode, mode_step in FileReader(str(file)).read_tensors()}
    assert set(read) == set(values) and all((read[n][1] == v).all() and read[n][2:] == (assay.modes.EVAL, 8) for n, v in values.items())
    events = FileReader(file).read_events(regex_list=["^f"])
    assert [(e["name"], e["timestamp"], e["step"]) for e in events] == [("f4", 12.5, 1), ("f8", 12.5, 1), ("f2", 12.5, 1)]
    raises(SMDebugTypeError, FileWriter(str(path), "w").write_tensor, numpy.zeros(1, "m8[s]"), "x")
    raises(SMDebugValueError, FileWriter, str(path), "w", wtype="tensorboard")
    with FileWriter(str(path), "worker_0", step=1) as writer:
        assert writer.name() == str(file)
    from assay.core.locations import IndexFileLocationUtils
    index = IndexFileLocationUtils.get_index_key_for_step(str(path), 1, "worker_0")
    assert Path(index).is_file() and IndexFileLocationUtils.get_prefix_from_index_file(index) == str(path)
    whole = file.read_bytes()
    rng, refused = numpy.random.default_rng(5), 0
    for at in [int(x) for x in rng.integers(0, len(whole), 300)]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(0, 8))
        file.write_bytes(bytes(damaged) if rng.integers(0, 2) else whole[:at])
        try:
            list(FileReader(file).read_tensors())
        except AssayError as error:
            refused += 1
            assert str(file) in str(error)
    assert refused > 290, refused  # a cut between two records is no damage
    numpy.seterr(all="ignore")
    for _ in range(300):  # true frames around payloads that are noise
        noise = rng.bytes(int(rng.integers(1, 60)))
        from assay.event_files import CONSTANT, masked_crc
        size = len(noise).to_bytes(8, "little")
        file.write_bytes(size + masked_crc(size).to_bytes(4, "little") + noise + CONSTANT.to_bytes(4, "little"))
        for call in (lambda: list(FileReader(file).read_tensors()), lambda: FileReader(file).read_events()):
            try:
                call()
            except AssayError:
                pass


def looks_when_asked():
    """A trial that grows is looked at when it is asked, and not while no_refresh() holds."""
    from assay.analysis.utils import no_refresh, refresh
    path = write(WORK / "grows", range(8))
    trial = assay.trials.create_trial("  %s " % path) if hasattr(assay, "trials") else assay.create_trial(str(path))
    assert isinstance(trial, assay.LocalTrial) and trial.num_workers == 1 and trial.steps() == list(range(8)) and trial.name == "grows"
    assert trial.last_index_token == str(path / "index/000000000/000000000007_worker_0.json")
    with no_refresh(trial) as same:
        write(path, range(8, 12), ("foo_0", "new"), collections=False)
        assert same.steps() == list(range(8)) and not same.has_tensor("new")
        with refresh([same]):
            assert len(same.steps()) == 12
        assert raises(assay.exceptions.StepNotYetAvailable, same.wait_for_steps, [12])
    assert trial.steps() == list(range(12)) == trial.tensor("foo_0").steps() and trial.has_tensor("new")
    for step in range(12, 40):  # one at a time, asked at once: the clock of the file system may not have ticked
        write(path, [step], collections=False)
        assert trial.steps()[-1] == step
    slow = assay.Trial(path, look_every=1000)
    write(path, [40], collections=False)
    assert slow.steps()[-1] == 39
    slow.refresh()
    assert slow.steps()[-1] == 40


def a_range_of_steps():
    path = write(WORK / "range", range(10), mode=assay.modes.TRAIN)
    trial = assay.create_trial(str(path), range_steps=(2, 5), parallel=False, cache=True)
    tensor = trial.tensor("foo_0")
    assert trial.steps() == [2, 3, 4] == trial.steps("TRAIN") == tensor.steps() == list(tensor.values())
    raises(assay.AssayError, tensor.value, 7)
    raises(assay.AssayError, tensor.value, 7, assay.modes.TRAIN)
    write(path, [10], collections=False)
    assert trial.steps() == [2, 3, 4]
    assert assay.LocalTrial("name", str(path), range_steps=(None, 3)).steps() == [0, 1, 2]
    assert assay.open(path, range_steps=(8, None)).steps() == [8, 9, 10]
    for wrong in ((5, 2), (-1, 3), ("a", 3)):
        raises(ValueError, assay.create_trial, str(path), range_steps=wrong)
    raises(TypeError, assay.create_trial, str(path), rang_steps=(1, 2))


def collections_are_edited():
    path = write(WORK / "edited", range(3), ["foo_%d" % i for i in range(5)] + ["boo_5", "boo_6"])
    trial = assay.create_trial(str(path))
    mine = trial.collection("test")
    mine.include("foo")
    mine.add_tensor_name("boo_5")
    mine.add_tensor_name("boo_17")
    wanted = ["boo_5"] + ["foo_%d" % i for i in range(5)]
    assert trial.tensor_names(collection="test") == wanted == trial.tensor_names(collection=mine) and trial.collection("test") is mine
    trial.refresh()
    assert trial.tensor_names(collection="test", step=1) == wanted and "test" in trial.collections()
    mine.remove_tensor_name("boo_5")
    assert "boo_5" not in trial.tensor_names(collection="test") and mine.has_tensor_name("foo_1")
    assert len(trial.tensor_names(collection="default")) == 7
    trial.collection("default").add_tensor_name("x")
    assert "x" in trial.collection("default").tensor_names and trial.tensor_names(show_prefixed_tensors=True) == trial.tensor_names()
    assert trial.tensor_names(collection="labels") == []
    raises(ValueError, trial.tensor_names, collection="test", regex="a")
    assert 'did you mean "default"' in raises(assay.AssayError, trial.collection, "defautl")


def inputs_labels_predictions():
    path = WORK / "roles"
    hook = assay_hook.Hook(str(path), **{"save_config": assay_hook.SaveConfig(save_interval=1)})
    hook.set_mode("TRAIN")
    for step in range(2):
        hook.step()
        for i in (0, 2, 10):
            hook.save_tensor("predictions_%d" % i, numpy.array([i, step]))
        hook.save_tensor("labels_0", numpy.array([step]))
        hook.save_tensor("x_input_1", numpy.array([7]), "inputs")
        hook.save_tensor("x_input_0", numpy.array([6]), "inputs")
    hook.close()
    trial = assay.open(path)
    assert [v.tolist() for v in trial.predictions(1, assay.modes.TRAIN)] == [[0, 1], [2, 1], [10, 1]]
    assert [v.tolist() for v in trial.labels(1)] == [[1]] and [v.tolist() for v in trial.inputs(0)] == [[6], [7]]
    assert trial.inputs(77) == []


class Seen(assay.Rule):
    def __init__(self, base_trial, at=()):
        super().__init__(base_trial, action_str="")
        self.at, self.seen = at, []

    def set_required_tensors(self, step):
        self.req_tensors.add("foo_.*", steps=[step], should_match_regex=True)

    def invoke_at_step(self, step):
        self.seen.append((step, [float(t.value(step)[0, 0]) for t in self.req_tensors.get()]))
        assert set(self.req_tensors.get_names()) == {"foo_0", "foo_1"} and self.req_tensors.get_tensor_steps("foo_0") == [step]
        return step in self.at


def rules_follow_a_training():
    """invoke_rule() sees the steps that come, and ends with the training."""
    path = write(WORK / "follows", range(2))
    trial, rule = assay.create_trial(str(path)), None
    rule = Seen(trial, at=(1, 3))

    def go_on():
        for step in (2, 3, 5):
            time.sleep(0.15)
            write(path, [step], collections=False)
        (path / "training_job_end.ts").touch()

    thread = threading.Thread(target=go_on)
    thread.start()
    assert assay.invoke_rule(rule) == [1, 3]
    thread.join()
    assert rule.seen == [(s, [s, s]) for s in (0, 1, 2, 3, 5)], rule.seen
    raises(assay.RuleEvaluationConditionMet, assay.invoke_rule, Seen(trial, at=(3,)), 2, None, True)
    bounded = Seen(trial)
    assert assay.invoke_rule(bounded, start_step=1, end_step=4) == [] and [s for s, _ in bounded.seen] == [1, 2, 3]
    raises(assay.exceptions.TensorUnavailable, rule.req_tensors.add, "nothing", [1])
    raises(assay.exceptions.NoMoreData, rule.invoke, 9)


class _Boto3:
    """As much of boto3's client as is asked for, over the client of tests."""

    class exceptions:  # noqa: N801
        NoSuchKey = KeyError

    def __init__(self, server):
        self._server, self._client = server, server.client

    def put_object(self, Bucket, Key, Body):  # noqa: N803
        self._client.put(Bucket, Key, Body)

    def get_object(self, Bucket, Key):  # noqa: N803
        import io
        return {"Body": io.BytesIO(self._client.get(Bucket, Key))}

    def get_paginator(self, unused):
        class Pages:
            @staticmethod
            def paginate(Bucket, Prefix="", **more):  # noqa: N803
                return [{"Contents": [{"Key": key} for key in sorted(self._server.buckets[Bucket]) if key.startswith(Prefix)]}]
        return Pages


def event_files_in_s3():
    """A trial that scripts write into S3 is read from there; whether a training there has ended is said and seen."""
    import s3
    from s3_server import Server
    from assay.core.access_layer.utils import has_training_ended, training_has_ended
    from assay.core.reader import FileReader
    from assay.core.writer import FileWriter
    with Server(signed=True) as server:
        server.client.make_bucket("runs")
        before = dict(os.environ)
        os.environ.update(s3.environment(server.port, server.key, server.secret))
        stand_in = type(sys)("boto3")
        stand_in.client = lambda name, endpoint_url: _Boto3(server)
        kept = sys.modules.get("boto3")
        sys.modules["boto3"] = stand_in
        try:
            assert not has_training_ended("s3://runs/17")
            write("s3://runs/17", range(3))
            trial = assay.create_trial("s3://runs/17")
            assert trial.steps() == [0, 1, 2] and not trial.loaded_all_steps and not has_training_ended("s3://runs/17")
            write("s3://runs/17", [3], collections=False)
            training_has_ended("s3://runs/17")
            assert trial.steps()[-1] == 3 and (trial.tensor("foo_1").value(3) == 3).all() and has_training_ended("s3://runs/17")
            name = FileWriter("s3://runs/17", "algo-1", step=3).name()
            assert [(found[0], found[1]) for found in FileReader(name).read_tensors()] == [("foo_0", 3), ("foo_1", 3)]
        finally:
            sys.modules.pop("boto3") if kept is None else sys.modules.update(boto3=kept)
            os.environ.clear()
            os.environ.update(before)


def hooks_are_of_their_frameworks():
    """get_hook(create_if_not_exists) of a framework makes that framework's hook; a hook records into a directory, and says so of anything else."""
    import smdebug.tensorflow
    import smdebug.xgboost
    config = WORK / "config.json"
    for number, (module, words) in enumerate(((smdebug.tensorflow, ("keras", str(config))), (smdebug.xgboost, (str(config),)))):
        config.write_text(json.dumps({"LocalPath": str(WORK / ("hook-%d" % number))}))
        assay_hook.del_hook()
        hook = module.get_hook(*words, create_if_not_exists=True)
        assert type(hook) is module.Hook and hook.out_dir == str(WORK / ("hook-%d" % number)) and module.get_hook() is hook
        hook.close()
    raises(ValueError, smdebug.tensorflow.get_hook, "session")
    assay_hook.del_hook()
    assert "into a directory" in raises(ValueError, assay_hook.Hook, "s3://bucket/runs/17")
    config.write_text(json.dumps({"LocalPath": "s3://bucket/runs/17"}))
    raises(ValueError, assay_hook.Hook, config_file=str(config))
    assert assay_hook.Hook(str(WORK / "a:" / "b")).close() is None
    from assay.core.config_validator import get_config_validator
    assert get_config_validator().validate_training_job()


def what_a_hook_here_records_is_there():
    """A trial is read while a hook of the same process records it: what it has ended is there at once."""
    hook = assay_hook.Hook(str(WORK / "here"), save_all=True, save_config=assay_hook.SaveConfig(save_interval=1))
    trial = None
    for step in range(20):
        hook.step()
        hook.save_tensor("number", numpy.int64(step))
        if step:
            trial = trial or assay.create_trial(str(WORK / "here"))
            assert trial.steps()[-1] == step - 1 and int(trial.tensor("number").value(step - 1)) == step - 1
    hook.close()
    assert len(trial.steps()) == 20 and trial.loaded_all_steps


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for check in (modules_of_both_packages, near_names_are_suggested, modes_are_the_same, exceptions_have_the_kinds_of_the_reference, event_files, looks_when_asked,
                  a_range_of_steps, collections_are_edited, inputs_labels_predictions, rules_follow_a_training,
                  hooks_are_of_their_frameworks, what_a_hook_here_records_is_there, *([event_files_in_s3] if "s3" in sys.argv[2:] else [])):
        check()
        print("%s: as it should be" % check.__name__)
    shutil.rmtree(WORK)


main()
