"""reached.py - weights that an optimizer holds and no gradient reaches: of a part behind detach(), or whose output nothing uses. What is frozen on
purpose requires no gradient, or is not given to the optimizer."""
import functools
import types
import weakref

import assay_hook

UPDATES = 20  # in which a gradient has to come


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


def watch(hook, optimizer):
    """Looks at the updates of an optimizer from now on."""
    look = begin(hook, optimizer)
    if look:
        wrap(optimizer, "step", look)


def begin(hook, optimizer):
    """What is to be called before each update of an optimizer, until it returns False; of one that is told again, with another network that
    it updates, None."""
    if not hook._handle or any(held() is optimizer for held in hook._held):
        return None
    if hook._laws:
        hook._laws.watch_optimizer(optimizer)
    held = weakref.ref(optimizer)
    hook._held.append(held)
    reached = Reached(len(hook._held) - 1)

    @assay_hook._goes_on
    def look(hook):
        if hook.mode is not assay_hook.modes.EVAL:
            reached.look(hook, held())
        return reached.updates <= UPDATES
    return lambda: look(hook)


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
