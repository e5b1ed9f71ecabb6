"""xgboost_rounds.py - the callback of XGBoost: with XGBoost where it is installed, and against a stand-in that calls what it documents.

Usage: xgboost_rounds.py WORK_DIR ASSAY
"""
import json
import os
import shutil
import subprocess
import sys
import warnings

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import assay_hook  # noqa: E402
import tfevents  # noqa: E402
from assay_hook import SaveConfig  # noqa: E402
from assay_recording.xgboost import Hook, parse_trees  # noqa: E402

WORK, ASSAY = sys.argv[1], sys.argv[2]
ALL = ["metrics", "losses", "hyperparameters", "predictions", "labels", "feature_importance", "average_shap", "full_shap", "trees"]
DUMP = ("0:[f2<0.5] yes=1,no=2,missing=1,gain=12.5,cover=100\n\t2:leaf=-0.25,cover=40\n"
        "\t1:[width<-1.5e-05] yes=3,no=4,missing=4,gain=3,cover=60\n\t\t3:leaf=1e+20,cover=20\n\t\t4:leaf=0,cover=40\n")


def fresh(name="trial"):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


class Data:
    def get_label(self):
        return numpy.array([0, 1, 1], "f4")


class Model:
    feature_names = None

    def __init__(self, rounds=0):
        self.rounds = rounds

    def get_dump(self, with_stats):
        assert with_stats
        return [DUMP] * self.rounds

    def get_score(self, importance_type):
        return {"f0": 1.0, "f2": 3.0} if importance_type == "gain" else {}

    def predict(self, data, pred_contribs=False):
        assert isinstance(data, Data)
        return numpy.arange(12.0).reshape(3, 4) if pred_contribs else numpy.array([0.1, 0.8, 0.3 + self.rounds], "f4")


def boost(hook, rounds, begin=0):
    """As xgboost.train() calls its callbacks."""
    model, log = hook.before_training(Model(begin)), {"train": {"rmse": [], "auc": []}, "validation": {"rmse": []}}
    for epoch in range(begin, begin + rounds):
        assert hook.before_iteration(model, epoch, log) is False
        model.rounds += 1
        for data in log.values():
            for values in data.values():
                values.append(10.0 - epoch)
        assert hook.after_iteration(model, epoch, log) is False
    return hook.after_training(model)


def test_what_is_recorded():
    hook = Hook(fresh(), include_collections=ALL, save_config=SaveConfig(save_interval=2), hyperparameters={"eta": 0.3, "booster": "gbtree"},
                train_data=Data(), validation_data=Data())
    assert assay_hook.get_hook() is hook
    boost(hook, 5)
    hook.close()
    trial = tfevents.Trial(hook.out_dir)
    assert [(step, s.mode, s.mode_step) for (step, _), s in sorted(trial.steps.items())] == [(s, "GLOBAL", s) for s in (0, 2, 4)]
    for (step, _), at in trial.steps.items():
        found = {name: value.tolist() for name, (_, value) in at.tensors.items()}
        assert found["train-rmse"] == found["train-auc"] == found["validation-rmse"] == [10.0 - step]
        assert found["labels"] == [0, 1, 1] and numpy.allclose(found["predictions"], [0.1, 0.8, 1.3 + step])
        assert found["feature_importance/gain/f2"] == [0.75] and found["average_shap/f1"] == [5.0] and "average_shap/bias" not in found
        assert found["full_shap/f2"] == numpy.arange(12.0).reshape(3, 4).tolist() and found["hyperparameters/eta"] == [0.3] and found["hyperparameters/booster"] == ["gbtree"]
        assert found["trees/ID"] == ["%d-%d" % (step, i) for i in range(5)] and found["trees/Gain"] == [12.5, 3, -0.25, 1e20, 0]
        assert found["trees/Feature"] == ["f2", "width", "Leaf", "Leaf", "Leaf"] and found["trees/Yes"][:3] == ["%d-1" % step, "%d-3" % step, "nan"]
    members = {name: set(c["tensor_names"]) for name, c in trial.collections["worker_0"]["collections"].items()}
    assert members["metrics"] == {"train-rmse", "train-auc", "validation-rmse"} and members["losses"] == {"train-rmse", "validation-rmse"}
    assert members["predictions"] == {"predictions"} and "trees/Gain" in members["trees"]


def test_little_is_recorded_by_default():
    hook = Hook(fresh())
    boost(hook, 11)
    hook.close()
    trial = tfevents.Trial(hook.out_dir)
    assert sorted(step for step, _ in trial.steps) == [0, 10]
    assert set(trial.steps[0, "worker_0"].tensors) == {"train-rmse", "train-auc", "validation-rmse"}


def test_boosting_goes_on():
    """From a model that was boosted before, and whatever goes wrong in a round."""
    hook = Hook(fresh(), include_collections=ALL, save_config=SaveConfig(save_interval=1), validation_data=object(), train_data=object())
    hook.set_mode("TRAIN")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        boost(hook, 2, begin=7)
    hook.close()
    trial = tfevents.Trial(hook.out_dir)
    assert [(step, s.mode, s.mode_step) for (step, _), s in sorted(trial.steps.items())] == [(7, "TRAIN", 7), (8, "TRAIN", 8)]
    assert len(told) == 1 and "trees/Gain" in trial.steps[8, "worker_0"].tensors


def test_trees_as_the_reference_has_them():
    import assay
    data = os.path.join(HERE, "..", "data", "trials", "xgboost")
    trial = assay.open(data)
    theirs = {name[6:]: trial.tensor(name).value(0) for name in trial.tensor_names(regex="^trees/")}
    text = []
    for i in range(len(theirs["Node"])):
        head = "%d:" % theirs["Node"][i]
        if theirs["Feature"][i] == "Leaf":
            text.append(head + "leaf=%r,cover=%r" % (theirs["Gain"][i], theirs["Cover"][i]))
        else:
            ids = tuple(theirs[name][i].split("-")[1] for name in ("Yes", "No", "Missing"))
            text.append(head + "[%s<%r] yes=%s,no=%s,missing=%s,gain=%r,cover=%r" % (
                theirs["Feature"][i], theirs["Split"][i], *ids, theirs["Gain"][i], theirs["Cover"][i]))
    ours = parse_trees(["\n".join(reversed(text))], 0)
    assert set(ours) == set(theirs)
    for name in ours:
        assert ours[name].dtype == theirs[name].dtype, (name, ours[name].dtype, theirs[name].dtype)
        same = ours[name] == theirs[name]
        assert (same | (ours[name] != ours[name])).all(), name


def test_the_report_reads_it():
    hook = Hook(fresh(), include_collections=ALL, save_config=SaveConfig(save_interval=1), validation_data=Data(), train_data=Data())
    boost(hook, 40)
    hook.close()
    out = fresh("report")
    job = os.path.join(HERE, "..", "..", "jobs", "xgboost.json")
    done = subprocess.run([ASSAY, "run", job, "--trial", hook.out_dir, "--out", out], capture_output=True, text=True)
    assert done.returncode in (0, 1), done
    with open(os.path.join(out, "report.json")) as file:
        rules = {rule["name"]: rule["status"] for rule in json.load(file)["trials"][0]["rules"]}
    assert "Error" not in rules.values() and [name for name, status in rules.items() if status == "NoData"] in ([], ["ClassImbalance"]), rules


def test_with_xgboost():
    try:
        import xgboost
    except ImportError:
        print("XGBoost is not installed: the stand-in alone was used")
        return
    rng = numpy.random.default_rng(3)
    x = rng.normal(0, 1, (200, 5))
    data = xgboost.DMatrix(x, label=(x[:, 0] + x[:, 1] > 0).astype(int))
    hook = Hook(fresh(), include_collections=ALL, save_config=SaveConfig(save_interval=1), validation_data=data, train_data=data)
    booster = xgboost.train({"objective": "binary:logistic", "eval_metric": ["logloss", "auc"]}, data, 5, evals=[(data, "train")], callbacks=[hook])
    hook.close()
    trial = tfevents.Trial(hook.out_dir)
    last = trial.steps[4, "worker_0"].tensors
    assert numpy.allclose(last["predictions"][1], booster.predict(data)) and {"train-logloss", "train-auc", "average_shap/f0"} <= set(last)
    dump = booster.get_dump(with_stats=True)
    assert len(last["trees/Node"][1]) == len(dump[4].strip().splitlines())


def main():
    os.makedirs(WORK, exist_ok=True)
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    for name, test in tests:
        test()
        print("passed " + name)


if __name__ == "__main__":
    main()
