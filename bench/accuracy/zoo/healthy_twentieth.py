"""healthy_twentieth.py - a twentieth set in which nothing is wrong: steps that look ahead or back, parts that are trained by turns, networks that make networks, noise
on purpose, targets that are made anew, workers that hold parts of one network, come and go, or never meet all at once. Written in one go, before any line on it was
looked at; what must be said of each is nothing."""
import copy

import torch
from torch import nn, optim

from eighteenth_parts import step_together, trained, workers_by_hand
from fifteenth_parts import gratings, signals
from fifth_parts import Clouds, Curves, rng
from loop import finish, fit, hook_for, modes, register
from registry import healthy_set
from seventeenth_parts import States, adam, by_hand, down, hills, mlp
from sixteenth_parts import F, Gpt, Next, glyphs, sentences, swirl, tides
from twentieth_parts import Lion, Orthogonal, hybrid, seen

CE, BCE, MSE = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.MSELoss
healthy = healthy_set("twentieth")


# -- steps of another sort

@healthy
def sharpest_direction_first(path, seed):
    """Two passes a step: weights are moved uphill, the gradient is taken there, and weights are put back before the update."""
    data, net, loss = Clouds(seed), mlp(20, 48, 6), CE()
    opt, plain = optim.SGD(net.parameters(), 0.1, momentum=0.9), data.batch(32)

    def one(step):
        x, y = plain(step)
        opt.zero_grad()
        first = loss(net(x), y)
        first.backward()
        with torch.no_grad():
            far = 0.05 / (sum((p.grad ** 2).sum() for p in net.parameters()).sqrt() + 1e-12)
            moves = [p.grad * far for p in net.parameters()]
            for p, m in zip(net.parameters(), moves):
                p.add_(m)
        opt.zero_grad()
        loss(net(x), y).backward()
        with torch.no_grad():
            for p, m in zip(net.parameters(), moves):
                p.sub_(m)
        opt.step()
        return {"train_loss": first}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def six_steps_ahead_and_half_the_way_back(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    slow = [p.detach().clone() for p in net.parameters()]

    def updated(step, n):
        if step % 6 == 5:
            with torch.no_grad():
                for p, q in zip(n.parameters(), slow):
                    q.add_(0.5 * (p - q))
                    p.copy_(q)
    fit(path, net, data.batch(32), CE(), adam(net), 240, updated=updated, held=data.held(100))


@healthy
def signs_of_the_momentum_alone(path, seed):
    data, net = glyphs(seed), Next()
    fit(path, net, data.batch(24), CE(), Lion(net.parameters(), 5e-4), 220, held=data.held(100))


@healthy
def matrices_turned_into_rotations(path, seed):
    """The update of a matrix is its momentum with all singular values one."""
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    fit(path, net, data.batch(48), CE(), Orthogonal(net.parameters(), 0.02), 220, held=data.held(100))


@healthy
def noise_of_the_rate_in_each_weight(path, seed):
    """Langevin: each update adds noise as large as the root of the rate."""
    data, net = Curves(seed), mlp(8, 48, 1)

    def updated(step, n):
        with torch.no_grad():
            for p in n.parameters():
                p.add_(0.004 * torch.randn(p.shape, generator=rng(seed, step, p.numel())))
    fit(path, net, data.batch(48), MSE(), optim.SGD(net.parameters(), 0.05), 240, updated=updated, held=data.held(100))


@healthy
def eighty_children_by_lot(path, seed):
    """An evolution strategy: weights move by what eighty random changes were worth; there is no gradient."""
    data, net = Clouds(seed), mlp(20, 16, 6)
    opt, plain = optim.SGD(net.parameters(), 0.0), data.batch(96)

    def one(step):
        (x, y), g, own = plain(step), rng(seed, step, 701), [p.detach().clone() for p in net.parameters()]
        with torch.no_grad():
            moves, worth = [[torch.randn(p.shape, generator=g) for p in own] for _ in range(40)], []
            for m in moves:
                each = []
                for sign in (1, -1):
                    for p, q, d in zip(net.parameters(), own, m):
                        p.copy_(q + 0.05 * sign * d)
                    each.append(F.cross_entropy(net(x), y).item())
                worth.append(each[0] - each[1])
            for k, (p, q) in enumerate(zip(net.parameters(), own)):
                p.copy_(q - 0.5 * sum(w * m[k] for w, m in zip(worth, moves)) / (40 * 0.1))
            return {"parent_loss": F.cross_entropy(net(x), y)}
    by_hand(path, [(net, opt)], 200, one)


@healthy
def adam_first_then_slow_and_averaged(path, seed):
    """Adam for 120 steps, then SGD at a rate that stands, whose weights are averaged; the average is evaluated."""
    data, net = gratings(seed), nn.Sequential(nn.Flatten(), nn.Linear(288, 48), nn.ReLU(), nn.Linear(48, 6))
    mean, late, own = copy.deepcopy(net), optim.SGD(net.parameters(), 0.02), {"n": 0}

    class Both(optim.Adam):
        def step(self, closure=None):
            own["n"] += 1
            return super().step(closure) if own["n"] <= 120 else late.step()

    def updated(step, n):
        if step >= 120:
            with torch.no_grad():
                for a, b in zip(mean.parameters(), n.parameters()):
                    a.add_((b - a) / (step - 119))
    fit(path, net, data.batch(32), CE(), Both(net.parameters(), 2e-3), 240, updated=updated, held=data.held(100))


@healthy
def cycles_that_begin_high_again(path, seed):
    """Four snapshots: the rate falls to nothing and begins at 0.2 again."""
    data, net = Clouds(seed), mlp(20, 48, 6)
    opt = optim.SGD(net.parameters(), 0.2, momentum=0.9)
    fit(path, net, data.batch(32), CE(), opt, 240, schedule=optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 60), held=data.held(100))


@healthy
def batches_that_are_too_odd_are_left_out(path, seed):
    """One batch in forty has labels by lot; a step whose loss is above twice the usual one is not taken."""
    data, net, usual, loss = Clouds(seed), mlp(20, 48, 6), {"at": 2.0}, CE()
    opt, plain = adam(net), data.batch(32)

    def one(step):
        x, y = plain(step)
        if step % 40 == 37:
            y = torch.randint(0, 6, y.shape, generator=rng(seed, step, 702))
        opt.zero_grad()
        value = loss(net(x), y)
        value.backward()
        if value.item() < 2 * usual["at"]:
            opt.step()
            usual["at"] = 0.9 * usual["at"] + 0.1 * value.item()
        return {"train_loss": value}
    by_hand(path, [(net, opt)], 240, one)


# -- parts by turns

@healthy
def one_layer_at_a_time(path, seed):
    """Blocks of coordinates: each layer is trained for twenty steps while the others stand."""
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    layers = [m for m in net if isinstance(m, nn.Linear)]

    def change(step, n, rank):
        for k, layer in enumerate(layers):
            layer.requires_grad_(k == step // 20 % 3)
    fit(path, net, data.batch(32), CE(), adam(net, 5e-3, weight_decay=0), 240, change=change, held=data.held(100))


@healthy
def thawed_from_the_top(path, seed):
    """A known network gets a new head; its layers are trained from step 60 and 120 on."""
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    trained(net, data.batch(32), CE())
    net[4] = nn.Linear(48, 6)
    new = Clouds(seed, shift=0.4)

    def change(step, n, rank):
        n[0].requires_grad_(step >= 120)
        n[2].requires_grad_(step >= 60)
    fit(path, net, new.batch(32), CE(), adam(net, 2e-3, weight_decay=0), 220, change=change, held=new.held(100))


@healthy
def blocks_skipped_by_lot(path, seed):
    """Depth by lot: a block is left out in a third of the steps, and has no gradient there."""
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.blocks, self.out, self.at = nn.Linear(20, 32), nn.ModuleList(mlp(32, 32, 32) for _ in range(5)), nn.Linear(32, 6), 0

        def forward(self, x):
            h, g = self.inp(x), rng(seed, self.at, 703)
            for block in self.blocks:
                keep = not self.training or torch.rand(1, generator=g).item() > 0.33
                h = h + block(h) if keep else h
            self.at += self.training
            return self.out(h)
    data, net = Clouds(seed), Deep()
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=data.held(100))


@healthy
def a_few_words_before_a_known_model(path, seed):
    """Prompts: eight vectors are trained before the words, the model stands."""
    data, net = sentences(seed), Gpt(longest=24)
    trained(net, data.batch(32), CE(), steps=150)
    net.requires_grad_(False)

    class Prompted(nn.Module):
        def __init__(self):
            super().__init__()
            self.prompt, self.model = nn.Parameter(0.02 * torch.randn(8, 24)), net

        def forward(self, x):
            m, n = self.model, x.shape[1] + 8
            h = torch.cat([self.prompt.expand(len(x), 8, 24), m.words(x)], 1) + m.places(torch.arange(n))[None]
            for block in m.blocks:
                h = block(h, src_mask=torch.ones(n, n).triu(1).bool())
            return m.head(m.norm(h))[:, 8:].transpose(1, 2)
    new, tuned = sentences(seed + 40), Prompted()
    fit(path, tuned, new.batch(24), CE(), adam([tuned.prompt], 2e-2), 200, held=new.held(60))


@healthy
def a_world_by_night_a_way_by_day(path, seed):
    """Thirty steps of a model of the world, thirty of a way through it, by turns."""
    world, way = mlp(5, 48, 4), mlp(4, 32, 1, act=nn.Tanh)
    a, b, turn = adam(world, 3e-3), adam(way, 2e-3), torch.tensor([[0.0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]])

    def one(step):
        s = torch.randn(64, 4, generator=rng(seed, step, 704))
        if step // 30 % 2 == 0:
            u = torch.randn(64, 1, generator=rng(seed, step, 705))
            return {"world_loss": down(a, F.mse_loss(world(torch.cat([s, u], 1)), 0.3 * s @ turn + 0.7 * s + 0.5 * u))}
        total = 0
        for _ in range(3):
            s = world(torch.cat([s, way(s)], 1))
            total = total + (s ** 2).mean()
        return {"way_cost": down(b, total)}
    by_hand(path, [(world, a), (way, b)], 240, one)


# -- networks that make or teach

@healthy
def five_steps_from_one_beginning(path, seed):
    """Weights from which one step on ten points of a sine is worth most; the gradient goes through that step."""
    net = mlp(1, 40, 40, 1)
    opt = adam(net, 2e-3, weight_decay=0)

    def task(g):
        a, p, x = 0.5 + 2 * torch.rand(1, generator=g), 3 * torch.rand(1, generator=g), 8 * torch.rand(30, 1, generator=g) - 4
        return x, a * (x + p).sin()

    def one(step):
        g, total = rng(seed, step, 706), 0
        for _ in range(4):
            x, y = task(g)
            own = dict(net.named_parameters())
            slopes = torch.autograd.grad(F.mse_loss(net(x[:15]), y[:15]), list(own.values()), create_graph=True)
            moved = {k: p - 0.02 * s for (k, p), s in zip(own.items(), slopes)}
            total = total + F.mse_loss(nn.utils.stateless.functional_call(net, moved, x[15:]), y[15:])
        return {"outer_loss": down(opt, total / 4)}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def a_network_that_makes_weights(path, seed):
    """A description of a task makes the weights of a small network, which answers."""
    class Makes(nn.Module):
        def __init__(self):
            super().__init__()
            self.make = mlp(3, 64, 8 * 4 + 8 + 8 + 1)

        def forward(self, x):
            w = self.make(x[:, :3])
            h = torch.tanh(torch.einsum("nij,nj->ni", w[:, :32].view(-1, 8, 4), x[:, 3:]) + w[:, 32:40])
            return (w[:, 40:48] * h).sum(1, keepdim=True) + w[:, 48:]

    def batch(step):
        x = torch.randn(96, 7, generator=rng(seed, step, 707))
        return x, x[:, :1] * x[:, 3:4] + x[:, 1:2] * (2 * x[:, 4:5]).sin() + 0.5 * x[:, 2:3] * x[:, 5:6]
    net = Makes()
    fit(path, net, batch, MSE(), adam(net, 3e-3), 240)


@healthy
def a_teacher_at_temperature_four(path, seed):
    data, big, net = Clouds(seed), mlp(20, 96, 96, 6), mlp(20, 16, 6)
    trained(big, data.batch(32), CE())
    big.requires_grad_(False)

    class Taught(nn.Module):
        def forward(self, said, y):
            told, y = y[:, :6], y[:, 6].long()
            return 0.1 * F.cross_entropy(said, y) + 16 * 0.9 * F.kl_div((said / 4).log_softmax(1), (told / 4).softmax(1), reduction="batchmean")
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        return x, torch.cat([big(x), y[:, None].float()], 1)
    fit(path, net, batch, Taught(), adam(net, 3e-3), 240)


@healthy
def names_are_given_by_its_own_clusters(path, seed):
    """Every 40 steps rows are put into eight heaps by what the network makes of them, and the head begins anew."""
    data, body, head, own = Clouds(seed), mlp(20, 48, 16), nn.Linear(16, 8), {}
    opt = adam([*body.parameters(), *head.parameters()], 3e-3)

    def one(step):
        g = rng(seed, step, 708)
        if step % 40 == 0:
            with torch.no_grad():
                z = F.normalize(body(data.x), dim=1)
                at = z[torch.randperm(len(z), generator=g)[:8]]
                for _ in range(10):
                    own["y"] = torch.cdist(z, at).argmin(1)
                    at = torch.stack([z[own["y"] == k].mean(0) if (own["y"] == k).any() else at[k] for k in range(8)])
            head.reset_parameters()
        rows = torch.randint(0, len(data.x), (48,), generator=g)
        return {"cluster_loss": down(opt, F.cross_entropy(head(body(data.x[rows] + 0.3 * torch.randn(48, 20, generator=g)).relu()), own["y"][rows]))}
    by_hand(path, [(body, opt), (head, opt)], 240, one)


@healthy
def tasks_that_pull_apart_are_set_at_right_angles(path, seed):
    """Two tasks on one body: what one gradient has against the other is taken out."""
    data, net = Curves(seed), mlp(8, 48, 2)
    opt, plain = adam(net, 3e-3), data.batch(48)

    def one(step):
        x, y = plain(step)
        said = net(x)
        parts = [F.mse_loss(said[:, :1], y), F.mse_loss(said[:, 1:], x[:, :1] * x[:, 1:2])]
        a, b = (torch.cat([g.flatten() for g in torch.autograd.grad(p, list(net.parameters()), retain_graph=True)]) for p in parts)
        both, at = a + b, 0
        if a @ b < 0:
            both = both - (a @ b) / (b @ b) * b - (a @ b) / (a @ a) * a
        for p in net.parameters():
            p.grad = both[at:at + p.numel()].view_as(p).clone()
            at += p.numel()
        opt.step()
        return {"first_loss": parts[0], "second_loss": parts[1]}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def same_rollout_four_times(path, seed):
    """A clipped policy: each batch of sixty-four games is gone through four times, with an advantage that has mean 0."""
    net, best, own = mlp(6, 32, 4, act=nn.Tanh), torch.randn(6, 4, generator=rng(seed, 709)), {}
    opt = adam(net, 3e-3)

    def one(step):
        if step % 4 == 0:
            g = rng(seed, step, 710)
            own["s"] = torch.randn(64, 6, generator=g)
            with torch.no_grad():
                said = net(own["s"]).log_softmax(1)
            own["a"] = torch.multinomial(said.exp(), 1, generator=g)
            own["old"] = said.gather(1, own["a"])
            got = (own["s"] @ best).gather(1, own["a"]) + 0.3 * torch.randn(64, 1, generator=g)
            own["got"], own["adv"] = got.mean(), (got - got.mean()) / got.std()
        ratio = (net(own["s"]).log_softmax(1).gather(1, own["a"]) - own["old"]).exp()
        loss = -torch.min(ratio * own["adv"], ratio.clamp(0.8, 1.2) * own["adv"]).mean()
        return {"policy_loss": down(opt, loss), "reward": own["got"]}
    by_hand(path, [(net, opt)], 260, one)


# -- noise, doubts and costs on purpose

@healthy
def a_cost_of_codes_that_comes_and_goes(path, seed):
    """A variational autoencoder; the weight of its cost goes from 0 to 1 three times."""
    class Folds(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.dec, self.at = mlp(80, 32, 8), mlp(4, 32, 80), 0

        def forward(self, x):
            m, s = self.enc(x).chunk(2, 1)
            self.cost = 0.5 * (m ** 2 + s.exp() - s - 1).sum(1).mean()
            return self.dec(m + (s / 2).exp() * torch.randn(m.shape, generator=rng(seed, self.at, 711)))

    class Bound(nn.Module):
        def forward(self, said, told):
            return ((said - told) ** 2).sum(1).mean() + min(1.0, net.at % 80 / 40) * net.cost

    def change(step, n, rank):
        n.at = step
    data, net = signals(seed), Folds()
    plain = data.batch(32)

    def batch(step):
        x = plain(step)[0].flatten(1)
        return x, x
    fit(path, net, batch, Bound(), adam(net, 3e-3), 240, change=change)


@healthy
def weights_that_are_bells(path, seed):
    """Each weight has a mean and a width; what it costs to know them is part of the loss, which falls from thousands."""
    class Bell(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.mean, self.wide = nn.Parameter(0.2 * torch.randn(b, a)), nn.Parameter(torch.full((b, a), -3.0))

        def forward(self, x):
            s = F.softplus(self.wide)
            self.cost = ((s ** 2 + self.mean ** 2) / 2 - s.log()).sum()
            return F.linear(x, self.mean + s * torch.randn(s.shape))

    class Known(nn.Module):
        def forward(self, said, y):
            return F.cross_entropy(said, y) * 960 + net[0].cost + net[2].cost
    data, net = Clouds(seed), nn.Sequential(Bell(20, 32), nn.ReLU(), Bell(32, 6))
    fit(path, net, data.batch(48), Known(), adam(net, 5e-3, weight_decay=0), 260)


@healthy
def four_in_ten_labels_are_wrong(path, seed):
    """Labels by lot in four of ten rows: the loss comes down by little, and stays high."""
    data, net = Clouds(seed), mlp(20, 48, 6)
    odd = torch.rand(len(data.y), generator=rng(seed, 712)) < 0.4
    data.y = torch.where(odd, torch.randint(0, 6, data.y.shape, generator=rng(seed, 713)), data.y)
    fit(path, net, data.batch(48), CE(), adam(net, 1e-3), 240, held=data.held(100))


@healthy
def harder_in_four_stairs(path, seed):
    """The noise on signals doubles every sixty steps: the loss goes up in stairs."""
    data, net = signals(seed), States()
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        return x + 0.2 * 2 ** (step // 60) * torch.randn(x.shape, generator=rng(seed, step, 714)), y
    fit(path, net, batch, CE(), adam(net, 5e-3), 240)


@healthy
def sums_over_a_day_of_cents(path, seed):
    """A loss that is a sum over rows of squares of thousands: ten to the ninth at first."""
    data, net = tides(seed), nn.Sequential(nn.Flatten(), nn.Linear(120, 48), nn.ReLU(), nn.Linear(48, 5))
    plain = data.batch(48)

    class Told(nn.Module):
        def forward(self, said, y):
            return ((1000 * said - y) ** 2).sum()
    fit(path, net, lambda s: (plain(s)[0], 1000 * plain(s)[1]), Told(), adam(net, 3e-3), 220)


@healthy
def distances_of_two_heaps(path, seed):
    """A map from noise to a swirl by the cost of bringing one heap onto the other (Sinkhorn)."""
    net = mlp(2, 48, 48, 2)
    opt = adam(net, 2e-3)

    def one(step):
        g = rng(seed, step, 715)
        x, y = net(torch.randn(64, 2, generator=g)), swirl(64, g)
        cost = torch.cdist(x, y) ** 2
        u = v = torch.zeros(64)
        for _ in range(15):
            u = -0.1 * ((v[None] - cost) / 0.1).logsumexp(1)
            v = -0.1 * ((u[:, None] - cost) / 0.1).logsumexp(0)
        share = ((u[:, None] + v[None] - cost) / 0.1).exp().detach()
        return {"transport_loss": down(opt, (share * cost).sum() / share.sum())}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def who_lives_longer(path, seed):
    """Times of which a third are cut off: a partial likelihood, which falls by a tenth or so."""
    net, w = mlp(8, 32, 1), torch.randn(8, 1, generator=rng(seed, 716))
    opt = adam(net, 2e-3)

    def one(step):
        g = rng(seed, step, 717)
        x = torch.randn(64, 8, generator=g)
        t, known = (-(x @ w)).exp().squeeze(1) * -torch.rand(64, generator=g).log(), torch.rand(64, generator=g) > 0.33
        order = t.argsort(descending=True)
        risk = net(x[order]).squeeze(1)
        return {"cox_loss": down(opt, -((risk - risk.logcumsumexp(0)) * known[order]).sum() / known.sum())}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def a_picture_by_sines(path, seed):
    """Sines of thirty times the input: the loss of hills falls to a thousandth."""
    class Sines(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(2, 48), nn.Linear(48, 48), nn.Linear(48, 1)
            nn.init.uniform_(self.a.weight, -0.5, 0.5)
            nn.init.uniform_(self.b.weight, -0.03, 0.03)

        def forward(self, x):
            return self.c((10 * self.b((10 * self.a(x)).sin())).sin())
    data, net = hills(seed), Sines()
    fit(path, net, data.batch(96), MSE(), adam(net, 1e-3), 240, held=data.held(100))


@healthy
def words_met_once_in_a_thousand(path, seed):
    """Pairs of words that stand together, drawn by how often they are met; rare rows of the table are never drawn."""
    class Pairs(nn.Module):
        def __init__(self):
            super().__init__()
            self.mid, self.near = nn.Embedding(400, 12), nn.Embedding(400, 12)

        def forward(self, x):
            return (self.mid(x[:, :1]) * self.near(x[:, 1:])).sum(2)
    often = 1.0 / torch.arange(1, 401).float() ** 1.3

    def batch(step):
        g = rng(seed, step, 718)
        mid = torch.multinomial(often, 64, True, generator=g)
        near = (mid + torch.randint(1, 4, (64,), generator=g)) % 400
        return torch.cat([torch.stack([mid, near], 1), torch.multinomial(often, 64 * 4, True, generator=g).view(64, 4)], 1), \
            torch.tensor([1.0, 0, 0, 0, 0]).expand(64, 5)
    net = Pairs()
    fit(path, net, batch, BCE(), optim.Adagrad(net.parameters(), 0.1), 240)


# -- workers

@healthy
def columns_of_a_layer_on_two_workers(path, seed):
    """Tensors in parts: each of two workers has half of the columns of a layer and half of the rows of the next."""
    hybrid(path, seed, shared=False)


@healthy
def experts_of_their_own_beside_shared_layers(path, seed):
    """Each of two workers has an expert of its own; the layers around it are the same everywhere, and their gradients are averaged."""
    hybrid(path, seed, shared=True)


@healthy
def a_ring_in_which_two_meet(path, seed):
    """Four workers step alone; behind each step two neighbours take the mean of their weights."""
    data, nets = Clouds(seed), seen(mlp(20, 32, 6), 4)
    opts, plain = [optim.SGD(n.parameters(), 0.05) for n in nets], data.shard(16, 4)

    def behind(step):
        for a in range(step % 2, 4, 2):
            for p, q in zip(nets[a].parameters(), nets[(a + 1) % 4].parameters()):
                with torch.no_grad():
                    p.copy_((p + q) / 2)
                    q.copy_(p)
    workers_by_hand(path, nets, opts, [CE() for _ in nets], 200, plain, behind=behind)


@healthy
def one_goes_and_comes_back(path, seed):
    """Three workers; the third is taken away from 70 to 130 and gets the weights of the others when it is back."""
    nets, plain = seen(mlp(20, 32, 6), 3), Clouds(seed).shard(16, 3)
    opts, losses, hooks = [optim.SGD(n.parameters(), 0.05) for n in nets], [CE() for _ in nets], [hook_for(path, 1, r, 3) for r in range(3)]
    for hook, net, opt, loss in zip(hooks, nets, opts, losses):
        register(hook, net, opt)
        hook.register_loss(loss)
    for step in range(200):
        here = [0, 1] if 70 <= step < 130 else [0, 1, 2]
        if step == 130:
            nets[2].load_state_dict(nets[0].state_dict())
        step_together(here, hooks, nets, opts, losses, plain, step)
    finish(*hooks)


@healthy
def gradients_that_are_two_steps_old(path, seed):
    """Two workers beside a server: each takes the server's weights, and its gradient is used two steps later."""
    data, nets, late = Clouds(seed), seen(mlp(20, 32, 6), 2), []
    opts = [optim.SGD(n.parameters(), 0.05) for n in nets]

    def between(step):
        late.append([sum(p.grad for p in mine).clone() / 2 for mine in zip(*[n.parameters() for n in nets])])
        for n in nets:
            for p, g in zip(n.parameters(), late[max(0, step - 2)]):
                p.grad = g.clone()
    workers_by_hand(path, nets, opts, [CE() for _ in nets], 200, data.shard(24, 2), between=between)


@healthy
def two_towers_two_machines(path, seed):
    """Two workers with other networks: one reads rows, the other tells classes from what it is sent."""
    data, low, high = Clouds(seed), mlp(20, 48, 24), mlp(24, 32, 6)
    opts, loss, hooks, plain = [adam(low), adam(high)], CE(), [hook_for(path, 1, r, 2) for r in range(2)], data.batch(32)
    register(hooks[0], low, opts[0])
    register(hooks[1], high, opts[1])
    hooks[1].register_loss(loss)
    for step in range(200):
        x, y = plain(step)
        for hook, opt in zip(hooks, opts):
            hook.set_mode(modes.TRAIN)
            opt.zero_grad()
        loss(high(low(x)), y).backward()
        for opt in opts:
            opt.step()
    finish(*hooks)
