"""xgboost.py - the hook as a callback of XGBoost: what each round of boosting has come to.

    hook = Hook("runs/17", include_collections=["metrics", "feature_importance", "predictions", "labels"], validation_data=dvalid)
    xgboost.train(parameters, dtrain, evals=[(dtrain, "train"), (dvalid, "validation")], callbacks=[hook])
    hook.close()

A round is a step. Names of tensors and collections are those of the reference: `train-rmse` in metrics (and in losses, where a smaller one is
better), `feature_importance/gain/f3`, `average_shap/f3`, `full_shap/f3`, `trees/Gain`, `predictions`, `labels`, `hyperparameters/eta`. Only
what is included is computed. Written against the documented interface of XGBoost from 1.3 on.
"""
import contextlib
import functools
import importlib
import re
import warnings

import assay_hook
import assay_hook_config
from assay_hook import Collection, SaveConfig, _goes_on
from assay_recording.callbacks import _base

PATTERNS = {"metrics": [], "losses": ["^[a-zA-Z]+-.+(?<!(auc|map))$"], "hyperparameters": ["^hyperparameters/"], "predictions": [],
            "labels": [], "feature_importance": ["^feature_importance/"], "average_shap": ["^average_shap/(?!bias$)"],
            "full_shap": ["^full_shap/(?!bias$)"], "trees": ["^trees/"]}
IMPORTANCE = ("weight", "gain", "cover", "total_gain", "total_cover")
NUMBER = r"[-+]?(?:inf|nan|[0-9.]+(?:e[-+]?[0-9]+)?)"
NODE = re.compile(r"\s*(\d+):(?:leaf=(%s)|\[([^<\]:]+)(?:<(%s)|:\{([^}]*)\})?\]\s*yes=(\d+),no=(\d+)(?:,missing=(\d+))?)"
                  r"(?:,gain=(%s))?(?:,cover=(%s))?" % ((NUMBER,) * 4), re.IGNORECASE)
EVERY_INTERVAL = 10  # rounds, as the reference has it


def _workers():
    """(rank, workers) of XGBoost's own communication; None: it is one process."""
    for name in ("xgboost.collective", "xgboost.rabit"):
        try:
            module = importlib.import_module(name)
            if module.get_world_size() > 1:
                return module.get_rank(), module.get_world_size()
            return None
        except Exception:  # noqa: B902 - of another version
            continue
    return None


def parse_trees(dump, first):
    """{column: array} of trees as Booster.get_dump(with_stats=True) has them; the first has the number `first`. The nodes of a tree are in
    order of their numbers."""
    import numpy
    rows = []
    for tree, text in enumerate(dump, first):
        for line in text.splitlines():
            found = NODE.match(line)
            if not found:
                continue
            node, leaf, feature, split, categories, *children, gain, cover = found.groups()
            children = ["nan" if child is None else "%d-%s" % (tree, child) for child in children]
            rows.append((tree, int(node), "%d-%s" % (tree, node), "Leaf" if leaf else feature, float(split or "nan"), *children,
                         float(leaf or gain or "nan"), float(cover or "nan"), str(categories.split(",")) if categories else "nan"))
    rows.sort(key=lambda row: row[:2])
    columns = ("Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover", "Category")
    return {name: numpy.array(column) for name, column in zip(columns, zip(*rows))}


def parse_tree_model(booster, iteration, fmap=""):
    """{column: array} of one tree of a model, by its number."""
    return parse_trees(booster.get_dump(fmap, with_stats=True)[iteration:iteration + 1], iteration)


def _is_xgboost(*oldest):
    """Is what is installed that version, or a later one?"""
    version = importlib.import_module("xgboost").__version__
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= oldest


is_xgb_1_3_and_later = functools.partial(_is_xgboost, 1, 3)
is_xgb_1_5_and_later = functools.partial(_is_xgboost, 1, 5)
is_xgb_1_7_and_later = functools.partial(_is_xgboost, 1, 7)


def _names_of_file(named):
    """The collections of the configuration file that the hook is made from."""
    path = named.get("config_file")
    with contextlib.suppress(OSError, ValueError):  # which the hook itself names
        return list(assay_hook_config.from_file(path)[2]) if path else []
    return []


class Hook(assay_hook.Hook, _base(("xgboost.callback", "TrainingCallback"))):
    """Arguments as the reference's: hyperparameters is a dictionary; train_data and validation_data are DMatrix, of which SHAP values, and
    predictions and labels, are taken."""

    def __init__(self, out_dir=None, *arguments, hyperparameters=None, train_data=None, validation_data=None, **named):
        named.setdefault("save_config", SaveConfig(save_interval=EVERY_INTERVAL))
        named.setdefault("rank_and_workers", _workers() or (0, 1))
        named.pop("reduction_config", None)  # the reference's has none of them
        wanted = named.pop("include_collections", None)
        wanted = [*(wanted if wanted is not None else []), "metrics"]
        names = [getattr(c, "name", c) for c in wanted] + _names_of_file(named)
        everything = "all" in names or named.get("save_all")
        mine = [Collection(name, PATTERNS[name]) for name in PATTERNS if PATTERNS[name] and (name in names or everything)]
        mine += [name for name in PATTERNS if name in names and not PATTERNS[name]]
        own = [c for c in wanted if getattr(c, "name", c) not in PATTERNS or isinstance(c, Collection)]
        super().__init__(out_dir, *arguments, include_collections=mine + own, **named)
        self.hyperparameters, self.train_data, self.validation_data = hyperparameters, train_data, validation_data

    # -- what XGBoost calls

    def before_training(self, model):
        if not self._handle:
            warnings.warn("this hook was closed, and records nothing more: make another one; with existing=\"continue\" into the same directory")
        self._over = False
        return model

    def after_training(self, model):
        """Scalars may still come. Who reads the trial in this process ends the recording."""
        self.flush()
        self._over = True
        return model

    def before_iteration(self, model, epoch, evals_log):
        return False

    def after_iteration(self, model, epoch, evals_log):
        """True would end the training."""
        self._record(model, epoch, evals_log)
        return False

    def __call__(self, env):
        """As callbacks of XGBoost before 1.3 are called."""
        log = {}
        for name, value in env.evaluation_result_list:
            data, _, metric = name.partition("-")
            log.setdefault(data, {})[metric] = [value]
        self._record(env.model, env.iteration, log)

    # -- a round

    @_goes_on
    def _record(self, model, epoch, evals_log):
        if epoch != self._global_step() + 1 or epoch != self.mode_steps[self.mode] + 1:
            self.seek(epoch, self.mode, epoch)  # it goes on from a model that was boosted before
        self.step()
        if not self._active:
            return
        for data, metrics in (evals_log or {}).items():
            for metric, values in metrics.items():
                value = values[-1]  # of cross-validation a mean and how it varies
                self._number("%s-%s" % (data, metric), value[0] if isinstance(value, (tuple, list)) else value)
        for part in (self._hyperparameters, self._validation, self._importance, self._trees, self._shap):
            part(model, epoch)

    def _number(self, name, value):
        self._save(name, [float(value)])

    def _wants(self, name):
        return bool(assay_hook._lib.assay_hook_wants(self._handle, name.encode()))

    @_goes_on
    def _hyperparameters(self, model, epoch):
        for name, value in dict(self.hyperparameters or {}).items():
            self._save("hyperparameters/" + name, [value] if isinstance(value, (int, float)) else [str(value)])

    @_goes_on
    def _validation(self, model, epoch):
        if self.validation_data is None:
            return
        if self._wants("labels"):
            self._save("labels", self.validation_data.get_label())
        if self._wants("predictions"):
            self._save("predictions", model.predict(self.validation_data))

    @_goes_on
    def _importance(self, model, epoch):
        for kind in IMPORTANCE if self._wants("feature_importance/gain/f0") else ():
            scores = model.get_score(importance_type=kind)
            total = sum(scores.values())
            for feature, score in scores.items() if total else ():
                self._number("feature_importance/%s/%s" % (kind, feature), score / total)

    @_goes_on
    def _trees(self, model, epoch):
        if self._wants("trees/Gain"):
            dump = model.get_dump(with_stats=True)
            each = max(1, len(dump) // (epoch + 1))  # of one round: several, of several classes or of a forest
            for column, values in parse_trees(dump[epoch * each:(epoch + 1) * each], epoch * each).items():
                self._save("trees/" + column, values)

    @_goes_on
    def _shap(self, model, epoch):
        wanted = [name for name in ("average_shap", "full_shap") if self._wants(name + "/f0")]
        if not wanted or self.train_data is None:
            return
        values = model.predict(self.train_data, pred_contribs=True)
        names = model.feature_names or ["f%d" % i for i in range(values.shape[-1] - 1)]
        for number, feature in enumerate([*names, "bias"]):
            if "average_shap" in wanted:
                self._number("average_shap/" + feature, values[..., number].mean())
            if "full_shap" in wanted:
                self._save("full_shap/" + feature, values)


def get_hook(json_config_path=None, create_if_not_exists=False):
    """assay_hook.get_hook(), which makes a callback of XGBoost."""
    return assay_hook.get_hook(json_config_path, create_if_not_exists, Hook)


__all__ = ["Hook", "get_hook", "parse_trees"]
