"""callbacks.py - the hook that configures itself, as a callback of PyTorch Lightning and of Hugging Face's Trainer.

    trainer = lightning.Trainer(callbacks=[LightningCallback("runs/17")])
    trainer = transformers.Trainer(..., callbacks=[TrainerCallback("runs/17")])

Arguments are those of assay_hook.auto(). Both are written against the documented interfaces of these libraries and call nothing of
them; where they are installed, the classes derive from theirs.
"""
import importlib

import assay_hook
from assay_recording.auto import AutoHook


class _Nothing:
    """In place of a library that is not installed."""


def _base(*places):
    """The first of these classes that is installed."""
    for module, name in places:
        try:
            return getattr(importlib.import_module(module), name)
        except Exception:  # noqa: B902 - not installed, or broken: then nobody uses it here
            continue
    return _Nothing


def _number(value):
    """A scalar of logs or metrics as a float, or None."""
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return None


class _Recorder:
    """What both have in common: one hook, made when the training begins."""

    hook = None

    def _make(self, arguments):
        self._arguments = dict(arguments)
        if "out_dir" in self._arguments and self._arguments["out_dir"] is None:
            del self._arguments["out_dir"]

    def _begin(self, **watched):
        if self.hook is None:
            self.hook = AutoHook(**self._arguments)
            self.hook.watch(**watched)

    def _scalars(self, values, prefix=""):
        for name, value in (values or {}).items():
            number = _number(value)
            if number is not None and self.hook is not None:
                self.hook.save_scalar(prefix + str(name), number)

    def _end(self):
        if self.hook is not None:
            self.hook.close()
            self.hook = None


class LightningCallback(_base(("lightning.pytorch", "Callback"), ("pytorch_lightning", "Callback")), _Recorder):
    """Records a LightningModule. Training steps are those of the optimizer; validation batches are EVAL steps."""

    def __init__(self, out_dir=None, **arguments):
        super().__init__()
        self._make(dict(arguments, out_dir=out_dir))

    def on_fit_start(self, trainer, pl_module):
        first = self.hook is None
        self._begin(loss=())  # the loss is what training_step() returns
        if first and self.hook._handle:
            self.hook.watch_inputs(self.hook.name_parameters(pl_module))
            self.hook.until_update()

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx, *more):
        self.hook.begin_pass(True)

    def on_before_optimizer_step(self, trainer, pl_module, optimizer, *more):
        self.hook.before_update()
        self.hook.updated()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, *more):
        self._loss(outputs)

    def on_validation_batch_start(self, trainer, pl_module, batch, batch_idx, *more):
        if self.hook is not None:
            self.hook.begin_pass(False)

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, *more):
        self._loss(outputs)

    def on_validation_end(self, trainer, pl_module):
        self._scalars(getattr(trainer, "callback_metrics", None))

    def on_fit_end(self, trainer, pl_module):
        self._end()

    def on_exception(self, trainer, pl_module, exception):
        self._end()

    def _loss(self, outputs):
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if self.hook is not None and loss is not None:
            self.hook.record_tensor_value("loss", loss)


class TrainerCallback(_base(("transformers", "TrainerCallback")), _Recorder):
    """Records the model that Hugging Face's Trainer trains. Its logs become scalars."""

    def __init__(self, out_dir=None, **arguments):
        super().__init__()
        self._make(dict(arguments, out_dir=out_dir))

    def on_train_begin(self, args, state, control, model=None, optimizer=None, **more):
        self._begin(model=model, optimizer=optimizer, loss=())  # the loss is what the model returns

    def on_log(self, args, state, control, logs=None, **more):
        self._scalars(logs)

    def on_train_end(self, args, state, control, **more):
        self._end()

    def __getattr__(self, name):
        """The events that nothing is done at, for a Trainer that calls all of them."""
        if name.startswith("on_"):
            return lambda *arguments, **more: None
        raise AttributeError(name)


class AccelerateTracker(_base(("accelerate.tracking", "GeneralTracker")), _Recorder):
    """Records what a training with Hugging Face's Accelerate logs, and, once watch() has its model and optimizer, the model:

        accelerator = Accelerator(log_with=AccelerateTracker("runs/17"))
        accelerator.init_trackers("project", config)
        tracker.watch(model=model, optimizer=optimizer)
        accelerator.log({"train_loss": loss}, step=step)
        accelerator.end_training()"""
    name, requires_logging_directory, main_process_only = "assay", False, False

    def __init__(self, out_dir=None, **arguments):  # the library's own only looks whether the names above are there
        self._make(dict(arguments, out_dir=out_dir))

    @property
    def tracker(self):
        return self.hook

    def start(self):
        """Called when trackers are made, by the versions that know it."""

    def store_init_configuration(self, values):
        self._arguments.setdefault("config", values)

    def watch(self, **watched):
        """Arguments as those of AutoHook.watch(): model, loss, optimizer, scaler."""
        self._begin(**watched)

    def log(self, values, step=None, **more):
        """At the current step of the hook. Without a model that is watched, each new number is a step."""
        watched = self.hook is not None
        self._begin(loss=())
        if not watched:
            self._own = True
        if getattr(self, "_own", False) and (step is None or step != getattr(self, "_last", None)):
            self._last = step
            self.hook.step()
        self._scalars(values)

    def finish(self):
        self._end()


__all__ = ["AccelerateTracker", "LightningCallback", "TrainerCallback", "assay_hook"]
