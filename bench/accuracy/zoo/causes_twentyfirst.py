"""causes_twentyfirst.py - a twenty-first set of faults for the first line: mistakes that people make with curvature, teachers, memories, values, judges, masks, equations,
raw units, evaluation, and workers that hold shards or stages. Written in one go, with the words that a right line has, before any result of it was looked at."""
import copy

import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_seventh import JUMPS, SMALL, STANDS, STILL, TOO_FAST
from fifth_parts import Clouds, Curves, rng
from loop import fit
from seventeenth_parts import adam, by_hand, down, hills, mlp
from sixteenth_parts import F, swirl
from twentyfirst_parts import Masked, Stepper, by_sides, each_updates_a_third, fleet_of

TRAININGS, cause = cause_set("twentyfirst")
MSE = nn.MSELoss
APART = r"(?i)equal at no step|not exchanged|never|began|differ|not (the )?same|apart"


# -- steps

@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS + "|dead", 0)
def curvature_is_not_kept_from_nothing(path, seed):
    """The step is divided by the curvature without a cut: where that is next to nothing, it is huge."""
    def move(p, state, group, step):
        m, h = state.setdefault("momentum", torch.zeros_like(p)), state.setdefault("curvature", torch.zeros_like(p))
        m.lerp_(p.grad, 0.1)
        h.lerp_(p.grad ** 2, 0.1)
        p.sub_(group["lr"] * m / (h + 1e-12))
    data, net = Clouds(seed), mlp(20, 24, 6)
    fit(path, net, data.batch(32), CE(), Stepper(net.parameters(), move, lr=3e-3), 220, held=data.held(64))


@cause(r"(?i)" + SMALL, 0)
def roots_of_sides_of_a_great_beginning(path, seed):
    """The sums over sides begin at 1e12: steps are next to nothing."""
    def move(p, state, group, step):
        if p.ndim == 2 and not state:
            state["left"], state["right"] = 1e12 * torch.eye(len(p)), 1e12 * torch.eye(p.shape[1])
        by_sides(p, state, group, step)
    data, net = Clouds(seed), nn.Sequential(nn.Linear(20, 24, bias=False), nn.ReLU(), nn.Linear(24, 6, bias=False))
    fit(path, net, data.batch(32), CE(), Stepper(net.parameters(), move, lr=0.05), 220, held=data.held(64))


@cause(r"(?i)" + SMALL + "|" + STANDS, 0)
def cut_at_a_share_of_weights_that_begin_at_nothing(path, seed):
    """Gradients are cut at a 50000th of the norm of the weight."""
    data, net = Curves(seed), mlp(8, 24, 1)

    def move(p, state, group, step):
        most = 2e-5 * p.norm()
        p.sub_(group["lr"] * p.grad * min(1.0, (most / (p.grad.norm() + 1e-12)).item()))
    fit(path, net, data.batch(32), MSE(), Stepper(net.parameters(), move, lr=0.1), 220, held=data.held(64))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, 60)
def rate_that_doubles_and_never_halves(path, seed):
    data, net = Curves(seed), mlp(8, 24, 1)
    opt = optim.SGD(net.parameters(), 1e-3)

    def change(step, n, rank):
        opt.param_groups[0]["lr"] = 1e-3 * 1.06 ** step
    fit(path, net, data.batch(48), MSE(), opt, 220, change=change, held=data.held(64))


@cause(r"(?i)" + STILL + "|optimizer", 0)
def mean_of_points_that_never_step(path, seed):
    """Schedule-free: the point that steps is a view of the weights at first and is copied over by the mean."""
    def move(p, state, group, step):
        z = state.setdefault("z", p.detach().clone())
        x = state.setdefault("x", p.detach().clone())
        x.lerp_(z, 1 / (step + 1))
        p.copy_(0.9 * x + 0.1 * z)
    data, net = Clouds(seed), mlp(20, 24, 6)
    fit(path, net, data.batch(32), CE(), Stepper(net.parameters(), move, lr=0.5), 200, held=data.held(64))


@cause(r"(?i)NaN|infinit|\binf\b|not finite", 70)
def a_root_of_what_is_below_zero(path, seed):
    """A side of a matrix loses its smallest share at 70, and a root of it is taken."""
    def move(p, state, group, step):
        v = state.setdefault("squares", torch.zeros_like(p)).add_(p.grad ** 2)
        p.sub_(group["lr"] * p.grad / ((v - (1e3 if step == 70 else 0)) ** 0.5 + 1e-8))
    data, net = Curves(seed), mlp(8, 24, 1)
    fit(path, net, data.batch(48), MSE(), Stepper(net.parameters(), move, lr=0.03), 180, held=data.held(64))


# -- adapted, frozen, cut

@cause(r"(?i)" + STILL + "|zero", 0)
def both_vectors_of_an_adapter_are_zero(path, seed):
    class Vera(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, g = base.requires_grad_(False), rng(seed, 802)
            self.down, self.up = torch.randn(8, base.in_features, generator=g) / 4, torch.randn(base.out_features, 8, generator=g) / 4
            self.d_weight, self.b_weight = nn.Parameter(torch.zeros(8)), nn.Parameter(torch.zeros(base.out_features))

        def forward(self, x):
            return self.base(x) + self.b_weight * ((x @ self.down.T * self.d_weight) @ self.up.T)
    data, net = Clouds(seed, shift=0.5), mlp(20, 24, 6)
    net = nn.Sequential(Vera(net[0]), nn.ReLU(), Vera(net[2]))
    fit(path, net, data.batch(32), CE(), adam([p for p in net.parameters() if p.requires_grad], 1e-2, weight_decay=0), 200, held=data.held(64))


@cause(r"(?i)" + STILL + "|gradient", 0)
def the_wrong_tower_is_locked(path, seed):
    """Both towers are locked; what is trained is a scale alone."""
    data, tower, head = Clouds(seed), mlp(20, 24, 12), nn.Linear(12, 6)

    class Locked(nn.Module):
        def __init__(self):
            super().__init__()
            self.tower, self.head, self.scale = tower, head, nn.Parameter(torch.ones(1))

        def forward(self, x):
            with torch.no_grad():
                h = self.head(self.tower(x))
            return self.scale * h
    net = Locked()
    fit(path, net, data.batch(32), CE(), adam(net, weight_decay=0), 200, held=data.held(64))


@cause(r"(?i)dead|zero|" + STILL + "|" + JUMPS, 100)
def all_channels_are_taken_out(path, seed):
    data, net = Clouds(seed), mlp(20, 24, 6)

    def updated(step, n):
        if step >= 100:
            with torch.no_grad():
                n[0].weight.zero_(), n[0].bias.zero_()
    fit(path, net, data.batch(32), CE(), adam(net), 200, updated=updated, held=data.held(64))


# -- teachers, memories

@cause(r"(?i)" + STANDS + "|stands|constant|vanish|collapse|one class|gradient|" + STILL, 0)
def pupil_and_teacher_fall_into_one_answer(path, seed):
    """DINO without centring, the teacher is the pupil itself: all rows get one answer and the loss is 0."""
    data, net = Clouds(seed), mlp(20, 32, 16)
    opt, plain = adam(net, 1e-2), data.batch(48)

    def one(step):
        x, _ = plain(step)
        a, b = (x + 0.2 * torch.randn(x.shape, generator=rng(seed, step, k, 841)) for k in (1, 2))
        return {"dino_loss": down(opt, -((net(a) / 0.04).softmax(1).detach() * (net(b) / 0.1).log_softmax(1)).sum(1).mean())}
    by_hand(path, [(net, opt)], 220, one)


@cause(r"(?i)NaN|infinit|\binf\b|not finite", 0)
def a_bank_of_nothing_is_brought_to_one(path, seed):
    """Codes of a bank begin at 0 and are divided by their length."""
    data, net = Clouds(seed), mlp(20, 24, 8)
    bank, opt = torch.zeros(300, 8), adam(net, 5e-3)

    def one(step):
        rows = torch.randint(0, 300, (48,), generator=rng(seed, step, 842))
        z = F.normalize(net(data.x[rows]), dim=1)
        return {"bank_loss": down(opt, F.cross_entropy(z @ (bank / bank.norm(dim=1, keepdim=True)).T / 0.1, rows))}
    by_hand(path, [(net, opt)], 150, one)


@cause(r"(?i)average|slow|shadow|ema|" + STILL, 0)
def ema_of_the_maker_is_made_of_a_copy(path, seed):
    """The average follows a copy of the network from the beginning."""
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp(20, 24, 6)
            self.ema = copy.deepcopy(self.net).requires_grad_(False)

        def forward(self, x):
            return self.net(x) if self.training else self.ema(x)
    data, both = Clouds(seed), Both()
    old = copy.deepcopy(both.net)

    def updated(step, n):
        with torch.no_grad():
            for p, q in zip(n.ema.parameters(), old.parameters()):
                p.lerp_(q, 0.05)
    fit(path, both, data.batch(32), CE(), adam(both.net), 220, updated=updated, held=data.held(64))


# -- values, rewards

@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|grow", 0)
def values_chase_themselves(path, seed):
    """No goal network, a share of 1.05 of the next value: values and the loss grow without end."""
    net = mlp(4, 32, 2)
    opt = adam(net, 2e-2)

    def one(step):
        g = rng(seed, step, 843)
        s, s2 = torch.randn(64, 4, generator=g), torch.randn(64, 4, generator=g)
        return {"value_loss": down(opt, ((net(s).max(1)[0] - 1 - 1.3 * net(s2).max(1)[0].detach()) ** 2).mean())}
    by_hand(path, [(net, opt)], 240, one)


@cause(r"(?i)" + JUMPS + "|return|reward|fell|" + TOO_FAST, 0)
def a_gain_is_made_as_small_as_it_can(path, seed):
    """What is recorded is the loss, minus a gain, and the step goes up it."""
    net = mlp(3, 32, 2)
    opt = adam(net, 5e-3)

    def one(step):
        s = torch.randn(64, 3, generator=rng(seed, step, 844))
        a = 3 * net(s).tanh()
        value = -(10 + 5 * (a[:, 0] * s[:, 0] + a[:, 1] * s[:, 1]) - (a ** 2).sum(1)).mean()
        down(opt, -value)
        return {"objective_loss": value}
    by_hand(path, [(net, opt)], 220, one)


@cause(r"(?i)zero|no gradient|vanish|" + STILL + "|" + STANDS, 0)
def edges_are_brought_to_one_row(path, seed):
    """The reward less the mean over one try is 0: nothing is learned."""
    net = mlp(4, 24, 5)
    opt, good = optim.Adam(net.parameters(), 5e-3), torch.randn(4, 5, generator=rng(seed, 845))

    def one(step):
        g = rng(seed, step, 846)
        s = torch.randn(64, 4, generator=g)
        share = net(s).log_softmax(1)
        a = torch.multinomial(share.detach().exp(), 1, generator=g)
        r = (s @ good).gather(1, a)
        return {"policy_loss": down(opt, -((r - r.mean(1, keepdim=True)) * share.gather(1, a)).mean())}
    by_hand(path, [(net, opt)], 200, one)


# -- makers and judges

@cause(r"(?i)" + STILL + "|gradient|vanish|judge", 0)
def judge_is_under_no_grad(path, seed):
    make, judge = mlp(2, 24, 2), mlp(2, 24, 1)
    a = optim.Adam(make.parameters(), 1e-3)

    def one(step):
        g = rng(seed, step, 847)
        real, z = swirl(64, g), torch.randn(64, 2, generator=g)
        with torch.no_grad():
            fake, true = judge(make(z)), judge(real)
        second = (F.relu(1 - true) + F.relu(1 + fake)).mean()
        first = down(a, -judge(make(z)).mean())
        return {"judge_loss": second, "maker_loss": first}
    by_hand(path, [(make, a), (judge, a)], 220, one)


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, 0)
def price_of_slopes_is_negative(path, seed):
    make, judge = mlp(2, 24, 2), mlp(2, 24, 1, act=nn.Softplus)
    a, b = optim.Adam(make.parameters(), 1e-3), optim.Adam(judge.parameters(), 1e-2)

    def one(step):
        g = rng(seed, step, 848)
        real, z = swirl(64, g).requires_grad_(), torch.randn(64, 2, generator=g)
        said = judge(real)
        slope = torch.autograd.grad(said.sum(), real, create_graph=True)[0]
        second = down(b, judge(make(z).detach()).mean() - said.mean() - 10 * (slope.norm(dim=1) - 1).pow(2).mean())
        return {"judge_loss": second, "maker_loss": down(a, -judge(make(z)).mean())}
    by_hand(path, [(make, a), (judge, b)], 220, one)


# -- losses

@cause(r"(?i)NaN|not finite|infinit", 0)
def a_task_without_a_row_is_divided_by_nothing(path, seed):
    class Divided(nn.Module):
        def forward(self, said, y):
            known = ~y.isnan()
            return sum((((said - y.nan_to_num(0.0)) ** 2) * known)[:, k].sum() / known[:, k].sum() for k in range(2))
    data, net = Curves(seed), mlp(8, 32, 2)
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        y = torch.cat([y, -y], 1)
        return x, torch.where(torch.rand(32, 2, generator=rng(seed, step, 849)) < 0.06, y, torch.tensor(float("nan")))
    fit(path, net, batch, Divided(), adam(net, 5e-3), 200)


@cause(r"(?i)target|label|one value|constant|zero", 80)
def missing_labels_become_zero_from_80(path, seed):
    """A loader that fills what is missing: from 80 on all targets are 0."""
    data, net = Curves(seed), mlp(8, 32, 1)
    fit(path, net, from_step(data.batch(32), 80, lambda x, y: (x, y * 0)), Masked(), adam(net, 5e-3), 200, held=data.held(64))


@cause(r"(?i)" + STANDS + "|" + SMALL + "|constant|answer", 0)
def edges_of_an_equation_weigh_everything(path, seed):
    """The inside of an equation weighs a ten-millionth: the answer is 0 everywhere."""
    net = mlp(1, 24, 24, 1, act=nn.Tanh)
    opt = adam(net, 3e-3, weight_decay=0)

    def one(step):
        x = torch.rand(48, 1, generator=rng(seed, step, 850)).requires_grad_()
        u = net(x)
        d = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        dd = torch.autograd.grad(d.sum(), x, create_graph=True)[0]
        inside = ((dd + 40 * (6.28 * x).sin()) ** 2).mean()
        down(opt, 1e-7 * inside + 100 * (net(torch.tensor([[0.0], [1.0]])) ** 2).mean())
        return {"residual_loss": inside}
    by_hand(path, [(net, opt)], 240, one)


@cause(r"(?i)" + STANDS + "|guess|scale|target|" + SMALL + "|large", 0)
def degrees_with_a_bias_of_nothing(path, seed):
    """Targets about 290, a network that begins at 0, a rate for targets of one."""
    data, net = Curves(seed), mlp(8, 32, 1)
    plain = data.batch(48)
    fit(path, net, lambda s: (plain(s)[0], 290 + 5 * plain(s)[1]), MSE(), adam(net, 1e-5), 240, held=lambda k: (data.held(64)(k)[0], 290 + 5 * data.held(64)(k)[1]))


@cause(r"(?i)NaN|infinit|\binf\b|not finite|overflow", 0)
def squares_of_energies_overflow(path, seed):
    """Targets of ten to the 21st: their squares are beyond float32."""
    data, net = Curves(seed), mlp(8, 24, 1)
    plain = data.batch(48)
    fit(path, net, lambda s: (plain(s)[0], 1e21 * plain(s)[1]), MSE(), adam(net, 5e-3), 150)


@cause(r"(?i)NaN|infinit|\binf\b|not finite", 60)
def a_bag_without_a_row(path, seed):
    """A mask leaves out all rows of a bag at 60: a softmax over nothing."""
    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.row, self.look, self.out, self.at = mlp(20, 24, 16), nn.Linear(16, 1), nn.Linear(16, 1), 0

        def forward(self, x):
            h, mask = self.row(x).relu(), torch.zeros(len(x), 4, 1)
            if self.at == 60:
                mask[3] = float("-inf")
            self.at += 1
            return self.out(((self.look(h) + mask).softmax(1) * h).sum(1))
    data, net = Clouds(seed), Bag()

    def batch(step):
        rows = torch.randint(0, len(data.x), (32, 4), generator=rng(seed, step, 851))
        return data.x[rows], (data.y[rows] == 0).any(1).float()[:, None]
    fit(path, net, batch, nn.BCEWithLogitsLoss(), adam(net, 5e-3), 150)


@cause(r"(?i)bound|target|label|range|" + JUMPS + "|rose", 0)
def yes_and_no_are_one_and_minus_one(path, seed):
    """A loss of shares is given targets of 1 and -1."""
    data, net = Clouds(seed), mlp(20, 24, 1)
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], 2.0 * (plain(s)[1] < 2).float()[:, None] - 1), nn.BCEWithLogitsLoss(), adam(net), 200)


@cause(r"(?i)saturat|input|large|scale|vanish", 0)
def angles_in_degrees_before_a_tanh(path, seed):
    data, net = hills(seed), mlp(2, 32, 32, 1, act=nn.Tanh)
    plain = data.batch(64)
    fit(path, net, lambda s: (180 * plain(s)[0] + 360, plain(s)[1]), MSE(), adam(net), 220)


# -- what is fed, evaluated

@cause(r"(?i)same batch|again and again|repeated", 0)
def the_loader_begins_anew_and_is_not_shuffled(path, seed):
    """A user thinks of passes; each step takes the first batch of 32, evaluation shows nothing learned."""
    data, net = Clouds(seed), mlp(20, 64, 6)
    x, y = data.batch(32)(0)
    fit(path, net, lambda s: (x.clone(), y.clone()), CE(), adam(net), 220, held=data.held(64))


@cause(r"(?i)input.*(scale|times|larger)|scale", 120)
def one_user_in_other_units_from_120(path, seed):
    data, net = Curves(seed), mlp(8, 32, 1)
    fit(path, net, from_step(data.batch(32), 120, lambda x, y: (x * 1000, y)), MSE(), adam(net), 200, held=data.held(64))


@cause(r"(?i)input.*(zero|nothing|one value)|carried nothing|column|channel", 90)
def columns_of_three_traits_are_lost(path, seed):
    data, net = Clouds(seed), mlp(20, 24, 6)

    def lost(x, y):
        x[:, 4:7] = 0
        return x, y
    fit(path, net, from_step(data.batch(32), 90, lost), CE(), adam(net), 200, held=data.held(64))


@cause(r"(?i)label.*(one class|all|0)|one class", 100)
def a_filter_of_users_leaves_one_class(path, seed):
    data, net = Clouds(seed), mlp(20, 24, 6)
    fit(path, net, from_step(data.batch(32), 100, lambda x, y: (x, y * 0 + 2)), CE(), adam(net), 200, held=data.held(64))


# -- workers

@cause(APART + "|worker", 0)
def last_layer_is_left_out_of_the_exchange(path, seed):
    """Copies exchange gradients, but those of the last layer."""
    net, plain = mlp(20, 24, 6), Clouds(seed).shard(24, 4)
    team = fleet_of(path, [copy.deepcopy(net) for _ in range(4)])
    for step in range(200):
        team.begin()
        team.backward(plain, step)
        team.exchange(lambda name: not name.startswith("2"))
        team.update()
    team.finish()


@cause(r"(?i)worker_1", 80)
def one_third_is_no_longer_handed_round(path, seed):
    """ZeRO: from 80 on what worker 1 updates does not reach the others."""
    each_updates_a_third(path, mlp(20, 24, 24, 6), Clouds(seed).shard(24, 3), 180, lambda worker, step: worker != 1 or step < 80)


@cause(APART + "|two workers|worker", 90)
def pairs_no_longer_meet(path, seed):
    """All-reduce of four falls apart into two groups at 90: a switch is down."""
    net, plain = mlp(20, 24, 6), Clouds(seed).shard(24, 4)
    team = fleet_of(path, [copy.deepcopy(net) for _ in range(4)])
    for step in range(180):
        team.begin()
        team.backward(plain, step)
        for group in ([0, 1, 2, 3],) if step < 90 else ([0, 1], [2, 3]):
            for mine in zip(*[team.nets[r].parameters() for r in group]):
                mean = sum(p.grad for p in mine) / len(mine)
                for p in mine:
                    p.grad = mean.clone()
        team.update()
    team.finish()


@cause(r"(?i)worker_2", 70)
def one_of_four_clips_alone(path, seed):
    """Behind the exchange one worker cuts its gradient at a tenth from 70 on."""
    net, plain = mlp(20, 24, 6), Clouds(seed).shard(24, 4)
    team = fleet_of(path, [copy.deepcopy(net) for _ in range(4)])
    for step in range(180):
        team.begin()
        team.backward(plain, step)
        team.exchange()
        if step >= 70:
            nn.utils.clip_grad_norm_(team.nets[2].parameters(), 0.05)
        team.update()
    team.finish()


@cause(r"(?i)worker_1", 100)
def one_client_reads_noise(path, seed):
    """Rows of one worker are noise fifty times as large as rows from 100 on."""
    net, plain = mlp(20, 24, 6), Clouds(seed).shard(24, 3)

    def batch(rank, step):
        x, y = plain(rank, step)
        return (50 * torch.randn(x.shape, generator=rng(seed, step, 852)), y) if rank == 1 and step >= 100 else (x, y)
    team = fleet_of(path, [copy.deepcopy(net) for _ in range(3)])
    for step in range(170):
        team.begin()
        team.backward(batch, step)
        team.exchange()
        team.update()
    team.finish()


@cause(r"(?i)same data|same batch|share", 0)
def all_clients_have_the_rows_of_one(path, seed):
    net, plain = mlp(20, 24, 6), Clouds(seed).batch(24)
    team = fleet_of(path, [copy.deepcopy(net) for _ in range(3)])
    for step in range(170):
        team.begin()
        team.backward(lambda rank, s: plain(s), step)
        team.exchange()
        team.update()
    team.finish()
