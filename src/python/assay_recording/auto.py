"""auto.py - the hook that configures itself: on every worker losses, labels, small scores and inputs, and statistics of larger ones, at every step, and statistics of
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
import ctypes
import os
import sys
import time
import weakref

import assay_hook
from assay_recording.budget import NEVER, Budget, Plain
from assay_recording.modules import watch_flags
from assay_recording.moves import Course
from assay_recording.reached import begin, parameters, wrap
from assay_recording.ring import Ring

COLLECTIONS = ("weights", "biases", "gradients")
FED = {"inputs": "statistics", "small_inputs": "raw", "labels": "raw", "scores": "raw"}  # what a step is fed with: collections, and what is kept of their tensors
FED_PROBE = b"probe_input_0"  # in the collection of inputs alone: due when their budget says so
MOST_LABELS = 1 << 16  # elements of a tensor of labels that is kept as it is; larger ones are statistics
MOST_SMALL = 1 << 12  # likewise of inputs and of what else a loss is given: no statistics tell predicted classes, rows that come again, columns that are lost
EVERY_LOSS = 10000  # steps of training whose losses are all recorded, whatever that costs
LOOK_AT_LOSSES = 1000  # steps after which their cost is looked at again
RAREST_LOSS = 100
# What has how much of the budget, beside weights and gradients, which have all of it: together they are twice as much.
OF_FED, OF_COPIES, OF_LOSSES = 0.25, 0.25, 0.5
FILES, WEIGHTS, FEED = range(3)  # accounts of the library
PLAIN_PASSES = 50  # of a network that returns no loss
_PART = {"weight": "weights", "bias": "biases"}
_MODES = assay_hook.modes.TRAIN, assay_hook.modes.EVAL


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


def _before_passes(module, call):
    """Has PyTorch call this before each pass, with what came by keyword too, which it knows since 2.0."""
    try:
        module.register_forward_pre_hook(call, with_kwargs=True)
    except TypeError:
        module.register_forward_pre_hook(call)


class _EachLoss:
    """Is told of each pass of a loss of torch.nn, and of no other module: hooks of PyTorch for all modules would cost each of them something."""
    _told = []

    def __init__(self, call):
        kind, calls = assay_hook._torch().nn.modules.loss._Loss, _EachLoss._told
        self._call = call
        if not calls:
            original = kind.__call__

            def called(module, *inputs, **named):
                output = original(module, *inputs, **named)
                for tell in tuple(calls):
                    tell(module, inputs, output)
                return output
            kind.__call__ = called
        calls.append(call)

    def remove(self):
        """As a handle of PyTorch: a second time it does nothing."""
        if self._call not in _EachLoss._told:
            return
        _EachLoss._told.remove(self._call)
        if not _EachLoss._told:
            del assay_hook._torch().nn.modules.loss._Loss.__call__


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
        named = {getattr(c, "name", c) for c in wanted}
        fed = [assay_hook.Collection(name, record=form) for name, form in FED.items() if name not in named]
        self._most_inputs = 0 if "inputs" in named else MOST_SMALL  # who asks for inputs gets them in that form
        super().__init__(out_dir, include_collections=mine + [in_detail] + fed + list(wanted), rank_and_workers=given,
                         **{**defaults, **arguments})
        self._thinned = [c.name for c in mine]
        self._plain = self._budget._plain
        self._course, self._fed_names, self._declared, self._known = Course(), {}, set(), None
        self._ring = Ring(self, memory, Budget(budget, first=1, part=OF_COPIES, plain=self._plain))
        self._fed_budget, self._fed_cost, self._fed_due = Budget(budget, workers, first=1, part=OF_FED, plain=self._plain), 0.0, False
        self._loss_budget, self._loss_due = Budget(budget, workers, first=1, part=OF_LOSSES, plain=self._plain), True
        self._losses_recorded, self._losses_before, self._weights_due = 0, 0.0, False
        self._rank, self._advance, self._fixed_mode, self._passed_mode = rank, True, False, None
        self._probe, self._taken, self._has_weights = None, False, False
        self._until_update, self._scaler, self._loss_handles = False, None, []
        self._losses, self._all_losses = weakref.WeakSet(), False  # none is watched twice, however often watch() is called
        self._step_began, self._step_cost, self._writer_before = None, 0.0, [0.0] * 3
        self._probes, self._probe_count, self._of_loss = (ctypes.c_char_p * 2)(FED_PROBE, None), 1, {}
        self._after_handle, self._plain_passes, self._own_losses, self._tensor, self._single = None, 0, False, None, None

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
        self._probe = self._probes[1] = b"probe/weight"  # in the collection of weights alone: due when the budget says so
        self._probe_count = 2
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
        prefix = self._name_of(inner) + "_input_"

        def before(module, inputs, named=None):
            try:
                if self._advance or self._passed_mode is not _MODES[0] or not module.training or self._fixed_mode:
                    self.begin_pass(module.training)
                if self._flags and (not self._until_update or self.mode is _MODES[1]):
                    self._flags.look(assay_hook._unwrapped(module)[0], self.mode)
                if self._active:
                    self._save_given(prefix, inputs, named)
            except Exception as error:  # noqa: B902
                self._complain("before_pass", error)
        _before_passes(outer, before)
        self._after_handle = outer.register_forward_hook(self._after_pass)
        if self._laws:
            self._laws.watch(model)

    def watch_inputs(self, model):
        """Records what a network is called with, by position and by keyword, as far as PyTorch tells."""
        prefix = self._name_of(assay_hook._unwrapped(model)[0]) + "_input_"
        save = assay_hook._goes_on(AutoHook._save_given)
        _before_passes(model, lambda module, inputs, named=None: save(self, prefix, inputs, named))

    def watch_losses(self, loss=None):
        """Records what these modules return, or without one every loss of torch.nn."""
        torch = assay_hook._torch()
        if loss is not None:
            for module in loss if isinstance(loss, (list, tuple)) else [loss]:
                if module not in self._losses:
                    self._losses.add(module)
                    assay_hook.assay_hook_config.name_of_loss(assay_hook._lib, self._handle, module)
                    self._loss_handles.append(module.register_forward_hook(self._after_loss))
        if torch is not None:
            self._tensor, self._single = torch.Tensor, torch.float32
        if loss is None and torch is not None and not self._all_losses:
            self._all_losses = True
            self._loss_handles.append(_EachLoss(
                lambda module, inputs, output: None if module in self._losses else self._after_loss(module, inputs, output)))

    def watch_optimizer(self, optimizer):
        """A call of the optimizer's step() ends the step of the recording."""
        self._until_update = True
        looks = begin(self, optimizer)
        if looks is None:
            return
        look, looked = looks

        def before():
            if self._weights_due or self._course.left or self._passed_mode is None or self._flags and self._flags.parts or self._ring.is_copying():
                self.before_update()
            look()

        def after():
            looked()
            self.updated()
        wrap(optimizer, "step", before, after)

    def until_update(self):
        """Steps end with before_update() and updated(), which somebody else calls."""
        self._until_update = True

    # -- steps

    def set_mode(self, mode):
        """Fixes the mode; else the network's training flag tells it."""
        self._fixed_mode = True
        super().set_mode(mode)

    def begin_pass(self, training=True):
        """A pass of the network begins, and with it a step, unless the gradients of the last passes are still to be used."""
        try:
            mode = self.mode if self._fixed_mode else _MODES[not training]
            if self._advance or mode is not _MODES[0] or mode is not self._passed_mode:
                self._begin_step(mode)
        except Exception as error:  # noqa: B902
            self._complain("begin_pass", error)

    def _begin_step(self, mode):
        """Few calls: where a step is short, those of Python are what recording it takes."""
        train, now = mode is _MODES[0], time.perf_counter()
        if self._step_began is not None:
            if self._taken or self._fed_cost or self._losses_recorded == LOOK_AT_LOSSES:
                self._account(now - self._step_began)
            else:
                self._plain.append(now - self._step_began - self._ring.cost)
        if self._copies or self._laws:
            for part in filter(None, (self._copies, self._laws)):
                part.finish()
        if mode is not self.mode:
            self.mode = mode
            if self._steps[mode.value] is None:
                self._steps[mode.value] = -1
        if not self._begun and not self._forked():
            self._begin()
        due = assay_hook._lib.assay_hook_next(self._handle, mode.value, self._probe_count, self._probes)
        self._fed_due, self._weights_due = due & 1, due & 2
        self._stepped(due != 0)
        interval = self._loss_budget.interval
        self._loss_due = interval == 1 or not train or self._steps[mode.value] % interval == 0
        ring, self._passed_mode = self._ring, mode
        ring.next_step()
        self._advance = not self._until_update
        self._taken = self._has_weights = False
        if train:
            self._course.next_step()
            if self._known is not None:
                known, self._known = self._known, None
                self._look_at(known)  # of a device: the step before is done there by now
        if (self._weights_due or self._course.left) and (train or not self._until_update) and self._due():
            self._take(gradients=False)  # before the pass: they are what the last update made, and what this pass uses
            self._taken = self._taken and not self._until_update
        if train and not self._has_weights and ring.number % ring.budget.interval == 0:
            ring.copy(self._named_parameters)
        self._step_began = now if train else None

    def step(self):
        """Begins a step that no pass of a network begins."""
        super().step()
        self._loss_due = True
        self._fed_due = assay_hook._lib.assay_hook_wants(self._handle, FED_PROBE)
        self._weights_due = self._probe is not None and assay_hook._lib.assay_hook_wants(self._handle, self._probe)

    def _named_parameters(self):
        return parameters(self)

    def updated(self):
        """The optimizer has stepped: the next pass of training begins the next step."""
        self._advance = True

    def _in_detail(self):
        return self._course.left > 0 and self._passed_mode is _MODES[0] and self._budget.interval < NEVER

    def _due(self):
        """Are weights and gradients saved at this step?"""
        return self._active and self._probe is not None and (self._weights_due or self._in_detail())

    def before_update(self):
        """The optimizer is about to use the gradients: saves them, the weights, and the scale of a GradScaler."""
        try:
            if self._passed_mode is None:
                self._begin_step(_MODES[0])
            self._ring.wait()
            if self._due():
                self._take(gradients=True)
            if self._flags and self._flags.parts:
                for part in self._parts:
                    self._flags.look(part(), _MODES[0])  # whatever it was called in before: that is what is learned from
        except Exception as error:  # noqa: B902
            self._complain("before_update", error)

    def _take(self, gradients):
        if self._taken:
            return
        self._taken = True
        began = time.perf_counter()
        assay_hook._lib.assay_hook_charge(self._handle, WEIGHTS)
        for name, parameter in parameters(self):
            if not self._has_weights:
                self._save_torch(name, parameter)
            if gradients and parameter.requires_grad and parameter.grad is not None:  # else it is of a training before
                self._save_torch("gradient/" + name, parameter.grad)
        self._has_weights = True
        if gradients and self._scaler is not None:
            self.save_scalar("grad_scale", self._scaler.get_scale())
        assay_hook._lib.assay_hook_charge(self._handle, FILES)
        self._step_cost += time.perf_counter() - began

    def _account(self, seconds):
        """Closes the account of a step of training, and asks the budgets how often to save from now on."""
        fed, self._fed_cost = self._fed_cost, 0.0
        if not self._taken:
            self._plain.append(seconds - fed - self._ring.cost)
        if self._losses_recorded == LOOK_AT_LOSSES:
            self._account_of_losses()
        if fed and self._fed_budget.saved_step(fed + self._written_for(FEED), self._used(self._fed_budget)):
            for name in FED:
                self.set_interval(name, self._fed_budget.interval)
        if not self._taken:
            return
        finished = time.perf_counter()
        if self._copies:
            self._copies.finish()
        cost, self._step_cost = self._step_cost + time.perf_counter() - finished + self._written_for(WEIGHTS), 0.0
        if self._budget.saved_step(cost, self._used(self._budget)):
            for name in self._thinned:
                self.set_interval(name, self._budget.interval)
            self._say("%s; losses are recorded as before" % how_often([name for name in self._thinned if name != "digests"], self._budget.interval))

    def _account_of_losses(self):
        """Files of a step take longer than the step itself where a network is tiny. Then fewer losses are recorded, behind many that were: those
        of the last steps are known all the same where one of them is out of the ordinary."""
        cost, self._losses_recorded = self._written_for(FILES) / LOOK_AT_LOSSES, 0
        if self._steps[_MODES[0].value] >= EVERY_LOSS and self._loss_budget.saved_step(cost, 0):
            self._loss_budget.interval = min(self._loss_budget.interval, RAREST_LOSS)
            self._say(how_often(["losses of training"], self._loss_budget.interval))

    def _written_for(self, account):
        """Seconds of the training that what the writer did for an account since the last time is worth."""
        writer = assay_hook._lib.assay_hook_charged(self._handle, account)
        seconds, self._writer_before[account] = writer - self._writer_before[account], writer
        return seconds / self._cores()

    def _used(self, budget):
        return self.counts()["bytes"] if budget.size else 0

    def _cores(self):
        """What the writer takes is lacking elsewhere only where the training itself keeps all cores busy."""
        torch = assay_hook._torch()
        return torch.get_num_threads() if torch is not None and self._on_host() else os.cpu_count() or 1

    def _on_host(self):
        return all(p.device.type == "cpu" for _, p in parameters(self))

    def _say(self, what):
        if self._rank == 0:
            print("assay: to stay within the budget, %s" % what, file=sys.stderr)

    def close(self):
        for handle in self._loss_handles:
            handle.remove()
        self._loss_handles = []
        if self._known is not None and not self._forked() and self._handle:
            self._look_at(self._known)  # a training may end at a loss that is not finite
            self._known = None
        super().close()

    # -- losses

    def _after_loss(self, module, inputs, output):
        try:
            if self._fixed_mode and self._passed_mode not in (None, self.mode):  # of a copy that is not watched
                self._begin_step(self.mode)
            if not self._active:
                return
            of = self._of_loss.get(type(module))
            if of is None:
                name = module._get_name()
                of = self._of_loss[type(module)] = name + "_output_", name + "_input_", name + "_output_0", (name + "_output_0").encode()
            prefix, fed, name, encoded = of
            plain = type(output) is self._tensor and output.dtype is self._single and output.is_cpu and self._host == "cpu" and output.dim() == 0
            if plain and prefix not in self._written and not self._laws:  # as nearly every loss: a number that the library can read where it is
                self._written[prefix] = 1
                place = output.data_ptr()
                number = ctypes.c_float.from_address(place).value  # PyTorch's own way to it takes ten times as long
                if self._loss_due or self._course.left and self._in_detail():
                    assay_hook._lib.assay_hook_save(self._handle, encoded, 1, 0, None, place)
                    self._losses_recorded += self._losses_recorded < LOOK_AT_LOSSES
                else:
                    self._ring.hold_loss(name, number)
                if inputs:
                    self._save_fed(fed, inputs)
                if self._passed_mode is _MODES[0]:
                    self._look_at(number)
                return
            self._save_loss(prefix, output)
            if self._laws:
                self._laws.after_loss(module, inputs, output)
            self._save_fed(fed, inputs)
            self.note_loss(output)
        except Exception as error:  # noqa: B902
            self._complain("after_loss", error)

    def _save_loss(self, prefix, value):
        """Saves what a loss returned, or holds it at a step whose loss is not recorded."""
        if self._loss_due or self._in_detail():
            if prefix not in self._written:
                self._losses_recorded += self._passed_mode is _MODES[0] and self._losses_recorded < LOOK_AT_LOSSES
            self._write(prefix, value)
        elif isinstance(value, assay_hook._torch().Tensor):
            index = self._written.get(prefix, 0)
            self._written[prefix] = index + 1
            name = prefix + str(index)
            self._ring.hold_loss(name, value.detach())

    def record_tensor_value(self, tensor_name, tensor_value):
        """For losses that are functions, as F.mse_loss: saved as <tensor_name>_output_<n>."""
        try:
            if self._active:
                self._save_loss(tensor_name + "_output_", tensor_value)
                self.note_loss(tensor_value)
        except Exception as error:  # noqa: B902
            self._complain("record_tensor_value", error)

    def note_loss(self, value):
        """Looks at a loss where that does not wait for a device; else at the beginning of the next step."""
        if self._passed_mode is _MODES[0] and isinstance(value, assay_hook._torch().Tensor) and value.numel() == 1:
            if value.device.type == self._host:
                self._look_at(value)
            else:
                self._known = value.detach()

    def _look_at(self, loss):
        if loss is None or not self._course.loss(float(loss)):
            return
        self._has_weights = self._ring.write() or self._has_weights
        if not self._advance and self._due():  # no update yet: they are what this step uses; a training that stops at a NaN has them
            self._take(gradients=False)
            self._taken = False
        if self._rank == 0:
            print("assay: the loss left its course (%g): weights and inputs of the last steps are recorded, and weights and gradients of the next "
                  "ones" % float(loss), file=sys.stderr)

    def _save_given(self, prefix, inputs, named):
        """What a network was called with."""
        if named:
            self._save_fed(prefix, inputs + tuple(v for k, v in named.items() if k != "labels"), {k: v for k, v in named.items() if k == "labels"})
        else:
            self._save_fed(prefix, inputs)

    def _save_fed(self, prefix, values, labels=None):
        """Saves what a network or a loss was given, or holds it until the loss of this step is known."""
        if not self._active:
            return
        due = self._fed_due or self._course.left > 0
        train, written, names = self._passed_mode is _MODES[0], self._written, self._fed_names.get(prefix, ())
        if len(names) < len(values):
            names = self._fed_names[prefix] = ["%s%d" % (prefix, index) for index in range(len(values))]
        elif not due and not labels:  # all have been declared that will be
            if train:
                self._ring.hold(names, values, False)
            return
        began, tensor = time.perf_counter(), assay_hook._torch().Tensor
        if due:
            assay_hook._lib.assay_hook_charge(self._handle, FEED)
        for name, value in [*zip(names, values), *labels.items()] if labels else zip(names, values):
            if isinstance(value, tensor):
                if name not in self._declared:
                    self._declare_fed(name, value, labels and name in labels, "Loss" in prefix)
                if due and name not in written:  # of several passes in a step the first one counts
                    written[name] = 1
                    self._save_torch(name, value)
                if train:
                    self._ring.hold((name,), (value,), due)
        if due:
            assay_hook._lib.assay_hook_charge(self._handle, FILES)
            self._fed_cost += time.perf_counter() - began

    def _declare_fed(self, name, value, is_labels, of_loss):
        """Whole numbers that come to a loss are its labels, what else comes to it and is small its scores, the rest are inputs, of which small
        ones are kept as they are."""
        self._declared.add(name)
        whole = not value.is_floating_point() and value.numel() <= MOST_LABELS
        kind = b"labels" if whole and (is_labels or of_loss) else b"inputs"
        kind = b"scores" if of_loss and not whole and value.numel() <= MOST_SMALL else kind
        kind = b"small_inputs" if kind == b"inputs" and value.numel() <= self._most_inputs else kind
        for collection in kind, b"detail":
            assay_hook._lib.assay_hook_collection_name(self._handle, collection, self._encoded(name))

    def _after_pass(self, module, inputs, output):
        """Networks that compute their own loss return it beside their output, as Hugging Face's do. One that has returned nothing but a tensor
        so often is looked at no more."""
        if isinstance(output, assay_hook._torch().Tensor):
            self._plain_passes += 1
            if self._plain_passes == PLAIN_PASSES and not self._own_losses:
                self._after_handle.remove()
            return
        value = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        if value is not None:
            self._own_losses = True
            self.record_tensor_value("loss", value)
