"""healthy_nineteenth.py - a small set in which nothing is wrong, of kinds that no set had, for what was changed after the eighteenth. Written in one go, before any line
on it was looked at; what must be said of each is nothing."""
import copy

import torch
from torch import nn, optim

from eighteenth_parts import step_together, trained
from fifteenth_parts import signals, tags
from fifth_parts import Clouds, Curves, rng
from loop import finish, fit, hook_for, register
from registry import healthy_set
from seventeenth_parts import adam, by_hand, down, mlp
from sixteenth_parts import F, claims, tides

CE, BCE, MSE = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.MSELoss
healthy = healthy_set("nineteenth")


@healthy
def tags_by_the_best_path(path, seed):
    """A chain of tags: what a path is worth, less what all are."""
    class Chain(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.cell, self.out = nn.Embedding(12, 16), nn.GRU(16, 24, batch_first=True, bidirectional=True), nn.Linear(48, 4)
            self.steps = nn.Parameter(0.1 * torch.randn(4, 4))

        def forward(self, x):
            return self.out(self.cell(self.table(x))[0])

    class Paths(nn.Module):
        def forward(self, said, y):
            own = said.gather(2, y[..., None]).sum((1, 2)) + net.steps[y[:, :-1], y[:, 1:]].sum(1)
            a = said[:, 0]
            for t in range(1, said.shape[1]):
                a = (a[:, :, None] + net.steps).logsumexp(1) + said[:, t]
            return (a.logsumexp(1) - own).mean()
    data, net = tags(seed), Chain()
    fit(path, net, data.batch(32), Paths(), adam(net, 5e-3), 240, held=data.held(100))


@healthy
def wide_margins_by_a_line(path, seed):
    """A linear machine: hinges of all classes, and decay."""
    data, net = Clouds(seed), nn.Linear(20, 6)
    fit(path, net, data.batch(32), nn.MultiMarginLoss(), optim.SGD(net.parameters(), 0.02, weight_decay=1e-2), 240, held=data.held(100))


@healthy
def two_views_and_a_stop(path, seed):
    """No slow copy, no opposites: the gradient of one of both views is stopped."""
    net, tell, plain = mlp(20, 48, 16), mlp(16, 12, 16), Clouds(seed).batch(48)
    opt = optim.SGD([*net.parameters(), *tell.parameters()], 0.05, momentum=0.9)

    def one(step):
        g, (x, _) = rng(seed, step, 600), plain(step)
        a, b = (net(x + 0.5 * torch.randn(x.shape, generator=g)) for _ in range(2))
        return {"own_loss": down(opt, -(F.cosine_similarity(tell(a), b.detach()).mean() + F.cosine_similarity(tell(b), a.detach()).mean()) / 2)}
    by_hand(path, [(net, opt), (tell, opt)], 220, one)


@healthy
def five_of_each_a_game(path, seed):
    """Few of each class make prototypes; others are told by them; classes are drawn anew each time."""
    net, where = mlp(10, 48, 16), 2 * torch.randn(60, 10, generator=rng(seed, 601))
    opt = adam(net, 1e-3)

    def one(step):
        g = rng(seed, step, 602)
        kinds = torch.randperm(60, generator=g)[:5]
        x = where[kinds].repeat_interleave(10, 0) + 1.2 * torch.randn(50, 10, generator=g)
        z = net(x).view(5, 10, 16)
        far = torch.cdist(z[:, 5:].reshape(25, 16), z[:, :5].mean(1)) ** 2
        return {"game_loss": down(opt, F.cross_entropy(-far, torch.arange(5).repeat_interleave(5)))}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def functions_from_a_few_points(path, seed):
    """A neural process: some points of a function are read, the others told with their doubt."""
    read, tell = mlp(2, 32, 24), mlp(25, 32, 2)
    opt = adam(nn.ModuleList([read, tell]), 2e-3)

    def one(step):
        g = rng(seed, step, 603)
        x = 4 * torch.rand(24, 20, 1, generator=g) - 2
        y = (0.5 + torch.rand(24, 1, 1, generator=g)) * (2 * x + 3 * torch.rand(24, 1, 1, generator=g)).sin()
        r = read(torch.cat([x, y], 2)[:, :8]).mean(1, keepdim=True).expand(-1, 12, -1)
        m, s = tell(torch.cat([r, x[:, 8:]], 2)).chunk(2, 2)
        s = 0.05 + F.softplus(s)
        return {"process_loss": down(opt, (((y[:, 8:] - m) / s) ** 2 / 2 + s.log()).mean())}
    by_hand(path, [(read, opt), (tell, opt)], 260, one)


@healthy
def one_small_network_behind_another(path, seed):
    """Four networks, each for 60 steps on what those before left; those before stand."""
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts, self.now = nn.ModuleList(mlp(8, 16, 1) for _ in range(4)), 0

        def forward(self, x):
            return sum(p(x) if k == self.now else p(x).detach() for k, p in enumerate(self.parts[:self.now + 1]))
    data, net = Curves(seed), Sum()
    for p in net.parts[1:]:
        nn.init.zeros_(p[2].weight)
        nn.init.zeros_(p[2].bias)
    fit(path, net, data.batch(48), MSE(), adam(net, 5e-3), 240, change=lambda s, n, r: setattr(n, "now", s // 60), held=data.held(100))


@healthy
def a_pool_that_stands(path, seed):
    """Recurrent weights by lot that stand; what is read from them is learned."""
    class Pooled(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.again, self.out = nn.Linear(4, 80), nn.Linear(80, 80, bias=False), nn.Linear(80, 5)
            self.inp.requires_grad_(False)
            self.again.requires_grad_(False)
            with torch.no_grad():
                self.again.weight.mul_(0.9 / torch.linalg.eigvals(self.again.weight).abs().max())

        def forward(self, x):
            h = torch.zeros(len(x), 80)
            for t in range(x.shape[2]):
                h = (self.inp(x[:, :, t]) + self.again(h)).tanh()
            return self.out(h)
    data, net = tides(seed), Pooled()
    fit(path, net, data.batch(32), MSE(), adam(net.out, 5e-3), 240, held=data.held(100))


@healthy
def opposites_are_sought_anew(path, seed):
    """Triplets; every 50 steps the nearest of another class are sought, and the loss is higher for a while."""
    data, net = Clouds(seed), mlp(20, 48, 12)
    opt, near = adam(net, 1e-3), {}

    def one(step):
        g = rng(seed, step, 604)
        if step % 50 == 0:
            with torch.no_grad():
                d = torch.cdist(net(data.x), net(data.x)) + 1e9 * (data.y[:, None] == data.y[None])
                near["of"] = d.topk(20, 1, largest=False)[1]
        a = torch.randint(0, len(data.x), (48,), generator=g)
        same = torch.stack([torch.where(data.y == data.y[i])[0][torch.randint(0, int((data.y == data.y[i]).sum()), (1,), generator=g)[0]] for i in a])
        other = near["of"][a, torch.randint(0, 20, (48,), generator=g)]
        za, zb, zc = net(torch.cat([data.x[a], data.x[same], data.x[other]])).chunk(3)
        return {"triplet_loss": down(opt, F.triplet_margin_loss(za, zb, zc, margin=1.0))}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def levels_are_watched_then_used(path, seed):
    """Ranges are watched for 100 steps; from there on weights and outputs are rounded to 16 levels."""
    class Levels(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.act, self.b, self.use = nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 6), False

        def cut(self, x):
            if not self.use:
                return x
            step = x.detach().abs().max() / 7.5
            return x + ((x / step).round() * step - x).detach()

        def forward(self, x):
            h = self.cut(self.act(F.linear(x, self.cut(self.a.weight), self.a.bias)))
            return F.linear(h, self.cut(self.b.weight), self.b.bias)
    data, net = Clouds(seed), Levels()
    loss = CE()
    fit(path, net, data.batch(32), loss, adam(net, 2e-3), 240, change=lambda s, n, r: setattr(n, "use", s >= 100), held=data.held(100))


@healthy
def a_layer_comes_into_use(path, seed):
    """A block between counts nothing until 120: its last layer begins at zero there."""
    class Grows(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.block, self.out, self.use = nn.Linear(20, 40), mlp(40, 40, 40), nn.Linear(40, 6), False
            nn.init.zeros_(self.block[2].weight)
            nn.init.zeros_(self.block[2].bias)

        def forward(self, x):
            h = self.inp(x).relu()
            return self.out(h + self.block(h) if self.use else h)
    data, net = Clouds(seed), Grows()
    fit(path, net, data.batch(32), CE(), adam(net, weight_decay=0), 240, change=lambda s, n, r: setattr(n, "use", s >= 120), held=data.held(100))


@healthy
def a_price_that_is_learned(path, seed):
    """A bound on how often yes is said: its price rises until it holds, and with it the loss."""
    net, price, data = mlp(15, 32, 1), torch.zeros(1), claims(seed)
    opt, plain = adam(net, 2e-3), data.batch(96)

    def one(step):
        x, y = plain(step)
        said = net(x)
        over = said.sigmoid().mean() - 0.25
        loss = F.binary_cross_entropy_with_logits(said, y) + price * over
        down(opt, loss)
        price.add_(0.05 * over.detach()).clamp_(min=0)
        return {"lagrangian_loss": loss, "over": over}
    by_hand(path, [(net, opt)], 260, one)


@healthy
def readings_with_spikes(path, seed):
    """An autoencoder of signals of which one in thirty has a spike of forty deviations."""
    data = signals(seed)
    net, plain = mlp(40, 24, 8, 24, 40), data.batch(32)

    def batch(step):
        g, x = rng(seed, step, 605), plain(step)[0][:, 0].clone()
        rows = torch.rand(32, generator=g) < 0.03
        x[rows, 7] += 40
        return x, x
    fit(path, net, batch, nn.SmoothL1Loss(), adam(net, 2e-3), 240)


@healthy
def each_slope_cut_at_a_thousandth(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 6)

    def after(step, n, rank):
        nn.utils.clip_grad_value_(n.parameters(), 1e-3)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 1.0, momentum=0.9), 240, after=after, held=data.held(100))


@healthy
def a_worker_joins_later(path, seed):
    """Two workers; a third comes at step 60 with the weights of the others, and opens its recording there."""
    data, first = Clouds(seed), mlp(20, 32, 6)
    nets = [copy.deepcopy(first) for _ in range(3)]
    opts, losses, plain = [optim.SGD(n.parameters(), 0.05) for n in nets], [CE() for _ in nets], data.shard(16, 3)
    hooks = [hook_for(path, 1, rank, 3) for rank in range(2)]
    for k in range(2):
        register(hooks[k], nets[k], opts[k])
        hooks[k].register_loss(losses[k])
    for step in range(180):
        if step == 60:
            nets[2].load_state_dict(nets[0].state_dict())
            hooks.append(hook_for(path, 1, 2, 3))
            register(hooks[2], nets[2], opts[2])
            hooks[2].register_loss(losses[2])
        step_together(range(len(hooks)), hooks, nets, opts, losses, plain, step)
    finish(*hooks)


@healthy
def the_best_is_taken_up_again(path, seed):
    """Evaluated every 40 steps; at 160 the best weights so far are taken up again, at a tenth of the rate."""
    data, net, best = Clouds(seed, rows=320), mlp(20, 64, 6), {}
    opt = adam(net, 5e-3)

    def change(step, n, rank):
        if step % 40 == 0 and step < 160:
            with torch.no_grad():
                value = F.cross_entropy(n(data.held_x), data.held_y).item()
            if value < best.get("value", 1e9):
                best.update(value=value, state=copy.deepcopy(n.state_dict()))
        if step == 160:
            n.load_state_dict(best["state"])
            for group in opt.param_groups:
                group["lr"] = 5e-4
    fit(path, net, data.batch(32), CE(), opt, 240, change=change, held=data.held(100), eval_every=40)


@healthy
def many_labels_few_opposites(path, seed):
    """Three hundred labels; the right one against twenty by lot."""
    class Few(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.labels = mlp(12, 48, 16), nn.Embedding(300, 16)

        def forward(self, x):
            return (self.body(x[:, :12])[:, None] * self.labels(x[:, 12:].long())).sum(2)
    w = torch.randn(12, 300, generator=rng(seed, 606))

    def batch(step):
        g = rng(seed, step, 607)
        x = torch.randn(48, 12, generator=g)
        right = (x @ w).argmax(1, keepdim=True)
        return torch.cat([x, right.float(), torch.randint(0, 300, (48, 20), generator=g).float()], 1), torch.cat([torch.ones(48, 1), torch.zeros(48, 20)], 1)
    net = Few()
    fit(path, net, batch, BCE(), adam(net, 5e-3), 240)


@healthy
def a_rule_without_gradients(path, seed):
    """The delta rule by hand: no graph is built, weights are moved by products."""
    data, net = Clouds(seed), nn.Linear(20, 6)
    opt, plain = optim.SGD(net.parameters(), 0.0), data.batch(32)

    def one(step):
        x, y = plain(step)
        with torch.no_grad():
            said = net(x)
            wrong = F.one_hot(y, 6) - said.softmax(1)
            net.weight.add_(0.05 * wrong.T @ x / 32)
            net.bias.add_(0.05 * wrong.mean(0))
            return {"rule_loss": F.cross_entropy(said, y)}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def tuned_on_a_tenth_with_strong_decay_to_the_start(path, seed):
    """A network that knows six clouds is tuned on 90 rows, and held near where it began."""
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    trained(net, data.batch(32), CE())
    start = [p.detach().clone() for p in net.parameters()]
    few = Clouds(seed, rows=96, shift=0.4)

    class Near(nn.Module):
        def forward(self, said, y):
            return F.cross_entropy(said, y) + 0.05 * sum(((p - q) ** 2).sum() for p, q in zip(net.parameters(), start))
    fit(path, net, few.batch(32), Near(), adam(net, 1e-3, weight_decay=0), 200, held=few.held(100))
