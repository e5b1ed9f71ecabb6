"""assay_hook - records a PyTorch or numpy training for assay, through libassay_hook.

    import assay_hook
    hook = assay_hook.Hook("runs/17", save_config=assay_hook.SaveConfig(save_interval=100),
                           include_collections=["weights", "gradients"], include_regex=["relu"])
    hook.register_module(net)
    hook.register_loss(loss_fn)
    for ...:
        hook.set_mode(assay_hook.modes.TRAIN)
        loss_fn(net(x), y).backward()
    hook.close()

Classes, arguments and tensor names are those of the reference's PyTorch hook, so that a training changes its import and
nothing else. Without PyTorch: hook.step(), hook.save_tensor(name, array). docs/hook.md says the rest.
assay_hook.auto("runs/17", net, loss_fn, optimizer) configures and registers by itself (assay_recording, beside this file).
A mistake in the configuration raises; after that nothing here stops a training.
"""
import atexit
import contextlib
import ctypes
import ctypes.util
import difflib
import enum
import functools
import json
import os
import sys
import warnings
import weakref

import assay_hook_topology
from assay_hook_topology import Layout  # noqa: F401: of save_tensor()


class ModeKeys(enum.Enum):
    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4


modes = ModeKeys


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 512)]


class _Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("steps", "tensors", "bytes", "dropped", "errors")] + [
        ("status", ctypes.c_int), ("text", ctypes.c_char * 512)]


class _Cost(ctypes.Structure):
    _fields_ = [("calls", ctypes.c_double), ("writer", ctypes.c_double)]


class _Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in ("min", "max", "mean", "std", "l1", "l2")]


_HOOK, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_SIGNATURES = {
    "open": [_TEXT, ctypes.c_int, ctypes.c_int, ctypes.POINTER(_HOOK), ctypes.POINTER(_Error)],
    "set": [_HOOK, _TEXT, _TEXT], "collection": [_HOOK, _TEXT], "collection_set": [_HOOK, _TEXT, _TEXT, _TEXT],
    "collection_regex": [_HOOK, _TEXT, _TEXT], "collection_name": [_HOOK, _TEXT, _TEXT], "load": [_HOOK, _TEXT],
    "begin": [_HOOK], "set_mode": [_HOOK, ctypes.c_int], "step": [_HOOK], "active": [_HOOK], "wants": [_HOOK, _TEXT],
    "wants_statistics": [_HOOK, _TEXT], "set_interval": [_HOOK, _TEXT, ctypes.c_int64],
    "save_statistics": [_HOOK, _TEXT, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Statistics)],
    "get_cost": [_HOOK, ctypes.POINTER(_Cost)],
    "seek": [_HOOK, ctypes.c_int64, ctypes.c_int, ctypes.c_int64],
    "save": [_HOOK, _TEXT, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p],
    "save_strings": [_HOOK, _TEXT, ctypes.c_size_t, ctypes.POINTER(_TEXT)],
    "setting": [_HOOK, _TEXT, _TEXT], "version": [_HOOK, _TEXT, _TEXT],
    "save_scalar": [_HOOK, _TEXT, ctypes.c_double], "flush": [_HOOK], "get_counts": [_HOOK, ctypes.POINTER(_Counts)],
    "close": [_HOOK], "step_end": [_HOOK], "phase_begin": [_HOOK], "phase_end": [_HOOK, _TEXT, ctypes.c_int64],
}


def _load_library():
    here = os.path.dirname(os.path.abspath(__file__))
    name = "libassay_hook.so"
    places = [os.environ.get("ASSAY_HOOK_LIBRARY"), os.path.join(here, name)]
    # Installed as PREFIX/share/assay/python/assay_hook.py: the library is below PREFIX/lib.
    prefix = os.path.normpath(os.path.join(here, "..", "..", ".."))
    for lib in ("lib", "lib64", os.path.join("lib", getattr(os.uname(), "machine", "") + "-linux-gnu")):
        places.append(os.path.join(prefix, lib, name))
    found = next((p for p in places if p and os.path.exists(p)), None) or ctypes.util.find_library("assay_hook")
    library = ctypes.CDLL(found or name)
    for function, arguments in dict(_SIGNATURES, **assay_hook_topology.SIGNATURES).items():
        entry = getattr(library, "assay_hook_" + function)
        entry.argtypes = arguments
        entry.restype = ctypes.c_bool if function in ("active", "wants", "wants_statistics") else ctypes.c_int
    library.assay_hook_get_counts.restype = library.assay_hook_get_cost.restype = None
    library.assay_hook_phase_begin.restype = ctypes.c_int64
    return library


_lib = _load_library()

_DTYPES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8, "int64": 9,
           "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
           "float8_e5m2": 24, "float8_e4m3fn": 25}


def _goes_on(method):
    """A call that records: whatever is wrong with what it is given, the training goes on, with one warning."""
    @functools.wraps(method)
    def guarded(self, *arguments, **named):
        try:
            return method(self, *arguments, **named)
        except Exception as error:  # noqa: B902
            self._complain(method.__name__.lstrip("_"), error)
    return guarded


def _meant(word, names, likeness=0.85):
    """What a misspelt word was most likely meant to be, to stand behind it in a message."""
    near = difflib.get_close_matches(word, names, 1, likeness)
    return " (did you mean \"%s\"?)" % near[0] if near else ""


_BUILT_IN = ("all", "default", "weights", "biases", "gradients", "losses", "metrics", "inputs", "outputs", "labels", "predictions",
             "optimizer_variables")


def _text(value):
    return str(value).lower().encode() if isinstance(value, bool) else str(value).encode()


class SaveConfigMode:
    """Which steps of one mode are saved."""

    def __init__(self, save_interval=None, start_step=None, end_step=None, save_steps=None):
        self.save_interval = 500 if save_interval is None else int(save_interval)
        self.start_step = 0 if start_step is None else int(start_step)
        self.end_step = None if end_step is None else int(end_step)
        self.save_steps = list(save_steps or [])

    def parameters(self, prefix=""):
        return [(prefix + "save_interval", self.save_interval), (prefix + "start_step", self.start_step),
                (prefix + "end_step", self.end_step), (prefix + "save_steps", ",".join(map(str, self.save_steps)))]


class SaveConfig:
    """Which steps are saved: one rule for all modes, or a dictionary from modes to SaveConfigMode."""

    def __init__(self, mode_save_configs=None, save_interval=None, start_step=None, end_step=None, save_steps=None):
        self.every_mode = None
        self.by_mode = {}
        if mode_save_configs is None:
            self.every_mode = SaveConfigMode(save_interval, start_step, end_step, save_steps)
            return
        for mode, config in mode_save_configs.items():
            if isinstance(mode, str):
                if mode not in ModeKeys.__members__:
                    raise ValueError("there is no mode \"%s\"%s: TRAIN, EVAL, PREDICT, GLOBAL" %
                                     (mode, _meant(mode.upper(), ModeKeys.__members__, 0.6)))
                mode = ModeKeys[mode]
            self.by_mode[mode] = SaveConfigMode(**config) if isinstance(config, dict) else config

    @classmethod
    def parse(cls, value):
        if value is None or isinstance(value, cls):
            return value
        if isinstance(value, SaveConfigMode):
            made = cls({})
            made.every_mode = value
            return made
        if isinstance(value, dict):
            return cls(value)
        raise TypeError("save_config has to be a SaveConfig, a SaveConfigMode or a dictionary, not %r" % (value,))

    def parameters(self):
        pairs = self.every_mode.parameters() if self.every_mode else []
        for mode, config in self.by_mode.items():
            if config is not None:
                pairs += config.parameters(mode.name.lower() + ".")
        return pairs


class ReductionConfig:
    """Which figures are saved of a tensor, and whether the tensor itself and its shape are."""

    def __init__(self, reductions=None, abs_reductions=None, norms=None, abs_norms=None, save_raw_tensor=False,
                 save_shape=False):
        self.reductions, self.abs_reductions = list(reductions or []), list(abs_reductions or [])
        self.norms, self.abs_norms = list(norms or []), list(abs_norms or [])
        self.save_raw_tensor, self.save_shape = save_raw_tensor, save_shape

    def parameters(self):
        names = self.reductions + [n + "_norm" for n in self.norms]
        names += ["abs_" + r for r in self.abs_reductions] + ["abs_%s_norm" % n for n in self.abs_norms]
        return [("reductions", ",".join(names)), ("save_raw_tensor", self.save_raw_tensor),
                ("save_shape", self.save_shape)]


class Collection:
    """What the training adds to a collection; built-in patterns live in the library. `record` is what is kept of its
    tensors: "raw", "statistics" or "digest"."""

    def __init__(self, name, include_regex=None, tensor_names=None, reduction_config=None, save_config=None,
                 save_histogram=True, record=None):
        self.name, self.record = name, record
        self.include_regex = []
        self.tensor_names = set(tensor_names or ())
        self.reduction_config, self.save_config, self.save_histogram = reduction_config, save_config, save_histogram
        self.include(include_regex or [])

    def include(self, patterns):
        self.include_regex += [patterns] if isinstance(patterns, str) else list(patterns)

    def add_tensor_name(self, name):
        self.tensor_names.add(name)

    def add_module_tensors(self, module, inputs=False, outputs=True):
        """Takes in the tensors of a module that register_module() has named."""
        name = module._module_name
        self.include(([name + "_input_"] if inputs else []) + ([name + "_output_"] if outputs else []))


def _settings(value, prefix=""):
    """Each setting as (name, text): {"optim": {"lr": 0.1}} is ("optim.lr", "0.1")."""
    for key, item in dict(value if hasattr(value, "items") else vars(value)).items():
        if hasattr(item, "items"):
            yield from _settings(item, "%s%s." % (prefix, key))
        else:
            plain = item is None or isinstance(item, (bool, list, tuple))
            yield "%s%s" % (prefix, key), json.dumps(item, default=str) if plain else str(item)


def _torch():
    """PyTorch, when the training uses it: this file never imports it first."""
    return sys.modules.get("torch")


_WRAPPERS = ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel")
_WRAPPED = {"_orig_mod", "_fsdp_wrapped_module", "_fpw_module", "_checkpoint_wrapped_module"}


def _unwrapped(module):
    """The user's network inside torch.compile, DDP and FSDP, and whether it is compiled."""
    compiled = False
    while True:
        inner = getattr(module, "_orig_mod", None)
        compiled = compiled or inner is not None
        if inner is None and type(module).__name__ in _WRAPPERS:
            inner = module.module
        if inner is None:
            return module, compiled
        module = inner


def _plain_name(name):
    """The name of a parameter or module without what wrappers inside the network put into it."""
    return ".".join(part for part in name.split(".") if part not in _WRAPPED) if "_" in name else name


def _process_group():
    """(rank, workers) of torch.distributed; None while it is not initialised."""
    distributed = getattr(_torch(), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None


def _rank_and_workers():
    """Which worker this process is, and of how many: torch.distributed says it, before that the launcher."""
    from assay_recording.workers import of_launcher
    return _process_group() or of_launcher()


def _chosen_in_a_file(key, config_file):
    """Does this configuration file, or the one that the environment names, say something about the parameter?"""
    for path in (config_file, os.environ.get("ASSAY_HOOK_CONFIG") or os.environ.get("SMDEBUG_CONFIG_FILE_PATH")):
        if path and os.path.isfile(path):
            with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                if '"%s"' % key in file.read():
                    return True
    return False


def _refuse_existing(path):
    """The library refuses as well, at the first step; here it shows before the training begins."""
    try:
        held = os.listdir(path)
    except FileNotFoundError:
        return
    if held and not any(name.startswith(".assay-hook-") for name in os.listdir(path)):
        raise RuntimeError("%s holds something already: name another directory, or pass existing=\"continue\"" % path)


class Hook:
    """One training process's recorder. Arguments as the reference's; `config` are the run's settings, a dictionary
    or an argparse.Namespace, and `parameters` are assay's own (docs/hook.md), with rank_and_workers=(RANK, WORKERS) for
    where neither torch.distributed nor the launcher tells which worker this is."""

    def __init__(self, out_dir=None, export_tensorboard=False, tensorboard_dir=None, dry_run=False,
                 reduction_config=None, save_config=None, include_regex=None, include_collections=None, save_all=False,
                 include_workers="one", config_file=None, config=None, **parameters):
        self._handle, self._pid = _HOOK(), os.getpid()
        self._begun = self._active = self._complained = False
        self._names, self._shapes, self._written = {}, {}, {}
        self._laid_out = False
        self._collections, self._modules, self._copies = {}, weakref.WeakSet(), None
        self._told = {}  # of each collection, how many patterns and which names the library knows
        self._intervals = {}
        self.mode = ModeKeys.GLOBAL
        if out_dir is not None:
            out_dir = os.path.expanduser(os.fspath(out_dir))
            if parameters.get("existing") != "continue" and not dry_run:
                _refuse_existing(out_dir)
        error = _Error()
        given = parameters.pop("rank_and_workers", None)
        by_launcher = given is None and _process_group() is None
        rank, workers = self._place = given or _rank_and_workers()
        self._place_given = given is not None
        self._left_out = by_launcher and rank > 0 and include_workers == "one" and not dry_run
        self._left_out = self._left_out and not _chosen_in_a_file("include_workers", config_file)
        path = os.fsencode(out_dir) if out_dir is not None else None
        if _lib.assay_hook_open(path, rank, workers, ctypes.byref(self._handle), ctypes.byref(error)) < 0:
            raise ValueError(error.text.decode(errors="replace"))
        if config_file is not None:
            self._must(_lib.assay_hook_load(self._handle, os.fsencode(config_file)))
        flags = dict(export_tensorboard=export_tensorboard, save_all=save_all, dry_run=dry_run)
        parameters.update({key: True for key, value in flags.items() if value})
        parameters.update(include_workers=include_workers) if include_workers != "one" else None
        if tensorboard_dir is not None:
            parameters["tensorboard_dir"] = os.path.expanduser(tensorboard_dir)
        pairs = list(parameters.items())
        for part in (SaveConfig.parse(save_config), reduction_config):
            pairs += part.parameters() if part is not None else []
        for key, value in pairs:
            self._must(_lib.assay_hook_set(self._handle, key.encode(), _text(value)))
        declared = {c.name: c for c in include_collections or [] if isinstance(c, Collection)}
        include_collections = [getattr(c, "name", c) for c in include_collections or []]
        for name in include_collections:
            if name in declared:
                self.add_collection(declared[name])
                self._hand_over(declared[name], self._must)
            self._must(_lib.assay_hook_collection(self._handle, name.encode()))
            self._collections.setdefault(name, Collection(name))
        for pattern in [include_regex] if isinstance(include_regex, str) else include_regex or []:
            self._must(_lib.assay_hook_collection_regex(self._handle, b"default", pattern.encode()))
        self._set_facts(config)
        self._included = set(include_collections or []) | {"losses"} | ({"default"} if include_regex else set())
        self._save_all = save_all or "all" in self._included
        atexit.register(self.close)

    @classmethod
    def create_from_json_file(cls, json_file_path=None):
        """A hook from a configuration file; without a path, from the one that the environment names."""
        if json_file_path is None and not (os.environ.get("ASSAY_HOOK_CONFIG") or
                                           os.environ.get("SMDEBUG_CONFIG_FILE_PATH")):
            raise FileNotFoundError("neither ASSAY_HOOK_CONFIG nor SMDEBUG_CONFIG_FILE_PATH names a configuration file")
        return cls(config_file=json_file_path)

    def _set_facts(self, config):
        """Settings and versions, which `assay compare` sets side by side."""
        for name, value in _settings(config or {}):
            _lib.assay_hook_setting(self._handle, name.encode(errors="replace"), value.encode(errors="replace"))
        versions = {m: getattr(sys.modules.get(m), "__version__", "") for m in ("torch", "numpy", "xgboost")}
        versions.update(python=sys.version.split()[0], cuda=getattr(getattr(_torch(), "version", None), "cuda", ""))
        for name, version in versions.items():
            _lib.assay_hook_version(self._handle, name.encode(), str(version).encode()) if version else None

    def _must(self, status):
        if status < 0:
            text = self.counts()["text"]
            self._free()
            raise ValueError(text)

    # -- configuration until the first step

    def get_collection(self, name, create=True):
        if create and name not in self._collections and name not in _BUILT_IN and _meant(name, _BUILT_IN):
            raise ValueError("there is no collection \"%s\"%s: add_collection(Collection(...)) declares one of your own" %
                             (name, _meant(name, _BUILT_IN)))
        return self._collections.setdefault(name, Collection(name)) if create else self._collections[name]

    def get_collections(self):
        return dict(self._collections)

    def add_collection(self, collection):
        self._collections[collection.name] = collection

    @_goes_on
    def _begin(self):
        """Hands over what collections were given since the constructor, and where PyTorch says that workers are."""
        self._begun = True
        self._learn()
        for c in self._collections.values():
            if c.name in self._included or self._save_all:
                self._hand_over(c, lambda status: None)
        for name, interval in self._intervals.items():  # what collections said before is handed over again
            _lib.assay_hook_set_interval(self._handle, name, interval)
        group = _process_group()
        if self._handle and group not in (None, self._place) and not self._place_given:
            warnings.warn("this hook records as worker %d of %d, as the launcher said when it was made, but torch.distributed says %d of "
                          "%d: create it after init_process_group(), or with rank_and_workers=(RANK, WORKERS)" % (self._place + group))
        if self._handle and group is None and self._left_out:
            warnings.warn("nothing is recorded here: the launcher says that this process is worker %d of %d, and only worker 0 records. "
                          "include_workers=\"all\" records all of them; rank_and_workers=(0, 1) is for a process that trains on its own, "
                          "into its own directory" % self._place)

    def _hand_over(self, c, check):
        """Tells the library what a collection has that it was not told before."""
        name = c.name.encode()
        given = [("record", c.record)] if c.record is not None else []
        given += [] if c.save_histogram else [("save_histogram", False)]
        for config in (SaveConfig.parse(c.save_config), c.reduction_config):
            given += config.parameters() if config is not None else []
        patterns, names = self._told.get(name, (0, set()))
        for pattern in c.include_regex[patterns:]:
            check(_lib.assay_hook_collection_regex(self._handle, name, pattern.encode()))
        for tensor in c.tensor_names - names:
            check(_lib.assay_hook_collection_name(self._handle, name, tensor.encode()))
        for key, value in given:
            check(_lib.assay_hook_collection_set(self._handle, name, key.encode(), _text(value)))
        self._told[name] = len(c.include_regex), set(c.tensor_names)

    @_goes_on
    def _learn(self):
        if self._handle:
            assay_hook_topology.learn(_lib, self._handle, self._networks(), self._place[1], self._laid_out)

    def _networks(self):
        """The modules that are recorded."""
        return list(self._modules)

    @_goes_on
    def set_topology(self, mesh, name="mesh", tensors=None):
        """Says where this worker is: a DeviceMesh, or {"dp": (2, 0), "tp": (4, 3)}, the size of each axis and the place on
        it. tensors: entries as in topology.json, for tensors that are saved without a layout."""
        self._laid_out = True
        assay_hook_topology.set_topology(_lib, self._handle, name, mesh, tensors)

    def _complain(self, what, error):
        if self._complained:
            return
        self._complained = True
        try:
            warnings.warn("%s: %s: %s (said once; the training goes on)" % (what, type(error).__name__, error), stacklevel=3)
        except Warning:  # warnings are errors here: they must not stop it either
            print("assay_hook: %s: %s" % (what, error), file=sys.stderr)

    # -- steps

    def set_mode(self, mode):
        if not isinstance(mode, ModeKeys):
            raise ValueError("set_mode takes one of modes.TRAIN, EVAL, PREDICT and GLOBAL, not %r" % (mode,))
        self.mode = mode
        _lib.assay_hook_set_mode(self._handle, mode.value)

    @_goes_on
    def step(self):
        """Begins the next step of the mode. register_module() does this before every pass of the module."""
        if self._forked():
            return
        if not self._begun:
            self._begin()
        if self._copies:
            self._copies.finish()
        _lib.assay_hook_step(self._handle)
        self._active = _lib.assay_hook_active(self._handle)
        self._written.clear()

    @_goes_on
    def step_end(self):
        """Ends the current step in the timeline: what follows until the next step was outside of steps."""
        _lib.assay_hook_step_end(self._handle)

    @contextlib.contextmanager
    def phase(self, name):
        """Records how long the block took: with hook.phase("data"): batch = next(loader)."""
        if not self._begun and not self._forked():
            self._begin()
        begun = 0 if self._forked() else _lib.assay_hook_phase_begin(self._handle)
        try:
            yield
        finally:
            _lib.assay_hook_phase_end(self._handle, str(name).encode(errors="replace"), begun)

    def _forked(self):
        """True in a child process, which has no writer: there the hook is off."""
        forked = self._pid != os.getpid()
        self._active = self._active and not forked
        return forked

    @_goes_on
    def seek(self, global_step, mode, mode_step):
        """The next step gets these numbers: for a training that goes on from a checkpoint."""
        _lib.assay_hook_seek(self._handle, global_step, mode.value, mode_step)

    # -- saving

    def _encoded(self, name):
        encoded = self._names.get(name)
        if encoded is None:
            encoded = self._names[name] = name.encode()
        return encoded

    def _shape(self, shape):
        made = self._shapes.get(shape)
        if made is None:
            made = self._shapes[shape] = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        return made

    @_goes_on
    def _save_torch(self, name, tensor, layout=None):
        encoded = self._encoded(name)
        tensor, own = assay_hook_topology.local_piece(tensor)
        tensor, layout = tensor.detach(), layout or own
        code = _DTYPES.get(str(tensor.dtype)[6:])  # "torch.float32"
        if code is None or tensor.layout != _torch().strided:
            return self._pass_over(name, tensor.dtype)
        if tensor.device.type != self._host:
            if not _lib.assay_hook_wants(self._handle, encoded):
                return None
            if self._copies is None:
                from assay_recording.devices import Copies
                self._copies = Copies(self, _lib, _Statistics)
            return self._copies.save(encoded, code, tensor, assay_hook_topology.layout_argument(layout, tensor.dim()))
        return self._save_host(encoded, code, tensor, layout)

    _host = "cpu"  # the device whose tensors the library reads where they are

    def _save_host(self, encoded, code, tensor, layout):
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.resolve_conj().resolve_neg()
        tensor = tensor.contiguous()
        return _lib.assay_hook_save_piece(self._handle, encoded, code, tensor.dim(), self._shape(tuple(tensor.shape)),
                                          tensor.data_ptr(), assay_hook_topology.layout_argument(layout, tensor.dim()))

    @_goes_on
    def _save_array(self, name, value, layout=None):
        import numpy
        array = numpy.asarray(value)
        encoded = self._encoded(name)
        if array.dtype.kind in "USO":
            texts = [str(t).encode() if not isinstance(t, bytes) else t for t in array.reshape(-1).tolist()]
            return _lib.assay_hook_save_strings(self._handle, encoded, len(texts), (_TEXT * max(len(texts), 1))(*texts))
        code = _DTYPES.get(array.dtype.name)
        if code is None:
            return self._pass_over(name, array.dtype)
        array = numpy.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        return _lib.assay_hook_save_piece(self._handle, encoded, code, array.ndim, self._shape(array.shape),
                                          array.ctypes.data, assay_hook_topology.layout_argument(layout, array.ndim))

    def _pass_over(self, name, dtype):
        self._complain("save", TypeError("%s is not saved: tensors of %s cannot be written" % (name, dtype)))

    def _save(self, name, value, layout=None):
        torch = _torch()
        is_tensor = torch is not None and isinstance(value, torch.Tensor)
        self._save_torch(name, value, layout) if is_tensor else self._save_array(name, value, layout)

    @_goes_on
    def save_tensor(self, tensor_name, tensor_value, collections_to_write="default", layout=None):
        """Saves a PyTorch tensor or anything that numpy makes an array of, as a member of these collections; layout: which
        piece of it this worker has (a DTensor tells that itself)."""
        if self._forked():
            return
        if not self._begun:
            self._begin()
        names = [collections_to_write] if isinstance(collections_to_write, str) else collections_to_write
        if tensor_name not in self._names:
            for name in names:
                _lib.assay_hook_collection_name(self._handle, name.encode(), tensor_name.encode())
        if self._active:
            self._save(tensor_name, tensor_value, layout)

    @_goes_on
    def save_scalar(self, name, value, sm_metric=False, timestamp=None):
        """Saves scalar/<name> at the current step. sm_metric and timestamp are the reference's and have no effect."""
        if not self._forked():
            _lib.assay_hook_save_scalar(self._handle, name.encode(), float(value))

    @_goes_on
    def record_tensor_value(self, tensor_name, tensor_value):
        """For losses that are functions, as F.mse_loss: saved as <tensor_name>_output_<n>."""
        if self._active:
            self._write(tensor_name + "_output_", tensor_value)

    # -- PyTorch modules

    def _write(self, prefix, value):
        """Tensors of nested lists and tuples, numbered on from what this step has had under the name."""
        pending, index = [value], self._written.get(prefix, 0)
        while pending:
            item = pending.pop()
            if isinstance(item, (tuple, list)):
                pending.extend(reversed(item))
            elif isinstance(item, _torch().Tensor):
                self._save_torch(prefix + str(index), item)
                index += 1
        self._written[prefix] = index

    @_goes_on
    def _before_forward(self, module, inputs):
        self.step()
        if self._active:
            inner = _unwrapped(module)[0]
            for name, parameter in inner.named_parameters():
                self._save_torch(inner._get_name() + "_" + _plain_name(name), parameter)

    @_goes_on
    def _after_forward(self, module, inputs, outputs):
        if self._active:
            self._write(module._module_name + "_input_", inputs)
            self._write(module._module_name + "_output_", outputs)

    def register_module(self, module):
        """Records a network: its parameters before each pass, inputs and outputs of its modules, gradients."""
        if not self._handle:
            return  # off: not even PyTorch's hooks are worth their call
        outer = module
        module, compiled = _unwrapped(outer)
        if compiled:
            warnings.warn("%s is compiled: its parameters and their gradients are recorded, inputs and outputs of the modules "
                          "inside are not" % module._get_name(), stacklevel=2)
        for name, part in module.named_modules():
            name = _plain_name(name)
            if part in self._modules:
                raise ValueError("the module %s is registered already" % (name or module._get_name()))
            self._modules.add(part)
            part._module_name = name or module._get_name()
            if not compiled:
                part.register_forward_hook(self._after_forward)
        (outer if compiled else module).register_forward_pre_hook(self._before_forward)
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                parameter.register_hook(self._gradient_of("gradient/%s_%s" % (module._get_name(), _plain_name(name))))

    def _gradient_of(self, name):
        def save(gradient):
            if self._active and gradient is not None and name not in self._written:
                self._written[name] = 1  # of several backward passes in a step the first one counts
                self._save_torch(name, gradient)
        return save

    def register_loss(self, loss_module):
        """Records the inputs and the output of a loss such as nn.CrossEntropyLoss()."""
        if not self._handle:
            return
        loss_module._module_name = loss_module._get_name()
        self._modules.add(loss_module)
        loss_module.register_forward_hook(self._after_forward)

    register_hook = register_module

    # -- the end

    @_goes_on
    def flush(self):
        """Waits until the steps closed so far are on disk."""
        if self._copies:
            self._copies.finish()
        _lib.assay_hook_flush(self._handle)

    def counts(self):
        """What has been recorded and what went wrong, as a dictionary."""
        counts = _Counts()
        _lib.assay_hook_get_counts(self._handle, ctypes.byref(counts))
        made = {name: getattr(counts, name) for name, _ in _Counts._fields_}
        made["text"] = made["text"].decode(errors="replace")
        return made

    def cost(self):
        """Seconds that recording took so far: {"calls": in the training, "writer": of the processor, beside it}."""
        cost = _Cost()
        _lib.assay_hook_get_cost(self._handle, ctypes.byref(cost))
        return {"calls": cost.calls, "writer": cost.writer}

    @_goes_on
    def set_interval(self, collection, interval):
        """Changes how often a collection is saved, from the next step on."""
        name, interval = collection.encode(), int(interval)
        if not self._begun:
            self._intervals[name] = interval
        if self._begun or name in self._told or collection not in self._collections:  # else it is handed over later
            _lib.assay_hook_set_interval(self._handle, name, interval)

    def _free(self):
        handle, self._handle, self._active = self._handle, _HOOK(), False
        return _lib.assay_hook_close(handle)

    @_goes_on
    def close(self):
        """Ends the recording. Also called when the process exits."""
        atexit.unregister(self.close)
        if self._forked() or not self._handle:
            return
        if not self._begun:
            self._begin()
        if self._copies:
            self._copies.finish()
        self._free()


def auto(*arguments, **named):
    """A hook that configures itself: see assay_recording.auto."""
    from assay_recording.auto import auto as make
    return make(*arguments, **named)


_hook = None


def get_hook(json_config_path=None, create_if_not_exists=False):
    """The hook made here before; else, when asked to, one from a configuration file; else None."""
    global _hook
    if _hook is None and create_if_not_exists:
        _hook = Hook.create_from_json_file(json_config_path)
    return _hook
