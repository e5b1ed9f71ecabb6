"""assay_hook_config - what a recording is told before it begins: modes, steps, reductions and collections, for assay_hook.

Names, arguments and what they give back are those of the reference. A mistake raises here, at construction, and names the key.
"""
import contextlib
import difflib
import enum
import json
import os
import re
import sys
import threading
import warnings
import weakref


def with_limit(look, seconds):
    """What looking at a disk comes to, in a background thread; None when the disk does not answer: it stops no training."""
    came = []

    def run():
        try:
            came.append((look(), None))
        except Exception as error:  # it is raised where it was asked for
            came.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if came and came[0][1] is not None:
        raise came[0][1]
    return came[0][0] if came else None


def kind_of_error(plain):
    """The reference's exception of a kind (SMDebugValueError for ValueError) where the program has those of assay.exceptions at hand,
    so that its except clauses catch it; else the plain kind."""
    return getattr(sys.modules.get("assay.exceptions"), "SMDebug" + plain.__name__, plain)


def meant(word, names, likeness=0.85):
    """What a misspelt word was most likely meant to be, to stand behind it in a message."""
    near = difflib.get_close_matches(str(word), list(names), 1, likeness)
    return " (did you mean \"%s\"?)" % near[0] if near else ""


class ModeKeys(enum.Enum):
    """The modes of a training. Equal to the same mode of assay.modes, which may be installed without this file."""
    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4

    def __eq__(self, other):
        return self is other or (type(other).__name__ == "ModeKeys" and getattr(other, "name", None) == self.name)

    def __hash__(self):
        return hash(self._name_)


def mode_of(mode):
    """A mode from itself, its name, or the same member of another enumeration."""
    name = mode if isinstance(mode, str) else getattr(mode, "name", None)
    found = ModeKeys.__members__.get(str(name).upper())
    if found is None:
        raise kind_of_error(ValueError)("there is no mode %s%s: TRAIN, EVAL, PREDICT, GLOBAL" % (
            json.dumps(mode, default=str), meant(str(name).upper(), ModeKeys.__members__, 0.6)))
    return found


class CollectionKeys:
    """The names of collections that the reference knows."""
    DEFAULT, ALL, INPUTS, OUTPUTS, WEIGHTS = "default", "all", "inputs", "outputs", "weights"
    GRADIENTS, LOSSES, BIASES, LAYERS = "gradients", "losses", "biases", "layers"
    SM_METRICS, OPTIMIZER_VARIABLES, METRICS = "sm_metrics", "optimizer_variables", "metrics"
    TENSORFLOW_SUMMARIES = "tensorflow_summaries"
    HYPERPARAMETERS, PREDICTIONS, LABELS, TREES = "hyperparameters", "predictions", "labels", "trees"
    FEATURE_IMPORTANCE, AVERAGE_SHAP, FULL_SHAP = "feature_importance", "average_shap", "full_shap"


# What the library has in it, so that a program can ask what is included: docs/hook-parameters.md has the whole table.
BUILT_IN = {"all": [".*"], "default": [], "weights": ["^(?!gradient).*weight"], "biases": ["^(?!gradient).*bias"],
            "gradients": ["^gradient"], "losses": ["[Ll]oss_(?!input).*output"]}
RELUS, RELU_OUTPUTS = ("ReLU", "ReLU6"), "relu_outputs"  # a collection that register_module() fills by the types of modules
BUILT_IN_NAMES = (*BUILT_IN, RELU_OUTPUTS, "metrics", "inputs", "outputs", "labels", "predictions", "optimizer_variables")


def name_of_loss(library, handle, module):
    """The name of a loss. What it returns becomes one of the losses, though their pattern asks for "loss" in the name."""
    name = module._get_name()
    if "loss" not in name.lower():
        library.assay_hook_collection_name(handle, b"losses", (name + "_output_0").encode())
    return name


def number(key, value, otherwise):
    """A number of steps; None is `otherwise`."""
    if value is None:
        return otherwise
    try:
        return int(value)
    except (TypeError, ValueError):
        raise kind_of_error(ValueError)("%s = %s: expected a number of steps" % (key, json.dumps(value, default=str))) from None


class _Told:
    """What goes into JSON as a dictionary, and comes back from it."""

    def to_json(self):
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_json(cls, text):
        return cls.from_dict(json.loads(text))

    def __eq__(self, other):
        return self.to_json_dict() == other.to_json_dict() if isinstance(other, type(self)) else NotImplemented

    __hash__ = None


class SaveConfigMode(_Told):
    """Which steps of one mode are saved."""

    def __init__(self, save_interval=None, start_step=None, end_step=None, save_steps=None):
        self.save_interval = number("save_interval", save_interval, 500)
        self.start_step, self.end_step = number("start_step", start_step, 0), number("end_step", end_step, None)
        if isinstance(save_steps, str) or not hasattr(save_steps or [], "__iter__"):
            raise kind_of_error(ValueError)("save_steps = %s: expected a list of steps" % json.dumps(save_steps, default=str))
        self.save_steps = [number("save_steps", step, 0) for step in save_steps or []]

    def parameters(self, prefix=""):
        return [(prefix + "save_interval", self.save_interval), (prefix + "start_step", self.start_step),
                (prefix + "end_step", self.end_step), (prefix + "save_steps", ",".join(map(str, self.save_steps)))]

    def should_save_step(self, step_num):
        inside = step_num >= self.start_step and (self.end_step is None or step_num < self.end_step)
        return step_num in self.save_steps or (inside and step_num % self.save_interval == 0)

    def to_json_dict(self):
        return {name: getattr(self, name) for name in ("save_interval", "save_steps", "start_step", "end_step")}

    @classmethod
    def from_dict(cls, params, default_values=None):
        """None: no configuration."""
        if params is None:
            return None
        if not isinstance(params, dict):
            raise kind_of_error(TypeError)("the steps of a mode have to be a dictionary, not %r" % (params,))
        keys = ("save_interval", "start_step", "end_step", "save_steps")
        for key in params:
            if key not in keys:
                raise kind_of_error(ValueError)("there is no parameter \"%s\" of a mode%s" % (key, meant(key, keys, 0.6)))
        return cls(**{**(default_values or {}), **params})

    def __repr__(self):
        return "<SaveConfigMode %s>" % ", ".join("%s=%r" % pair for pair in self.to_json_dict().items())


class SaveConfig(_Told):
    """Which steps are saved: one rule for all modes, or a dictionary from modes to SaveConfigMode. Modes that it leaves out have that
    of the hook, or the default."""

    def __init__(self, mode_save_configs=None, save_interval=None, start_step=None, end_step=None, save_steps=None):
        if mode_save_configs is None:
            rule = SaveConfigMode(save_interval, start_step, end_step, save_steps)
            self.mode_save_configs = {mode: rule for mode in ModeKeys}
            return
        self.mode_save_configs = {mode: None for mode in ModeKeys}
        for mode, rule in mode_save_configs.items():
            if not isinstance(rule, (dict, SaveConfigMode, type(None))):
                raise kind_of_error(ValueError)("%s: %r is neither a SaveConfigMode nor a dictionary" % (mode_of(mode).name, rule))
            self.mode_save_configs[mode_of(mode)] = SaveConfigMode.from_dict(rule) if isinstance(rule, dict) else rule

    @classmethod
    def parse(cls, value):
        if value is None:
            return cls()
        if isinstance(value, cls):
            return value
        if isinstance(value, SaveConfigMode):
            return cls({mode: value for mode in ModeKeys})
        if isinstance(value, dict):
            return cls(value)
        raise kind_of_error(TypeError)("save_config has to be a SaveConfig, a SaveConfigMode or a dictionary, not %r" % (value,))

    from_save_config_mode = parse

    def parameters(self):
        rules = list(self.mode_save_configs.values())
        if all(rule is rules[0] for rule in rules) and rules[0] is not None:
            return rules[0].parameters()
        return [pair for mode, rule in self.mode_save_configs.items() if rule is not None
                for pair in rule.parameters(mode.name.lower() + ".")]

    def get_save_config(self, mode):
        rule = self.mode_save_configs[mode_of(mode)]
        if rule is None:
            raise kind_of_error(ValueError)("nothing was said about the steps of mode %s" % mode_of(mode).name)
        return rule

    def set_save_config(self, mode, save_config_mode):
        if not isinstance(save_config_mode, SaveConfigMode):
            raise kind_of_error(ValueError)("%r is no SaveConfigMode" % (save_config_mode,))
        self.mode_save_configs[mode_of(mode)] = save_config_mode

    def should_save_step(self, mode, step_num):
        return self.get_save_config(mode).should_save_step(step_num)

    def merge_default_save_config(self, default_save_config):
        """Modes that nothing was said about get what the other says of them, else the default."""
        for mode, rule in self.mode_save_configs.items():
            if rule is None:
                self.mode_save_configs[mode] = default_save_config.mode_save_configs[mode] or SaveConfigMode()

    def to_json_dict(self):
        return {mode.name: rule and rule.to_json_dict() for mode, rule in self.mode_save_configs.items()}

    @classmethod
    def from_dict(cls, params, default_values=None):
        if params is None:
            return None
        return cls({mode: SaveConfigMode.from_dict(rule, default_values) if isinstance(rule, dict) else rule
                    for mode, rule in params.items()})

    def __repr__(self):
        return "<SaveConfig %s>" % self.to_json_dict()


REDUCTIONS, NORMS = ("min", "max", "mean", "std", "variance", "sum", "prod"), ("l1", "l2")


def texts(value):
    """A list of texts, from one or from a text with commas."""
    parts = value.split(",") if isinstance(value, str) else list(value or [])
    return [str(part).strip() for part in parts if str(part).strip()]


class ReductionConfig(_Told):
    """Which figures are saved of a tensor, and whether the tensor itself and its shape are."""

    def __init__(self, reductions=None, abs_reductions=None, norms=None, abs_norms=None, save_raw_tensor=False,
                 save_shape=False):
        self.reductions, self.abs_reductions = list(reductions or []), list(abs_reductions or [])
        self.norms, self.abs_norms = list(norms or []), list(abs_norms or [])
        self.save_raw_tensor, self.save_shape = save_raw_tensor, save_shape
        for key, known in (("reductions", REDUCTIONS), ("abs_reductions", REDUCTIONS), ("norms", NORMS), ("abs_norms", NORMS)):
            for name in getattr(self, key):
                if name not in known:
                    raise kind_of_error(ValueError)("%s: there is no %s%s; they are %s" % (
                        key, json.dumps(name, default=str), meant(name, known, 0.6), ", ".join(known)))
        for key in ("save_raw_tensor", "save_shape"):
            if not isinstance(getattr(self, key), bool):
                raise kind_of_error(ValueError)("%s = %r: expected True or False" % (key, getattr(self, key)))

    def names(self):
        names = self.reductions + [n + "_norm" for n in self.norms]
        return names + ["abs_" + r for r in self.abs_reductions] + ["abs_%s_norm" % n for n in self.abs_norms]

    def parameters(self):
        return [("reductions", ",".join(self.names())), ("save_raw_tensor", self.save_raw_tensor), ("save_shape", self.save_shape)]

    def to_json_dict(self):
        return {"save_raw_tensor": self.save_raw_tensor, "reductions": ",".join(self.names()), "save_shape": self.save_shape}

    @classmethod
    def from_dict(cls, params):
        """From the parameters as a configuration file has them: "reductions": "min,abs_max,l2_norm"."""
        if params is None:
            return None
        if not isinstance(params, dict):
            raise kind_of_error(ValueError)("reductions have to be a dictionary, not %r" % (params,))
        lists = {"": [], "abs_": [], "_norm": [], "abs__norm": []}
        for name in texts(params.get("reductions")):
            kind = ("abs_" if name.startswith("abs_") else "") + ("_norm" if name.endswith("_norm") else "")
            lists[kind].append(re.sub("^abs_|_norm$", "", name))
        flags = {key: truth(key, params.get(key, False)) for key in ("save_raw_tensor", "save_shape")}
        return cls(lists[""], lists["abs_"], lists["_norm"], lists["abs__norm"], **flags)

    def __repr__(self):
        return "<ReductionConfig %s>" % self.to_json_dict()


def truth(key, value):
    if value in (True, "true", "True"):
        return True
    if value in (False, "false", "False"):
        return False
    raise kind_of_error(ValueError)("%s = %s: expected true or false" % (key, json.dumps(value, default=str)))


class Collection(_Told):
    """What the training adds to a collection; built-in patterns live in the library. `record` is what is kept of its
    tensors: "raw", "statistics" or "digest"."""

    def __init__(self, name, include_regex=None, tensor_names=None, reduction_config=None, save_config=None,
                 save_histogram=True, record=None):
        self.name, self.record, self.save_histogram = name, record, save_histogram
        self.include_regex = []
        self.modules = {}  # {module: (inputs, outputs)} as add_module_tensors() was told
        self.tensor_names = tensor_names
        self.reduction_config, self.save_config = reduction_config, save_config
        self.include(include_regex or [])

    @property
    def tensor_names(self):
        return self._tensor_names

    @tensor_names.setter
    def tensor_names(self, names):
        if isinstance(names, str) or not hasattr(names or (), "__iter__"):
            raise kind_of_error(TypeError)("%s: tensor_names have to be a list or a set, not %r" % (self.name, names))
        self._tensor_names = set(names or ())

    @property
    def save_config(self):
        return self._save_config

    @save_config.setter
    def save_config(self, config):
        self._save_config = None if config is None else SaveConfig.parse(config)

    @property
    def reduction_config(self):
        return self._reduction_config

    @reduction_config.setter
    def reduction_config(self, config):
        if config is not None and not isinstance(config, ReductionConfig):
            raise kind_of_error(TypeError)("%s: reduction_config has to be a ReductionConfig, not %r" % (self.name, config))
        self._reduction_config = config

    def include(self, patterns):
        """A pattern, or a list of them; a collection has the tensors whose names one of them matches, anywhere."""
        patterns = [patterns] if isinstance(patterns, str) else patterns
        if not isinstance(patterns, (list, tuple, set)) or not all(isinstance(p, (str, list, tuple)) for p in patterns):
            raise kind_of_error(TypeError)("%s: include() takes a pattern or a list of them, not %r" % (self.name, patterns))
        for pattern in patterns:
            self.include_regex.append(pattern) if isinstance(pattern, str) else self.include(pattern)

    def has_tensor_name(self, name):
        return name in self.tensor_names

    def add_tensor_name(self, name):
        self.tensor_names.add(name)

    def remove_tensor_name(self, name):
        self.tensor_names.discard(name)

    def add_module_tensors(self, module, inputs=False, outputs=True):
        """Takes in the tensors of a module of a network that register_module() names, before or after it has."""
        self.modules[module] = (inputs, outputs)

    def name_modules(self):
        """Patterns of the modules that have their names by now; gives those that have none."""
        unnamed = []
        for module, (inputs, outputs) in list(self.modules.items()):
            name = getattr(module, "_module_name", None)
            if name is None:
                unnamed.append(module)
                continue
            self.include(([name + "_input_"] if inputs else []) + ([name + "_output_"] if outputs else []))
            del self.modules[module]
        return unnamed

    def to_json_dict(self):
        return {"name": self.name, "include_regex": self.include_regex, "tensor_names": sorted(self.tensor_names),
                "reduction_config": self.reduction_config and self.reduction_config.to_json_dict(),
                "save_config": self.save_config and self.save_config.to_json_dict(), "save_histogram": self.save_histogram}

    @classmethod
    def from_dict(cls, params):
        if not isinstance(params, dict):
            raise kind_of_error(ValueError)("a collection has to be a dictionary, not %r" % (params,))
        return cls(params.get("name"), params.get("include_regex"), params.get("tensor_names"),
                   ReductionConfig.from_dict(params.get("reduction_config")), SaveConfig.from_dict(params.get("save_config")),
                   params.get("save_histogram", True))

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return "<Collection %s>" % self.name


class CollectionManager:
    """Collections by their names, and the file of a trial that has them."""

    def __init__(self, collections=None, create_default=False):
        self.collections = {} if collections is None else collections
        self._meta = {"num_workers": 1}
        for name, patterns in BUILT_IN.items() if create_default else ():
            self.collections.setdefault(name, Collection(name, patterns if name != "all" else None))

    def create_collection(self, name):
        self.collections.setdefault(name, Collection(name))

    def get_collections(self):
        return self.collections

    def add(self, collection):
        if isinstance(collection, str):
            self.create_collection(collection)
        elif isinstance(collection, Collection):
            self.collections[collection.name] = collection
        else:
            raise kind_of_error(TypeError)("%r is neither a Collection nor the name of one" % (collection,))

    def get(self, name, create=True):
        """With `create`, a name that is not there yet is a new collection, unless it looks like a built-in one misspelt."""
        if name not in self.collections:
            near = meant(name, BUILT_IN_NAMES) if name not in BUILT_IN_NAMES else ""
            if not create or near:
                raise kind_of_error(ValueError)("there is no collection \"%s\"%s: add_collection(Collection(...)) declares one of your own"
                                                % (name, near or meant(name, self.collections, 0.6)))
            self.create_collection(name)
        return self.collections[name]

    def update_meta(self, meta):
        if not isinstance(meta, dict):
            raise kind_of_error(TypeError)("meta has to be a dictionary, not %r" % (meta,))
        self._meta.update(meta)

    def get_num_workers(self):
        return int(self._meta["num_workers"])

    def set_num_workers(self, num_workers):
        self._meta["num_workers"] = int(num_workers)

    def to_json_dict(self):
        return {"collections": {name: c.to_json_dict() for name, c in self.collections.items()}, "_meta": self._meta}

    def export(self, out_dir, filename):
        """Writes them as the collections file of a worker: "worker_0_collections.json"; where assay for Python is, also in S3."""
        folder = os.path.join(out_dir, "collections", "000000000")
        if folder.lower().startswith("s3://"):
            from assay.s3 import write_file
            return write_file(os.path.join(folder, filename), json.dumps(self.to_json_dict()))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, filename + ".tmp"), "w", encoding="utf-8") as file:
            json.dump(self.to_json_dict(), file)
        os.replace(os.path.join(folder, filename + ".tmp"), os.path.join(folder, filename))

    @classmethod
    def load(cls, filename):
        with open(filename, encoding="utf-8") as file:
            return cls.load_from_string(file.read())

    @classmethod
    def load_from_string(cls, text):
        params = json.loads(text)
        made = cls({name: Collection.from_dict(c) for name, c in params["collections"].items()})
        made.update_meta(params.get("_meta", {}))
        return made

    def __eq__(self, other):
        return self.collections == other.collections if isinstance(other, CollectionManager) else NotImplemented

    __hash__ = None

    def __repr__(self):
        return "<CollectionManager %s>" % ", ".join(self.collections)


# ---- a configuration file, as the program sees it

SAGEMAKER = "/opt/ml/input/config/"
SAGEMAKER_DIRECTORY = "/opt/ml/output/tensors"  # where a configuration file names none


def file_of_environment():
    """The configuration file that SageMaker, or somebody in its place, has left for this training; None: there is none."""
    path = os.environ.get("SMDEBUG_CONFIG_FILE_PATH")
    return path or next((p for p in (SAGEMAKER + "debughookconfig.json",) if os.path.isfile(p)), None)


def tensorboard_of_sagemaker():
    path = os.environ.get("TENSORBOARD_CONFIG_FILE_PATH", SAGEMAKER + "tensorboardoutputconfig.json")
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        return json.load(file).get("LocalPath")
    return None


def profiler_of_environment():
    """Parameters of the hook by the profiler's configuration file that SMPROFILER_CONFIG_PATH names, or SageMaker has left: the interval of the
    machine's samples, and a timeline of steps and phases. Nothing where the profiler is switched off. What does not apply is said."""
    path = os.environ.get("SMPROFILER_CONFIG_PATH", SAGEMAKER + "profilerconfig.json")
    if not os.path.isfile(path):
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            said = json.loads(file.read().lower())
        if said.get("disableprofiler") or not (said.get("profilingparameters") or "profilingintervalinmilliseconds" in said):
            return {}
        interval = number("ProfilingIntervalInMilliseconds", said.get("profilingintervalinmilliseconds"), 500)
        given = said.get("profilingparameters") or {}
        rest = [key for key in ("detailedprofilingconfig", "dataloaderprofilingconfig", "pythonprofilingconfig", "smdataparallelprofilingconfig")
                if given.get(key)]
    except (OSError, ValueError, AttributeError) as error:
        warnings.warn("%s: no configuration of a profiler, and nothing is measured: %s" % (path, error))
        return {}
    if rest:
        warnings.warn("%s: %s: not recorded by this hook, which samples the machine every %d ms and records steps and phases: torch.profiler and "
                      "cProfile do the rest" % (path, ", ".join(rest), interval))
    return {"system_metrics_interval": interval, "timeline": True}


def chosen_in_a_file(key, config_file):
    """Does this configuration file, or the one that the environment names, say something about the parameter?"""
    for path in (config_file, os.environ.get("ASSAY_HOOK_CONFIG") or os.environ.get("SMDEBUG_CONFIG_FILE_PATH")):
        if path and os.path.isfile(path):
            with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                if '"%s"' % key in file.read():
                    return True
    return False


def refuse_existing(path):
    """The library refuses as well, at the first step; here it shows before the training begins."""
    try:
        held = os.listdir(path)
    except FileNotFoundError:
        return
    if held and not any(name.startswith(".assay-hook-") for name in os.listdir(path)):
        raise kind_of_error(RuntimeError)("%s holds something already: name another directory, or pass existing=\"continue\"" % path)


def flat(items):
    for item in items or ():
        yield from flat(item) if isinstance(item, (list, tuple, set)) else (item,)


def from_file(path):
    """(directory or None, include_collections or None, {name: Collection}, {parameter of the hook: value}) of a configuration file. The
    library reads it as well, says what is wrong in it, and is what counts."""
    with open(path, encoding="utf-8") as file:
        said = json.load(file)
    if not isinstance(said, dict):
        return None, None, {}, {}
    entries = [entry for entry in said.get("CollectionConfigurations") or [] if isinstance(entry, dict) and entry.get("CollectionName")]
    collections = {}
    for entry in entries:
        given = entry.get("CollectionParameters") or {}
        made = collections.setdefault(entry["CollectionName"], Collection(entry["CollectionName"]))
        made.include(texts(given.get("include_regex")))
        made.save_config = steps_of(given)
        if "reductions" in given:
            made.reduction_config = ReductionConfig.from_dict(given)
    return said.get("LocalPath"), list(collections) if entries else None, collections, said.get("HookParameters") or {}


def steps_of(given):
    """The SaveConfig that parameters of a configuration file make, "train.save_interval" and so on; None: they say nothing of steps."""
    keys = ("save_interval", "start_step", "end_step", "save_steps")
    plain = {key: given[key] for key in keys if key in given}
    rules = {}
    for mode in ModeKeys:
        own = {key: given[mode.name.lower() + "." + key] for key in keys if mode.name.lower() + "." + key in given}
        rule = {**plain, **own}
        if "save_steps" in rule:
            rule["save_steps"] = texts(rule["save_steps"] if not isinstance(rule["save_steps"], int) else [rule["save_steps"]])
        rules[mode] = SaveConfigMode.from_dict({key: None if value == "None" else value for key, value in rule.items()}) if rule else None
    return SaveConfig(rules) if any(rules.values()) else None


class NetworkNames:
    """What the tensors of a network are called by: its class; of a second one of that class "Class2", for one tensor has one name; or
    "Class3" where a class is called Class2."""

    def __init__(self):
        self._known, self._taken, self._of_class = weakref.WeakKeyDictionary(), set(), {}

    def __call__(self, network):
        if network not in self._known:
            kind = name = network._get_name()
            while name in self._taken:
                number = self._of_class[kind] = self._of_class.get(kind, 1) + 1
                name = kind + str(number)
            self._taken.add(name)
            self._known[network] = name
        return self._known[network]


def text_of(value):
    return str(value).lower().encode() if isinstance(value, bool) else str(value).encode()


def settings(value, prefix=""):
    """Each setting as (name, text): {"optim": {"lr": 0.1}} is ("optim.lr", "0.1")."""
    for key, item in dict(value if hasattr(value, "items") else vars(value)).items():
        if hasattr(item, "items"):
            yield from settings(item, "%s%s." % (prefix, key))
        else:
            plain = item is None or isinstance(item, (bool, list, tuple))
            yield "%s%s" % (prefix, key), json.dumps(item, default=str) if plain else str(item)


class Silent:
    """Stands where a recorder was in a network that was saved whole: whatever is called, nothing happens."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing


def nothing(*arguments, **named):
    return None
