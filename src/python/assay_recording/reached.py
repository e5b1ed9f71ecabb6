"""reached.py - weights that an optimizer holds and no gradient reaches: of a part behind detach(), or whose output nothing uses. What is frozen on
purpose requires no gradient, or is not given to the optimizer."""
UPDATES = 20  # in which a gradient has to come


class Reached:
    """Looks at the first updates of one optimizer, and records how many of its weights had a gradient at none of them."""

    def __init__(self, number):
        self.number, self.updates, self.waiting = number, 0, None

    def look(self, hook, optimizer):
        """The optimizer is about to use the gradients."""
        if self.updates == UPDATES or optimizer is None:
            return
        self.updates += 1
        if self.waiting is None:
            held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            self.waiting = [parameter for name, parameter in hook._parameters() if id(parameter) in held and "bias" not in name]
        self.waiting = [parameter for parameter in self.waiting if parameter.requires_grad and parameter.grad is None]
        if self.updates == UPDATES:
            if self.waiting and hook._active:
                hook.save_scalar("held_without_gradient_%d" % self.number, len(self.waiting))
            self.waiting = []
