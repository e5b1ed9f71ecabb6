"""keras.py - the hook as a callback of Keras, and for loops with tf.GradientTape.

    hook = KerasHook("runs/17", include_collections=["weights", "biases", "gradients"])
    model.fit(x, y, callbacks=[hook])

    with hook.wrap_tape(tf.GradientTape()) as tape:
        loss = loss_fn(labels, model(data, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)

A batch, or a pass with a tape, is a step. Names of tensors are those of the reference: `loss`, `accuracy`, `dense/weights/dense/kernel:0`,
`gradients/dense/kernel:0Grad`. Gradients are there where Python sees them: of a tape, and of an optimizer whose apply_gradients() is not inside a
tf.function (compile(run_eagerly=True)). Written against the documented interfaces, without an import of TensorFlow but for the class of callbacks.
"""
import assay_hook
from assay_hook import ModeKeys, _goes_on
from assay_recording.callbacks import _base, _number

TRAIN, EVAL, PREDICT = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT


def _flat(items):
    return [each for item in items for each in _flat(item)] if isinstance(items, (list, tuple)) else [items]


def _is_symbolic(tensor):
    """Inside a tf.function a tensor has no value that Python could see."""
    return not hasattr(tensor, "numpy") and not hasattr(tensor, "__array__") and not isinstance(tensor, (int, float))


def _variables(model):
    """(name of the layer, variable) of a model: each once."""
    seen = set()
    for layer in getattr(model, "layers", None) or [model]:
        for variable in layer.weights:
            if id(variable) not in seen:
                seen.add(id(variable))
                yield layer.name, variable


class KerasHook(assay_hook.Hook, _base(("tensorflow.keras.callbacks", "Callback"), ("keras.callbacks", "Callback"))):
    """Arguments as those of assay_hook.Hook. Metrics are recorded as well, without being included."""

    def __init__(self, out_dir=None, *arguments, **named):
        wanted = named.pop("include_collections", None)
        if wanted is not None or named.get("config_file") is None:
            wanted = [*(wanted or []), "metrics", "losses"]
        super().__init__(out_dir, *arguments, include_collections=wanted, **named)
        self.model, self.params, self._outer, self._tape = None, None, [], None

    # -- what Keras calls; whatever else it calls is the library's own, or nothing

    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *arguments, **more: None
        raise AttributeError(name)

    def set_model(self, model):
        self.model = model
        if getattr(model, "optimizer", None) is not None:
            self.wrap_optimizer(model.optimizer)

    def set_params(self, params):
        self.params = params

    register_model = set_model

    def on_train_begin(self, logs=None):
        self._enter(TRAIN)

    def on_test_begin(self, logs=None):
        self._enter(EVAL)

    def on_predict_begin(self, logs=None):
        self._enter(PREDICT)

    def _leave(self, logs=None):
        """Validation within fit() goes back to training."""
        self.set_mode(self._outer.pop() if self._outer else ModeKeys.GLOBAL)

    on_train_end = on_test_end = on_predict_end = _leave

    def _enter(self, mode):
        self._outer.append(self.mode)
        self.set_mode(mode)

    def on_train_batch_begin(self, batch, logs=None):
        self._begin_step(self.model)

    def on_test_batch_begin(self, batch, logs=None):
        self._begin_step(self.model)

    on_predict_batch_begin = on_test_batch_begin

    @_goes_on
    def on_train_batch_end(self, batch, logs=None):
        for name, value in (logs or {}).items():
            if _number(value) is not None and name not in ("batch", "size"):
                self.save_tensor(name, [_number(value)], "losses" if name.endswith("loss") else "metrics")

    on_test_batch_end = on_train_batch_end

    # -- a step

    @_goes_on
    def _begin_step(self, model, variables=()):
        self.step()
        if not self._active:
            return
        for layer, variable in _variables(model) if model is not None else variables:
            self._save_once("%s/weights/%s" % (layer, variable.name), variable)

    def _save_once(self, name, tensor, collection=None):
        """Saves a tensor of the step; None and what has no value are passed over."""
        if tensor is None or name in self._written:
            return
        if _is_symbolic(tensor):
            self._complain("save", TypeError("%s has no value here, inside a tf.function: compile(run_eagerly=True), or wrap_tape()" % name))
            return
        self._written[name] = 1
        if collection is not None:
            self.save_tensor(name, tensor, collection)
        else:
            self._save_array(name, tensor)

    @_goes_on
    def _save_gradients(self, gradients, variables):
        for gradient, variable in zip(_flat(gradients), _flat(variables)) if self._active else ():
            self._save_once("gradients/%sGrad" % variable.name, getattr(gradient, "values", gradient))

    # -- optimizers and tapes

    def wrap_optimizer(self, optimizer):
        """Records the gradients that the optimizer applies. Returns the same optimizer."""
        apply = optimizer.apply_gradients
        if getattr(apply, "of_hook", None) is self:
            return optimizer

        def apply_gradients(grads_and_vars, *arguments, **named):
            pairs = list(grads_and_vars)
            self._save_gradients([gradient for gradient, _ in pairs], [variable for _, variable in pairs])
            return apply(pairs, *arguments, **named)

        apply_gradients.of_hook = self
        optimizer.apply_gradients = apply_gradients
        return optimizer

    def wrap_tape(self, tape):
        """Records the loss, the variables and their gradients when gradient() of the tape is called. Returns a tape in its place."""
        return _Tape(self, tape)

    @_goes_on
    def _of_tape(self, target, sources, gradients):
        variables = [(variable.name.split("/")[0], variable) for variable in _flat(sources)]
        self._begin_step(None, variables) if self.model is None else None
        self._save_gradients(gradients, sources)
        for number, loss in enumerate(_flat(target)):
            self._save_once("loss_%d" % number if number else "loss", loss, "losses") if self._active else None


class _Tape:
    """A tf.GradientTape whose gradients are recorded: all it is asked for is that tape's."""

    def __init__(self, hook, tape):
        self._hook, self._wrapped = hook, tape

    def __getattr__(self, name):
        return getattr(self._wrapped, name)

    def __enter__(self):
        if self._hook.model is not None:
            self._hook._begin_step(self._hook.model)
        self._wrapped.__enter__()
        return self

    def __exit__(self, *error):
        return self._wrapped.__exit__(*error)

    def gradient(self, target, sources, *arguments, **named):
        gradients = self._wrapped.gradient(target, sources, *arguments, **named)
        self._hook._of_tape(target, sources, gradients)
        return gradients


def get_hook(hook_type=None, json_config_path=None, create_if_not_exists=False):
    """assay_hook.get_hook(), which makes a KerasHook."""
    if hook_type not in (None, "keras"):
        raise assay_hook.kind_of_error(ValueError)("hook_type=%r: only \"keras\"; sessions of TensorFlow 1 are not recorded" % (hook_type,))
    return assay_hook.get_hook(json_config_path, create_if_not_exists, KerasHook)


__all__ = ["KerasHook", "get_hook"]
