"""modules.py - what the modules of a network are, for the facts of the run (docs/format.md): the type, and arguments that their tensors do not
show. A type of PyTorch whose forward() the network has not replaced is "torch.TYPE"; all others stand as they are called."""
import numbers
import sys
import weakref

import assay_hook
from assay_hook import _plain_name

ARGUMENTS = ("stride", "padding", "dilation", "groups", "padding_mode", "kernel_size", "ceil_mode", "count_include_pad", "output_size",
             "eps", "epsilon", "variance_epsilon", "momentum", "num_groups", "normalized_shape", "num_heads", "p", "negative_slope", "alpha", "approximate",
             "dim", "reduction", "label_smoothing", "ignore_index", "padding_idx", "max_norm", "inplace")


def text_of(value):
    """Of a number, a word or several of them; None: it is something else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value and not set(value) & set(" ,=") else None
    if isinstance(value, numbers.Real):
        return repr(int(value) if isinstance(value, numbers.Integral) else float(value))
    if isinstance(value, (tuple, list)):
        parts = [text_of(part) for part in value]
        return ",".join(parts) if parts and None not in parts else None
    return None


def type_of(module):
    kind = next((k for k in type(module).__mro__ if k.__module__.startswith("torch.nn.modules.")), None)
    own = kind is None or kind.__name__ == "Module" or getattr(module.forward, "__func__", None) is not kind.forward
    return "".join(type(module).__name__.split()) if own else "torch." + kind.__name__


def eps_of(module):
    """Of a norm that takes that of its dtype: all versions of PyTorch agree for single and double precision."""
    eps, weight = vars(module).get("eps"), vars(module).get("_parameters", {}).get("weight")  # one that is computed may change when it is asked for
    single = eps is None and "eps" in vars(module) and str(getattr(weight, "dtype", "")) in ("torch.float32", "torch.float64")
    return sys.modules["torch"].finfo(weight.dtype).eps if single else eps


def described(module):
    """"torch.Conv2d stride=2,2 padding=1,1 dilation=1,1 groups=4 kernel_size=3,3" """
    said = [(name, text_of(vars(module).get(name) if name != "eps" else eps_of(module))) for name in ARGUMENTS]
    return " ".join([type_of(module)] + ["%s=%s" % pair for pair in said if pair[1] is not None])


def shared(network):
    """Of weights that belong to several modules: the first one's name, and "shared" with the others'."""
    first, others = {}, {}
    for name, module in network.named_modules():
        weight = vars(module).get("_parameters", {}).get("weight")
        if weight is not None and id(weight) in first:
            others.setdefault(first[id(weight)], ["shared"]).append(_plain_name(name))
        elif weight is not None:
            first[id(weight)] = _plain_name(name + ".weight" if name else "weight")
    return [(name, " ".join(modules)) for name, modules in others.items()]


def tell(hook, network):
    """Records, until the first step, what the modules of a network are: those without parts of their own, and what PyTorch makes of parts
    (attention); and watches its mode."""
    watch_flags(hook, network)
    hook._parts.append(weakref.ref(network))
    said = [(module._module_name, described(module)) for module in network.modules()
            if type_of(module).startswith("torch.") or next(module.children(), None) is None]
    said += [("%s_%s" % (hook._name_of(network), name), what) for name, what in shared(network)]
    for name, what in said if not hook._begun else ():
        assay_hook._lib.assay_hook_module(hook._handle, hook._encoded(name), what.encode(errors="replace"))


class Flags:
    """Looks at each pass whether a network is in the mode that is recorded: evaluation without eval(), training behind an evaluation without
    train(); and in evaluation, whether its normalisations have the running statistics that they began with."""

    def __init__(self, hook):
        self.hook, self.parts, self.norms = hook, weakref.WeakKeyDictionary(), weakref.WeakKeyDictionary()
        self.trained, self.chosen = weakref.WeakSet(), weakref.WeakSet()

    def watch(self, network):
        """Takes note of the parts of a network whose passes differ between both modes."""
        nn = sys.modules["torch"].nn
        parts = [m for m in network.modules() if isinstance(m, nn.modules.dropout._DropoutNd) and m.p > 0 or
                 isinstance(m, nn.modules.batchnorm._BatchNorm) and m.track_running_stats]
        if parts:
            self.parts[network] = [weakref.ref(part) for part in parts]
            self.norms[network] = [(weakref.ref(part), part.weight.detach().clone()) for part in parts
                                   if getattr(part, "affine", False) and part.track_running_stats]

    def look(self, network, mode):
        """A pass of the network begins, or the optimizer is about to use its gradients."""
        train = mode is assay_hook.modes.TRAIN
        if network is None:
            return
        if network.training is train:
            if train:
                self.trained.add(network)
            elif self.norms.get(network):
                self.look_at_norms(network)
        elif mode is assay_hook.modes.EVAL:
            self.say(network, "modules_left_in_training")
        elif train and sys.modules["torch"].is_grad_enabled() and self.forgotten(network):
            self.say(network, "modules_left_in_evaluation")

    def forgotten(self, network):
        """Training in the mode of evaluation is no choice if the network was in the other one, or its statistics were never taken."""
        if network not in self.trained and network not in self.chosen:
            parts = [part() for part in self.parts.get(network, ())]
            taken = [getattr(part, "num_batches_tracked", None) for part in parts]
            if not any(number is not None and int(number) == 0 for number in taken):
                self.chosen.add(network)
        return network not in self.chosen

    def look_at_norms(self, network):
        """An average of a network, or a copy, may have its weights and not its statistics. What is trained has gains that moved since the
        network was registered; they may begin at any value."""
        kept, moved = [], 0
        for ref, gains in self.norms[network]:
            norm = ref()
            if norm is None or norm.running_mean is None or bool((norm.running_mean != 0).any()) or bool((norm.running_var != 1).any()):
                continue  # whose statistics were taken is not looked at again
            kept.append((ref, gains))
            moved += not norm.training and bool((norm.weight != gains.to(norm.weight.device)).any())
        self.norms[network] = kept
        if moved and self.hook._active:
            self.hook.save_scalar("modules_without_statistics", moved)

    def say(self, network, name):
        parts = [part() for part in self.parts.get(network, ())]
        if self.hook._active and parts and all(part is not None and part.training is network.training for part in parts):
            self.hook.save_scalar(name, len(parts))


def watch_flags(hook, network):
    """Watches the mode of a network beside those that are watched already."""
    hook._flags = hook._flags or Flags(hook)
    hook._flags.watch(network)
