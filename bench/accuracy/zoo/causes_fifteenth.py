"""causes_fifteenth.py - a fifteenth set of faults for the first line: about forty kinds of which each was met before, on networks and data that no set
had: signals, gratings, tags, a field, masks, ratings, sets of points, several labels, cells, a graph. Written in one go, with the words that a right line
has, before any result of it was looked at."""
import os

import torch
from torch import nn, optim

import loop
from causes import CE, cause_set, from_step
from causes_fifth import adamw, sgd
from causes_seventh import JUMPS, STANDS, STILL, TOO_FAST
from faulty import at
from fifteenth_parts import (Averaged, CellLoss, Cells, Folded, Hour, Lead, Liked, Mixer, Plain, Sets, Surface, Tagger, Watcher, Web, bandit, contrast,
                             counts, discs, field, folded, gratings, points, ratings, several, signals, specks, tags, wall, web)
from fifth_parts import rng
from loop import fit, fleet

TRAININGS, cause = cause_set("fifteenth")
BCE = nn.BCEWithLogitsLoss


class Back(nn.Module):
    """Hands on what it is given; the gradient on its way back is changed by `how`."""

    def __init__(self, how=None):
        super().__init__()
        self.how = how

    def forward(self, x):
        if self.how and x.requires_grad:
            x = x.clone()
            x.register_hook(self.how)
        return x


def by_rank(*makers):
    """Optimizers of workers in their order, the last for all others."""
    made = []

    def new(net):
        made.append(net)
        return makers[min(len(made), len(makers)) - 1](net)
    return new


def turned(first):
    """SGD that goes the wrong way at one step."""
    class Turned(optim.SGD):
        count = 0

        def step(self, closure=None):
            if self.count == first:
                for group in self.param_groups:
                    for p in group["params"]:
                        p.grad = -p.grad
            self.count += 1
            super().step(closure)
    return Turned


# -- workers

@cause("(?i)worker_2", 120)
def update_turned_on_one_worker(path, seed):
    data = discs(seed)
    plain, odd = (lambda n: optim.SGD(n.parameters(), 0.2)), (lambda n: turned(120)(n.parameters(), 0.2))
    fleet(path, Hour(), data.shard(6, 4), BCE, by_rank(plain, plain, odd, plain), 180, 4)


@cause("(?i)worker_1.*gradient|gradient.*worker_1", 110)
def bit_of_a_gradient_flipped(path, seed):
    net = Sets()
    net.relu3 = nn.Sequential(net.relu3, Back())

    def change(step, n, rank):
        n.relu3[1].how = (lambda g: g * 1e5) if rank == 1 and step == 110 else None
    fleet(path, net, points(seed).shard(12, 4), CE, lambda n: sgd(n, 0.02), 180, 4, change=change)


@cause("(?i)same data", 0)
def same_shard_shuffled(path, seed):
    plain = tags(seed).shard(16, 4)

    def batch(rank, step):
        x, y = plain(1 if rank == 3 else rank, step)
        order = torch.randperm(len(x), generator=rng(seed, step, 180))
        return (x[order], y[order]) if rank == 3 else (x, y)
    fleet(path, Tagger(), batch, CE, adamw, 160, 4)


@cause("(?i)same data", 0)
def a_step_behind_another(path, seed):
    plain = signals(seed).shard(12, 3)
    fleet(path, Lead(), lambda r, s: plain(1, max(0, s - 2)) if r == 2 else plain(r, s), CE, adamw, 160, 3)


@cause("(?i)worker_2", 0)
def layer_of_one_worker_is_another(path, seed):
    def change(step, n, rank):
        if rank == 2:
            n.act_b.alpha = 4.0
    fleet(path, Lead(norm=False), signals(seed).shard(12, 4), CE, adamw, 160, 4, change=change)


@cause("(?i)worker_1", 90)
def norm_of_one_worker_stands_still(path, seed):
    """One worker runs its middle norm with running figures from a step on."""
    def change(step, n, rank):
        if rank == 1 and step >= 90:
            n.b2.forward = lambda x: nn.functional.batch_norm(x, torch.zeros(12), torch.ones(12), n.b2.weight, n.b2.bias)
    fleet(path, Plain(), gratings(seed).shard(12, 3), CE, adamw, 180, 3, change=change)


@cause("(?i)exchang|never equal|equal at no|apart|averaged", 0)
def gradients_stay_at_home(path, seed):
    fleet(path, Mixer(), gratings(seed).shard(12, 4), CE, adamw, 160, 4, average=lambda s: False)


@cause("(?i)exchang|never equal|equal at no|apart|averaged", 0)
def two_that_never_meet(path, seed):
    fleet(path, Liked(), ratings(seed).shard(32, 2), nn.MSELoss, lambda n: adamw(n, 5e-3), 160, 2, average=lambda s: False)


@cause("(?i)worker_3.*(stop|killed|closed|wrote|ended|last)", 110)
def killed_in_the_middle(path, seed):
    if os.fork() == 0:
        try:
            torch.set_num_threads(1)
            hooks, kept = [], loop.finish
            loop.finish = lambda *h: hooks.extend(h)
            fleet(path, Watcher(), points(seed).shard(12, 4), CE, adamw, 150, 4, present=lambda s, r: r != 3 or s < 110)
            hooks[3].flush()
            kept(*hooks[:3])
        finally:
            os._exit(0)
    os.wait()


@cause("(?i)" + TOO_FAST + "|sum|" + JUMPS + "|" + STANDS, 0)
def summed_over_six(path, seed):
    def after(step, net, rank):
        for p in net.parameters():
            p.grad *= 6
    fleet(path, Hour(), discs(seed).shard(4, 6), BCE, lambda n: sgd(n, 0.7), 140, 6, after=after)


@cause("(?i)worker_0.*(not move|stand|frozen|still)|worker_0", 80)
def one_worker_no_longer_steps(path, seed):
    odd = optim.SGD

    class Stops(odd):
        count = 0

        def step(self, closure=None):
            self.count += 1
            if self.count <= 80:
                super().step(closure)
    fleet(path, Surface(), field(seed).shard(16, 3), nn.MSELoss, by_rank(lambda n: Stops(n.parameters(), 0.05), lambda n: odd(n.parameters(), 0.05)), 160, 3)


# -- what is fed

@cause(r"(?i)input.*zero", 70)
def leads_are_off(path, seed):
    data = signals(seed)
    net = Lead()
    fit(path, net, from_step(data.batch(32), 70, lambda x, y: (x * 0, y)), CE(), adamw(net), 200, held=data.held(100))


@cause(r"(?i)input.*(zero|one value|constant|\b0\b)", 90)
def only_padding_is_read(path, seed):
    data, net = tags(seed), Tagger()
    fit(path, net, from_step(data.batch(32), 90, lambda x, y: (x * 0, y)), CE(), adamw(net), 200, held=data.held(100))


@cause(r"(?i)input.*(one value|constant|all 0\.3)", 0)
def grey_pictures(path, seed):
    data, net = gratings(seed), Plain()
    fit(path, net, from_step(data.batch(32), 0, lambda x, y: (x * 0 + 0.3, y)), CE(), sgd(net, 0.03), 200, held=data.held(100))


@cause(r"(?i)same batch", 100)
def pictures_repeated(path, seed):
    data, net = discs(seed), Hour()
    plain = data.batch(16)
    fit(path, net, lambda s: plain(min(s, 100)), BCE(), adamw(net), 200, held=data.held(60))


@cause(r"(?i)same batch", 80)
def pairs_repeated(path, seed):
    data, net = ratings(seed), Liked()
    plain = data.batch(64)
    fit(path, net, lambda s: plain(min(s, 80)), nn.MSELoss(), adamw(net, 5e-3), 220, held=data.held(100))


@cause(r"(?i)input.*(scale|times)", 130)
def leads_in_microvolts(path, seed):
    data, net = signals(seed), Lead()
    fit(path, net, from_step(data.batch(32), 130, lambda x, y: (x * 1000, y)), CE(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)input.*(scale|times)", 100)
def bytes_in_place_of_shares(path, seed):
    data, net = gratings(seed), Mixer()
    fit(path, net, from_step(data.batch(32), 100, lambda x, y: (x * 127, y)), CE(), adamw(net), 200, held=data.held(100))


@cause(r"(?i)input.*channel|channel.*input", 90)
def second_lead_is_off(path, seed):
    def off(x, y):
        x[:, 1] = 0
        return x, y
    data, net = signals(seed), Lead()
    fit(path, net, from_step(data.batch(32), 90, off), CE(), adamw(net), 200, held=data.held(100))


@cause(r"(?i)(column|channel).*input|input.*(column|channel)", 100)
def a_coordinate_is_lost(path, seed):
    def off(x, y):
        x[:, 1] = 0.5
        return x, y
    data, net = field(seed), Surface()
    fit(path, net, from_step(data.batch(64), 100, off), nn.MSELoss(), adamw(net, 5e-3), 220, held=data.held(100))


def nan_in_call(held, call):
    calls = [0]

    def of(k):
        x, y = held(k)
        calls[0] += 1
        if calls[0] == call:
            x.view(-1)[11] = float("nan")
        return x, y
    return of


@cause(r"(?i)evaluation.*(NaN|fed)|fed NaN.*eval", 99)
def nan_in_the_second_evaluation(path, seed):
    data, net = discs(seed), Hour()
    fit(path, net, data.batch(16), BCE(), adamw(net), 200, held=nan_in_call(data.held(60), 2))


@cause(r"(?i)evaluation.*(NaN|fed)|fed NaN.*eval", 149)
def nan_in_the_third_evaluation(path, seed):
    data, net = points(seed), Watcher()
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=nan_in_call(data.held(100), 3))


@cause(r"(?i)label.*evaluat|evaluat.*label|shift", None)
def evaluated_a_class_further(path, seed):
    data, net = signals(seed), Lead()
    held = data.held(100)
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 300, held=lambda k: (held(k)[0], (held(k)[1] + 1) % 5))


@cause(r"(?i)label.*evaluat|evaluat.*label|shift", None)
def tags_evaluated_a_class_before(path, seed):
    data, net = tags(seed), Tagger()
    held = data.held(100)
    fit(path, net, data.batch(32), CE(), adamw(net, 1e-2), 300, held=lambda k: (held(k)[0], (held(k)[1] - 1) % 4))


@cause(r"(?i)target.*(copy|same|equal).*input", 0)
def next_is_the_same(path, seed):
    data, net = tags(seed), Tagger(tags=12)
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[0]), CE(), adamw(net), 200)


@cause(r"(?i)evaluat.*training data", None)
def leads_of_the_same_people(path, seed):
    data, net = signals(seed), Lead()
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=lambda k: (data.x[100 + 60 * k:][:60], data.y[100 + 60 * k:][:60]))


@cause(r"(?i)evaluat.*training data", None)
def masks_evaluated_on_trained_pictures(path, seed):
    data, net = discs(seed), Hour()
    fit(path, net, data.batch(16), BCE(), adamw(net), 200, held=lambda k: (data.x[:40], data.y[:40]), eval_every=40)


@cause(r"(?i)label|" + STANDS, 0)
def classes_drawn_by_lot(path, seed):
    data, net = points(seed), Sets()
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1][torch.randperm(32, generator=rng(seed, s, 181))]), CE(), adamw(net), 240, held=data.held(100))


@cause(r"(?i)label|target|" + STANDS, 0)
def targets_of_other_rows(path, seed):
    data, net = field(seed), Surface()
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1].roll(1 + s % 7, 0)), nn.MSELoss(), adamw(net), 240, held=data.held(100))


@cause(r"(?i)input|evaluat.*scale|scale.*evaluat", None)
def normalised_twice_in_training(path, seed):
    data, net = gratings(seed), Plain()
    fit(path, net, from_step(data.batch(32), 0, lambda x, y: ((x / 0.13 - 0.5) / 0.13, y)), CE(), adamw(net), 200,
        held=lambda k: ((data.held(100)(k)[0] / 0.13 - 0.5), data.held(100)(k)[1]))


@cause(r"(?i)input.*(scale|times|zero)", 80)
def features_of_the_graph_rescaled(path, seed):
    x, y, edges = web(seed)
    net = Web(edges)
    fit(path, net, lambda s: (x + 0.1 * torch.randn(x.shape, generator=rng(seed, s, 182)) if s < 80 else 200 * x, y), CE(), adamw(net, 1e-2), 180)


@cause(r"(?i)same|batch|view|input|" + STANDS, 0)
def views_of_one_and_the_same(path, seed):
    contrast(path, seed, same=True)


# -- the network and its loss

@cause(r"(?i)softmax|probabilit", 0)
def mixer_with_a_softmax(path, seed):
    data, net = gratings(seed), nn.Sequential(Mixer(), nn.Softmax(1))
    fit(path, net, data.batch(32), CE(), adamw(net), 200, held=data.held(100))


@cause(r"(?i)sigmoid|softmax|probabilit", 0)
def mask_squashed_twice(path, seed):
    data, net = discs(seed), Hour(squash=True)
    fit(path, net, data.batch(16), BCE(), adamw(net), 200, held=data.held(60))


@cause(r"(?i)softmax|probabilit|" + STANDS, 0)
def shares_among_the_batch(path, seed):
    data, net = points(seed), nn.Sequential(Sets(), nn.Softmax(0))
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(32))


@cause(r"(?i)rose|sign", 0)
def error_is_maximised(path, seed):
    data, net = field(seed), Surface()
    fit(path, net, data.batch(64), nn.MSELoss(), adamw(net), 200, scale=lambda s: -1.0)


@cause(r"(?i)rose|sign", 0)
def rate_below_zero(path, seed):
    data, net = signals(seed), Folded()
    fit(path, net, folded(data, 32), nn.MSELoss(), optim.Adam(net.parameters(), 2e-4, maximize=True), 220)


@cause(r"(?i)policy|reward|rose|sign", 0)
def policy_learns_to_lose(path, seed):
    bandit(path, seed, sign=-1.0)


@cause(r"(?i)maker|vanish|hardly|" + STANDS + "|rose", None)
def maker_helps_its_judge(path, seed):
    wall(path, seed, turned=True)


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, (0, 20))
def rate_of_one(path, seed):
    data, net = tags(seed), Tagger()
    fit(path, net, data.batch(32), CE(), optim.Adam(net.parameters(), 1.0), 200, held=data.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS, (0, 60))
def rate_of_twelve(path, seed):
    data, net = points(seed), Watcher()
    fit(path, net, data.batch(32), CE(), sgd(net, 12.0), 200, held=data.held(100))


@cause(r"(?i)decay|shr[ai]nk|toward zero", None)
def decay_of_twenty(path, seed):
    data, net = points(seed), Sets()
    fit(path, net, data.batch(32), CE(), optim.AdamW(net.parameters(), 2e-3, weight_decay=20), 240, held=data.held(100))


@cause(r"(?i)decay|shr[ai]nk|toward zero", None)
def decay_in_the_gradient(path, seed):
    data, net = signals(seed), Lead(norm=False)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02, weight_decay=0.6), 240, held=data.held(100))


@cause(r"(?i)hardly|too small|" + STILL, 0)
def rate_of_a_billionth(path, seed):
    data, net = signals(seed), Lead()
    fit(path, net, data.batch(32), CE(), sgd(net, 1e-9), 200, held=data.held(100))


@cause(r"(?i)hardly|too small|" + STILL, 0)
def mask_hardly_trained(path, seed):
    data, net = discs(seed), Hour()
    fit(path, net, data.batch(16), BCE(), optim.Adam(net.parameters(), 1e-8), 200, held=data.held(60))


@cause(r"(?i)evaluat.*mode", None)
def gratings_evaluated_in_train_mode(path, seed):
    data, net = gratings(seed), Plain(drop=0.4)
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100), evaluate=lambda n: n.train())


@cause(r"(?i)evaluat.*mode", None)
def tags_evaluated_in_train_mode(path, seed):
    data, net = tags(seed), Tagger(drop=0.5)
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100), evaluate=lambda n: n.train())


@cause(r"(?i)trained.*mode|mode.*evaluation", 50)
def dropout_lost_behind_the_first_evaluation(path, seed):
    data, net = signals(seed), Lead(drop=0.3)
    evaluated = []

    class Stuck(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = net

        def train(self, mode=True):
            evaluated.append(mode)
            return super().train(mode and all(evaluated))

        def forward(self, x):
            return self.inner(x)
    stuck = Stuck()
    fit(path, stuck, data.batch(32), CE(), adamw(stuck), 220, held=data.held(100))


def halved(rate):
    """A gradient in half precision, whose scale is made smaller at each step."""
    place = [0]

    def how(g):
        place[0] += 1
        scale = 2.0 ** (-4 - place[0] * rate)
        return (g * scale).half().float() / scale
    return how


@cause(r"(?i)gradient.*(zero|underflow)", (0, 240))
def scale_falls_in_a_mixer(path, seed):
    data, net = gratings(seed), Mixer()
    fit(path, nn.Sequential(net, Back(halved(0.04))), data.batch(32), CE(), adamw(net), 240)


@cause(r"(?i)gradient.*(zero|underflow)", (0, 240))
def scale_falls_in_a_field(path, seed):
    data, net = field(seed), Surface()
    fit(path, nn.Sequential(net, Back(halved(0.06))), data.batch(64), nn.MSELoss(), adamw(net), 240)


@cause(r"(?i)satur|acts\.0|layers\.0", 0)
def tanh_at_its_ends(path, seed):
    data, net = field(seed), Surface()
    with torch.no_grad():
        net.layers[1].weight.mul_(60)
    fit(path, net, data.batch(64), nn.MSELoss(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)satur|acts|input|vanish", 0)
def sigmoid_at_its_ends(path, seed):
    data, net = several(seed), Surface(16, 24, 2, nn.Sigmoid, 5)
    fit(path, net, from_step(data.batch(32), 0, lambda x, y: (x * 300, y)), BCE(), adamw(net), 220)


@cause(r"(?i)dead|never active|[rbc]2", 100)
def five_channels_die(path, seed):
    data, net = gratings(seed), Plain()

    def kill(n):
        n.b2.bias[:5], n.b2.weight[:5] = -50, 0.01
    fit(path, net, data.batch(32), CE(), adamw(net), 220, change=at((100,), kill), held=data.held(100))


@cause(r"(?i)f1.*(jump|changed|times|restored)", 140)
def one_layer_restored_wrongly(path, seed):
    data, net = gratings(seed), Mixer()

    def other(n):
        n.f1.weight.copy_(nn.Linear(24, 48).weight)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, change=at((140,), other), held=data.held(100))


@cause(r"(?i)words.*(jump|changed|times|restored)", 130)
def embedding_of_another_order(path, seed):
    data, net = tags(seed), Tagger()

    def other(n):
        n.words.weight.copy_(n.words.weight.roll(3, 0))
    fit(path, net, data.batch(32), CE(), adamw(net), 240, change=at((130,), other), held=data.held(100))


@cause(r"(?i)what|row", 0)
def half_of_the_things_never_learn(path, seed):
    data, net = ratings(seed), Liked()

    def after(step, n, rank):
        n.what.weight.grad[:35] = 0
    fit(path, net, data.batch(64), nn.MSELoss(), optim.Adam(net.parameters(), 5e-3), 240, after=after, held=data.held(100))


@cause(r"(?i)shadow|average", None)
def shadow_never_follows(path, seed):
    data, net = signals(seed), Averaged(Lead(), "shadow")
    fit(path, net, data.batch(32), CE(), adamw(net.online), 240, held=data.held(100))


@cause(r"(?i)mean_net|average|evaluat", None)
def mean_teacher_never_follows(path, seed):
    data, net = field(seed), Averaged(Surface(), "mean_net")
    fit(path, net, data.batch(64), nn.MSELoss(), adamw(net.online, 5e-3), 240, held=data.held(100))


@cause(r"(?i)no weight has moved|" + STILL, 150)
def schedule_ends_too_early(path, seed):
    data, net = signals(seed), Lead()
    opt = adamw(net)
    fit(path, net, data.batch(32), CE(), opt, 260, held=data.held(100), schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, 1 - s / 150)))


@cause(r"(?i)each2", 0)
def middle_layer_unknown_to_the_optimizer(path, seed):
    data, net = points(seed), Sets()
    fit(path, net, data.batch(32), CE(), adamw(nn.ModuleList([net.each1, net.all1, net.all2])), 220, held=data.held(100))


@cause(r"(?i)attn|inp", 0)
def attention_under_no_grad(path, seed):
    class Cut(Watcher):
        def forward(self, x):
            with torch.no_grad():
                h = self.inp(x)
                n = self.ln(h)
                h = h + self.attn(n, n, n, need_weights=False)[0]
            h = h + self.ff2(self.act(self.ff(self.ln2(h))))
            return self.head(h.mean(1))
    data, net = points(seed), Cut()
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)box", 0)
def boxes_weigh_nothing(path, seed):
    class Half(nn.Module):
        def forward(self, said, told):
            return CellLoss()(torch.cat([said[:, :1], 0 * said[:, 1:]], 1), told)
    data, net = specks(seed), Cells()
    fit(path, net, data.batch(16), Half(), adamw(net), 200, held=data.held(60))


@cause(r"(?i)NaN|\binf|infinit|logarithm", None)
def rate_of_counts_without_an_exponential(path, seed):
    data, net = counts(seed), Surface(6)
    fit(path, net, data.batch(32), nn.PoissonNLLLoss(log_input=False, eps=0.0), adamw(net), 200, held=data.held(100))


@cause(r"(?i)clip|hardly|too small", 0)
def clipped_by_a_millionth(path, seed):
    data, net = ratings(seed), Liked()
    fit(path, net, data.batch(64), nn.MSELoss(), sgd(net, 0.1), 220, clip=1e-6, held=data.held(100))
