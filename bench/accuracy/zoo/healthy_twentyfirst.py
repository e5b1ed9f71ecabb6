"""healthy_twentyfirst.py - a twenty-first set in which nothing is wrong: curvature, teachers that follow, values that grow, judges and makers, losses that are masked or
weighed by themselves; the rest is in healthy_twentyfirst_more.py. Written in one go, before any line on it was looked at; what must be said of each is nothing."""
import copy

import torch
from torch import nn, optim

from eighteenth_parts import trained
from fifth_parts import Clouds, Curves, rng
from loop import fit
from registry import healthy_set
from seventeenth_parts import adam, by_hand, down, mlp
from sixteenth_parts import F, swirl
from twentyfirst_parts import Masked, Stepper, by_diagonal, by_sides, norms_bounded, without_schedule

CE, BCE, MSE = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.MSELoss
healthy = healthy_set("twentyfirst")


# -- steps

@healthy
def curvature_of_the_diagonal(path, seed):
    data, net = Clouds(seed), mlp(20, 24, 6)
    fit(path, net, data.batch(32), CE(), Stepper(net.parameters(), by_diagonal, lr=3e-3), 220, held=data.held(64))


@healthy
def roots_of_both_sides(path, seed):
    data, net = Clouds(seed), mlp(20, 24, 6)
    fit(path, net, data.batch(32), CE(), Stepper(net.parameters(), by_sides, lr=0.05), 220, held=data.held(64))


@healthy
def no_schedule_but_a_mean_of_points(path, seed):
    data, net = Clouds(seed), mlp(20, 24, 6)
    fit(path, net, data.batch(32), CE(), Stepper(net.parameters(), without_schedule, lr=0.5), 220, held=data.held(64))


@healthy
def gradients_centred_and_cut_by_weights(path, seed):
    data, net = Curves(seed), mlp(8, 24, 1)
    fit(path, net, data.batch(32), MSE(), Stepper(net.parameters(), norms_bounded, lr=0.3), 220, held=data.held(64))


@healthy
def as_far_as_the_loss_is_high(path, seed):
    """Polyak: the rate of each step is the loss over the square of the gradient, at most one."""
    data, net, loss = Curves(seed), mlp(8, 24, 1), MSE()
    opt, plain = optim.SGD(net.parameters(), 1.0), data.batch(48)

    def one(step):
        x, y = plain(step)
        opt.zero_grad()
        value = loss(net(x), y)
        value.backward()
        opt.param_groups[0]["lr"] = min(1.0, (0.5 * value / sum((p.grad ** 2).sum() for p in net.parameters())).item())
        opt.step()
        return {"train_loss": value}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def errors_go_back_by_lot(path, seed):
    """Feedback alignment: errors go back through fixed matrices drawn by lot."""
    data, a, b, back = Clouds(seed), nn.Linear(20, 32), nn.Linear(32, 6), 0.3 * torch.randn(6, 32, generator=rng(seed, 801))
    net = nn.Sequential(a, nn.Tanh(), b)
    opt, plain = optim.SGD(net.parameters(), 0.1), data.batch(48)

    def one(step):
        x, y = plain(step)
        h = a(x).tanh()
        said = net(x)
        value = F.cross_entropy(said, y)
        e = (said.softmax(1) - F.one_hot(y, 6)).detach() / len(x)
        d = (e @ back) * (1 - h.detach() ** 2)
        a.weight.grad, a.bias.grad, b.weight.grad, b.bias.grad = d.T @ x, d.sum(0), e.T @ h.detach(), e.sum(0)
        opt.step()
        return {"train_loss": value}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def rate_that_doubles_while_it_pays(path, seed):
    """A bold driver: the rate grows by 3 % a step, and is halved where the loss rose by a fifth."""
    data, net, seen = Curves(seed), mlp(8, 24, 1), {"before": 9.0}
    opt, plain = optim.SGD(net.parameters(), 1e-3), data.batch(64)

    def one(step):
        x, y = plain(step)
        value = down(opt, F.mse_loss(net(x), y))
        opt.param_groups[0]["lr"] = min(0.3, opt.param_groups[0]["lr"] * (0.5 if value.item() > 1.2 * seen["before"] else 1.03))
        seen["before"] = value.item()
        return {"train_loss": value}
    by_hand(path, [(net, opt)], 240, one)


# -- what is adapted, what stands

@healthy
def vectors_between_matrices_by_lot(path, seed):
    """A known network; of an adapter through shared matrices by lot only two vectors are trained (VeRA)."""
    class Vera(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, g = base.requires_grad_(False), rng(seed, 802)
            self.down_weight = nn.Parameter(torch.randn(8, base.in_features, generator=g) / 4, False)
            self.up_weight = nn.Parameter(torch.randn(base.out_features, 8, generator=g) / 4, False)
            self.d_weight, self.b_weight = nn.Parameter(torch.full((8,), 0.1)), nn.Parameter(torch.zeros(base.out_features))

        def forward(self, x):
            return self.base(x) + self.b_weight * ((x @ self.down_weight.T * self.d_weight) @ self.up_weight.T)
    data, net, new = Clouds(seed), mlp(20, 32, 6), Clouds(seed, shift=0.5)
    trained(net, data.batch(32), CE(), steps=200)
    net = nn.Sequential(Vera(net[0]), nn.ReLU(), Vera(net[2]))
    fit(path, net, new.batch(32), CE(), adam([p for p in net.parameters() if p.requires_grad], 1e-2, weight_decay=0), 220, held=new.held(64))


@healthy
def one_tower_is_locked(path, seed):
    """Pairs of two views; the tower of the first is known and stands, the second is trained to meet it."""
    data, locked, learns = Clouds(seed), mlp(20, 24, 12), mlp(10, 24, 12)
    trained(nn.Sequential(locked, nn.ReLU(), nn.Linear(12, 6)), data.batch(32), CE(), steps=200)
    locked.requires_grad_(False)
    opt, plain = adam(learns), data.batch(48)

    def one(step):
        x, _ = plain(step)
        a, b = F.normalize(locked(x), dim=1), F.normalize(learns(x[:, :10] + 0.1), dim=1)
        return {"pair_loss": down(opt, F.cross_entropy(b @ a.T / 0.1, torch.arange(len(x))))}
    by_hand(path, [(locked, opt), (learns, opt)], 220, one)


@healthy
def a_pool_by_lot_and_a_readout(path, seed):
    """An echo state: 80 cells by lot that stand, and a readout that is trained."""
    class Echo(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.read = nn.RNN(1, 60, batch_first=True).requires_grad_(False), nn.Linear(60, 1)

        def forward(self, x):
            return self.read(self.cell(x)[0][:, -1])

    def batch(step):
        g = rng(seed, step, 803)
        t = torch.arange(21).float() * (0.2 + 0.4 * torch.rand(32, 1, generator=g)) + 6 * torch.rand(32, 1, generator=g)
        return t.sin()[:, :-1, None], t.sin()[:, -1:]
    net = Echo()
    fit(path, net, batch, MSE(), optim.Adam(net.read.parameters(), 5e-3), 220)


@healthy
def channels_taken_out_for_good(path, seed):
    """At 100 a third of the units are set to zero and kept there; the rest goes on."""
    data, net = Clouds(seed), mlp(20, 36, 6)

    def updated(step, n):
        if step >= 100:
            with torch.no_grad():
                n[0].weight[:12], n[0].bias[:12] = 0, 0
    fit(path, net, data.batch(32), CE(), adam(net), 220, updated=updated, held=data.held(64))


@healthy
def born_again_from_what_it_was(path, seed):
    """At 110 the network is begun anew and learns from what it said before, too."""
    data, net, old, loss = Clouds(seed), mlp(20, 24, 6), {}, CE()
    opt, plain = adam(net, 5e-3), data.batch(32)

    def one(step):
        x, y = plain(step)
        if step == 110:
            old["net"] = copy.deepcopy(net).requires_grad_(False)
            for m in (net[0], net[2]):
                m.reset_parameters()
            opt.state.clear()
        value = loss(net(x), y)
        if old:
            value = 0.5 * value + 0.5 * F.cross_entropy(net(x), old["net"](x).softmax(1))
        return {"train_loss": down(opt, value)}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def weights_brought_to_one_before_use(path, seed):
    """Weight standardisation and norms of groups."""
    class Standard(nn.Conv1d):
        def forward(self, x):
            w = self.weight - self.weight.mean((1, 2), keepdim=True)
            return F.conv1d(x, w / (w.std((1, 2), keepdim=True) + 1e-5), self.bias, padding=1)
    net = nn.Sequential(Standard(1, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), Standard(8, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), nn.AdaptiveAvgPool1d(2), nn.Flatten(), nn.Linear(16, 3))

    def batch(step):
        g = rng(seed, step, 804)
        y = torch.randint(0, 3, (32,), generator=g)
        return ((y[:, None] + 1) * 0.35 * torch.arange(20) + 6 * torch.rand(32, 1, generator=g)).sin()[:, None] + 0.3 * torch.randn(32, 1, 20, generator=g), y
    fit(path, net, batch, CE(), adam(net, 5e-3), 200, held=lambda k: batch(9000 + k))


# -- teachers and memories

@healthy
def sharpened_and_centred_by_its_slow_self(path, seed):
    """DINO: the teacher is a slow average, its answers are centred and sharpened; the loss stays about the logarithm of the number of answers."""
    data, net = Clouds(seed), mlp(20, 32, 16)
    slow, centre, opt, plain = copy.deepcopy(net).requires_grad_(False), torch.zeros(16), adam(net, 2e-3), data.batch(48)

    def one(step):
        nonlocal centre
        x, _ = plain(step)
        a, b = (x + 0.2 * torch.randn(x.shape, generator=rng(seed, step, k, 805)) for k in (1, 2))
        t = slow(a)
        value = down(opt, -(((t - centre) / 0.05).softmax(1) * (net(b) / 0.1).log_softmax(1)).sum(1).mean())
        with torch.no_grad():
            centre = 0.9 * centre + 0.1 * t.mean(0)
            for p, q in zip(slow.parameters(), net.parameters()):
                p.lerp_(q, 0.02)
        return {"dino_loss": value}
    by_hand(path, [(net, opt), (slow, opt)], 220, one)


@healthy
def each_row_is_a_class_in_a_bank(path, seed):
    """A bank with one code for each of 300 rows, moved half of the way at each visit; rows are told from all others."""
    data, net = Clouds(seed, rows=300), mlp(20, 24, 8)
    bank, opt = F.normalize(torch.randn(300, 8, generator=rng(seed, 806)), dim=1), adam(net, 5e-3)

    def one(step):
        rows = torch.randint(0, 300, (48,), generator=rng(seed, step, 807))
        z = F.normalize(net(data.x[rows] + 0.1 * torch.randn(48, 20, generator=rng(seed, step, 808))), dim=1)
        value = down(opt, F.cross_entropy(z @ bank.T / 0.1, rows))
        bank[rows] = F.normalize(0.5 * bank[rows] + 0.5 * z.detach(), dim=1)
        return {"bank_loss": value}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def two_that_choose_rows_for_each_other(path, seed):
    """Co-teaching: a third of the labels is wrong; each of two networks learns from the rows whose loss is small in the other."""
    data, nets = Clouds(seed), [mlp(20, 24, 6), mlp(20, 24, 6)]
    odd = torch.rand(len(data.y), generator=rng(seed, 809)) < 0.33
    data.y = torch.where(odd, torch.randint(0, 6, data.y.shape, generator=rng(seed, 810)), data.y)
    opts, plain = [adam(n) for n in nets], data.batch(48)

    def one(step):
        x, y = plain(step)
        each = [F.cross_entropy(n(x), y, reduction="none") for n in nets]
        keep = [e.detach().argsort()[:max(30, 48 - step // 5)] for e in each]
        return {"%s_loss" % name: down(opts[k], each[k][keep[1 - k]].mean()) for k, name in enumerate(("first", "second"))}
    by_hand(path, list(zip(nets, opts)), 220, one)


@healthy
def consistent_with_its_own_average_on_a_path(path, seed):
    """A consistency model: what it says on a noisy point is what its average says on a less noisy one."""
    net = mlp(3, 32, 32, 2)
    slow, opt = copy.deepcopy(net).requires_grad_(False), adam(net, 1e-3)

    def one(step):
        g = rng(seed, step, 811)
        x, e, t = swirl(64, g), torch.randn(64, 2, generator=g), 0.05 + 0.9 * torch.rand(64, 1, generator=g)

        def told(m, s):
            return (1 - s) * (x + s * e) + s * m(torch.cat([x + s * e, s], 1))
        value = down(opt, ((told(net, t) - told(slow, t - 0.04)) ** 2).mean())
        with torch.no_grad():
            for p, q in zip(slow.parameters(), net.parameters()):
                p.lerp_(q, 0.05)
        return {"consistency_loss": value}
    by_hand(path, [(net, opt)], 220, one)


# -- rewards

@healthy
def returns_in_forty_bins(path, seed):
    """Values as shares of bins (C51) of a walk; the goal copied every forty steps: the cross entropy rises as returns spread."""
    net = mlp(4, 32, 2 * 20)
    goal, opt, at = copy.deepcopy(net).requires_grad_(False), adam(net, 2e-3), torch.linspace(-2, 8, 20)

    def one(step):
        g = rng(seed, step, 812)
        if step % 40 == 0:
            goal.load_state_dict(net.state_dict())
        s, a = torch.randn(64, 4, generator=g), torch.randint(0, 2, (64,), generator=g)
        r, s2 = (s[:, 0] > 0).float() * (a * 2 - 1), 0.9 * s + 0.3 * torch.randn(64, 4, generator=g)
        q = goal(s2).view(64, 2, 20).softmax(2)
        best = q[torch.arange(64), (q * at).sum(2).argmax(1)]
        place = ((r[:, None] + 0.9 * at).clamp(-2, 8) + 2) / 10 * 19
        low = place.floor().long().clamp(max=18)
        told = torch.zeros(64, 20).scatter_add(1, low, best * (1 - (place - low))).scatter_add(1, low + 1, best * (place - low))
        return {"bins_loss": down(opt, -(told * net(s).view(64, 2, 20)[torch.arange(64), a].log_softmax(1)).sum(1).mean())}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def curious_of_what_it_cannot_tell(path, seed):
    """A predictor of a network by lot (RND); new rooms open at 80 and 160, and its loss jumps there."""
    lot, net = mlp(4, 24, 8).requires_grad_(False), mlp(4, 32, 8)
    opt = adam(net, 3e-3)

    def one(step):
        x = 0.5 * torch.randn(64, 4, generator=rng(seed, step, 813)) + 2.5 * (step // 80)
        return {"novelty_loss": down(opt, ((net(x) - 3 * lot(x)) ** 2).mean())}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def flows_that_meet_a_reward(path, seed):
    """A GFlowNet: the balance of trajectories, with a learned logarithm of the sum whose rate is 30 times larger."""
    net, total = mlp(5, 32, 2), nn.Linear(1, 1, bias=False)
    opt = optim.Adam([{"params": net.parameters(), "lr": 3e-3}, {"params": total.parameters(), "lr": 0.1}])

    def one(step):
        g = rng(seed, step, 814)
        s, said = torch.zeros(48, 4), 0
        for t in range(4):
            share = net(torch.cat([s, torch.full((48, 1), float(t))], 1)).log_softmax(1)
            a = torch.multinomial(share.detach().exp(), 1, generator=g)
            said = said + share.gather(1, a).squeeze(1)
            s = s.clone()
            s[:, t] = a.squeeze(1).float() * 2 - 1
        reward = 3 * (s.sum(1).abs() == 2).float() + 2 * (s[:, 0] == s[:, 3]).float()
        return {"balance_loss": down(opt, ((total(torch.ones(1, 1)).squeeze() + said - reward) ** 2).mean())}
    by_hand(path, [(net, opt), (total, opt)], 240, one)


@healthy
def a_gain_that_is_made_as_large_as_it_can(path, seed):
    """What is recorded as loss is minus a gain: it begins at 0 and falls to minus tens."""
    net = mlp(3, 32, 2)
    opt = adam(net, 5e-3)

    def one(step):
        s = torch.randn(64, 3, generator=rng(seed, step, 815))
        a = 3 * net(s).tanh()
        return {"objective_loss": down(opt, -(10 + 5 * (a[:, 0] * s[:, 0] + a[:, 1] * s[:, 1]) - (a ** 2).sum(1)).mean())}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def entropy_falls_while_reward_rises(path, seed):
    """A policy by its reward less the mean of the others of the batch (leave one out); the surrogate swings about 0 and returns rise."""
    net = mlp(4, 24, 5)
    opt, good = adam(net, 5e-3), torch.randn(4, 5, generator=rng(seed, 816))

    def one(step):
        g = rng(seed, step, 817)
        s = torch.randn(64, 4, generator=g)
        share = net(s).log_softmax(1)
        a = torch.multinomial(share.detach().exp(), 4, True, generator=g)
        r = (s @ good).gather(1, a) + 0.5 * torch.randn(64, 4, generator=g)
        edge = (r - r.mean(1, keepdim=True)) * 4 / 3
        value = down(opt, -(edge * share.gather(1, a)).mean() + 0.01 * (share.exp() * share).sum(1).mean())
        return {"policy_loss": value, "mean_return": r.mean()}
    by_hand(path, [(net, opt)], 220, one)


# -- makers and judges

@healthy
def two_speeds_and_slopes_at_what_is_real(path, seed):
    """A maker and a judge (not saturating) at rates of one to four, with a price of slopes at real points, and an average of the maker."""
    make, judge = mlp(2, 32, 2), mlp(2, 32, 1)
    a, b, slow = optim.Adam(make.parameters(), 5e-4, (0.0, 0.9)), optim.Adam(judge.parameters(), 2e-3, (0.0, 0.9)), copy.deepcopy(make).requires_grad_(False)

    def one(step):
        g = rng(seed, step, 818)
        real, z = swirl(64, g).requires_grad_(), torch.randn(64, 2, generator=g)
        said = judge(real)
        slope = torch.autograd.grad(said.sum(), real, create_graph=True)[0]
        second = down(b, F.softplus(judge(make(z).detach())).mean() + F.softplus(-said).mean() + 0.5 * (slope ** 2).sum(1).mean())
        first = down(a, F.softplus(-judge(make(z))).mean())
        with torch.no_grad():
            for p, q in zip(slow.parameters(), make.parameters()):
                p.lerp_(q, 0.01)
        return {"judge_loss": second, "maker_loss": first}
    by_hand(path, [(make, a), (judge, b)], 240, one)


@healthy
def a_judge_of_norm_one_five_times_a_turn(path, seed):
    """Spectral norms on the judge, whose loss is a hinge; five updates of it for one of the maker."""
    make, judge = mlp(2, 24, 2), nn.Sequential(*(nn.utils.parametrizations.spectral_norm(m) if isinstance(m, nn.Linear) else m for m in mlp(2, 32, 1)))
    a, b = optim.Adam(make.parameters(), 1e-3, (0.5, 0.9)), optim.Adam(judge.parameters(), 3e-3, (0.5, 0.9))

    def one(step):
        g = rng(seed, step, 819)
        real, z = swirl(64, g), torch.randn(64, 2, generator=g)
        told = {"judge_loss": down(b, F.relu(1 - judge(real)).mean() + F.relu(1 + judge(make(z).detach())).mean())}
        if step % 5 == 4:
            told["maker_loss"] = down(a, -judge(make(z)).mean())
        return told
    by_hand(path, [(make, a), (judge, b)], 240, one)


# -- losses

@healthy
def tasks_of_which_most_rows_say_nothing(path, seed):
    """Two targets, each missing in 19 of 20 rows: in some batches one has no row at all."""
    data, net = Curves(seed), mlp(8, 32, 2)
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        y = torch.cat([y, -y + 0.3 * x[:, :1]], 1)
        return x, torch.where(torch.rand(32, 2, generator=rng(seed, step, 820)) < 0.1, y, torch.tensor(float("nan")))
    fit(path, net, batch, Masked(), adam(net, 5e-3), 260)


@healthy
def parts_of_an_equation_weigh_themselves(path, seed):
    """An equation with its edges: the weight of the edges grows until its gradient is as large as that of the inside; the sum rises with it."""
    net, weight = mlp(1, 24, 24, 1, act=nn.Tanh), {"edge": 1.0}
    opt = adam(net, 3e-3, weight_decay=0)

    def one(step):
        x = torch.rand(48, 1, generator=rng(seed, step, 821)).requires_grad_()
        u = net(x)
        d = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        dd = torch.autograd.grad(d.sum(), x, create_graph=True)[0]
        inside, edge = ((dd + 40 * (6.28 * x).sin()) ** 2).mean(), (net(torch.tensor([[0.0], [1.0]])) ** 2).mean()
        if step % 20 == 19:
            weight["edge"] = min(200.0, 0.5 * weight["edge"] + 0.5 * (inside / (edge + 1e-3)).item())
        return {"pde_loss": down(opt, inside + weight["edge"] * edge), "residual": inside}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def energies_in_joules(path, seed):
    """Targets of ten to the eleventh with no scale taken out; the last layer multiplies by as much. The loss is of ten to the 22nd."""
    class Joules(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp(8, 24, 1)

        def forward(self, x):
            return 1e11 * self.net(x)
    data, net = Curves(seed), Joules()
    plain = data.batch(48)
    fit(path, net, lambda s: (plain(s)[0], 1e11 * plain(s)[1]), MSE(), adam(net, 5e-3), 220)


@healthy
def degrees_above_absolute_zero(path, seed):
    """Targets about 290 that vary by five; the bias of the last layer begins there."""
    data, net = Curves(seed), mlp(8, 32, 1)
    with torch.no_grad():
        net[-1].bias.fill_(290.0)
    plain = data.batch(48)
    fit(path, net, lambda s: (plain(s)[0], 290 + 5 * plain(s)[1]), MSE(), adam(net, 1e-2), 240)


@healthy
def likelihood_of_a_process_over_points(path, seed):
    """Three parameters and a feature map by the marginal likelihood of a Gaussian process: it is negative and falls below minus a hundred."""
    class Process(nn.Module):
        def __init__(self):
            super().__init__()
            self.map, self.noise_weight = mlp(1, 16, 2, act=nn.Tanh), nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return self.map(x)
    net, x = Process(), torch.linspace(-2, 2, 80)[:, None]
    y, opt = (3 * x).sin() + 0.03 * torch.randn(80, 1, generator=rng(seed, 822)), adam(net, 1e-2, weight_decay=0)

    def one(step):
        k = (-torch.cdist(net(x), net(x)) ** 2).exp() + (net.noise_weight - 2).exp() * torch.eye(80) + 1e-5 * torch.eye(80)
        low = torch.linalg.cholesky(k)
        return {"nll_loss": down(opt, 0.5 * (torch.cholesky_solve(y, low) * y).sum() + low.diagonal().log().sum())}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def known_ones_and_unknown_ones(path, seed):
    """Positive rows and rows without a label; the risk that is estimated falls below zero (uPU)."""
    data, net = Clouds(seed), mlp(20, 24, 1)
    opt, plain = adam(net, 2e-3), data.batch(96)

    def one(step):
        x, y = plain(step)
        said, known = net(x).squeeze(1), (y < 2) & (torch.rand(96, generator=rng(seed, step, 823)) < 0.5)
        yes = said[known]
        return {"risk_loss": down(opt, 0.33 * (F.softplus(-yes) - F.softplus(yes)).mean() + F.softplus(said[~known]).mean())}
    by_hand(path, [(net, opt)], 200, one)


@healthy
def all_rows_to_one_point(path, seed):
    """Deep SVDD: good rows alone, each drawn to one centre; the loss goes to next to nothing."""
    data = Clouds(seed)
    net = nn.Sequential(nn.Linear(20, 24, bias=False), nn.LeakyReLU(0.1), nn.Linear(24, 6, bias=False))
    with torch.no_grad():
        centre = net(data.x).mean(0)
    fit(path, net, lambda s: (data.batch(48)(s)[0], centre.expand(48, 6).clone()), MSE(), adam(net, 1e-3), 220)


@healthy
def bags_with_one_that_counts(path, seed):
    """Bags of eight rows; yes, if one of them is of class 0: attention over a bag."""
    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.row, self.look, self.out = mlp(20, 24, 16), nn.Linear(16, 1), nn.Linear(16, 1)

        def forward(self, x):
            h = self.row(x).relu()
            return self.out((self.look(h).softmax(1) * h).sum(1))
    data, net = Clouds(seed), Bag()

    def batch(step):
        rows = torch.randint(0, len(data.x), (32, 4), generator=rng(seed, step, 824))
        return data.x[rows], (data.y[rows] == 0).any(1).float()[:, None]
    fit(path, net, batch, BCE(), adam(net, 5e-3), 240)


@healthy
def capsules_agree(path, seed):
    """Capsules with two rounds of agreement and margins on their lengths."""
    class Capsules(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.votes_weight = nn.Linear(20, 32), nn.Parameter(0.3 * torch.randn(8, 6, 4, 4))

        def forward(self, x):
            u = self.inp(x).view(-1, 8, 4)
            votes, b = torch.einsum("nic,ijcd->nijd", u, self.votes_weight), 0
            for _ in range(2):
                s = ((b if torch.is_tensor(b) else torch.zeros(votes.shape[:3])).softmax(2)[..., None] * votes).sum(1)
                n = (s ** 2).sum(2, keepdim=True)
                v = n / (1 + n) * s / (n + 1e-8).sqrt()
                b = b + torch.einsum("nijd,njd->nij", votes, v)
            return (v ** 2).sum(2).add(1e-8).sqrt()

    class Margins(nn.Module):
        def forward(self, said, y):
            t = F.one_hot(y, 6)
            return (t * F.relu(0.9 - said) ** 2 + 0.5 * (1 - t) * F.relu(said - 0.1) ** 2).sum(1).mean()
    data, net = Clouds(seed), Capsules()
    fit(path, net, data.batch(32), Margins(), adam(net, 5e-3), 220)


@healthy
def places_in_the_list_as_answers(path, seed):
    """A pointer: which of eight numbers is the largest but one."""
    class Points(nn.Module):
        def __init__(self):
            super().__init__()
            self.each, self.whole, self.out = mlp(1, 24, 16), nn.Linear(16, 16), nn.Linear(32, 1)

        def forward(self, x):
            h = self.each(x[:, :, None]).relu()
            w = (8 * self.whole(h)).softmax(1)
            return self.out(torch.cat([h, (w * h).sum(1, keepdim=True).expand_as(h)], 2).relu()).squeeze(2)

    def batch(step):
        x = torch.rand(48, 8, generator=rng(seed, step, 825))
        return x, x.argsort(1)[:, -2]
    net = Points()
    fit(path, net, batch, CE(), adam(net, 5e-3), 260)


@healthy
def energy_is_kept(path, seed):
    """A Hamiltonian that is learned: its slopes by the inputs are the speeds."""
    net = mlp(2, 32, 1, act=nn.Tanh)
    opt = adam(net, 5e-3)

    def one(step):
        x = 2 * torch.randn(64, 2, generator=rng(seed, step, 826))
        q = x.requires_grad_()
        slope = torch.autograd.grad(net(q).sum(), q, create_graph=True)[0]
        return {"speed_loss": down(opt, ((torch.stack([slope[:, 1], -slope[:, 0]], 1) - torch.stack([q[:, 1], -q[:, 0].sin()], 1).detach()) ** 2).mean())}
    by_hand(path, [(net, opt)], 220, one)


@healthy
def distances_of_a_surface(path, seed):
    """A signed distance of a circle: slopes of length one, and zero on the line."""
    net = mlp(2, 32, 32, 1, act=nn.Softplus)
    opt = adam(net, 3e-3)

    def one(step):
        g = rng(seed, step, 827)
        t, free = 6.283 * torch.rand(48, 1, generator=g), (3 * torch.rand(48, 2, generator=g) - 1.5).requires_grad_()
        slope = torch.autograd.grad(net(free).sum(), free, create_graph=True)[0]
        return {"surface_loss": down(opt, net(torch.cat([t.cos(), t.sin()], 1)).abs().mean() + 0.1 * ((slope.norm(dim=1) - 1) ** 2).mean() + 0.1 * (-20 * net(free).abs()).exp().mean())}
    by_hand(path, [(net, opt)], 220, one)
