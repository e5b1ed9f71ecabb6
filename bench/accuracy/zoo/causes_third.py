"""causes_third.py - a third set of faults for the first line: mistakes as they are made in scripts (schedules, shapes, what is left out of an
exchange, what is planted by a restart), in networks, optimizers and settings of the hook that causes.py and causes_more.py lack."""
import copy
import os

import torch
from torch import nn, optim

from causes import CAUSES, CE, Cause, from_step
from causes_more import rates
from faulty import at, spoilt
from loop import finish, fit, fleet, hook_for, modes
from nets import Gru, Sequences, conv, dense
from registry import adam, digits, sgd
from sets import Letters, Table, majority, waves

TRAININGS = {}


def cause(says, step=None):
    def register(made):
        TRAININGS["third_" + made.__name__], CAUSES["third_" + made.__name__] = made, Cause(says, step)
        return made

    return register


class Mixer(nn.Module):
    """Eight rows of a digit as tokens: mixed along rows, then along columns."""

    def __init__(self, width=24, classes=10):
        super().__init__()
        self.patch, self.tokens, self.channels = nn.Linear(8, width), nn.Linear(8, 8), nn.Linear(width, width)
        self.norm1, self.norm2, self.act = nn.LayerNorm(width), nn.LayerNorm(width), nn.GELU()
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x.reshape(-1, 8, 8))
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.act(self.norm2(x)))
        return self.head(x.mean(1))


class Encoder(nn.Module):
    """An encoder and a head; the encoder may run without a graph."""

    def __init__(self, inputs, outputs, cut=False):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.decoder, self.cut = nn.Linear(24, outputs), cut

    def forward(self, x):
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.cut):
            z = self.encoder(x)
        return self.decoder(z)


# -- what is fed

@cause(r"(?i)label|(loss|Loss_output_0).*(jump|rose again)", 90)
def labels_lose_their_order(path, seed):
    """The loader shuffles inputs and forgets the labels, from a step on."""
    data, net = digits(seed), Mixer()
    fit(path, net, from_step(data.batch(32), 90, lambda x, y: (x, y.roll(1))), CE(), optim.AdamW(net.parameters(), 3e-3), 220,
        held=data.held(90), eval_every=40)


@cause(r"(?i)worker_1.*input|input.*worker_1", 55)
def one_worker_offset(path, seed):
    """The mean is not taken off on one worker."""
    data, net = digits(seed), Mixer()
    plain = data.shard(16, 3)
    fleet(path, net, lambda r, s: (plain(r, s)[0] + (4 if r == 1 and s >= 55 else 0), plain(r, s)[1]), CE, adam, 150, 3)


@cause(r"(?i)input", 75)
def one_outlier(path, seed):
    """A sensor's broken value in one row."""
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), dense(10, 1, nn.SiLU)

    def spoil(x, y):
        x = x.clone()
        x[3, 4] = 1e6
        return x, y
    fit(path, net, spoilt(data.batch(16), (75,), spoil), nn.SmoothL1Loss(), optim.RMSprop(net.parameters(), 1e-3), 150)


@cause(r"(?i)(shape|broadcast|target|label)", 0)
def targets_broadcast(path, seed):
    """Outputs of (N, 1) against targets of (N): the loss takes every pair."""
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), dense(10, 1)
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1][:, 0]), nn.MSELoss(), adam(net), 300, held=None)


@cause(r"(?i)(target|label|input).*worker_2|worker_2.*(target|label|input)", 0)
def targets_of_one_worker_unscaled(path, seed):
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), dense(10, 1)
    plain = data.shard(16, 4)
    fleet(path, net, lambda r, s: (plain(r, s)[0], plain(r, s)[1] * (77 if r == 2 else 1)), nn.MSELoss, adam, 160, 4)


@cause(r"(?i)(label|class|evaluat)", None)
def classes_not_trained(path, seed):
    """Three of ten classes are in the evaluation alone."""
    data, net = digits(seed), dense(64, 10)
    data.keep(data.y < 7)
    fit(path, net, data.batch(32), CE(), adam(net), 300, held=data.held(100), eval_every=30)


@cause(r"(?i)evaluat.*(input|loss|data|label)", None)
def evaluation_of_other_codes(path, seed):
    """The evaluation was tokenised with another vocabulary."""
    text = Letters(seed)
    net = nn.Sequential(nn.Embedding(text.count, 24), nn.Flatten(), nn.Linear(8 * 24, 48), nn.ReLU(), nn.Linear(48, text.count))
    plain, other = text.batch(24, 8), text.batch(64, 8, 1)
    last = lambda of, turn: (lambda s: (turn(of(s)[0]), of(s)[1].view(-1, 8)[:, -1]))  # noqa: E731
    fit(path, net, last(plain, lambda x: x), CE(), adam(net, 3e-3), 320, held=last(other, lambda x: (x + 5) % text.count), eval_every=40)


# -- the step

@cause(r"(?i)weights?.*(move|changed|stand|stopp)|rate", 40)
def schedule_stepped_each_batch(path, seed):
    """A decay of 0.8 an epoch that is taken at each batch."""
    data, net = digits(seed, True), conv()
    opt = sgd(net, 0.02)
    fit(path, net, data.batch(32), CE(), opt, 300, held=data.held(100), schedule=optim.lr_scheduler.ExponentialLR(opt, 0.8))


@cause(r"(?i)weights?.*(move|changed|stand|hardly)|rate", 0)
def epsilon_of_one(path, seed):
    """Adam's epsilon of 1 where 1e-8 was meant."""
    text = Letters(seed)
    net = Gru(1, 24, 1)
    fit(path, net, waves(seed, 24), nn.MSELoss(), optim.Adam(net.parameters(), 1e-4, eps=1.0), 300, held=waves(seed, 60, number=1))
    del text


@cause(r"(?i)(no weight|weights?|gradient).*(move|zero|no|stand)", 0)
def cleared_before_the_update(path, seed):
    """zero_grad() between backward() and step()."""
    data, net = digits(seed), Encoder(64, 10)

    def clear(step, net, rank):
        for p in net.parameters():
            p.grad.zero_()
    fit(path, net, data.batch(32), CE(), adam(net), 200, held=data.held(90), after=clear)


@cause(r"(?i)(rate|update|sum|weights?.*(large|jump|changed)|rose|diverg|accumul)", (0, 20))
def accumulated_not_averaged(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(8), CE(), sgd(net, 0.08), 200, held=data.held(90), accumulate=16, scale=lambda s: 16.0)


@cause(r"(?i)(came back|restored|jump|changed far)", 120)
def restored_from_an_old_file(path, seed):
    data, net = digits(seed), dense(64, 10, nn.GELU)
    kept = {}

    def change(step, net, rank):
        if step == 10:
            kept.update(copy.deepcopy(net.state_dict()))
        if step == 120:
            net.load_state_dict(kept)
    fit(path, net, data.batch(32), CE(), adam(net, 2e-3), 250, held=data.held(90), change=change)


@cause(r"(?i)update.*NaN|weight.*NaN|gru.*NaN", 80)
def moment_not_finite(path, seed):
    """An entry of Adam's second moment is lost."""
    net = Gru(1, 24, 1)
    opt = adam(net, 3e-3)

    def change(step, net, rank):
        if step == 80:
            opt.state[net.gru.weight_hh_l0]["exp_avg_sq"][3, 3] = float("nan")
    fit(path, net, waves(seed, 24), nn.MSELoss(), opt, 160, held=waves(seed, 60, number=1), change=change)


# -- the network

@cause(r"(?i)encoder.*(gradient|not|never|stand|unchanged)", 0)
def encoder_without_a_graph(path, seed):
    """torch.no_grad() left around the encoder."""
    data, net = digits(seed), Encoder(64, 10, cut=True)
    fit(path, net, data.batch(32), CE(), adam(net, 2e-3), 220, held=data.held(90))


@cause(r"(?i)(initial|begin|start|variance|loss.*(begin|start)|large)", 0)
def begun_too_wide(path, seed):
    data, net = digits(seed), dense(64, 10, hidden=64)
    for p in net.parameters():
        p.data *= 12
    fit(path, net, data.batch(32), CE(), adam(net, 1e-4), 200, held=data.held(90))


@cause(r"(?i)(initial|alike|same|symmetr|identical|variance|equal)", 0)
def begun_alike(path, seed):
    """All weights of a layer have one value: its units stay alike."""
    data, net = digits(seed), Encoder(64, 10)
    for p in net.parameters():
        nn.init.constant_(p, 0.02)
    fit(path, net, data.batch(32), CE(), adam(net, 2e-3), 220, held=data.held(90))


@cause(r"(?i)second|head", 0)
def second_head_without_weight(path, seed):
    """The loss of the second task is multiplied with 0."""
    data = digits(seed)

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk, self.first, self.second = nn.Sequential(nn.Linear(64, 40), nn.ReLU()), nn.Linear(40, 10), nn.Linear(40, 2)

        def forward(self, x):
            x = self.trunk(x)
            return self.first(x), self.second(x)

    net, first, second = Two(), CE(), CE()
    hook, plain, opt = hook_for(path, 1), data.batch(32), None
    hook.register_module(net)
    hook.register_loss(first)
    hook.register_loss(second)
    opt = adam(net)
    for step in range(220):
        hook.set_mode(modes.TRAIN)
        x, y = plain(step)
        opt.zero_grad()
        a, b = net(x)
        (first(a, y) + 0.0 * second(b, y % 2)).backward()
        opt.step()
    finish(hook)


@cause(r"(?i)(judge|discriminator|generator|make|adversar|player|loss)", (0, 100))
def judge_wins(path, seed):
    torch.manual_seed(seed)
    make = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    judge = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    hook, loss_d, loss_g = hook_for(path, 1), nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss()

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.make, self.judge = make, judge

        def forward(self, z):
            return self.make(z)

    both = Both()
    hook.register_module(both)
    hook.register_loss(loss_d)
    hook.register_loss(loss_g)
    opt_g, opt_d = adam(make, 1e-4), adam(judge, 2e-2)
    for step in range(300):
        hook.set_mode(modes.TRAIN)
        g = torch.Generator().manual_seed(seed * 37 + step)
        angle = 6.283 * torch.rand(64, generator=g)
        real = 3 * torch.stack([angle.cos(), angle.sin()], 1)
        made = both(torch.randn(64, 4, generator=g))
        opt_d.zero_grad()
        loss_d(torch.cat([judge(real), judge(made.detach())]), torch.cat([torch.ones(64, 1), torch.zeros(64, 1)])).backward()
        opt_d.step()
        opt_g.zero_grad()
        loss_g(judge(made), torch.ones(64, 1)).backward()
        opt_g.step()
    finish(hook)


# -- workers

@cause(r"(?i)(worker_2|replica|weights).*(differ|apart|leave|changed|rate|equal)", 1)
def rate_of_one_worker(path, seed):
    data, net = digits(seed), dense(64, 10)
    made = []

    def optimizer(n):
        made.append(n)
        return sgd(n, 0.05 if len(made) == 3 else 0.02)
    fleet(path, net, data.shard(16, 3), CE, optimizer, 150, 3)


@cause(r"(?i)4\.(weight|bias)", 1)
def last_layer_not_exchanged(path, seed):
    data, net = digits(seed), dense(64, 10)
    nets = [copy.deepcopy(net) for _ in range(3)]
    hooks = [hook_for(path, 1, r, 3) for r in range(3)]
    losses, opts = [CE() for _ in nets], [adam(n) for n in nets]
    for r in range(3):
        hooks[r].register_module(nets[r])
        hooks[r].register_loss(losses[r])
    plain = data.shard(16, 3)
    for step in range(150):
        for r in range(3):
            hooks[r].set_mode(modes.TRAIN)
            opts[r].zero_grad()
            x, y = plain(r, step)
            losses[r](nets[r](x), y).backward()
        for name, *copies in zip([n for n, _ in net.named_parameters()], *(n.parameters() for n in nets)):
            if not name.startswith("4."):
                mean = sum(p.grad for p in copies) / 3
                for p in copies:
                    p.grad = mean.clone()
        for o in opts:
            o.step()
    finish(*hooks)


@cause(r"(?i)worker_3", 0)
def one_worker_never_came(path, seed):
    """Four were announced, and three wrote."""
    data, net = digits(seed), dense(64, 10)
    nets = [copy.deepcopy(net) for _ in range(3)]
    hooks = [hook_for(path, 1, r, 4) for r in range(3)]
    losses, opts = [CE() for _ in nets], [adam(n) for n in nets]
    for r in range(3):
        hooks[r].register_module(nets[r])
        hooks[r].register_loss(losses[r])
    plain = data.shard(16, 4)
    for step in range(100):
        for r in range(3):
            hooks[r].set_mode(modes.TRAIN)
            opts[r].zero_grad()
            losses[r](nets[r](plain(r, step)[0]), plain(r, step)[1]).backward()
        for copies in zip(*(n.parameters() for n in nets)):
            mean = sum(p.grad for p in copies) / 3
            for p in copies:
                p.grad = mean.clone()
        for o in opts:
            o.step()
    finish(*hooks)


@cause(r"(?i)(weight|norm|layer).*(jump|changed|zero|overwritten)|units? .*(dead|zero)", 90)
def layer_of_a_transformer_zeroed(path, seed):
    net = Sequences(5, 5)

    def zero(net):
        net.encoder.layers[1].linear1.weight.zero_()
    fit(path, net, majority(seed, 32), CE(), optim.AdamW(net.parameters(), 1e-3), 220, change=at((90,), zero), save_all=True,
        held=majority(seed, 90, number=1))
