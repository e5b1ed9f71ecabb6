"""healthy_fifteenth.py - habits that are unusual and right, on the networks and data of causes_fifteenth.py: warm restarts, accumulation, thawing, curricula,
half precision with a scaler, tied weights, heavy dropout, sparse tables, small noisy batches, a rate that begins at 0."""
import torch
from torch import nn, optim

from causes_fifth import adamw, sgd
from fifteenth_parts import (Averaged, CellLoss, Cells, Folded, Hour, Lead, Liked, Mixer, Plain, Sets, Surface, Tagger, Watcher, Web, bandit, contrast,
                             counts, discs, field, folded, gratings, points, ratings, several, signals, specks, tags, wall, web)
from fifth_parts import rng
from loop import fit, fleet
from registry import healthy_set

CE, BCE = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss
healthy = healthy_set("fifteenth")


@healthy
def warm_restarts(path, seed):
    data, net = signals(seed), Lead()
    opt = sgd(net, 0.1)
    fit(path, net, data.batch(32), CE(), opt, 300, held=data.held(100), schedule=optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 60))


@healthy
def four_batches_a_step(path, seed):
    data, net = discs(seed), Hour()
    fit(path, net, data.batch(4), BCE(), adamw(net), 200, held=data.held(60), accumulate=4)


@healthy
def body_thaws_at_100(path, seed):
    data, net = gratings(seed), Mixer()
    net.patch.requires_grad_(False)

    def change(step, n, rank):
        if step == 100:
            n.patch.requires_grad_(True)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), change=change)


@healthy
def noise_grows(path, seed):
    data, net = gratings(seed), Plain()
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0] + s / 150 * torch.randn(32, 2, 12, 12, generator=rng(seed, s, 190)), plain(s)[1]), CE(), adamw(net), 240,
        held=data.held(100))


@healthy
def half_precision_with_a_scaler(path, seed):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.half().float()

        @staticmethod
        def backward(ctx, g):
            return (g * 1024).half().float() / 1024

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.relu, self.b = nn.Linear(42, 48), nn.ReLU(), nn.Linear(48, 4)

        def forward(self, x):
            return Half.apply(self.b(Half.apply(self.relu(Half.apply(self.a(x.flatten(1)))))))
    data, net = points(seed), Net()
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100))


@healthy
def tied_words(path, seed):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.gru, self.out = nn.Embedding(12, 16), nn.GRU(16, 16, batch_first=True), nn.Linear(16, 12, bias=False)
            self.out.weight = self.words.weight

        def forward(self, x):
            return self.out(self.gru(self.words(x))[0]).transpose(1, 2)
    data, net = tags(seed), Tied()
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], torch.maximum(plain(s)[0].roll(1, 1), plain(s)[0])), CE(), adamw(net), 260)


@healthy
def heavy_dropout(path, seed):
    data, net = signals(seed), Lead(drop=0.7)
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 260, held=data.held(100))


@healthy
def sparse_tables(path, seed):
    data, net = ratings(seed), Liked(sparse=True)
    fit(path, net, data.batch(64), nn.MSELoss(), optim.SGD(net.parameters(), 0.3), 300, held=data.held(100))


@healthy
def two_rows_a_batch(path, seed):
    data, net = points(seed), Sets()
    fit(path, net, data.batch(2), CE(), adamw(net), 350, held=data.held(100))


@healthy
def rate_begins_at_zero(path, seed):
    data, net = points(seed), Watcher()
    opt = adamw(net, 4e-3)
    fit(path, net, data.batch(32), CE(), opt, 300, held=data.held(100), schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, s / 50)))


@healthy
def field_of_sines(path, seed):
    class Sine(nn.Module):
        def forward(self, x):
            return (4 * x).sin()
    data, net = field(seed), Surface(act=Sine)
    fit(path, net, data.batch(64), nn.MSELoss(), adamw(net), 260, held=data.held(100))


@healthy
def counts_by_logarithm(path, seed):
    data, net = counts(seed), Surface(6)
    fit(path, net, data.batch(32), nn.PoissonNLLLoss(), adamw(net, 5e-3), 260, held=data.held(100))


@healthy
def several_labels_a_row(path, seed):
    data, net = several(seed), Surface(16, 32, 2, nn.Mish, 5)
    fit(path, net, data.batch(32), BCE(), adamw(net), 260, held=data.held(100))


@healthy
def specks_in_cells(path, seed):
    data, net = specks(seed), Cells()
    fit(path, net, data.batch(16), CellLoss(), adamw(net, 5e-3), 240, held=data.held(60))


@healthy
def graph_that_stands(path, seed):
    x, y, edges = web(seed)
    net = Web(edges)
    fit(path, net, lambda s: (x, y), CE(), adamw(net, 1e-2), 160)


@healthy
def policy_of_five(path, seed):
    bandit(path, seed)


@healthy
def views_of_signals(path, seed):
    contrast(path, seed)


@healthy
def maker_and_judge_of_signals(path, seed):
    wall(path, seed)


@healthy
def signals_folded(path, seed):
    data, net = signals(seed), Folded()
    fit(path, net, folded(data, 32), nn.MSELoss(), adamw(net), 260)


@healthy
def shadow_follows(path, seed):
    data, net = signals(seed), Averaged(Lead(), "shadow")
    fit(path, net, data.batch(32), CE(), adamw(net.online), 240, held=data.held(100), updated=lambda s, n: n.average())


@healthy
def three_workers_with_cosine(path, seed):
    fleet(path, Mixer(), gratings(seed).shard(12, 3), CE, lambda n: adamw(n, 3e-3), 200, 3, held=gratings(seed).held(60))


@healthy
def four_workers_of_tags(path, seed):
    fleet(path, Tagger(drop=0.2), tags(seed).shard(8, 4), CE, lambda n: sgd(n, 0.3), 200, 4)
