"""causes_eighteenth.py - an eighteenth set of faults for the first line: mistakes that people make when they tune a model that exists, learn from rewards and
noise, share work between experts and workers, begin again, or put together heads, tables and schedules. Written in one go, with the words that a right line has, before
any result of it was looked at."""
import copy

import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_seventh import JUMPS, SMALL, STANDS, STILL, TOO_FAST
from eighteenth_parts import Beats, Crossed, Euler, Load, adapted, citations, orbits, trained, workers_by_hand
from fifteenth_parts import Averaged, gratings, signals
from fifth_parts import Clouds, Curves, rng
from loop import finish, fit, fleet, hook_for, modes, register
from seventeenth_parts import States, adam, by_hand, down, mlp
from sixteenth_parts import F, Next, Tab, claims, frames, glyphs, swirl, tides

TRAININGS, cause = cause_set("eighteenth")
BCE, MSE, HUBER = nn.BCEWithLogitsLoss, nn.MSELoss, nn.SmoothL1Loss


def known(seed):
    """A network that knows six clouds."""
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    return data, trained(net, data.batch(32), CE())


# -- what exists is tuned

@cause(r"(?i)gradient|zero|" + STILL, 0)
def both_halves_of_an_adapter_begin_as_zeros(path, seed):
    _, net = known(seed)
    new = Clouds(seed, shift=0.6)
    adapted(net, zeros=True)
    fit(path, net, new.batch(32), CE(), adam([p for p in net.parameters() if p.requires_grad]), 200, held=new.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, 0)
def adapters_count_two_thousand_times(path, seed):
    _, net = known(seed)
    new = Clouds(seed, shift=0.6)
    adapted(net, scale=2000.0)
    fit(path, net, new.batch(32), CE(), adam([p for p in net.parameters() if p.requires_grad], 5e-3), 200, held=new.held(100))


@cause(r"(?i)" + STILL, 0)
def new_head_is_not_known_to_the_optimizer(path, seed):
    data, net = known(seed)
    opt = adam(net, 1e-3)
    net[4] = nn.Linear(48, 6)
    fit(path, net, data.batch(32), CE(), opt, 200, held=data.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, 0)
def tuned_at_the_rate_of_the_beginning_times_a_hundred(path, seed):
    data, net = known(seed)
    fit(path, net, data.batch(32), CE(), adam(net, 0.3), 200, held=data.held(100))


@cause(r"(?i)same|layer|changed far more|jump|came back|rose", 120)
def state_of_the_beginning_is_loaded_again(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    first = copy.deepcopy(net.state_dict())

    def change(step, n, rank):
        if step == 120:
            n.load_state_dict(first)
    fit(path, net, data.batch(32), CE(), adam(net), 220, change=change, held=data.held(100))


# -- players, rewards, noise

@cause(r"(?i)maker.*" + STILL + "|" + STILL + ".*maker|0\\.weight|2\\.weight|all|" + STILL, 0)
def both_optimizers_have_the_judge(path, seed):
    make, judge = mlp(4, 48, 2, act=nn.LeakyReLU), mlp(2, 32, 1, act=nn.LeakyReLU)
    a, b = adam(judge, 1e-3), adam(judge, 1e-3)

    def one(step):
        g = rng(seed, step, 540)
        said = {"judge_loss": down(b, F.softplus(-judge(swirl(64, g))).mean() + F.softplus(judge(make(torch.randn(64, 4, generator=g)).detach())).mean())}
        said["maker_loss"] = down(a, F.softplus(-judge(make(torch.randn(64, 4, generator=g)))).mean())
        return said
    by_hand(path, [(make, a), (judge, b)], 220, one)


@cause(r"(?i)gradient|" + STILL, 0)
def maker_is_detached_in_its_own_step(path, seed):
    make, judge = mlp(4, 48, 2, act=nn.LeakyReLU), mlp(2, 32, 1, act=nn.LeakyReLU)
    a, b = adam(make, 1e-3), adam(judge, 1e-3)

    def one(step):
        g = rng(seed, step, 541)
        fake = make(torch.randn(64, 4, generator=g)).detach()
        said = {"judge_loss": down(b, F.softplus(-judge(swirl(64, g))).mean() + F.softplus(judge(fake)).mean())}
        said["maker_loss"] = down(a, F.softplus(-judge(fake)).mean())
        return said
    by_hand(path, [(make, a), (judge, b)], 220, one)


@cause(r"(?i)jump|rose|reward|target|came back|large", 120)
def rewards_in_cents_from_120(path, seed):
    net, slow = mlp(6, 48, 2), mlp(6, 48, 2)
    opt, loss, hook = adam(net, 2e-3), HUBER(), hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(240):
        if step % 25 == 0:
            slow.load_state_dict(net.state_dict())
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step, 542)
        s, a = torch.randn(96, 6, generator=g), torch.randint(0, 2, (96, 1), generator=g)
        n = 0.9 * s + 0.4 * (2 * a.float() - 1) * torch.ones(6) / 6 ** 0.5
        with torch.no_grad():
            target = (n.sum(1, keepdim=True).tanh() + 1) * (100 if step >= 120 else 1) + 0.8 * slow(n).max(1, keepdim=True)[0]
        down(opt, loss(net(s).gather(1, a), target))
    finish(hook)


@cause(r"(?i)NaN|\binf|infinit|not finite", 0)
def logarithm_at_the_last_time(path, seed):
    """The level of noise is told by a logarithm that is of 0 for the last of the times."""
    net = mlp(3, 64, 64, 2, act=nn.SiLU)

    def batch(step):
        g = rng(seed, step, 543)
        x, e, t = swirl(96, g), torch.randn(96, 2, generator=g), torch.randint(0, 40, (96, 1), generator=g) / 39
        return torch.cat([(1 - t) * x + t * e, (1 - t).log()], 1), e
    fit(path, net, batch, MSE(), adam(net, 2e-3), 120)


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS + "|saturat|temperature|gradient", 0)
def temperature_of_a_ten_thousandth(path, seed):
    class Near(nn.Module):
        def forward(self, z, y):
            z = F.normalize(z, dim=1)
            return F.cross_entropy(z @ z.T / 1e-4 - 1e9 * torch.eye(len(z)), y)
    data, net = Clouds(seed), mlp(20, 48, 16)
    plain = data.batch(48)

    def batch(step):
        g, (x, _) = rng(seed, step, 544), plain(step)
        return torch.cat([x + 0.5 * torch.randn(x.shape, generator=g), x + 0.5 * torch.randn(x.shape, generator=g)]), torch.arange(96).roll(48)
    fit(path, net, batch, Near(), adam(net, 1e-3), 200)


# -- networks

@cause(r"(?i)gradient|zero|never|" + STILL, 0)
def router_sends_all_to_one(path, seed):
    data, net = Clouds(seed), Load(bias=60.0)
    fit(path, net, data.batch(48), CE(), adam(net), 220, held=data.held(100))


@cause(r"(?i)NaN|\binf|large|jump|rose|learning rate", 0)
def sums_over_neighbours_in_eight_layers(path, seed):
    class Sums(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.more, self.out = nn.Linear(12, 16), nn.ModuleList(nn.Linear(16, 16) for _ in range(8)), nn.Linear(16, 4)

        def forward(self, x):
            h, near = self.inp(x[:, :12]), x[:, 12:]
            for layer in self.more:
                h = h + layer(near @ h).relu()
            return self.out(h)
    (x, y), net = citations(seed), Sums()
    fit(path, net, lambda s: (x, y), CE(), optim.SGD(net.parameters(), 0.05), 160)


@cause(r"(?i)NaN|\binf|gradient.*jump|large|learning rate|rose|jump", 0)
def a_cell_that_grows_what_it_keeps(path, seed):
    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.again, self.out = nn.Linear(2, 24), nn.Linear(24, 24), nn.Linear(24, 5)
            nn.init.orthogonal_(self.again.weight, 1.7)

        def forward(self, x):
            h = torch.zeros(len(x), 24)
            for t in range(x.shape[2]):
                h = self.inp(x[:, :, t]) + self.again(h)
            return self.out(h)
    data, net = signals(seed), Keeps()
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.01), 160)


@cause(r"(?i)dead|zero|gradient|never|no weight", 0)
def biases_begin_far_below(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    with torch.no_grad():
        net[2].bias.fill_(-40.0)
    fit(path, net, data.batch(32), CE(), adam(net, 1e-3), 200, held=data.held(100))


@cause(r"(?i)gradient|" + STILL + "|vanish", 0)
def twenty_layers_begin_a_tenth_too_small(path, seed):
    data, net = Clouds(seed), mlp(20, *[32] * 20, 6, act=nn.Tanh)
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(0.3)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.1), 200, held=data.held(100))


@cause(r"(?i)saturat|input|large", 0)
def raw_readings_before_a_sigmoid(path, seed):
    data = Clouds(seed, factor=200.0)
    net = nn.Sequential(nn.Linear(20, 48), nn.Sigmoid(), nn.Linear(48, 6))
    fit(path, net, data.batch(32), CE(), adam(net, 1e-3), 200, held=data.held(100))


@cause(r"(?i)gradient|" + STILL, 0)
def table_looked_up_without_a_gradient(path, seed):
    class Cut(Crossed):
        def forward(self, x):
            with torch.no_grad():
                x = torch.cat([x[:, :12]] + [t(x[:, 12 + k].long()) for k, t in enumerate(self.tables)], 1)
            c = x
            for layer in self.cross:
                c = x * layer(c) + c
            return self.out(torch.cat([c, self.deep(x)], 1))
    data, net = claims(seed), Cut()
    fit(path, net, data.batch(64), BCE(), adam(net), 220, held=data.held(100))


# -- what is fed

@cause(r"(?i)input|large|learning rate", 0)
def income_beside_shares(path, seed):
    """One column is in hundred thousands, all others about 1."""
    data, net = Clouds(seed), mlp(20, 48, 6)

    def raw(x, y):
        x[:, 4] = 1e5 * (x[:, 4] + 3)
        return x, y
    plain, held = data.batch(32), data.held(100)
    fit(path, net, lambda s: raw(*plain(s)), CE(), adam(net), 200, held=lambda k: raw(*held(k)))


@cause(r"(?i)label|class", 0)
def unknown_is_class_seven_of_six(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 8)

    def some(x, y):
        return x, torch.where(torch.rand(len(y), generator=rng(seed, 545)) < 0.1, torch.full_like(y, 255), y)

    class Ignores(nn.CrossEntropyLoss):
        def forward(self, s, y):
            return F.cross_entropy(s, y.clamp(max=7))
    plain = data.batch(32)
    fit(path, net, lambda s: some(*plain(s)), Ignores(), adam(net), 200, held=data.held(100))


@cause(r"(?i)same batch|again|repeat", 100)
def sampler_of_the_curriculum_stands(path, seed):
    data, net = glyphs(seed), Next()
    plain = data.batch(24)
    fit(path, net, lambda s: plain(min(s, 100)), CE(), adam(net, 2e-3), 220, held=data.held(100))


@cause(r"(?i)NaN|\binf|not finite", 70)
def a_target_is_missing(path, seed):
    data, net = tides(seed), Beats()

    def spoil(x, y):
        y[3, 2] = float("nan")
        return x, y
    plain = data.batch(32)
    fit(path, net, lambda s: spoil(*plain(s)) if s == 70 else plain(s), MSE(), adam(net, 1e-3), 160)


@cause(r"(?i)input|channel|column|zero", 80)
def a_gauge_is_lost(path, seed):
    data = tides(seed)
    net = nn.Sequential(nn.Flatten(), nn.Linear(120, 48), nn.ReLU(), nn.Linear(48, 5))

    def spoil(x, y):
        x[:, 2] = 0
        return x, y
    fit(path, net, from_step(data.batch(32), 80, spoil), MSE(), adam(net, 1e-3), 200, held=data.held(100))


@cause(r"(?i)input|scale|times", 90)
def picture_bytes_from_90(path, seed):
    data, net = frames(seed), nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 4))
    fit(path, net, from_step(data.batch(32), 90, lambda x, y: (x * 255, y)), HUBER(), adam(net, 2e-3), 200, held=data.held(100))


@cause(r"(?i)label", 60)
def a_filter_leaves_one_class(path, seed):
    data, net = signals(seed), States()
    ones = torch.where(data.y == 2)[0]

    def batch(step):
        if step < 60:
            return data.batch(32)(step)
        rows = ones[torch.randint(0, len(ones), (32,), generator=rng(seed, step, 546))]
        return data.x[rows].clone(), data.y[rows].clone()
    fit(path, net, batch, CE(), adam(net, 1e-2), 200, held=data.held(100))


@cause(r"(?i)label|target|constant answer|tell nothing|" + STANDS, 0)
def one_table_was_sorted_and_the_other_not(path, seed):
    data, net = Curves(seed), mlp(8, 48, 1)
    data.y = data.y[data.y[:, 0].argsort()[torch.randperm(len(data.y), generator=rng(seed, 547))]]
    fit(path, net, data.batch(64), MSE(), adam(net, 1e-3), 220, held=data.held(100))


# -- losses

@cause(r"(?i)shape|stretch|broadcast", 0)
def a_column_against_a_row(path, seed):
    data, net = orbits(seed), nn.Sequential(Euler(), nn.Linear(2, 1))
    plain = data.batch(48)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1][:, 0]), MSE(), adam(net), 160)


@cause(r"(?i)probabilit|sigmoid|softmax|" + STANDS, 0)
def a_sigmoid_before_a_loss_that_has_one(path, seed):
    data, net = claims(seed), nn.Sequential(Tab(), nn.Sigmoid())
    fit(path, net, data.batch(64), BCE(), adam(net), 220, held=data.held(100))


@cause(r"(?i)gradient|zero|" + STILL, 0)
def second_head_counts_nothing(path, seed):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.first, self.second = mlp(8, 32, 32), nn.Linear(32, 1), mlp(32, 48, 1)

        def forward(self, x):
            h = self.body(x).relu()
            return torch.cat([self.first(h), self.second(h)], 1)

    class Weighed(nn.Module):
        def forward(self, said, y):
            return ((said - y) ** 2).mean(0) @ torch.tensor([1.0, 0.0])
    data, net = Curves(seed), Two()
    plain = data.batch(48)
    fit(path, net, lambda s: (plain(s)[0], torch.cat([plain(s)[1], plain(s)[0][:, :1]], 1)), Weighed(), adam(net), 200)


@cause(r"(?i)sign|rose|rises|learning rate|lower bound|NaN|\binf", 0)
def likelihood_without_its_minus(path, seed):
    class Likely(nn.Module):
        def forward(self, said, y):
            return said.log_softmax(1).gather(1, y[:, None]).mean()
    data, net = Clouds(seed), mlp(20, 48, 6)
    fit(path, net, data.batch(32), Likely(), adam(net), 200, held=data.held(100))


# -- gradients, updates, schedules

@cause(r"(?i)not cleared|added|kept|clear", 0)
def cleared_in_the_wrong_branch(path, seed):
    """Gradients are cleared when the number of steps can be divided by 4000."""
    data, net = Clouds(seed), mlp(20, 48, 6)
    fit(path, net, data.batch(32), CE(), adam(net, 1e-3), 220, clear=lambda s: s % 4000 == 0)


@cause(r"(?i)" + SMALL + "|no weight", 0)
def warm_up_by_whole_numbers(path, seed):
    """step // warm_up is 0 for all steps."""
    data, net = gratings(seed), nn.Sequential(nn.Flatten(), nn.Linear(288, 48), nn.ReLU(), nn.Linear(48, 6))
    opt = adam(net)
    fit(path, net, data.batch(32), CE(), opt, 200, schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: s // 1000), held=data.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, 120)
def restart_at_two_hundred_times_the_rate(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    opt = adam(net, 2e-3)
    fit(path, net, data.batch(32), CE(), opt, 220, schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: 1 if s < 120 else 200), held=data.held(100))


@cause(r"(?i)underflow|zero", 0)
def scale_of_a_millionth(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    for p in net.parameters():
        p.register_hook(lambda g: (g * 1e-7).half().float() * 1e7)
    fit(path, net, data.batch(32), CE(), adam(net, 1e-3), 200, held=data.held(100))


@cause(r"(?i)NaN|\binf|not finite", 90)
def an_overflow_is_not_left_out(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 6)

    def after(step, n, rank):
        if step == 90:
            for p in n.parameters():
                p.grad = (p.grad * 1e9).half().float()
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.05, momentum=0.9), 160, after=after, held=data.held(100))


@cause(r"(?i)decay|shr[aiu]nk|smaller|norm", 0)
def decay_of_five_by_sgd(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.05, weight_decay=5.0), 200, held=data.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|grow|grew|momentum", 0)
def momentum_of_nine_hundred_and_ninety_nine(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.1, momentum=0.999), 240, held=data.held(100))


@cause(r"(?i)" + SMALL + "|" + STANDS, 0)
def divided_by_the_number_of_rows_twice(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 6)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 1e-3), 220, scale=lambda s: 1 / 32 ** 2, held=data.held(100))


# -- evaluation

@cause(r"(?i)evaluat.*(same|stand)|average|always the same", 50)
def slow_copy_is_never_told(path, seed):
    data, body = signals(seed), States()
    net = Averaged(body, "ema")
    fit(path, net, data.batch(32), CE(), adam(body, 1e-2), 220, held=data.held(100))


@cause(r"(?i)training data", 50)
def held_out_rows_are_the_first_ones(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 6)
    plain = data.batch(32)
    fit(path, net, plain, CE(), adam(net), 220, held=lambda k: plain(k))


@cause(r"(?i)mode of training|train mode|eval", 50)
def dropout_is_on_in_evaluation(path, seed):
    data, net = Clouds(seed), nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 6))
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=data.held(100), evaluate=lambda n: n.train())


@cause(r"(?i)evaluat.*(label|class)|(label|class).*evaluat|confus|class", 50)
def names_of_classes_sorted_otherwise(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 6)
    held, other = data.held(200), torch.tensor([3, 0, 4, 1, 5, 2])
    fit(path, net, data.batch(32), CE(), adam(net), 260, held=lambda k: (held(k)[0], other[held(k)[1]]))


# -- workers

@cause(r"(?i)worker_2", 70)
def one_of_four_reads_bytes(path, seed):
    data = glyphs(seed)
    plain = data.shard(12, 4)
    fleet(path, Next(), lambda r, s: (plain(r, s)[0] * (255 if r == 2 and s >= 70 else 1), plain(r, s)[1]), CE, lambda n: adam(n, 1e-3), 140, 4)


@cause(r"(?i)same data|same batch", 0)
def four_workers_and_no_rank_for_the_sampler(path, seed):
    data = Clouds(seed)
    plain = data.batch(16)
    fleet(path, mlp(20, 32, 6), lambda r, s: plain(s), CE, lambda n: adam(n, 2e-3), 180, 4)


@cause(r"(?i)began|different weights|equal at no step|not exchanged", 0)
def each_worker_has_a_seed_of_its_own(path, seed):
    data = Clouds(seed)
    nets = []
    for rank in range(3):
        torch.manual_seed(100 * seed + rank)
        nets.append(mlp(20, 32, 6))

    def between(step):
        for mine in zip(*[n.parameters() for n in nets]):
            mean = sum(p.grad for p in mine) / 3
            for p in mine:
                p.grad = mean.clone()
    workers_by_hand(path, nets, [adam(n, 2e-3, weight_decay=0) for n in nets], [CE() for _ in nets], 200, data.shard(16, 3), between=between)


@cause(r"(?i)worker_3", 60)
def one_of_four_steps_alone_from_60(path, seed):
    data, first = Clouds(seed), mlp(20, 32, 6)
    nets = [copy.deepcopy(first) for _ in range(4)]

    def between(step):
        for mine in zip(*[n.parameters() for n in nets]):
            mean = sum(p.grad for p in mine) / 4
            for r, p in enumerate(mine):
                if r != 3 or step < 60:
                    p.grad = mean.clone()
    workers_by_hand(path, nets, [optim.SGD(n.parameters(), 0.05, momentum=0.9) for n in nets], [CE() for _ in nets], 180, data.shard(16, 4), between=between)


@cause(r"(?i)worker_1.*(stop|clos|wrote|ended|kill)", 110)
def one_of_three_runs_out_of_memory(path, seed):
    import os
    if os.fork() == 0:
        try:
            import loop
            hooks = []
            loop.finish, kept = lambda *h: hooks.extend(h), loop.finish
            loop.fleet(path, mlp(20, 32, 6), Clouds(seed).shard(16, 3), CE, lambda n: adam(n, 2e-3), 160, 3, present=lambda s, r: r != 1 or s < 110)
            hooks[1].flush()
            kept(hooks[0], hooks[2])
        finally:
            os._exit(0)
    os.wait()
