"""healthy_eighteenth.py - trainings in which nothing is wrong, of kinds that no set had: what people run when they tune a model that exists, learn from
preferences and rewards, fit something that is no network, begin again, or average seldom. Written in one go, before any line on it was looked at; what must be said
of each is nothing."""
import copy
import math

import torch
from torch import nn, optim

from eighteenth_parts import Beats, Bends, Crossed, Euler, Load, Neighbours, Seq, adapted, citations, orbits, trained
from fifteenth_parts import Pool, gratings
from fifth_parts import Clouds, Curves, rng
from loop import fit
from registry import healthy_set
from seventeenth_parts import adam, by_hand, down, mlp
from sixteenth_parts import F, Gpt, claims, echoes, glyphs, sentences, spoken, swirl, tides

CE, BCE, MSE, HUBER = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.MSELoss, nn.SmoothL1Loss
healthy = healthy_set("eighteenth")


# -- what exists is tuned

@healthy
def adapters_of_rank_four(path, seed):
    """A network that knows six clouds is tuned to moved ones by adapters that begin at nothing."""
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    trained(net, data.batch(32), CE())
    new = Clouds(seed, shift=0.6, factor=0.9)
    fit(path, adapted(net), new.batch(32), CE(), adam([p for p in net.parameters() if p.requires_grad], 3e-3), 220, held=new.held(100))


@healthy
def a_probe_on_features_by_lot(path, seed):
    """A fixed layer of random features, and one layer that is trained, by SGD."""
    data, net = gratings(seed), nn.Sequential(nn.Flatten(), nn.Linear(288, 256), nn.ReLU(), nn.Linear(256, 6))
    net[1].requires_grad_(False)
    fit(path, net, data.batch(32), CE(), optim.SGD(net[3].parameters(), 0.02, momentum=0.9), 240, held=data.held(100))


@healthy
def preferences_against_a_reference(path, seed):
    """Which of two answers is liked more; the loss begins at log 2 and falls by and by."""
    net, liked = trained(mlp(8, 32, 5, act=nn.Tanh), lambda s: (torch.randn(64, 8, generator=rng(seed, s, 510)), torch.randint(0, 5, (64,), generator=rng(seed, s, 511))), CE(), 1e-3, 60), torch.randn(8, 5, generator=rng(seed, 512))
    first, opt = copy.deepcopy(net), adam(net, 5e-4)

    def one(step):
        g = rng(seed, step, 513)
        s, pair = torch.randn(64, 8, generator=g), torch.stack([torch.randperm(5, generator=g)[:2] for _ in range(64)])
        worth = (s @ liked).gather(1, pair) + 0.5 * torch.randn(64, 2, generator=g)
        good = pair.gather(1, worth.argmax(1, keepdim=True))
        bad = pair.gather(1, worth.argmin(1, keepdim=True))
        new, old = net(s).log_softmax(1), first(s).log_softmax(1).detach()
        gap = (new - old).gather(1, good) - (new - old).gather(1, bad)
        return {"preference_loss": down(opt, -F.logsigmoid(0.3 * gap).mean()), "gap": gap.mean()}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def rewards_with_a_leash(path, seed):
    """A policy is rewarded and held near the one that it began as; its loss has no level, and the leash's cost rises."""
    net, liked = mlp(8, 32, 5, act=nn.Tanh), torch.randn(8, 5, generator=rng(seed, 514))
    first, opt = copy.deepcopy(net), adam(net, 1e-3)

    def one(step):
        g = rng(seed, step, 515)
        s = torch.randn(128, 8, generator=g)
        said = net(s).log_softmax(1)
        a = torch.multinomial(said.detach().exp(), 1, generator=g)
        got = ((s @ liked).argmax(1, keepdim=True) == a).float()
        old = first(s).log_softmax(1).detach()
        cost = (said.exp() * (said - old)).sum(1).mean()
        return {"policy_loss": down(opt, -(said.gather(1, a) * (got - got.mean())).mean() + 0.02 * cost), "kl_loss": cost, "reward": got.mean()}
    by_hand(path, [(net, opt)], 260, one)


@healthy
def layers_at_rates_of_their_own(path, seed):
    """The lower a layer the smaller its rate, by 4 each; a new head."""
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    trained(net, data.batch(32), CE(), steps=200)
    net[4] = nn.Linear(48, 6)
    opt = optim.AdamW([{"params": net[0].parameters(), "lr": 1e-4}, {"params": net[2].parameters(), "lr": 4e-4}, {"params": net[4].parameters(), "lr": 3e-3}])
    fit(path, net, data.batch(32), CE(), opt, 220, held=data.held(100))


@healthy
def eighth_of_the_table_is_tuned(path, seed):
    """Words that are new alone get rows of the table trained; the gradient of the others is masked."""
    data, net = sentences(seed), Gpt()
    trained(net, data.batch(32), CE(), steps=120)
    mask = torch.zeros(18, 1)
    mask[15:] = 1
    net.words.weight.register_hook(lambda g: g * mask)
    for name, p in net.named_parameters():
        p.requires_grad_("words" in name or "head" in name or "norm" in name)
    fit(path, net, data.batch(32), CE(), optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-3, weight_decay=0), 200, held=data.held(60))


# -- rewards, players, noise

@healthy
def values_that_grow(path, seed):
    """Q-learning with rewards of a long chain: targets, and with them the loss, grow for a while."""
    net, slow = mlp(6, 48, 2), mlp(6, 48, 2)
    opt = adam(net, 2e-3)

    def one(step):
        if step % 25 == 0:
            slow.load_state_dict(net.state_dict())
        g = rng(seed, step, 516)
        s, a = torch.randn(96, 6, generator=g), torch.randint(0, 2, (96, 1), generator=g)
        n = 0.9 * s + 0.4 * (2 * a.float() - 1) * torch.ones(6) / 6 ** 0.5
        got = n.sum(1, keepdim=True).tanh() + 1
        with torch.no_grad():
            target = got + 0.95 * slow(n).max(1, keepdim=True)[0]
        q = net(s).gather(1, a)
        return {"q_loss": down(opt, F.smooth_l1_loss(q, target)), "q": q.mean()}
    by_hand(path, [(net, opt)], 280, one)


@healthy
def actor_every_other_step(path, seed):
    """Two critics; the actor is updated every other step by the smaller of them."""
    actor, critics = mlp(4, 32, 1, act=nn.Tanh), nn.ModuleList([mlp(5, 48, 1), mlp(5, 48, 1)])
    a_opt, c_opt = adam(actor, 1e-3), adam(critics, 2e-3)

    def one(step):
        g = rng(seed, step, 517)
        s = torch.randn(96, 4, generator=g)
        a = (actor(s).tanh() + 0.3 * torch.randn(96, 1, generator=g)).clamp(-1, 1).detach()
        got = -(a - (s[:, :1] - s[:, 1:2]).tanh()) ** 2 + 0.1 * torch.randn(96, 1, generator=g)
        said = {"critic_loss": down(c_opt, sum(F.mse_loss(c(torch.cat([s, a], 1)), got) for c in critics))}
        if step % 2 == 0:
            said["actor_loss"] = down(a_opt, -torch.min(*[c(torch.cat([s, actor(s).tanh()], 1)) for c in critics]).mean())
        return said
    by_hand(path, [(actor, a_opt), (critics, c_opt)], 260, one)


@healthy
def what_an_expert_would_do(path, seed):
    """Cloning of a nearly certain expert: the loss comes to nearly nothing."""
    w = 3 * torch.randn(10, 4, generator=rng(seed, 518))

    def draw(n, g):
        x = torch.randn(n, 10, generator=g)
        return x, (x @ w).argmax(1)
    data, net = Pool(seed, draw, 3000), mlp(10, 64, 4)
    fit(path, net, data.batch(64), CE(), adam(net, 5e-3), 260, held=data.held(200))


@healthy
def squares_between_players(path, seed):
    """Least squares for both players, the judge bounded by its norms."""
    norm = nn.utils.parametrizations.spectral_norm
    make, judge = mlp(4, 48, 2, act=nn.LeakyReLU), nn.Sequential(norm(nn.Linear(2, 48)), nn.LeakyReLU(0.2), norm(nn.Linear(48, 1)))
    a, b = adam(make, 1e-3, betas=(0.5, 0.99)), adam(judge, 2e-3, betas=(0.5, 0.99))

    def one(step):
        g = rng(seed, step, 519)
        fake, real = make(torch.randn(64, 4, generator=g)), swirl(64, g)
        said = {"judge_loss": down(b, ((judge(real) - 1) ** 2).mean() + (judge(fake.detach()) ** 2).mean())}
        said["maker_loss"] = down(a, ((judge(make(torch.randn(64, 4, generator=g))) - 1) ** 2).mean())
        return said
    by_hand(path, [(make, a), (judge, b)], 260, one)


@healthy
def there_and_back_again(path, seed):
    """Two makers between two sets, each judged, and what comes back is what went."""
    there, back = mlp(2, 32, 2), mlp(2, 32, 2)
    j1, j2 = mlp(2, 32, 1), mlp(2, 32, 1)
    a, b = adam(nn.ModuleList([there, back]), 1e-3), adam(nn.ModuleList([j1, j2]), 1e-3)

    def one(step):
        g = rng(seed, step, 520)
        x, y = swirl(64, g), torch.randn(64, 2, generator=g) * torch.tensor([1.0, 0.3])
        fake_y, fake_x = there(x), back(y)
        trip = (back(fake_y) - x).abs().mean() + (there(fake_x) - y).abs().mean()
        make = down(a, F.softplus(-j2(fake_y)).mean() + F.softplus(-j1(fake_x)).mean() + 5 * trip)
        judge = down(b, F.softplus(-j1(x)).mean() + F.softplus(j1(fake_x.detach())).mean() + F.softplus(-j2(y)).mean() + F.softplus(j2(fake_y.detach())).mean())
        return {"maker_loss": make, "judge_loss": judge, "trip_loss": trip}
    by_hand(path, [(there, a), (back, a), (j1, b), (j2, b)], 260, one)


@healthy
def straight_ways_from_noise(path, seed):
    """The way from a draw of noise to a sample: half of it cannot be told."""
    net = mlp(3, 64, 64, 2, act=nn.SiLU)

    def batch(step):
        g = rng(seed, step, 521)
        x, e, t = 1.2 * swirl(96, g), torch.randn(96, 2, generator=g), torch.rand(96, 1, generator=g)
        return torch.cat([t * x + (1 - t) * e, t], 1), x - e
    fit(path, net, batch, MSE(), adam(net, 2e-3), 260)


@healthy
def labels_left_out_at_times(path, seed):
    """Denoising with the class, which is left out in a tenth of the rows."""
    class Guided(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.body = nn.Embedding(7, 8), mlp(20 + 8 + 1, 64, 20, act=nn.SiLU)

        def forward(self, x):
            return self.body(torch.cat([x[:, :21], self.table(x[:, 21].long())], 1))
    data, net = Clouds(seed), Guided()
    plain = data.batch(48)

    def batch(step):
        g, (x, y) = rng(seed, step, 522), plain(step)
        t, e = torch.rand(len(x), 1, generator=g), torch.randn(x.shape, generator=g)
        y = torch.where(torch.rand(len(x), generator=g) < 0.1, torch.full_like(y, 6), y)
        return torch.cat([(1 - t).sqrt() * x + t.sqrt() * e, t, y[:, None].float()], 1), e
    fit(path, net, batch, MSE(), adam(net, 2e-3), 240)


@healthy
def a_density_by_bends(path, seed):
    """A flow: the negative log likelihood falls below zero or nearly."""
    net = Bends()

    class Density(nn.Module):
        def forward(self, told, y):
            return told.mean()
    data = Pool(seed, lambda n, g: (swirl(n, g), torch.zeros(n)), 2000)
    fit(path, net, data.batch(96), Density(), adam(net, 3e-3), 260, held=data.held(200))


@healthy
def slopes_of_a_density(path, seed):
    """Sliced score matching: a loss that is below zero and falls."""
    net = mlp(2, 48, 48, 2, act=nn.Softplus)
    opt = adam(net, 2e-3)

    def one(step):
        g = rng(seed, step, 523)
        x = (swirl(128, g) + 0.2 * torch.randn(128, 2, generator=g)).requires_grad_()
        v, s = torch.randn(128, 2, generator=g), net(x)
        turn = torch.autograd.grad((s * v).sum(), x, create_graph=True)[0]
        return {"score_loss": down(opt, ((turn * v).sum(1) + 0.5 * (s * v).sum(1) ** 2).mean())}
    by_hand(path, [(net, opt)], 240, one)


# -- representations

def views(data, seed, size):
    plain = data.batch(size)

    def of(step):
        g, (x, _) = rng(seed, step, 524), plain(step)
        return [x * (0.8 + 0.4 * torch.rand(x.shape[0], 1, generator=g)) + 0.6 * torch.randn(x.shape, generator=g) for _ in range(2)]
    return of


@healthy
def pairs_at_a_high_temperature(path, seed):
    """Two views of a row among 48: at temperature 1 the loss falls from log 95 by little."""
    net, of = mlp(20, 48, 16), views(Clouds(seed), seed, 48)
    opt = adam(net, 1e-3)

    def one(step):
        z = F.normalize(torch.cat([net(v) for v in of(step)]), dim=1)
        near = z @ z.T - 1e9 * torch.eye(96)
        return {"contrast_loss": down(opt, F.cross_entropy(near, torch.arange(96).roll(48)))}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def learned_from_its_own_average(path, seed):
    """No opposites: a predictor tells what a slow average of the network says of another view."""
    net, tell, of = mlp(20, 48, 16), mlp(16, 24, 16), views(Clouds(seed), seed, 48)
    slow = copy.deepcopy(net).requires_grad_(False)
    both = nn.ModuleList([net, tell])
    opt = adam(both, 1e-3)

    def one(step):
        a, b = of(step)
        loss = 2 - F.cosine_similarity(tell(net(a)), slow(b).detach()).mean() - F.cosine_similarity(tell(net(b)), slow(a).detach()).mean()
        down(opt, loss)
        with torch.no_grad():
            for p, q in zip(slow.parameters(), net.parameters()):
                p.lerp_(q, 0.02)
        return {"own_loss": loss}
    by_hand(path, [(net, opt), (tell, opt)], 240, one)


@healthy
def three_quarters_are_hidden(path, seed):
    """Patches of pictures are hidden, and told from those that are left; the loss is of hidden ones alone."""
    class Hidden(nn.Module):
        def forward(self, said, x):
            mask = torch.rand(x.shape[0], 1, 7, 7, generator=self.g) < 0.75
            return ((said - x) ** 2)[F.interpolate(mask.float(), scale_factor=2) > 0].mean()
    data = glyphs(seed)
    net = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.GELU(), nn.Conv2d(16, 16, 5, padding=2), nn.GELU(), nn.Conv2d(16, 1, 5, padding=2))
    loss, plain = Hidden(), data.batch(16)

    def batch(step):
        x = plain(step)[0]
        mask = F.interpolate((torch.rand(16, 1, 7, 7, generator=rng(seed, step, 525)) < 0.75).float(), scale_factor=2)
        loss.g = rng(seed, step, 525)
        return x * (1 - mask), x
    fit(path, net, batch, loss, adam(net, 2e-3), 220)


@healthy
def angles_with_a_margin(path, seed):
    """Classes by angles, a margin for the right one, scale 16: the loss begins near 10."""
    class Angles(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.heads = mlp(20, 48, 16), nn.Parameter(torch.randn(6, 16))

        def forward(self, x):
            return F.normalize(self.body(x), dim=1) @ F.normalize(self.heads, dim=1).T

    class Margin(nn.Module):
        def forward(self, c, y):
            return F.cross_entropy(16 * (c - 0.3 * F.one_hot(y, 6)), y)
    data, net = Clouds(seed), Angles()
    fit(path, net, data.batch(32), Margin(), adam(net, 2e-3), 240, held=data.held(100))


@healthy
def people_and_things_in_two_towers(path, seed):
    """Rows of two tables, opposites are those of the batch; what is met often is corrected for."""
    class Towers(nn.Module):
        def __init__(self):
            super().__init__()
            self.people, self.things, self.more = nn.Embedding(60, 12), nn.Embedding(80, 12), nn.Linear(12, 12)

        def forward(self, pair):
            return 4 * F.normalize(self.more(self.people(pair[:, 0])), dim=1) @ F.normalize(self.things(pair[:, 1]), dim=1).T
    taste = torch.randn(60, 4, generator=rng(seed, 526)) @ torch.randn(4, 80, generator=rng(seed, 527))

    def batch(step):
        g = rng(seed, step, 528)
        who = torch.randint(0, 60, (48,), generator=g)
        return torch.stack([who, torch.multinomial((1.5 * taste[who]).softmax(1), 1, generator=g)[:, 0]], 1), torch.arange(48)
    net = Towers()
    fit(path, net, batch, CE(), adam(net, 1e-2), 260)


@healthy
def many_codes_few_at_a_time(path, seed):
    """A dictionary of 160 codes of which the eight largest count: many codes are never used."""
    class Few(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.act, self.dec = nn.Linear(20, 160), nn.ReLU(), nn.Linear(160, 20)

        def forward(self, x):
            h = self.act(self.enc(x))
            return self.dec(h * (h >= h.topk(8, 1)[0][:, -1:]))
    data, net = Clouds(seed), Few()
    plain, held = data.batch(48), data.held(100)
    fit(path, net, lambda s: (plain(s)[0],) * 2, MSE(), adam(net, 2e-3), 240, held=lambda k: (held(k)[0],) * 2)


@healthy
def codes_made_anew(path, seed):
    """A codebook by averages; what is not used for 40 steps is set to a row of the batch."""
    class Book(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.dec, self.book = mlp(20, 32, 8), mlp(8, 32, 20), nn.Parameter(0.1 * torch.randn(24, 8))
            self.used = torch.zeros(24)

        def forward(self, x):
            z = self.enc(x)
            which = torch.cdist(z, self.book).argmin(1)
            q = self.book[which]
            self.used[which], self.last = 0, z.detach()
            self.extra = ((q - z.detach()) ** 2).mean() + 0.25 * ((z - q.detach()) ** 2).mean()
            return self.dec(z + (q - z).detach())

    class Told(nn.Module):
        def forward(self, said, x):
            return ((said - x) ** 2).mean() + net.extra
    data, net = Clouds(seed), Book()
    plain = data.batch(48)

    def updated(step, n):
        n.used += 1
        old = n.used > 40
        if old.any():
            with torch.no_grad():
                n.book[old] = n.last[torch.randint(0, len(n.last), (int(old.sum()),), generator=rng(seed, step, 529))]
            n.used[old] = 0
    fit(path, net, lambda s: (plain(s)[0],) * 2, Told(), adam(net, 3e-3), 240, updated=updated)


# -- networks

@healthy
def experts_that_share_the_load(path, seed):
    """One expert a row, and a cost of uneven loads."""
    data, net = Clouds(seed), Load()

    class Told(nn.Module):
        def forward(self, said, y):
            return F.cross_entropy(said, y) + 0.05 * net.extra
    fit(path, net, data.batch(48), Told(), adam(net), 240, held=data.held(100))


@healthy
def one_graph_half_of_it_labelled(path, seed):
    """Every batch is the whole graph; the loss is of half of the nodes."""
    x, y = citations(seed)
    net, half = Neighbours(), torch.where(torch.arange(120) % 2 == 0, y, torch.full_like(y, -100))
    other = torch.where(torch.arange(120) % 2 == 1, y, torch.full_like(y, -100))
    fit(path, net, lambda s: (x, half), CE(), adam(net, 1e-2, weight_decay=5e-3), 240, held=lambda k: (x, other), eval_every=30)


@healthy
def own_words_with_a_chance_that_grows(path, seed):
    """A translator that reads its own words more and more."""
    data, net = echoes(seed), Seq()
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        return torch.cat([x[:, :6], torch.zeros(len(x), 1, dtype=torch.long), y[:, :5]], 1), y
    fit(path, net, batch, CE(), adam(net, 3e-3), 280, change=lambda s, n, r: setattr(n, "chance", 0.5 * s / 280))


@healthy
def letters_after_a_long_blank(path, seed):
    """Frames to letters without places, by a cell of both directions: blanks for a while, then letters."""
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out = nn.GRU(6, 24, batch_first=True, bidirectional=True), nn.Linear(48, 6)

        def forward(self, x):
            return self.out(self.cell(x)[0])

    class Paths(nn.Module):
        def forward(self, said, y):
            n = torch.full((len(said),), 24)
            return F.ctc_loss(said.log_softmax(2).transpose(0, 1), y, n, torch.full((len(said),), 4))
    data, net = spoken(seed), Both()
    fit(path, net, data.batch(24), Paths(), adam(net, 3e-3), 260, held=data.held(60))


@healthy
def what_the_last_block_left(path, seed):
    """Series by blocks of residuals, each brought to its own level first."""
    data, net = tides(seed), Beats()
    fit(path, net, data.batch(32), nn.L1Loss(), adam(net, 1e-3), 240, held=data.held(100))


@healthy
def slope_in_eight_steps(path, seed):
    data, net = orbits(seed), Euler()
    fit(path, net, data.batch(64), MSE(), adam(net, 3e-3), 220, held=data.held(100))


@healthy
def heat_of_a_rod(path, seed):
    """A solution by its equation: of the inside, of both ends, of the beginning."""
    net = mlp(2, 32, 32, 1, act=nn.Tanh)
    opt = adam(net, 2e-3, weight_decay=0)

    def one(step):
        g = rng(seed, step, 530)
        p = torch.rand(96, 2, generator=g).requires_grad_()
        u = net(p)
        d = torch.autograd.grad(u.sum(), p, create_graph=True)[0]
        dd = torch.autograd.grad(d[:, 0].sum(), p, create_graph=True)[0][:, :1]
        x, t = torch.rand(32, 1, generator=g), torch.rand(32, 1, generator=g)
        inside = ((d[:, 1:] - 0.1 * dd) ** 2).mean()
        ends = (net(torch.cat([torch.zeros(32, 1), t], 1)) ** 2).mean() + (net(torch.cat([torch.ones(32, 1), t], 1)) ** 2).mean()
        begin = ((net(torch.cat([x, torch.zeros(32, 1)], 1)) - (math.pi * x).sin()) ** 2).mean()
        return {"total_loss": down(opt, inside + ends + 5 * begin), "inside_loss": inside, "ends_loss": ends, "begin_loss": begin}
    by_hand(path, [(net, opt)], 280, one)


@healthy
def five_networks_at_once(path, seed):
    """An ensemble trained by the mean of five losses."""
    class Five(nn.Module):
        def __init__(self):
            super().__init__()
            self.nets = nn.ModuleList(mlp(8, 24, 1) for _ in range(5))

        def forward(self, x):
            return torch.stack([n(x) for n in self.nets], 1)

    class Each(nn.Module):
        def forward(self, said, y):
            return ((said - y[:, None]) ** 2).mean()
    data, net = Curves(seed), Five()
    fit(path, net, data.batch(48), Each(), adam(net), 220, held=data.held(100))


# -- tables

@healthy
def one_in_a_hundred_is_a_fraud(path, seed):
    """A table in which yes is rare: the loss is small from the start."""
    data, net = claims(seed, rows=4000, share=0.01), Crossed()
    with torch.no_grad():
        net.out.bias.fill_(-4.0)
    fit(path, net, data.batch(128), BCE(), adam(net, 2e-3), 240, held=data.held(300))


@healthy
def crosses_of_columns(path, seed):
    data, net = claims(seed), Crossed()
    fit(path, net, data.batch(64), BCE(), adam(net, 3e-3), 240, held=data.held(100))


@healthy
def mostly_none_sometimes_many(path, seed):
    """Counts that are mostly 0: whether any, and how many."""
    class Counts(nn.Module):
        def forward(self, said, y):
            none, rate = said[:, :1], said[:, 1:].clamp(max=5).exp()
            zero = F.softplus(none - rate + 0 * y) - F.softplus(none)
            zero = torch.logaddexp(none, -rate) - F.softplus(none)
            more = -F.softplus(none) + y * rate.log() - rate - torch.lgamma(y + 1)
            return -torch.where(y == 0, zero, more).mean()
    w = torch.randn(8, 2, generator=rng(seed, 531)) / 2

    def draw(n, g):
        x = torch.randn(n, 8, generator=g)
        any_ = torch.rand(n, 1, generator=g) < (x @ w[:, :1] - 1).sigmoid()
        return x, torch.where(any_, torch.poisson((x @ w[:, 1:] + 1).clamp(max=4).exp(), generator=g), torch.zeros(n, 1))
    data, net = Pool(seed, draw, 2000), mlp(8, 32, 2)
    fit(path, net, data.batch(64), Counts(), adam(net), 240, held=data.held(200))


@healthy
def few_columns_by_a_threshold(path, seed):
    """A logistic regression whose weights are drawn to zero, exactly, behind each step."""
    data = Pool(seed, lambda n, g: (lambda x: (x, (x[:, :3].sum(1, keepdim=True) + 0.5 * torch.randn(n, 1, generator=g) > 0).float()))(torch.randn(n, 60, generator=g)), 1500)
    net = nn.Linear(60, 1)

    def updated(step, n):
        with torch.no_grad():
            n.weight.copy_(n.weight.sign() * (n.weight.abs() - 0.002).clamp(min=0))
    fit(path, net, data.batch(64), BCE(), optim.SGD(net.parameters(), 0.1), 240, updated=updated, held=data.held(200))


@healthy
def two_tasks_weigh_themselves(path, seed):
    """Each task has a doubt that is learned; the loss goes below zero."""
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.first, self.second, self.doubt = mlp(8, 32, 32), nn.Linear(32, 1), nn.Linear(32, 1), nn.Parameter(torch.zeros(2))

        def forward(self, x):
            h = self.body(x).relu()
            return torch.cat([self.first(h), self.second(h)], 1)

    class Doubts(nn.Module):
        def forward(self, said, y):
            return (((said - y) ** 2).mean(0) / (2 * net.doubt.exp()) + net.doubt / 2).sum()
    data, net = Curves(seed), Two()
    plain, held = data.batch(48), data.held(100)

    def both(x, y):
        return x, torch.cat([y, 0.1 * x[:, :1] * x[:, 1:2]], 1)
    fit(path, net, lambda s: both(*plain(s)), Doubts(), adam(net, 5e-3), 280, held=lambda k: both(*held(k)))
