"""assay_hook - records a PyTorch or numpy training for assay, through libassay_hook.

    import assay_hook
    hook = assay_hook.Hook("runs/17", save_config=assay_hook.SaveConfig(save_interval=100),
                           include_collections=["weights", "gradients", "inputs", "relu_outputs"])
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
import contextlib
import copy
import ctypes.util
import functools
import os
import sys
import time
import warnings
import weakref

import assay_hook_config
import assay_hook_topology
from assay_hook_config import (Collection, CollectionKeys, CollectionManager, ModeKeys, ReductionConfig, SaveConfig,  # noqa: F401
                               SaveConfigMode, BUILT_IN_NAMES, kind_of_error, with_limit)
from assay_hook_topology import Layout  # noqa: F401: of save_tensor()
from assay_recording import ending

modes = ModeKeys
_GLOBAL = ModeKeys.GLOBAL.value


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
    "begin": [_HOOK], "set_mode": [_HOOK, ctypes.c_int], "step": [_HOOK], "charge": [_HOOK, ctypes.c_int], "charged": [_HOOK, ctypes.c_int],
    "next": [_HOOK, ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(_TEXT)], "active": [_HOOK], "wants": [_HOOK, _TEXT], "step_end": [_HOOK],
    "wants_statistics": [_HOOK, _TEXT], "set_interval": [_HOOK, _TEXT, ctypes.c_int64], "go_back": [_HOOK, ctypes.c_int],
    "save_statistics": [_HOOK, _TEXT, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Statistics)],
    "get_cost": [_HOOK, ctypes.POINTER(_Cost)], "seek": [_HOOK, ctypes.c_int64, ctypes.c_int, ctypes.c_int64],
    "save": [_HOOK, _TEXT, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p],
    "save_strings": [_HOOK, _TEXT, ctypes.c_size_t, ctypes.POINTER(_TEXT)], "setting": [_HOOK, _TEXT, _TEXT], "version": [_HOOK, _TEXT, _TEXT], "module": [_HOOK, _TEXT, _TEXT],
    "save_scalar": [_HOOK, _TEXT, ctypes.c_double], "save_scalar_at": [_HOOK, _TEXT, ctypes.c_double, ctypes.c_double],
    "event": [_HOOK, _TEXT, _TEXT, ctypes.c_int64, ctypes.c_int64], "flush": [_HOOK], "get_counts": [_HOOK, ctypes.POINTER(_Counts)],
    "close": [_HOOK], "ended_by": [_HOOK, _TEXT, _TEXT, ctypes.c_int], "phase_begin": [_HOOK], "phase_end": [_HOOK, _TEXT, ctypes.c_int64],
}


def _load_library():
    here = os.path.dirname(os.path.abspath(__file__))
    name = "libassay_hook.so"
    places = [os.environ.get("ASSAY_HOOK_LIBRARY"), os.path.join(here, name)]
    # Installed as PREFIX/share/assay/python/assay_hook.py: the library is below PREFIX/lib.
    prefix = os.path.normpath(os.path.join(here, "..", "..", ".."))
    for lib in ("lib", "lib64", os.path.join("lib", getattr(os.uname(), "machine", "") + "-linux-gnu")):
        places.append(os.path.join(prefix, lib, name))
    places.append(os.path.join(os.path.dirname(os.path.dirname(here)), "build", "src", "hook", name))  # src/python of the sources
    found = next((p for p in places if p and os.path.exists(p)), None) or ctypes.util.find_library("assay_hook")
    library = ctypes.CDLL(found or name)
    for function, arguments in dict(_SIGNATURES, **assay_hook_topology.SIGNATURES).items():
        entry = getattr(library, "assay_hook_" + function)
        entry.argtypes = arguments
        entry.restype = ctypes.c_bool if function in ("active", "wants", "wants_statistics") else ctypes.c_int
    library.assay_hook_get_counts.restype = library.assay_hook_get_cost.restype = None
    library.assay_hook_phase_begin.restype = ctypes.c_int64
    library.assay_hook_next.restype, library.assay_hook_charged.restype = ctypes.c_uint64, ctypes.c_double
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


class Hook:
    """One training process's recorder. Arguments as the reference's; `config` are the run's settings, a dictionary
    or an argparse.Namespace, and `parameters` are assay's own (docs/hook-parameters.md), with rank_and_workers=(RANK, WORKERS) for
    where neither torch.distributed nor the launcher tells which worker this is."""

    def __init__(self, out_dir=None, export_tensorboard=False, tensorboard_dir=None, dry_run=False,
                 reduction_config=None, save_config=None, include_regex=None, include_collections=None, save_all=False,
                 include_workers="one", config_file=None, config=None, laws=False, **parameters):
        self._handle, self._pid = _HOOK(), os.getpid()
        self._begun = self._active = self._complained = self._laid_out = False
        self._names, self._shapes, self._written, self._pending, self._open_events, self._intervals = {}, {}, {}, [], {}, {}
        self._modules, self._name_of, self._parts, self._held = weakref.WeakSet(), assay_hook_config.NetworkNames(), [], []
        self._copies = self._step_mode = self._flags = None
        self.collection_manager = CollectionManager(create_default=True)
        self._told = {}  # of each collection: the object, and how many patterns, which names and which settings the library knows
        self.mode = ModeKeys.GLOBAL
        self._steps = [None, None, None, None, -1]  # the last step of each mode, by the mode's value
        for c in self.collection_manager.collections.values():
            self._note_told(c)
        if out_dir is None and config_file is None and not os.environ.get("ASSAY_HOOK_CONFIG"):
            config_file = assay_hook_config.file_of_environment()
        said = config_file is not None and with_limit(lambda: assay_hook_config.from_file(config_file), 30) or (None, None, {}, {})
        if config_file is not None and out_dir is None:
            out_dir = said[0] or assay_hook_config.SAGEMAKER_DIRECTORY
        if config_file is not None and tensorboard_dir is None and "TRAINING_JOB_NAME" in os.environ:
            tensorboard_dir = assay_hook_config.tensorboard_of_sagemaker()
        for key, value in assay_hook_config.profiler_of_environment().items():
            parameters.setdefault(key, value)
        if out_dir is not None:
            out_dir = os.path.expanduser(os.fspath(out_dir))
            if parameters.get("existing") != "continue" and not dry_run:
                with_limit(lambda: assay_hook_config.refuse_existing(out_dir), parameters.get("stall_seconds", 30))
        error = _Error()
        given = parameters.pop("rank_and_workers", None)
        by_launcher = given is None and _process_group() is None
        rank, workers = self._place = given or _rank_and_workers()
        self._place_given = given is not None
        self._left_out = by_launcher and rank > 0 and include_workers == "one" and not dry_run
        self._left_out = self._left_out and not with_limit(lambda: assay_hook_config.chosen_in_a_file("include_workers", config_file), 30)
        path = os.fsencode(out_dir) if out_dir is not None else None
        if _lib.assay_hook_open(path, rank, workers, ctypes.byref(self._handle), ctypes.byref(error)) < 0:
            raise kind_of_error(ValueError)(error.text.decode(errors="replace"))
        if config_file is not None:
            self._must(_lib.assay_hook_load(self._handle, os.fsencode(config_file)))
        flags = dict(export_tensorboard=export_tensorboard, save_all=save_all, dry_run=dry_run)
        settings = {**parameters, **{key: True for key, value in flags.items() if value}}
        settings.update(include_workers=include_workers) if include_workers != "one" else None
        if tensorboard_dir is not None:
            settings["tensorboard_dir"] = tensorboard_dir = os.path.expanduser(tensorboard_dir)
        steps = None if save_config is None else SaveConfig.parse(save_config)
        pairs = [*settings.items(), *(steps.parameters() if steps else []), *(reduction_config.parameters() if reduction_config else [])]
        for key, value in pairs:
            self._must(_lib.assay_hook_set(self._handle, key.encode(), assay_hook_config.text_of(value)))
        if laws:
            wanted = assay_hook_config.flat(said[1] if include_collections is None else include_collections)
            include_collections = [*wanted, Collection("laws", include_regex=["^state/laws/"])]
        self._declare(include_collections, said)
        for pattern in [include_regex] if isinstance(include_regex, str) else include_regex or []:
            self._must(_lib.assay_hook_collection_regex(self._handle, b"default", pattern.encode()))
            self.include_collections += ["default"] * ("default" not in self.include_collections)
        self._laws = None
        if laws:
            from assay_recording.laws import Laws
            self._laws = Laws(self, _lib, _DTYPES, laws)
        self._set_facts(config)
        self._show(out_dir, tensorboard_dir, settings, said[3], include_regex)
        self.save_config = steps or assay_hook_config.steps_of(said[3]) or SaveConfig()
        self.save_config.merge_default_save_config(SaveConfig())
        self.reduction_config = reduction_config or ReductionConfig(save_raw_tensor=True)
        ending.watch(self, _lib)
        _live.add(self)
        set_hook(self)

    def _declare(self, wanted, said):
        """The collections that are recorded: those that the program names, and those of its file."""
        flat = list(assay_hook_config.flat(wanted if wanted is not None else said[1]))
        self.include_collections = list(dict.fromkeys([getattr(c, "name", c) for c in flat] + ["losses"]))
        for c in said[2].values():  # the library has read them
            before = self.collection_manager.collections.get(c.name)
            c.include_regex = (before.include_regex if before else []) + c.include_regex
            self.collection_manager.add(c)
            self._note_told(c)
        for c in flat:
            if isinstance(c, Collection):
                self.add_collection(c)
                self._hand_over(c, self._must)
            name = getattr(c, "name", c)
            self._must(_lib.assay_hook_collection(self._handle, name.encode()))
            self.collection_manager.create_collection(name)

    def _show(self, out_dir, tensorboard_dir, settings, file, include_regex):
        """What the reference's hook says of itself."""
        def of(key):
            return settings.get(key, assay_hook_config.truth(key, file.get(key, False)))
        self.out_dir, self.include_regex = out_dir, include_regex
        self.save_all, self.dry_run = of("save_all"), of("dry_run")
        self.save_all_workers = settings.get("include_workers", file.get("include_workers", "one")) == "all"
        self.worker, self.chief_worker = settings.get("worker", "worker_%d" % self._place[0]), "worker_0"
        self.include_collections += ["all"] * (self.save_all and "all" not in self.include_collections)
        self.tensorboard_dir = tensorboard_dir or file.get("tensorboard_dir")
        if self.tensorboard_dir is None and out_dir is not None and of("export_tensorboard"):
            self.tensorboard_dir = os.path.join(out_dir, "tensorboard")

    def __repr__(self):
        return "<assay_hook.Hook %s: %s, %s, collections %s>" % (self.out_dir, self.worker, self.mode.name, ", ".join(self.include_collections))

    def __reduce__(self):
        """A network that is saved whole, or copied, takes no recorder along."""
        return _Silent, ()

    @classmethod
    def create_from_json_file(cls, json_file_path=None):
        """A hook from a configuration file; without a path, from the one that the environment names, or that SageMaker has put there."""
        path = json_file_path or (None if os.environ.get("ASSAY_HOOK_CONFIG") else assay_hook_config.file_of_environment())
        if path is None and not os.environ.get("ASSAY_HOOK_CONFIG"):
            raise FileNotFoundError("neither ASSAY_HOOK_CONFIG nor SMDEBUG_CONFIG_FILE_PATH names a configuration file")
        return cls(config_file=path)

    @property
    def _collections(self):
        return self.collection_manager.collections

    def _set_facts(self, config):
        """Settings and versions, which `assay compare` sets side by side."""
        for name, value in assay_hook_config.settings(config or {}):
            _lib.assay_hook_setting(self._handle, name.encode(errors="replace"), value.encode(errors="replace"))
        versions = {m: getattr(sys.modules.get(m), "__version__", "") for m in ("torch", "numpy", "xgboost")}
        versions.update(python=sys.version.split()[0], cuda=getattr(getattr(_torch(), "version", None), "cuda", ""))
        for name, version in versions.items():
            _lib.assay_hook_version(self._handle, name.encode(), str(version).encode()) if version else None

    def _must(self, status):
        if status < 0:
            text = self.counts()["text"]
            self._free()
            raise kind_of_error(ValueError)(text)

    # -- configuration until the first step

    def get_collection(self, name, create=True):
        self._learn_names()
        return self.collection_manager.get(name, create)

    def get_collections(self):
        self._learn_names()
        return dict(self._collections)

    def add_collection(self, collection):
        if not isinstance(collection, Collection):
            raise kind_of_error(TypeError)("%r is no Collection" % (collection,))
        self.collection_manager.add(collection)

    @_goes_on
    def _learn_names(self):
        """Once steps were written, collections have the names of the tensors that they had in them."""
        path = os.path.join(self.out_dir or "", "collections", "000000000", "%s_collections.json" % self.worker)
        if self._begun and not self.dry_run:
            self.flush()
            if os.path.exists(path):
                for name, c in CollectionManager.load(path).collections.items():
                    self._collections.setdefault(name, c).tensor_names |= c.tensor_names

    def has_default_hook_configuration(self, default_saved_collections=("losses",)):
        """Is nothing recorded but what is recorded anyway?"""
        return set(self.include_collections) == set(default_saved_collections)

    def should_save_tensor_or_collection(self, tensor_name, collection_name):
        """Would the current step save the tensor, or some tensor of the collection?"""
        if not self._begun or not self._active:
            return False
        c = self._collections.get(collection_name)
        if c is not None and ("all" in self.include_collections or collection_name in self.include_collections):
            off = collection_name in ("gradients", "optimizer_variables") and self.mode in (ModeKeys.EVAL, ModeKeys.PREDICT)
            steps = SaveConfig(dict((c.save_config or self.save_config).mode_save_configs))
            steps.merge_default_save_config(self.save_config)
            if not off and not c.include_regex and steps.should_save_step(self.mode, self.mode_steps[self.mode]):
                return True
        return bool(_lib.assay_hook_wants(self._handle, self._encoded(tensor_name)))

    @_goes_on
    def export_collections(self):
        """The library writes them with the steps; this waits until it has."""
        self.flush()

    def _get_worker_name(self):
        return self.worker

    def _get_num_workers(self):
        return self._place[1]

    @_goes_on
    def _begin(self):
        """Hands over what collections were given since the constructor, and where PyTorch says that workers are."""
        self._begun = True
        self._learn()
        self._leaves_out = self._laws.leaves_out(self) if self._laws else self._leaves_out
        for c in self._collections.values():
            if c.name in self.include_collections or "all" in self.include_collections:
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

    def _note_told(self, c):
        self._told[c.name.encode()] = c, len(c.include_regex), set(c.tensor_names), (c.save_config, c.reduction_config)

    def _hand_over(self, c, check):
        """Tells the library what a collection has that it was not told before."""
        name = c.name.encode()
        for module in c.name_modules() if self._begun else ():
            warnings.warn("collection \"%s\": the module %s belongs to no network that was registered" % (c.name, module._get_name()))
        same, patterns, names, configs = self._told.get(name, (None, 0, set(), (None, None)))
        if same is not c:
            patterns, names, configs = 0, set(), (None, None)
        given = [("record", c.record)] if c.record is not None else []
        given += [] if c.save_histogram else [("save_histogram", False)]
        for config, told in zip((c.save_config, c.reduction_config), configs):
            given += config.parameters() if config is not None and config is not told else []
        for pattern in c.include_regex[patterns:]:
            check(_lib.assay_hook_collection_regex(self._handle, name, pattern.encode()))
        for tensor in c.tensor_names - names:
            check(_lib.assay_hook_collection_name(self._handle, name, tensor.encode()))
        for key, value in given:
            check(_lib.assay_hook_collection_set(self._handle, name, key.encode(), assay_hook_config.text_of(value)))
        self._note_told(c)

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

    @property
    def mode_steps(self):
        """The last step of each mode that there were steps of; -1: it has begun none."""
        return {mode: self._steps[mode.value] for mode in ModeKeys if self._steps[mode.value] is not None}

    @_goes_on
    def set_mode(self, mode):
        """The mode of the steps that begin from now on: modes.TRAIN, or "TRAIN"."""
        self.mode = assay_hook_config.mode_of(mode)
        if self._steps[self.mode.value] is None:
            self._steps[self.mode.value] = -1
        _lib.assay_hook_set_mode(self._handle, self.mode.value)

    @_goes_on
    def step(self):
        """Begins the next step of the mode. register_module() does this before every pass of the module."""
        if self._forked():
            return
        if not self._begun:
            self._begin()
        for part in filter(None, (self._copies, self._laws)):
            part.finish()
        _lib.assay_hook_step(self._handle)
        self._stepped(_lib.assay_hook_active(self._handle))

    def _stepped(self, active):
        """The library has begun a step."""
        self._step_mode, self._active = self.mode, active
        self._written.clear()
        value = self.mode.value
        self._steps[value] += 1
        if value != _GLOBAL:
            self._steps[_GLOBAL] += 1
        if self._laws:
            self._laws.due()
        if self._pending:
            self._save_pending()

    @_goes_on
    def _save_pending(self):
        """What was saved before the first step: scalars belong to that step, tensors to the first one that is recorded."""
        pending, self._pending = self._pending, []
        for save, arguments in pending:
            if save == self.save_scalar or self._active:
                save(*arguments)
            else:
                self._pending.append((save, arguments))

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
        mode = assay_hook_config.mode_of(mode)
        _lib.assay_hook_seek(self._handle, global_step, mode.value, mode_step)
        self._steps[_GLOBAL], self._steps[mode.value] = global_step - 1, mode_step - 1

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
        if self._laws and not _lib.assay_hook_wants(self._handle, encoded):  # as most are not, beside laws
            return None
        tensor, own = assay_hook_topology.local_piece(tensor)
        tensor, layout = tensor.detach(), layout or own
        code = _DTYPES.get(str(tensor.dtype)[6:])  # "torch.float32"
        if code is None or tensor.layout != _torch().strided:
            from assay_recording.sparse import save_filled
            return save_filled(self, name, code, tensor, layout)
        if tensor.device.type != self._host:
            if not _lib.assay_hook_wants(self._handle, encoded):
                return None
            if self._copies is None:
                from assay_recording.devices import Copies
                self._copies = Copies(self, _lib, _Statistics)
            return self._copies.save(encoded, code, tensor, assay_hook_topology.layout_argument(layout, tensor.dim()))
        return self._save_host(encoded, code, tensor, layout)

    _leaves_out = staticmethod(lambda name: False)  # is a tensor wanted at no step, by what its name has in it?
    _over = False  # has the library that trains said that it has ended?
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

    def _pass_over(self, name, kind):
        self._complain("save", TypeError("%s is not saved: tensors of %s cannot be written" % (name, kind)))

    def _save(self, name, value, layout=None):
        torch = _torch()
        is_tensor = torch is not None and isinstance(value, torch.Tensor)
        self._save_torch(name, value, layout) if is_tensor else self._save_array(name, value, layout)

    @_goes_on
    def save_tensor(self, tensor_name, tensor_value, collections_to_write="default", layout=None):
        """Saves a PyTorch tensor or anything that numpy makes an array of, as a member of these collections; layout: which
        piece of it this worker has (a DTensor tells that itself). Before the first step it waits for the first one that is recorded."""
        if self._forked():
            return
        if self._global_step() < 0:
            kept = tensor_value.detach().clone() if hasattr(tensor_value, "detach") else copy.copy(tensor_value)
            self._pending.append((self.save_tensor, (tensor_name, kept, collections_to_write, layout)))
            return
        names = [collections_to_write] if isinstance(collections_to_write, str) else collections_to_write
        if tensor_name not in self._names:
            for name in names:  # one that was not declared before the first step cannot be any more
                known = name in BUILT_IN_NAMES or name.encode() in self._told
                _lib.assay_hook_collection_name(self._handle, name.encode() if known else b"default", tensor_name.encode())
        if self._active:
            self._save(tensor_name, tensor_value, layout)

    def _global_step(self):
        return self._steps[_GLOBAL]

    @_goes_on
    def save_scalar(self, name, value, sm_metric=False, timestamp=None):
        """Saves scalar/<name> at the current step; before the first step, at that. `timestamp` is when it was so, in seconds since 1970;
        None: now. sm_metric is the reference's and has no effect."""
        if self._forked():
            return
        number, time_of = float(value), time.time() if timestamp is None else float(timestamp)
        if self._global_step() < 0:
            self._pending.append((self.save_scalar, (name, number, sm_metric, time_of)))
        else:
            _lib.assay_hook_save_scalar_at(self._handle, name.encode(), number, time_of)

    @_goes_on
    def record_trace_events(self, timestamp, training_phase="", op_name="", phase="X", duration=1, **more):
        """Records something that took `duration` seconds from `timestamp` on, as an event of a phase of the training; or its begin
        (phase "B") and its end ("E"). What `more` says is not recorded."""
        row = training_phase or op_name
        if phase == "B":
            self._open_events.setdefault(row, []).append((timestamp, op_name))
            return
        if phase == "E":
            begun = self._open_events.get(row) or [(timestamp - (duration if "duration" in more else 0), op_name)]
            begin, op_name = begun.pop()
            timestamp, duration = begin, timestamp - begin
        if not self._begun and not self._forked():
            self._begin()
        _lib.assay_hook_event(self._handle, row.encode(), (op_name or row).encode(), int(timestamp * 1e6), int(duration * 1e6))

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
        inner = _unwrapped(module)[0]
        if self._flags:
            self._flags.look(inner, self.mode)
        network = self._name_of(inner)
        for name, parameter in inner.named_parameters() if self._active else ():
            if not self._leaves_out(network + name):
                self._save_torch(network + "_" + _plain_name(name), parameter)

    @_goes_on
    def _after_forward(self, module, inputs, outputs):
        if self._active and not self._leaves_out(module._module_name):
            self._write(module._module_name + "_input_", inputs)
            self._write(module._module_name + "_output_", outputs)
            for name in ("running_mean", "running_var"):  # as the pass has left them
                buffer = module._buffers.get(name)
                if buffer is not None:
                    self._save_torch(module._module_name + "." + name, buffer)

    @_goes_on
    def _after_loss(self, module, inputs, outputs):
        """What is evaluated may be a copy that nobody registered: its loss is none of the step of training before it."""
        if self._step_mode is not None and self._step_mode is not self.mode:
            self.step()
        self._after_forward(module, inputs, outputs)

    def register_module(self, module):
        """Records a network: its parameters before each pass, inputs and outputs of its modules, gradients."""
        if not self._handle:
            return  # off: not even PyTorch's hooks are worth their call
        outer = module
        module, compiled = _unwrapped(outer)
        if compiled:
            warnings.warn("%s is compiled: its parameters and their gradients are recorded, inputs and outputs of the modules "
                          "inside are not" % module._get_name(), stacklevel=2)
        network = self._name_of(module)
        prefix = network + "." if network != module._get_name() else ""
        for name, part in module.named_modules():
            name = _plain_name(name)
            if part in self._modules:
                raise ValueError("the module %s is registered already" % (name or module._get_name()))
            self._modules.add(part)
            part._module_name = prefix + name if name else network
            if type(part).__name__ in assay_hook_config.RELUS and assay_hook_config.RELU_OUTPUTS in self.include_collections:
                self.get_collection(assay_hook_config.RELU_OUTPUTS).add_module_tensors(part)
            if not compiled:
                part.register_forward_hook(self._after_forward)
        (outer if compiled else module).register_forward_pre_hook(self._before_forward)
        from assay_recording.modules import tell
        _goes_on(tell)(self, module)
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                parameter.register_hook(self._gradient_of("gradient/%s_%s" % (network, _plain_name(name))))
        self._laws.watch(module) if self._laws else None

    def register_optimizer(self, optimizer):
        """Records how many of its weights no gradient reaches, and with laws=True its updates. Call it behind register_module()."""
        from assay_recording.reached import watch
        watch(self, optimizer)

    def _gradient_of(self, name):
        def save(gradient):
            if self._active and not self._leaves_out(name) and gradient is not None and name not in self._written:
                self._written[name] = 1  # of several backward passes in a step the first one counts
                self._save_torch(name, gradient)
        return save

    def register_loss(self, loss_module):
        """Records the inputs and the output of a loss such as nn.CrossEntropyLoss()."""
        if not self._handle:
            return
        loss_module._module_name = assay_hook_config.name_of_loss(_lib, self._handle, loss_module)
        self._modules.add(loss_module)
        self._laws.watch_loss(loss_module) if self._laws else None
        loss_module.register_forward_hook(self._after_loss)

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
        return {**made, "text": made["text"].decode(errors="replace")}

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
        ending.closing(self)
        if self._forked() or not self._handle:
            return
        if not self._begun:
            self._begin()
        if self._copies:
            self._copies.finish()
        _goes_on(type(self._laws).close)(self._laws) if self._laws else None
        if self._pending and not self.dry_run:
            warnings.warn("%d tensors and scalars were saved before the first step, and no step was recorded: they are lost" %
                          len(self._pending))
        self._free()
        _live.discard(self)

    def _cleanup(self):
        self.close()


def auto(*arguments, **named):
    """A hook that configures itself: see assay_recording.auto."""
    from assay_recording.auto import auto as make
    return make(*arguments, **named)


_Silent = assay_hook_config.Silent  # networks that were saved whole name it so
_hook = None
_live = weakref.WeakSet()  # hooks that have not been closed


def flush(directory):
    """Waits until what hooks of this process have recorded into a directory is there: for who reads it while the training goes on."""
    for hook in list(_live):
        if hook.out_dir is not None and os.path.abspath(hook.out_dir) == os.path.abspath(directory):
            hook.close() if hook._over else hook.flush()


def get_hook(json_config_path=None, create_if_not_exists=False, hook_class=None):
    """The hook that was made last; else, when asked to, one from a configuration file, where there is one; else None."""
    if _hook is None and create_if_not_exists:
        with contextlib.suppress(FileNotFoundError):
            set_hook((hook_class or Hook).create_from_json_file(json_config_path))
    return _hook


def set_hook(custom_hook):
    global _hook
    if not isinstance(custom_hook, Hook):
        raise kind_of_error(TypeError)("%r is no Hook" % (custom_hook,))
    _hook = custom_hook


def del_hook():
    """get_hook() gives none any more. The hook itself goes on."""
    global _hook
    _hook = None
