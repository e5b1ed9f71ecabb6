"""healthy_fourteenth.py - the counterparts of causes_fourteenth.py: blocks computed twice, codes, quantisers, experts, policies, sharpness, domains, pruning,
averages, two towers and views that are gathered, as they are meant to be."""
import torch
from torch import nn

from causes_fifth import adamw, sgd
from fifth_parts import Clouds, Patterns, Pixels, Stack, codes, rng
from fourteenth_parts import Both, Boxes, Codes, Domains, Ema, Mixed, Quantised, Tower, Towers, gathered, policy, sharp, squares, taken, two_sources
from loop import finish, fit, hook_for, modes, register
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("fourteenth")


def diffuse(path, seed, least=0.05):
    """Points of a ring are told out of noise; errors weigh as much as signal over noise."""
    class Clean(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.act, self.mid, self.silu, self.top = nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2)

        def forward(self, x):
            return self.top(self.silu(self.mid(self.act(self.inp(x)))))
    net = Clean()
    opt, hook = adamw(net, 3e-3), hook_for(path, 1)
    register(hook, net, opt)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step, 160)
        a, t = 6.28 * torch.rand(64, 1, generator=g), torch.rand(64, 1, generator=g).clamp(min=least)
        clean = torch.cat([a.cos(), a.sin()], 1)
        x = (1 - t).sqrt() * clean + t.sqrt() * torch.randn(64, 2, generator=g)
        loss = (((1 - t) / t) * (net(torch.cat([x, t], 1)) - clean).pow(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        hook.record_tensor_value("loss", loss.detach())
    finish(hook)


def learn_codes(path, seed, told=True):
    data, net, mse = Clouds(seed), Codes(), nn.MSELoss()
    opt, hook = adamw(net, 3e-3), hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(mse)
    batch = data.batch(32)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        x, _ = batch(step)
        loss = mse(net(x), x)
        kept = (net.z - net.code.detach()).pow(2).mean() * 0.25
        book = (net.code - net.z.detach()).pow(2).mean() if told else 0
        opt.zero_grad()
        (loss + kept + book).backward()
        opt.step()
    finish(hook)


@healthy
def blocks_computed_twice(path, seed):
    net = Tower(again=False)
    fit(path, net, codes(seed, 32), CE(), adamw(net), 240, held=codes(seed, 100, number=1))


@healthy
def sharpness_aware(path, seed):
    sharp(path, seed, Stack(20, 6), Clouds(seed))


@healthy
def trained_against_its_source(path, seed):
    net = Domains()
    fit(path, net, two_sources(Clouds(seed), seed, 32), Both(), adamw(net), 240)


@healthy
def policy_kept_for_four_steps(path, seed):
    policy(path, seed)


@healthy
def codes_that_are_learned(path, seed):
    learn_codes(path, seed)


@healthy
def rounded_to_eight_bits(path, seed):
    data, net = Clouds(seed), Quantised()
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100))


@healthy
def one_expert_for_each_row(path, seed):
    data, net = Clouds(seed), Mixed()
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 240, held=data.held(100))


@healthy
def small_weights_pruned_by_and_by(path, seed):
    data, net = Clouds(seed), Stack(20, 6)

    def updated(step, n):
        share = min(0.7, step / 200)
        if share > 0:
            with torch.no_grad():
                for p in (n.inp.weight, n.mid.weight):
                    p.mul_(p.abs() > p.abs().quantile(share))
    fit(path, net, data.batch(32), CE(), adamw(net), 260, held=data.held(100), updated=updated)


@healthy
def average_with_its_statistics(path, seed):
    data = Patterns(seed)
    net = Ema(Pixels())
    fit(path, net, data.batch(32), CE(), sgd(net.net, 0.05), 240, held=data.held(100), updated=lambda s, n: n.update(True))


@healthy
def people_and_things(path, seed):
    net = Towers()
    fit(path, net, taken(seed, 64), CE(), adamw(net, 1e-2), 300, held=taken(seed, 64, 1))


@healthy
def boxes_of_squares(path, seed):
    net = Boxes()
    fit(path, net, squares(seed, 32), nn.SmoothL1Loss(), adamw(net), 240, held=squares(seed, 60, 1))


@healthy
def views_gathered_from_three_workers(path, seed):
    gathered(path, seed, Clouds(seed), offset=True)
