"""auto.py - the hook that configures itself: on every worker losses, labels, small scores and statistics of the inputs at every step, and statistics of
weights and gradients at steps that a budget allows and at those at which the loss leaves its course.

    hook = assay_hook.auto("runs/17", net, loss_fn, optimizer)
    for x, y in batches:
        loss_fn(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    hook.close()

A step is an update of the optimizer, so that passes whose gradients are accumulated belong to one step; without an optimizer it is
a pass. The network's training flag tells TRAIN from EVAL. Weights are taken before the first pass of a step, gradients when the optimizer
is about to step: they are then what DDP has averaged, a scaler has unscaled and the training has clipped.
"""
import os
import sys
import time
import weakref

import assay_hook
from assay_recording.budget import NEVER, Budget
from assay_recording.modules import watch_flags
from assay_recording.moves import Course
from assay_recording.reached import parameters, wrap
from assay_recording.ring import Ring

COLLECTIONS = ("weights", "biases", "gradients")
FED = {"inputs": "statistics", "labels": "raw", "scores": "raw"}  # what a step is fed with: collections, and what is kept of their tensors
FED_PROBE = b"probe_input_0"  # in the collection of inputs alone: due when their budget says so
MOST_LABELS = 1 << 16  # elements of a tensor of labels that is kept as it is; larger ones are statistics
MOST_SCORES = 1 << 12  # likewise of what else a loss is given: which class is predicted as which no statistics tell
_PART = {"weight": "weights", "bias": "biases"}


def auto(out_dir=None, model=None, loss=None, optimizer=None, scaler=None, budget="1 %", raw=None, record="statistics",
         memory="256 MB", **arguments):
    """A hook for this training, on every worker. `loss` is a module or several; without it every loss of torch.nn is recorded.
    `record` is what is kept of weights and gradients: "statistics", "digest" or "raw"; `raw` are patterns of tensors that are
    wanted as they are besides. `budget` is a share of the step time, bytes, or both ("1 %, 1 GB");
    None saves every step. `memory` is what weights and inputs of the last steps may take, which are recorded once the loss
    leaves its course; None keeps none. Other arguments are those of assay_hook.Hook. Without `out_dir` it is runs/JOB, of Slurm or torchrun."""
    return AutoHook(out_dir, budget, raw, record, memory, **arguments).watch(model, loss, optimizer, scaler)


def _directory(workers):
    for variable in ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"):
        if os.environ.get(variable, "none") != "none":
            return os.path.join("runs", os.environ[variable])
    if workers > 1:
        raise ValueError("%d workers, and no job number that all of them know: name the directory" % workers)
    return os.path.join("runs", time.strftime("%Y%m%d-%H%M%S"))


def _is_on_host(parameter):
    """Its digest, which proves that nothing of it changed, costs next to nothing; one on a device would have to come from there."""
    return parameter.device.type == "cpu" and type(parameter).__name__ != "DTensor"


def how_often(names, interval):
    """"weights and gradients are recorded every 20 steps"."""
    what = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    often = "no longer recorded" if interval >= NEVER else "recorded at every step" if interval == 1 else "recorded every %d steps" % interval
    return "%s are %s" % (what, often)


class AutoHook(assay_hook.Hook):
    def __init__(self, out_dir=None, budget="1 %", raw=None, record="statistics", memory="256 MB", **arguments):
        given = arguments.pop("rank_and_workers", None)
        rank, workers = given or assay_hook._rank_and_workers()
        self._budget = Budget(budget, workers)
        interval = self._budget.interval
        if out_dir is None and arguments.get("config_file") is None and not os.environ.get("ASSAY_HOOK_CONFIG"):
            out_dir = _directory(workers)
        patterns = [raw] if isinstance(raw, str) else list(raw or [])
        some_steps = assay_hook.SaveConfig(save_interval=interval)
        mine = [assay_hook.Collection(name, record=record, save_config=some_steps) for name in COLLECTIONS]
        mine += [assay_hook.Collection("raw", include_regex=patterns, save_config=some_steps)] if patterns else []
        wanted = arguments.pop("include_collections", None) or []
        defaults = dict(save_config=assay_hook.SaveConfig(save_interval=1), include_workers="all")
        mine += [assay_hook.Collection("digests", record="digest", save_config=some_steps)] if record == "statistics" else []
        in_detail = assay_hook.Collection("detail", record=record)  # the names of the others, due at every step: _due() decides
        fed = [assay_hook.Collection(name, record=form) for name, form in FED.items() if name not in {getattr(c, "name", c) for c in wanted}]
        super().__init__(out_dir, include_collections=mine + [in_detail] + fed + list(wanted), rank_and_workers=given,
                         **{**defaults, **arguments})
        self._thinned = [c.name for c in mine]
        self._course, self._fed_names, self._known, self._ring = Course(), set(), None, Ring(self, memory, budget)
        self._fed_budget, self._fed_cost = Budget(budget, workers, first=1), 0.0
        self._rank, self._advance, self._fixed_mode, self._passed_mode = rank, True, False, None
        self._probe, self._taken, self._has_weights = None, False, False
        self._until_update, self._scaler, self._loss_handles = False, None, []
        self._losses, self._all_losses = weakref.WeakSet(), False  # none is watched twice, however often watch() is called
        self._step_began, self._step_cost, self._writer_before = None, 0.0, 0.0

    # -- what is watched

    def _networks(self):
        return super()._networks() + [module for module in (part() for part in self._parts) if module is not None]

    def watch(self, model=None, loss=None, optimizer=None, scaler=None):
        """Records a network, its losses, and the steps of its optimizer. Networks may be wrapped (DDP, FSDP, torch.compile) before
        or after this. Returns the hook."""
        if not self._handle:
            return self
        self._scaler = scaler if scaler is not None and hasattr(scaler, "get_scale") else None
        if model is not None:
            self._watch_model(model)
        self.watch_losses(loss)
        if optimizer is not None:
            self.watch_optimizer(optimizer)
        elif model is not None:
            for name, parameter in parameters(self):
                if parameter.requires_grad:
                    parameter.register_hook(self._gradient_when_due("gradient/" + name))
        if self._scaler is not None:
            wrap(scaler, "step", after=self.updated)
        return self

    def _gradient_when_due(self, name):
        save = self._gradient_of(name)
        return lambda gradient: save(gradient) if self._due() else None

    def name_parameters(self, model):
        """Takes note of a network's parameters under the names that register_module() would give them."""
        inner = assay_hook._unwrapped(model)[0]
        self._parts.append(weakref.ref(inner))
        self._probe = b"probe/weight"  # in the collection of weights alone: due when the budget says so
        for name, parameter in parameters(self):
            if not any(part in name for part in _PART):  # such as an embedding of its own: it is a weight as well
                assay_hook._lib.assay_hook_collection_name(self._handle, b"weights", self._encoded(name))
            if "digests" in self._thinned and _is_on_host(parameter):
                assay_hook._lib.assay_hook_collection_name(self._handle, b"digests", self._encoded(name))
            for tensor in (name, "gradient/" + name):
                assay_hook._lib.assay_hook_collection_name(self._handle, b"detail", self._encoded(tensor))
        return inner

    def _watch_model(self, model):
        inner = self.name_parameters(model)
        assay_hook._goes_on(watch_flags)(self, inner)
        outer = model if assay_hook._unwrapped(model)[1] else inner  # what is compiled does not call hooks inside
        outer.register_forward_pre_hook(self._before_pass)
        self.watch_inputs(outer)
        outer.register_forward_hook(self._after_pass)
        if self._laws:
            self._laws.watch(model)

    def watch_inputs(self, model):
        """Records what a network is called with, by position and by keyword, as far as PyTorch tells (keywords since 2.0)."""
        prefix = self._name_of(assay_hook._unwrapped(model)[0]) + "_input_"
        try:
            model.register_forward_pre_hook(
                lambda module, inputs, named: self._save_fed(prefix, inputs + tuple(v for k, v in named.items() if k != "labels"),
                                                             {k: v for k, v in named.items() if k == "labels"}), with_kwargs=True)
        except TypeError:
            model.register_forward_pre_hook(lambda module, inputs: self._save_fed(prefix, inputs))

    def watch_losses(self, loss=None):
        """Records what these modules return, or without one every loss of torch.nn."""
        torch = assay_hook._torch()
        if loss is not None:
            for module in loss if isinstance(loss, (list, tuple)) else [loss]:
                if module not in self._losses:
                    self._losses.add(module)
                    assay_hook.assay_hook_config.name_of_loss(assay_hook._lib, self._handle, module)
                    self._loss_handles.append(module.register_forward_hook(self._after_loss))
        elif torch is not None and not self._all_losses:
            self._all_losses = True
            kind = torch.nn.modules.loss._Loss
            self._loss_handles.append(torch.nn.modules.module.register_module_forward_hook(
                lambda module, inputs, output: self._after_loss(module, inputs, output)
                if isinstance(module, kind) and module not in self._losses else None))

    def watch_optimizer(self, optimizer):
        """A call of the optimizer's step() ends the step of the recording."""
        self._until_update = True
        if any(held() is optimizer for held in self._held):
            return
        self.register_optimizer(optimizer)
        wrap(optimizer, "step", self.before_update, self.updated)

    def until_update(self):
        """Steps end with before_update() and updated(), which somebody else calls."""
        self._until_update = True

    # -- steps

    def set_mode(self, mode):
        """Fixes the mode; else the network's training flag tells it."""
        self._fixed_mode = True
        super().set_mode(mode)

    def _before_pass(self, module, inputs):
        self.begin_pass(module.training)
        if not self._until_update or self.mode is assay_hook.modes.EVAL:
            self._look_at_flags(module)

    @assay_hook._goes_on
    def _look_at_flags(self, module):
        if self._flags:
            self._flags.look(assay_hook._unwrapped(module)[0], self.mode)

    @assay_hook._goes_on
    def begin_pass(self, training=True):
        """A pass of the network begins, and with it a step, unless the gradients of the last passes are still to be used."""
        mode = assay_hook.modes.TRAIN if training else assay_hook.modes.EVAL
        if self._fixed_mode:
            mode = self.mode
        if mode is not assay_hook.modes.TRAIN or self._advance or mode is not self._passed_mode:
            self._begin_step(mode)

    def _begin_step(self, mode):
        if not self._fixed_mode:
            super().set_mode(mode)
        self._account(mode)
        self.step()
        self._ring.next_step()
        known, self._known, self._passed_mode = self._known, None, mode
        self._advance, self._taken, self._has_weights = not self._until_update, False, False
        if mode is assay_hook.modes.TRAIN:
            self._course.next_step()
            self._look_at(known)  # of a device: the step before is done there by now
        if mode is assay_hook.modes.TRAIN or not self._until_update:
            self._take(gradients=False)  # before the pass: they are what the last update made, and what this pass uses
            self._taken = self._taken and not self._until_update
        if mode is assay_hook.modes.TRAIN and not self._has_weights:
            self._ring.copy(lambda: parameters(self))

    def updated(self):
        """The optimizer has stepped: the next pass of training begins the next step."""
        self._advance = True

    def _due(self):
        """Are weights and gradients saved at this step?"""
        if not self._active or self._probe is None:
            return False
        detail = self._course.detail() and self._passed_mode is assay_hook.modes.TRAIN and self._budget.interval < NEVER
        return detail or assay_hook._lib.assay_hook_wants(self._handle, self._probe)

    @assay_hook._goes_on
    def before_update(self):
        """The optimizer is about to use the gradients: saves them, the weights, and the scale of a GradScaler."""
        if self._passed_mode is None:
            self._begin_step(assay_hook.modes.TRAIN)
        self._ring.wait()
        self._take(gradients=True)
        for part in self._parts if self._flags else ():
            self._flags.look(part(), assay_hook.modes.TRAIN)  # whatever it was called in before: that is what is learned from

    def _take(self, gradients):
        if self._taken or not self._due():
            return
        self._taken = True
        began = time.perf_counter()
        for name, parameter in parameters(self):
            if not self._has_weights:
                self._save_torch(name, parameter)
            if gradients and parameter.grad is not None:
                self._save_torch("gradient/" + name, parameter.grad)
        self._has_weights = True
        if gradients and self._scaler is not None:
            self.save_scalar("grad_scale", self._scaler.get_scale())
        self._step_cost += time.perf_counter() - began

    def _account(self, next_mode):
        """Closes the account of the step that ends, and asks the budget how often to save from now on."""
        now = time.perf_counter()
        began, self._step_began = self._step_began, now if next_mode is assay_hook.modes.TRAIN else None
        if began is None or self._passed_mode is not assay_hook.modes.TRAIN:
            return
        self._account_of_fed(now - began)
        self._ring.budget.plain_step(now - began)
        if not self._taken:
            self._budget.plain_step(now - began)
            return
        finished = time.perf_counter()
        if self._copies:
            self._copies.finish()
        writer = self.cost()["writer"]
        beside = (writer - self._writer_before) / self._cores()
        cost, self._step_cost, self._writer_before = self._step_cost + time.perf_counter() - finished + beside, 0.0, writer
        if self._budget.saved_step(cost, self.counts()["bytes"]):
            for name in self._thinned:
                self.set_interval(name, self._budget.interval)
            self._say()

    def _account_of_fed(self, seconds):
        """What the step was fed with has a budget of its own: a step that takes next to nothing is not recorded each time."""
        cost, self._fed_cost = self._fed_cost, 0.0
        self._fed_budget.plain_step(seconds - cost)
        if cost > 0 and self._fed_budget.saved_step(cost, self.counts()["bytes"]):
            for name in FED:
                self.set_interval(name, self._fed_budget.interval)

    def _cores(self):
        """What the writer takes is lacking elsewhere only where the training itself keeps all cores busy."""
        torch = assay_hook._torch()
        return torch.get_num_threads() if torch is not None and self._on_host() else os.cpu_count() or 1

    def _on_host(self):
        return all(p.device.type == "cpu" for _, p in parameters(self))

    def _say(self):
        if self._rank == 0:
            print("assay: to stay within the budget, %s; losses are recorded as before" %
                  how_often([name for name in self._thinned if name != "digests"], self._budget.interval), file=sys.stderr)

    def close(self):
        for handle in self._loss_handles:
            handle.remove()
        self._loss_handles = []
        if self._known is not None and not self._forked() and self._handle:
            self._look_at(self._known)  # a training may end at a loss that is not finite
            self._known = None
        super().close()

    # -- losses

    @assay_hook._goes_on
    def _after_loss(self, module, inputs, output):
        if self._fixed_mode and self._passed_mode not in (None, self.mode):  # of a copy that is not watched
            self._begin_step(self.mode)
        if self._active:
            self._write(module._get_name() + "_output_", output)
            if self._laws:
                self._laws.after_loss(module, inputs, output)
            self._save_fed(module._get_name() + "_input_", inputs)
            self.note_loss(output)

    def note_loss(self, value):
        """Looks at a loss where that does not wait for a device; else at the beginning of the next step."""
        if self._passed_mode is assay_hook.modes.TRAIN and isinstance(value, assay_hook._torch().Tensor) and value.numel() == 1:
            self._known = value.detach()
            if self._known.device.type == self._host:
                self._look_at(self._known)
                self._known = None

    @assay_hook._goes_on
    def _look_at(self, loss):
        if loss is None or not self._course.loss(float(loss)):
            return
        self._has_weights = self._ring.write() or self._has_weights
        if not self._advance:  # no update yet: they are what this step uses; a training that stops at a NaN has them
            self._take(gradients=False)
            self._taken = False
        if self._rank == 0:
            print("assay: the loss left its course (%g): weights and inputs of the last steps are recorded, and weights and gradients of the next "
                  "ones" % float(loss), file=sys.stderr)

    @assay_hook._goes_on
    def _save_fed(self, prefix, values, labels=()):
        """Saves what a network or a loss was given, or holds it until the loss of this step is known. Whole numbers that come to a loss are its
        labels, what else comes to it and is small its scores, the rest are inputs."""
        if not self._active:
            return
        began = time.perf_counter()
        due = self._course.detail() or assay_hook._lib.assay_hook_wants(self._handle, FED_PROBE)
        named = [("%s%d" % (prefix, index), value) for index, value in enumerate(values)]
        for name, value in named + list(dict(labels).items()):
            if isinstance(value, assay_hook._torch().Tensor):
                if name not in self._fed_names:
                    self._fed_names.add(name)
                    whole, of_loss = not value.is_floating_point() and value.numel() <= MOST_LABELS, "Loss" in prefix
                    kind = b"labels" if whole and (name in labels or of_loss) else b"inputs"
                    kind = b"scores" if of_loss and not whole and value.numel() <= MOST_SCORES else kind
                    for collection in kind, b"detail":
                        assay_hook._lib.assay_hook_collection_name(self._handle, collection, self._encoded(name))
                if due and name not in self._written:  # of several passes in a step the first one counts
                    self._written[name] = 1
                    self._save_torch(name, value)
                if self._passed_mode is assay_hook.modes.TRAIN:
                    self._ring.hold(name, value, due)
        self._fed_cost += time.perf_counter() - began if due else 0.0

    @assay_hook._goes_on
    def _after_pass(self, module, inputs, output):
        """Networks that compute their own loss return it beside their output, as Hugging Face's do."""
        value = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        if value is not None and self._active:
            self.record_tensor_value("loss", value)
            self.note_loss(value)
