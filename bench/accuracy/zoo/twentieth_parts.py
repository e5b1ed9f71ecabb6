"""twentieth_parts.py - optimizers and workers of the twentieth set: signs of a momentum, rotations, layers of which each worker has a part."""
import copy

import torch
from torch import nn, optim

from fifth_parts import Clouds
from loop import finish, hook_for, modes, register


class Lion(optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(-group["lr"] * (group["betas"][0] * m + (1 - group["betas"][0]) * p.grad).sign())
                m.lerp_(p.grad, 1 - group["betas"][1])


class Orthogonal(optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                m.mul_(group["momentum"]).add_(p.grad)
                if p.ndim == 2:
                    u, _, v = torch.linalg.svd(m, full_matrices=False)
                    p.sub_(group["lr"] * u @ v)
                else:
                    p.sub_(0.5 * group["lr"] * m)


def seen(net, workers):
    return [copy.deepcopy(net) for _ in range(workers)]


class Part(nn.Module):
    """What one worker has: a way in, a middle, a way out."""

    def __init__(self, inp, mid, out):
        super().__init__()
        self.inp, self.mid, self.out = inp, mid, out

    def forward(self, x):
        return self.out(self.mid(self.inp(x)).relu())


def hybrid(path, seed, shared, steps=200, workers=2):
    """Tensors in parts: the answer is the sum of what all say. `shared`: ways in and out are the same on all, rows are not, and middles are each one's own."""
    data, ce = Clouds(seed), nn.CrossEntropyLoss
    inp, out = nn.Linear(20, 24), nn.Linear(24, 6)
    nets = [Part(copy.deepcopy(inp) if shared else nn.Linear(20, 24), nn.Linear(24, 24), copy.deepcopy(out) if shared else nn.Linear(24, 6)) for _ in range(workers)]
    opts, losses, hooks = [optim.AdamW(n.parameters(), 3e-3) for n in nets], [ce() for _ in nets], [hook_for(path, 1, r, workers) for r in range(workers)]
    plain = data.shard(32, workers)
    for hook, net, opt, loss in zip(hooks, nets, opts, losses):
        register(hook, net, opt)
        hook.register_loss(loss)
    for step in range(steps):
        for hook, opt in zip(hooks, opts):
            hook.set_mode(modes.TRAIN)
            opt.zero_grad(set_to_none=True)
        if shared:
            for r in range(workers):
                x, y = plain(r, step)
                losses[r](nets[r](x), y).backward()
            for name in ("inp", "out"):
                for mine in zip(*[getattr(n, name).parameters() for n in nets]):
                    mean = sum(p.grad for p in mine) / workers
                    for p in mine:
                        p.grad = mean.clone()
        else:
            x, y = plain(0, step)
            said = sum(n(x) for n in nets)
            sum(loss(said, y) / workers for loss in losses).backward()
        for opt in opts:
            opt.step()
    finish(*hooks)
