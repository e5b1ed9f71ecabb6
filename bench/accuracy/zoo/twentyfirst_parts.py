"""twentyfirst_parts.py - optimizers and loops of the twenty-first set: curvature by the diagonal or by sides of a matrix, steps without a schedule, shares of a state."""
import copy

import torch
from torch import nn, optim

from loop import finish, hook_for, modes, register


class Stepper(optim.Optimizer):
    """An optimizer of one function: move(p, state, group, step)."""

    def __init__(self, params, move, **group):
        super().__init__(params, group)
        self.move, self.at = move, 0

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                self.move(p, self.state[p], group, self.at)
        self.at += 1


def by_diagonal(p, state, group, step):
    """Sophia: a momentum over the diagonal of the curvature (here squares of gradients, every tenth step), cut at one."""
    m, h = state.setdefault("momentum", torch.zeros_like(p)), state.setdefault("curvature", torch.zeros_like(p))
    m.lerp_(p.grad, 0.1)
    if step % 10 == 0:
        h.lerp_(p.grad ** 2, 0.1 if step else 1.0)
    p.sub_(group["lr"] * (m / (20 * h + 1e-8)).clamp(-1, 1))


def by_sides(p, state, group, step):
    """Shampoo: roots of the sums of products over each side of a matrix."""
    if p.ndim != 2:
        v = state.setdefault("squares", torch.zeros_like(p))
        p.sub_(group["lr"] * p.grad / (v.add_(p.grad ** 2).sqrt() + 1e-8))
        return
    left, right = state.setdefault("left", 1e-3 * torch.eye(len(p))), state.setdefault("right", 1e-3 * torch.eye(p.shape[1]))
    left.add_(p.grad @ p.grad.T)
    right.add_(p.grad.T @ p.grad)

    def root(m):
        w, u = torch.linalg.eigh(m)
        return u * w.clamp(min=1e-8) ** -0.25 @ u.T
    p.sub_(group["lr"] * root(left) @ p.grad @ root(right))


def without_schedule(p, state, group, step):
    """The weights lie between a point that steps and the mean of all such points; gradients are taken there."""
    z, x = state.setdefault("z", p.detach().clone()), state.setdefault("x", p.detach().clone())
    z.sub_(group["lr"] * p.grad)
    x.lerp_(z, 1 / (step + 1))
    p.copy_(0.9 * x + 0.1 * z)


def norms_bounded(p, state, group, step):
    """The gradient of a matrix is centred by rows and cut at a share of the norm of the weight (AGC)."""
    g = p.grad - p.grad.mean(1, keepdim=True) if p.ndim == 2 else p.grad
    most = 0.02 * (p.norm() + 1e-3)
    p.sub_(group["lr"] * g * min(1.0, (most / (g.norm() + 1e-12)).item()))


class Workers:
    """Workers of one process: their hooks, networks and optimizers. Each step is written by who uses it."""

    def __init__(self, path, nets, opts, losses=None):
        self.hooks = [hook_for(path, 1, rank, len(nets)) for rank in range(len(nets))]
        self.nets, self.opts, self.losses = nets, opts, losses or [None] * len(nets)
        for hook, net, opt, loss in zip(self.hooks, nets, opts, self.losses):
            register(hook, net, opt)
            if loss is not None:
                hook.register_loss(loss)

    def begin(self):
        for hook, opt in zip(self.hooks, self.opts):
            hook.set_mode(modes.TRAIN)
            opt.zero_grad(set_to_none=True)

    def backward(self, batch, step):
        for r, (net, loss) in enumerate(zip(self.nets, self.losses)):
            x, y = batch(r, step)
            loss(net(x), y).backward()

    def exchange(self, names=lambda name: True):
        for mine in zip(*[[p for n, p in net.named_parameters() if names(n)] for net in self.nets]):
            mean = sum(p.grad for p in mine) / len(mine)
            for p in mine:
                p.grad = mean.clone()

    def update(self):
        for opt in self.opts:
            opt.step()

    def mean_of_weights(self, ranks=None):
        for mine in zip(*[self.nets[r].parameters() for r in ranks or range(len(self.nets))]):
            with torch.no_grad():
                mean = sum(mine) / len(mine)
                for p in mine:
                    p.copy_(mean)

    def finish(self):
        finish(*self.hooks)


class Masked(nn.Module):
    """Two tasks; a row of which a task has no label (NaN) counts nothing there."""

    def forward(self, said, y):
        known = ~y.isnan()
        return (((said - y.nan_to_num(0.0)) ** 2) * known).sum() / known.sum().clamp(min=1)


def fleet_of(path, nets, rate=0.05, losses=None):
    return Workers(path, nets, [optim.SGD(n.parameters(), rate) for n in nets], losses or [nn.CrossEntropyLoss() for _ in nets])


def each_updates_a_third(path, net, plain, steps, handed=lambda worker, step: True):
    """ZeRO: each of three workers updates a third of the layers by moments that it alone has, and hands it to the others, if `handed`."""
    nets = [copy.deepcopy(net) for _ in range(3)]
    team = Workers(path, nets, [optim.Adam(n[2 * r].parameters(), 5e-3) for r, n in enumerate(nets)], [nn.CrossEntropyLoss() for _ in nets])
    for step in range(steps):
        for n in nets:
            n.zero_grad(set_to_none=True)
        team.begin()
        team.backward(plain, step)
        team.exchange()
        team.update()
        for r, n in enumerate(nets):
            for other in range(3):
                if handed(other, step):
                    n[2 * other].load_state_dict(nets[other][2 * other].state_dict())
    team.finish()
