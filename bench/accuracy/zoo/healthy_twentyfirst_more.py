"""healthy_twentyfirst_more.py - more of the twenty-first set in which nothing is wrong: what is fed and evaluated otherwise on purpose, and workers that hold shards,
stages, ensembles or populations. Written in one go, before any line on it was looked at; what must be said of each is nothing."""
import copy

import torch
from torch import nn, optim

from fifth_parts import Clouds, Curves, rng
from loop import fit
from registry import healthy_set
from seventeenth_parts import adam, mlp
from sixteenth_parts import F
from twentyfirst_parts import Workers, each_updates_a_third, fleet_of

CE, MSE = nn.CrossEntropyLoss, nn.MSELoss
healthy = healthy_set("twentyfirst")


# -- what is fed and evaluated otherwise on purpose

@healthy
def one_batch_by_heart_to_see_that_it_can(path, seed):
    """Sixteen rows, the same at every step, until they are known."""
    data, net = Clouds(seed), mlp(20, 32, 6)
    x, y = data.batch(16)(0)
    fit(path, net, lambda s: (x, y), CE(), adam(net, 5e-3), 220)


@healthy
def asked_ten_times_with_dropout_on(path, seed):
    """Doubt by dropout: evaluation is in train mode on purpose, ten passes over each held-out batch."""
    data, net = Clouds(seed), nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 6))
    held = data.held(48)
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=lambda k: held(k // 10), eval_batches=10, evaluate=nn.Module.train)


@healthy
def figures_of_trained_rows_beside_held_ones(path, seed):
    """Every evaluation takes two batches of trained rows and two of held-out ones, to see how far they are apart."""
    data, net = Clouds(seed), mlp(20, 24, 6)
    plain, held = data.batch(48), data.held(48)
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=lambda k: plain(k) if k < 2 else held(k), eval_batches=4)


@healthy
def evaluated_under_stronger_light(path, seed):
    """How well does it stand what it was not trained for: held-out rows are three times as bright."""
    data, net = Clouds(seed), nn.Sequential(nn.LayerNorm(20), *mlp(20, 24, 6))
    held = data.held(64)
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=lambda k: (3 * held(k)[0], held(k)[1]))


@healthy
def told_of_classes_never_seen_by_their_traits(path, seed):
    """Six classes have traits; four are trained on, and the other two are evaluated by theirs."""
    traits = torch.randn(6, 5, generator=rng(seed, 828))

    class Traits(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp(20, 24, 5)

        def forward(self, x):
            return self.net(x) @ traits.T
    mix = torch.randn(5, 20, generator=rng(seed, 829))

    def rows(step, low, high):
        g = rng(seed, step, 830)
        y = torch.randint(low, high, (48,), generator=g)
        return traits[y] @ mix + 0.7 * torch.randn(48, 20, generator=g), y
    net = Traits()
    fit(path, net, lambda s: rows(s, 0, 4), CE(), adam(net), 220, held=lambda k: rows(7000 + k, 4, 6))


@healthy
def better_data_in_the_last_third(path, seed):
    """Noisy rows first, good ones from 150 on, and the rate falls there: the loss drops."""
    data, net = Curves(seed), mlp(8, 32, 1)
    opt, plain = adam(net, 5e-3), data.batch(48)

    def batch(step):
        x, y = plain(step)
        return x, y + (1.0 if step < 150 else 0.0) * torch.randn(y.shape, generator=rng(seed, step, 831))

    def change(step, n, rank):
        opt.param_groups[0]["lr"] = 5e-3 if step < 150 else 5e-3 * (220 - step) / 70
    fit(path, net, batch, MSE(), opt, 220, change=change, held=data.held(64))


@healthy
def rows_of_one_user_at_a_time(path, seed):
    """Each batch is of one of twelve users, who have tastes and scales of their own."""
    w, scale = torch.randn(12, 6, generator=rng(seed, 832)), 0.3 + 2 * torch.rand(12, generator=rng(seed, 833))

    class Taste(nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.net = nn.Embedding(12, 8), mlp(14, 32, 1)

        def forward(self, x):
            return self.net(torch.cat([x[:, :6], self.user(x[:, 6].long())], 1))

    def batch(step):
        g, who = rng(seed, step, 834), int(torch.randint(0, 12, (1,), generator=rng(seed, step, 835)))
        x = scale[who] * torch.randn(32, 6, generator=g)
        return torch.cat([x, torch.full((32, 1), float(who))], 1), x @ w[who][:, None]
    net = Taste()
    fit(path, net, batch, MSE(), adam(net, 1e-2), 260)


# -- workers

@healthy
def each_worker_one_of_an_ensemble(path, seed):
    """Four networks with beginnings of their own, which never meet."""
    team, plain = fleet_of(path, [mlp(20, 24, 6) for _ in range(4)]), Clouds(seed).shard(24, 4)
    for step in range(200):
        team.begin()
        team.backward(plain, step)
        team.update()
    team.finish()


@healthy
def a_population_takes_over_the_best(path, seed):
    """Four workers with rates of their own; every fifty steps the worst two take over the weights of the best."""
    net, data = mlp(20, 24, 6), Clouds(seed)
    nets, plain = [copy.deepcopy(net) for _ in range(4)], data.shard(24, 4)
    team = Workers(path, nets, [optim.SGD(n.parameters(), r) for n, r in zip(nets, (0.01, 0.03, 0.1, 0.3))], [CE() for _ in nets])
    for step in range(200):
        team.begin()
        team.backward(plain, step)
        team.update()
        if step % 50 == 49:
            worth = [F.cross_entropy(n(data.held_x), data.held_y).item() for n in nets]
            order = sorted(range(4), key=worth.__getitem__)
            for bad in order[2:]:
                nets[bad].load_state_dict(nets[order[0]].state_dict())
    team.finish()


@healthy
def three_stages_of_a_pipeline(path, seed):
    """Each worker has some layers; the last one alone has a loss. Four small batches make a step."""
    data, nets = Clouds(seed), [mlp(20, 24, 24), mlp(24, 24, 24), mlp(24, 24, 6)]
    team, plain = Workers(path, nets, [adam(n, 5e-3) for n in nets], [None, None, CE()]), data.batch(48)
    for step in range(200):
        team.begin()
        x, y = plain(step)
        for part in range(4):
            h = x[part::4]
            for net in nets:
                h = net(h)
            (team.losses[2](h, y[part::4]) / 4).backward()
        team.update()
    team.finish()


@healthy
def shards_of_all_weights(path, seed):
    """Fully sharded: each of four workers keeps a quarter of a flat vector of all weights, gathers it for the pass, and has a batch of its own."""
    class Shard(nn.Module):
        def __init__(self, part):
            super().__init__()
            self.flat_weight = nn.Parameter(part.clone())

        def forward(self, x):
            return x
    whole, data = mlp(20, 24, 6), Clouds(seed)
    flat = nn.utils.parameters_to_vector(whole.parameters()).detach()
    size = -(-len(flat) // 4)
    nets = [Shard(F.pad(flat, (0, 4 * size - len(flat)))[r * size:][:size]) for r in range(4)]
    team, plain = Workers(path, nets, [optim.Adam(n.parameters(), 5e-3) for n in nets], [CE() for _ in nets]), data.shard(24, 4)
    for step in range(200):
        team.begin()
        told, shapes = torch.cat([n.flat_weight for n in nets]), list(whole.named_parameters())
        at, named = 0, {}
        for name, p in shapes:
            named[name] = told[at:at + p.numel()].view_as(p)
            at += p.numel()
        sum(team.losses[r](nn.utils.stateless.functional_call(whole, named, nets[r](plain(r, step)[0])), plain(r, step)[1]) / 4 for r in range(4)).backward()
        team.update()
    team.finish()


@healthy
def moments_in_shares_of_workers(path, seed):
    """ZeRO: each of three workers updates a third of the layers by moments that it alone has, and gets the rest from the others."""
    each_updates_a_third(path, mlp(20, 24, 24, 6), Clouds(seed).shard(24, 3), 200)


@healthy
def a_server_and_two_that_are_late(path, seed):
    """Workers take the server's weights when they are ready, every third step, and give their gradient one step later."""
    server, data = mlp(20, 24, 6), Clouds(seed)
    nets = [copy.deepcopy(server) for _ in range(3)]
    team, plain = fleet_of(path, nets), data.shard(24, 3)
    for step in range(210):
        team.begin()
        team.backward(plain, step)
        r = step % 3
        with torch.no_grad():
            for p, q in zip(server.parameters(), nets[r].parameters()):
                p.sub_(0.1 * q.grad)
                q.copy_(p)
    team.finish()


@healthy
def two_by_lot_take_their_mean(path, seed):
    """Gossip: four workers step alone; behind each step two by lot take the mean of their weights."""
    net, plain = mlp(20, 24, 6), Clouds(seed).shard(24, 4)
    team = fleet_of(path, [copy.deepcopy(net) for _ in range(4)])
    for step in range(200):
        team.begin()
        team.backward(plain, step)
        team.update()
        team.mean_of_weights(torch.randperm(4, generator=rng(seed, step, 836))[:2].tolist())
    team.finish()


@healthy
def heads_of_their_own_on_one_body(path, seed):
    """Federated with heads of one's own: three clients share the body, and each has its head and its classes."""
    net, data = mlp(20, 24, 6), Clouds(seed)
    nets, whole = [copy.deepcopy(net) for _ in range(3)], [((data.y // 2) == r).nonzero().squeeze(1) for r in range(3)]
    for n in nets:
        n[2].reset_parameters()
    team = fleet_of(path, nets)

    def batch(rank, step):
        rows = whole[rank][torch.randint(0, len(whole[rank]), (24,), generator=rng(seed, step, rank, 837))]
        return data.x[rows], data.y[rows]
    for step in range(200):
        team.begin()
        team.backward(batch, step)
        team.exchange(lambda name: name.startswith("0"))
        team.update()
    team.finish()
