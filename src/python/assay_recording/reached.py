"""reached.py - weights that an optimizer holds and no gradient reaches: of a part behind detach(), or whose output nothing uses. What is frozen on
purpose requires no gradient, or is not given to the optimizer. And gradients that are not cleared between two updates, so that each is the sum of all."""
import functools
import types
import weakref

import assay_hook

UPDATES = 20  # in which a gradient has to come
CLEARED, SELDOM = 200, 20  # updates in which gradients were cleared; from then on one of so many is looked at


class Reached:
    """Looks at the first updates of one optimizer, and records how many of its weights had a gradient at none of them."""

    def __init__(self, number):
        self.number, self.updates, self.waiting = number, 0, None

    def look(self, hook, optimizer):
        """The optimizer is about to use the gradients."""
        if self.updates > UPDATES or optimizer is None:
            return
        self.updates += self.updates < UPDATES
        if self.waiting is None:
            held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            self.waiting = [parameter for name, parameter in parameters(hook) if id(parameter) in held and "bias" not in name]
        self.waiting = [parameter for parameter in self.waiting if parameter.requires_grad and parameter.grad is None]
        if self.updates == UPDATES and (hook._active or not self.waiting):  # else at the next step that is recorded
            if self.waiting:
                hook.save_scalar("held_without_gradient_%d" % self.number, len(self.waiting))
            self.updates, self.waiting = UPDATES + 1, []


class Kept:
    """Looks at one small weight of an optimizer: is what is added to its gradient behind an update added to that update's own gradient? PyTorch counts what
    is written to a tensor, so nothing has to be compared, nor waited for. Who cleared gradients so often clears them: then it looks now and then, as
    a call for each gradient is felt where steps are short."""

    def __init__(self, number):
        self.number, self.parameter, self.left, self.version, self.kept, self.times = number, None, None, 0, None, 0
        self.updates, self.handle = 0, None  # the latter: of PyTorch's call before a gradient is added

    def is_due(self):
        """Is the update that has just been made looked at?"""
        self.updates += 1
        return self.updates <= CLEARED or self.handle is not None or self.updates % SELDOM == 0

    def updated(self, optimizer):
        """The optimizer has used the gradients."""
        if self.updates > CLEARED and self.updates % SELDOM and not self.times:
            self.handle.remove()
            self.handle = self.left = None
            return
        if self.parameter is None and optimizer is not None:
            strided = assay_hook._torch().strided
            held = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad and p.grad is not None and p.grad.layout == strided]
            self.parameter = min(held, key=lambda p: p.numel(), default=None)
        if self.parameter is not None:
            self.handle = self.handle or self.parameter.register_hook(self.before_added)
            self.left, self.kept = self.parameter.grad, None
            self.version = self.left._version if self.left is not None else 0

    def before_added(self, gradient):
        """A backward pass is about to add to the gradient. Who clears between two passes, as with a loss that reaches both of two players, clears all the same."""
        left = self.left is not None and self.parameter.grad is self.left and self.left._version == self.version
        self.kept = left and self.kept is not False
        self.version += 1

    def look(self, hook):
        """The optimizer is about to use the gradients."""
        self.times = self.times + 1 if self.kept else 0
        if self.times > 0 and hook._active:
            hook.save_scalar("gradients_kept_%d" % self.number, self.times)


def watch(hook, optimizer):
    """Looks at the updates of an optimizer from now on."""
    looks = begin(hook, optimizer)
    if looks:
        wrap(optimizer, "step", *looks)


def begin(hook, optimizer):
    """What is to be called before each update of an optimizer, and behind it; of one that is told again, with another network that it
    updates, None."""
    if not hook._handle or any(held() is optimizer for held in hook._held):
        return None
    if hook._laws:
        hook._laws.watch_optimizer(optimizer)
    held = weakref.ref(optimizer)
    hook._held.append(held)
    reached, kept = Reached(len(hook._held) - 1), Kept(len(hook._held) - 1)

    @assay_hook._goes_on
    def look(hook):
        if hook.mode is not assay_hook.modes.EVAL:
            reached.look(hook, held())
            kept.look(hook)

    @assay_hook._goes_on
    def updated(hook):
        kept.updated(held())
    return (lambda: look(hook) if kept.handle is not None or reached.updates <= UPDATES else None,
            lambda: updated(hook) if kept.is_due() else None)


def parameters(hook):
    """Of the networks that were registered, by the names that they are recorded under."""
    for part in hook._parts:
        inner = part()
        if inner is not None:
            for name, parameter in inner.named_parameters():
                yield "%s_%s" % (hook._name_of(inner), assay_hook._plain_name(name)), parameter


def wrap(owner, name, before=None, after=None):
    """Calls these around a method of one object."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(self, *arguments, **named):
        if before:
            before()
        try:
            return original(*arguments, **named)
        finally:
            if after:
                after()
    setattr(owner, name, types.MethodType(wrapped, owner))
