"""healthy_seventeenth.py - trainings in which nothing is wrong, of kinds that no set had: losses that stay near 0 or hardly fall by nature, parts that are out of
the graph by turns, updates without gradients, layers that learn alone, values of 0 and 1 within, players that are even, rates that end early, workers by turns.
Written in one go, before any line on it was looked at; what must be said of each is nothing."""
import copy
import math

import torch
from torch import nn, optim

from fifteenth_parts import Pool, gratings, signals
from fifth_parts import Clouds, rng
from loop import finish, fit, fleet, hook_for, modes, register
from registry import healthy_set
from seventeenth_parts import Bells, Grids, Links, Spiking, Splines, States, Tree, adam, by_hand, down, folds, hills, links, mlp
from sixteenth_parts import F, Gpt, Next, Tab, Tcn, claims, frames, glyphs, sentences, swirl, tides

CE, BCE, MSE, HUBER = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.MSELoss, nn.SmoothL1Loss
healthy = healthy_set("seventeenth")


class Drawn(nn.Module):
    """A number for each of a few places, drawn about what is read, and what is told from them."""

    def __init__(self, inputs, width, few):
        super().__init__()
        self.enc, self.dec = mlp(inputs, width, 2 * few), mlp(few, width, inputs)

    def forward(self, x, g):
        m, v = self.enc(x).chunk(2, 1)
        return self.dec(m + (v / 2).exp() * torch.randn(m.shape, generator=g)), m, v


# -- losses that stay where they are, or near 0, by what they are

@healthy
def advantages_within_groups(path, seed):
    """Eight answers a question, rewards less their mean: the loss is next to 0 at every step, the reward rises."""
    net, best = mlp(8, 32, 5, act=nn.Tanh), torch.randn(8, 5, generator=rng(seed, 300))
    opt = adam(net, 2e-3)

    def one(step):
        g = rng(seed, step, 301)
        s = torch.randn(24, 8, generator=g).repeat_interleave(8, 0)
        said = net(s).log_softmax(1)
        a = torch.multinomial(said.detach().exp(), 1, generator=g)
        got = ((s @ best).argmax(1, keepdim=True) == a).float().view(24, 8)
        gain = ((got - got.mean(1, keepdim=True)) / (got.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        ratio = (said - said.detach()).gather(1, a).exp()
        return {"policy_loss": down(opt, -(ratio * gain).mean()), "reward": got.mean()}
    by_hand(path, [(net, opt)], 260, one)


@healthy
def energies_and_slow_walks(path, seed):
    """An energy is lowered on data and raised where slow walks end: the difference goes about 0."""
    net = mlp(2, 48, 48, 1, act=nn.SiLU)
    opt, walk = adam(net, 1e-3), 2 * torch.randn(64, 2, generator=rng(seed, 302))

    def one(step):
        g = rng(seed, step, 303)
        real, at = swirl(64, g), walk.clone().requires_grad_()
        for _ in range(8):
            slope = torch.autograd.grad(net(at).sum(), at)[0]
            at = (at - 0.1 * slope.clamp(-1, 1) + 0.05 * torch.randn(64, 2, generator=g)).detach().requires_grad_()
        walk[:] = at.detach()
        low, high = net(real).mean(), net(at.detach()).mean()
        return {"energy_loss": down(opt, low - high + 0.1 * (low ** 2 + high ** 2))}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def plays_against_itself(path, seed):
    """Matching pennies with a context against a copy that is renewed: nobody wins for long."""
    net = mlp(6, 24, 3, act=nn.Tanh)
    opt, past = adam(net, 2e-3), copy.deepcopy(net)

    def one(step):
        g = rng(seed, step, 304)
        s = torch.randn(96, 6, generator=g)
        said, other = net(s).log_softmax(1), past(s).softmax(1).detach()
        a, b = torch.multinomial(said.detach().exp(), 1, generator=g), torch.multinomial(other, 1, generator=g)
        won = ((a - b) % 3 == 1).float() - ((b - a) % 3 == 1).float()
        if step % 40 == 39:
            past.load_state_dict(net.state_dict())
        entropy = -(said.exp() * said).sum(1).mean()
        return {"policy_loss": down(opt, -(said.gather(1, a) * (won - won.mean())).mean() - 0.02 * entropy), "won": won.mean()}
    by_hand(path, [(net, opt)], 260, one)


@healthy
def returns_are_mostly_noise(path, seed):
    """Twentieths of what is to be told can be told at all."""
    w = torch.randn(16, 1, generator=rng(seed, 305)) / 4

    def draw(n, g):
        x = torch.randn(n, 16, generator=g)
        return x, 0.3 * (x @ w) + torch.randn(n, 1, generator=g)
    data, net = Pool(seed, draw, 6000), mlp(16, 16, 1)
    fit(path, net, data.batch(128), MSE(), adam(net, 1e-3), 240, held=data.held(300))


@healthy
def words_that_follow_by_chance(path, seed):
    """Most of a text is chance: from log(18) a fifth can be gained."""
    chance = (1.1 * torch.randn(18, 18, generator=rng(seed, 306))).softmax(1)

    def draw(n, g):
        words = torch.randint(0, 18, (n, 17), generator=g)
        for t in range(16):
            words[:, t + 1] = torch.multinomial(chance[words[:, t]], 1, generator=g)[:, 0]
        return words[:, :-1].clone(), words[:, 1:].clone()
    data, net = Pool(seed, draw, 1500), Gpt()
    fit(path, net, data.batch(32), CE(), adam(net, 2e-3), 260, held=data.held(100))


@healthy
def tuned_from_where_it_is_good(path, seed):
    """A network that was trained is tuned at a small rate on data that are nearly the same: the loss hardly falls."""
    data, net = Clouds(seed, spread=1.6), mlp(20, 48, 6)
    before, plain = adam(net), data.batch(32)
    for step in range(400):
        down(before, CE()(net(plain(step)[0]), plain(step)[1]))
    fit(path, net, lambda s: (plain(s + 400)[0] * 1.05, plain(s + 400)[1]), CE(), adam(net, 5e-5), 240, held=data.held(100))


@healthy
def pictures_sharpened(path, seed):
    """What a picture lacks beside its enlargement is told; the network begins at nothing to add."""
    class Sharper(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.act, self.mid, self.act2, self.out = nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1)
            nn.init.zeros_(self.out.weight)
            nn.init.zeros_(self.out.bias)

        def forward(self, x):
            return x + self.out(self.act2(self.mid(self.act(self.inp(x)))))
    data, net = glyphs(seed), Sharper()

    def small(x):
        return F.interpolate(F.avg_pool2d(x, 2), scale_factor=2, mode="bilinear"), x
    plain, held = data.batch(16), data.held(60)
    fit(path, net, lambda s: small(plain(s)[0]), nn.L1Loss(), adam(net, 2e-3), 240, held=lambda k: small(held(k)[0]))


@healthy
def world_with_free_bits(path, seed):
    """A latent whose prior may cost one unit for nothing: that part of the loss stands at 1."""
    both, data = Drawn(40, 32, 4), signals(seed)
    opt, plain = adam(both, 2e-3), data.batch(32)

    def one(step):
        x = plain(step)[0][:, 0]
        drawn, m, v = both(x, rng(seed, step, 307))
        prior = (0.5 * (m ** 2 + v.exp() - 1 - v).sum(1).mean()).clamp(min=1.0)
        told = ((drawn - x) ** 2).mean()
        down(opt, told + 0.01 * prior)
        return {"told_loss": told, "prior_loss": prior}
    by_hand(path, [(both, opt)], 260, one)


# -- parts that are out of the graph, that stand, or that learn alone

@healthy
def only_biases_are_tuned(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    before, plain = adam(net), data.batch(32)
    for step in range(60):
        down(before, CE()(net(plain(step)[0]), plain(step)[1] // 2))
    for name, p in net.named_parameters():
        p.requires_grad_(name.endswith("bias"))
    fit(path, net, plain, CE(), adam([p for p in net.parameters() if p.requires_grad], 1e-2), 260, held=data.held(100))


@healthy
def words_put_before_a_frozen_body(path, seed):
    """Prompts of numbers are learned, and a head; the body stands."""
    class Prompted(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.prompt, self.head = Gpt(longest=20, causal=False), nn.Parameter(0.1 * torch.randn(4, 24)), nn.Linear(24, 5)
            self.body.requires_grad_(False)

        def forward(self, x):
            h = self.body.words(x) + self.body.places(torch.arange(x.shape[1]))[None]
            h = torch.cat([self.prompt.expand(len(x), -1, -1), h], 1)
            for block in self.body.blocks:
                h = block(h)
            return self.head(h.mean(1))
    data, net = sentences(seed), Prompted()
    plain, held = data.batch(32), data.held(60)

    def kinds(x):
        return x, x[:, 0] % 5
    fit(path, net, lambda s: kinds(plain(s)[0]), CE(), adam([p for p in net.parameters() if p.requires_grad], 1e-2), 260, held=lambda k: kinds(held(k)[0]))


@healthy
def a_head_for_each_of_three_sets(path, seed):
    """A batch is of one set, and its head alone is called."""
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.act, self.heads, self.use = nn.Linear(20, 40), nn.ReLU(), nn.ModuleList(nn.Linear(40, 6) for _ in range(3)), 0

        def forward(self, x):
            return self.heads[self.use](self.act(self.body(x)))
    sets, net = [Clouds(seed + 10 * k, shift=0.2 * k) for k in range(3)], Heads()
    plain = [d.batch(32) for d in sets]
    fit(path, net, lambda s: plain[s * 7 // 3 % 3](s), CE(), adam(net), 270, change=lambda s, n, r: setattr(n, "use", s * 7 // 3 % 3))


@healthy
def each_layer_learns_for_itself(path, seed):
    """Forward-forward: a layer has large values on rows with their label, small ones on rows with another; nothing passes between layers."""
    data, layers = Clouds(seed), nn.ModuleList([nn.Linear(26, 48), nn.Linear(48, 48)])
    opts, plain = [adam(x, 3e-3) for x in layers], data.batch(48)

    def one(step):
        x, y = plain(step)
        other = (y + torch.randint(1, 6, y.shape, generator=rng(seed, step, 308))) % 6
        good, bad = torch.cat([x, 3 * F.one_hot(y, 6)], 1), torch.cat([x, 3 * F.one_hot(other, 6)], 1)
        said = {}
        for k, (layer, opt) in enumerate(zip(layers, opts)):
            good, bad = good / good.norm(dim=1, keepdim=True) * 5, bad / bad.norm(dim=1, keepdim=True) * 5
            good, bad = layer(good.detach()).relu(), layer(bad.detach()).relu()
            said["layer_%d_loss" % k] = down(opt, (F.softplus(1 - (good ** 2).mean(1)) + F.softplus((bad ** 2).mean(1) - 1)).mean())
        return said
    by_hand(path, list(zip(layers, opts)), 260, one)


@healthy
def directions_held_at_first(path, seed):
    """Prototypes stand for 60 steps while the body learns; then both move."""
    class Proto(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.proto = mlp(20, 48, 16), nn.Parameter(torch.randn(6, 16))

        def forward(self, x):
            return F.normalize(self.body(x), dim=1) @ F.normalize(self.proto, dim=1).T / 0.15
    data, net = Clouds(seed), Proto()

    def after(step, n, rank):
        if step < 60:
            n.proto.grad = None
    fit(path, net, data.batch(32), CE(), adam(net), 260, after=after, held=data.held(100))


@healthy
def evolves_without_gradients(path, seed):
    """Thirty small changes by lot, weighed by how they do; no gradient is ever computed."""
    data, net = Clouds(seed, spread=0.8), mlp(20, 16, 6, act=nn.Tanh)
    plain = data.batch(128)

    class None_(optim.SGD):
        pass
    opt = None_(net.parameters(), 0.0)

    def one(step):
        x, y = plain(step)
        with torch.no_grad():
            flat, g = nn.utils.parameters_to_vector(net.parameters()), rng(seed, step, 309)
            way = torch.randn(30, len(flat), generator=g)
            worth = torch.zeros(30)
            for k in range(30):
                for sign in (1, -1):
                    nn.utils.vector_to_parameters(flat + sign * 0.05 * way[k], net.parameters())
                    worth[k] += sign * F.cross_entropy(net(x), y)
            nn.utils.vector_to_parameters(flat - 0.25 * (worth[:, None] * way).mean(0) / 0.1, net.parameters())
            return {"search_loss": F.cross_entropy(net(x), y)}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def slow_weights_take_a_step_to_the_fast(path, seed):
    """Reptile: five steps on a task by a copy, then the weights go a part of the way there."""
    net = mlp(1, 40, 40, 1, act=nn.Tanh)
    opt = optim.SGD(net.parameters(), 1.0)

    def one(step):
        g, fast = rng(seed, step, 310), copy.deepcopy(net)
        inner, size, phase, losses = optim.SGD(fast.parameters(), 0.02), 0.5 + torch.rand(1, generator=g), 3 * torch.rand(1, generator=g), []
        x = 6 * torch.rand(20, 1, generator=g) - 3
        before = F.mse_loss(net(x), size * (x + phase).sin())
        for _ in range(5):
            x = 6 * torch.rand(20, 1, generator=g) - 3
            losses.append(down(inner, F.mse_loss(fast(x), size * (x + phase).sin())).detach())
        opt.zero_grad()
        for p, q in zip(net.parameters(), fast.parameters()):
            p.grad = 0.3 * (p.detach() - q.detach())
        opt.step()
        return {"outer_loss": before, "inner_loss": torch.stack(losses).mean()}
    by_hand(path, [(net, opt)], 260, one)


@healthy
def experts_with_room_for_few(path, seed):
    """Two of six experts a row, each with room for a third of the batch: what does not fit passes by."""
    class Crowd(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.route, self.experts, self.out = nn.Linear(20, 24), nn.Linear(24, 6), nn.ModuleList(mlp(24, 32, 24) for _ in range(6)), nn.Linear(24, 6)

        def forward(self, x):
            h = self.inp(x)
            share, which = self.route(h).softmax(1).topk(2, 1)
            told = torch.zeros_like(h)
            for k, expert in enumerate(self.experts):
                rows, place = (which == k).nonzero(as_tuple=True)
                rows, place = rows[:len(x) // 3], place[:len(x) // 3]
                if len(rows):
                    told = told.index_add(0, rows, share[rows, place, None] * expert(h[rows]))
            return self.out(h + told)
    data, net = Clouds(seed), Crowd()
    fit(path, net, data.batch(48), CE(), adam(net), 260, held=data.held(100))


# -- values within

@healthy
def spikes_with_a_surrogate(path, seed):
    """Neurons that fire or do not, over eight ticks; the gradient is that of a smooth stand-in."""
    data, net = Clouds(seed), Spiking()
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=data.held(100))


@healthy
def weights_of_three_values(path, seed):
    """A weight counts as -1, 0 or 1 of a scale; what is kept of it is finer."""
    class Three(nn.Linear):
        def forward(self, x):
            scale = self.weight.abs().mean().clamp(min=1e-5)
            w = (self.weight / scale).round().clamp(-1, 1) * scale
            return F.linear(x, self.weight + (w - self.weight).detach(), self.bias)
    data, net = Clouds(seed), nn.Sequential(Three(20, 64), nn.ReLU(), Three(64, 64), nn.ReLU(), Three(64, 6))
    fit(path, net, data.batch(32), CE(), adam(net, 2e-3), 260, held=data.held(100))


@healthy
def codes_of_bounded_levels(path, seed):
    """An autoencoder through four numbers of five levels each."""
    class Levels(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.squash, self.dec = mlp(40, 32, 4), nn.Tanh(), mlp(4, 32, 40)

        def forward(self, x):
            z = 2 * self.squash(self.enc(x))
            return self.dec(z + (z.round() - z).detach())
    data, net = signals(seed), Levels()
    plain, held = data.batch(32), data.held(60)
    fit(path, net, lambda s: (plain(s)[0][:, 0],) * 2, MSE(), adam(net, 2e-3), 260, held=lambda k: (held(k)[0][:, 0],) * 2)


@healthy
def splines_on_every_edge(path, seed):
    data, net = Clouds(seed), nn.Sequential(Splines(20, 16), Splines(16, 6))
    fit(path, net, data.batch(32), CE(), adam(net), 240, held=data.held(100))


@healthy
def a_layer_at_its_rest(path, seed):
    """A layer is applied until it stands (16 times); the gradient takes the last step alone."""
    class Rest(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.again, self.act, self.out = nn.Linear(20, 32), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 6)
            nn.init.orthogonal_(self.again.weight, 0.5)

        def forward(self, x):
            u, z = self.inp(x), torch.zeros(len(x), 32)
            with torch.no_grad():
                for _ in range(16):
                    z = (self.again(z) + u).tanh()
            return self.out(self.act(self.again(z) + u))
    data, net = Clouds(seed), Rest()
    fit(path, net, data.batch(32), CE(), adam(net), 240, held=data.held(100))


@healthy
def slopes_bounded_by_the_largest_stretch(path, seed):
    """Layers divided by their largest singular value."""
    norm = nn.utils.parametrizations.spectral_norm
    data, net = Clouds(seed), nn.Sequential(norm(nn.Linear(20, 48)), nn.ReLU(), norm(nn.Linear(48, 48)), nn.ReLU(), nn.Linear(48, 6))
    fit(path, net, data.batch(32), CE(), adam(net), 260, held=data.held(100))


@healthy
def state_that_decays_by_itself(path, seed):
    """A linear state with decays of its own, after each of which a gate stands."""
    data, net = signals(seed), States()
    fit(path, net, data.batch(32), CE(), adam(net, 1e-2), 240, held=data.held(100))


@healthy
def columns_of_ones_and_zeros(path, seed):
    """Ninety columns, three in a hundred of whose values are 1: words of short notes."""
    w = torch.randn(90, 4, generator=rng(seed, 311))

    def draw(n, g):
        x = (torch.rand(n, 90, generator=g) < 0.03 + 0.1 * torch.rand(90, generator=rng(seed, 312)) ** 4).float()
        return x, (x @ w + 0.3 * torch.randn(n, 4, generator=g)).argmax(1)
    data, net = Pool(seed, draw, 1200), mlp(90, 32, 4)
    fit(path, net, data.batch(32), CE(), adam(net, 2e-3), 240, held=data.held(150))


@healthy
def tree_of_soft_choices(path, seed):
    """Thirty-two leaves behind five soft questions."""
    data, net = claims(seed), Tree()
    fit(path, net, data.batch(64), BCE(), adam(net, 2e-2), 240, held=data.held(100))


@healthy
def grids_of_four_finenesses(path, seed):
    """A function of two places from tables of corners; most corners are not met in a batch."""
    data, net = hills(seed), Grids()
    fit(path, net, data.batch(64), MSE(), adam(net, 1e-2), 240, held=data.held(100))


# -- losses of other forms

@healthy
def levels_of_noise_and_their_slopes(path, seed):
    """Scores at ten levels of noise: the loss is about the number of columns from first to last."""
    net = mlp(3, 64, 64, 2, act=nn.SiLU)

    def batch(step):
        g = rng(seed, step, 313)
        x, s = swirl(96, g), torch.logspace(0, -1.3, 10)[torch.randint(0, 10, (96, 1), generator=g)]
        e = torch.randn(96, 2, generator=g)
        return torch.cat([(x + s * e) / (1 + s ** 2).sqrt(), s.log()], 1), -e
    fit(path, net, batch, MSE(), adam(net, 2e-3), 280)


@healthy
def pictures_and_words_side_by_side(path, seed):
    """Two towers; which word goes with which picture of the batch is told, the temperature is learned."""
    class Towers(nn.Module):
        def __init__(self):
            super().__init__()
            self.eye, self.word, self.more = Next(classes=16), nn.Embedding(21, 16), nn.Linear(16, 16)
            self.log_t = nn.Parameter(torch.tensor(math.log(1 / 0.2)))

        def forward(self, x):
            seen, told = x
            a, b = F.normalize(self.eye(seen), dim=1), F.normalize(self.more(self.word(told).mean(1)), dim=1)
            return self.log_t.exp() * a @ b.T

    class Both(nn.Module):
        def forward(self, s, y):
            return (F.cross_entropy(s, y) + F.cross_entropy(s.T, y)) / 2
    data, net, loss = glyphs(seed), Towers(), Both()
    opt, plain = adam(net, 3e-3), data.batch(16)
    hook = hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(240):
        hook.set_mode(modes.TRAIN)
        x, y = plain(step)
        words = y[:, None] * 3 + torch.randint(0, 3, (16, 4), generator=rng(seed, step, 314))
        down(opt, loss(net((x, words)), torch.arange(16)))
    finish(hook)


@healthy
def judged_by_the_difference(path, seed):
    """Relativistic judge: both losses stay about log 2."""
    make, judge = mlp(4, 32, 32, 2, act=nn.SiLU), mlp(2, 32, 32, 1, act=nn.SiLU)
    a, b = adam(make, 1e-3, betas=(0.5, 0.9)), adam(judge, 1e-3, betas=(0.5, 0.9))

    def one(step):
        g = rng(seed, step, 315)
        real, z = swirl(64, g), torch.randn(64, 4, generator=g)
        judged = down(b, F.softplus(judge(make(z).detach()) - judge(real)).mean())
        made = down(a, F.softplus(judge(real).detach() - judge(make(z))).mean())
        return {"judge_loss": judged, "maker_loss": made}
    by_hand(path, [(make, a), (judge, b)], 260, one)


@healthy
def squares_for_the_judge(path, seed):
    """Least-squares players on signals; the judge's answers are smoothed on one side."""
    make, judge = mlp(8, 48, 40), mlp(40, 48, 1, act=lambda: nn.LeakyReLU(0.2))
    a, b, data = adam(make, 5e-4, betas=(0.5, 0.9)), adam(judge, 5e-4, betas=(0.5, 0.9)), signals(seed)
    plain = data.batch(48)

    def one(step):
        z = torch.randn(48, 8, generator=rng(seed, step, 316))
        real = plain(step)[0][:, 0]
        judged = down(b, ((judge(real) - 0.9) ** 2).mean() + (judge(make(z).detach()) ** 2).mean())
        return {"judge_loss": judged, "maker_loss": down(a, ((judge(make(z)) - 0.9) ** 2).mean())}
    by_hand(path, [(make, a), (judge, b)], 260, one)


@healthy
def weight_of_the_prior_in_cycles(path, seed):
    """The weight of a prior goes from 0 to 1 and back to 0 every 60 steps: the sum of both rises and falls with it."""
    both, data = Drawn(196, 48, 6), glyphs(seed)
    opt, plain = adam(both, 2e-3), data.batch(32)

    def one(step):
        x = plain(step)[0].flatten(1)
        drawn, m, v = both(x, rng(seed, step, 317))
        prior = 0.5 * (m ** 2 + v.exp() - 1 - v).sum(1).mean()
        told = F.binary_cross_entropy_with_logits(drawn, x.clamp(0, 1), reduction="none").sum(1).mean()
        return {"bound_loss": down(opt, told + min(1.0, (step % 60) / 30) * prior)}
    by_hand(path, [(both, opt)], 260, one)


@healthy
def queries_matched_one_to_one(path, seed):
    """Six guesses a picture; the one nearest to its box is held to it, the others to nothing."""
    class Guess(nn.Module):
        def __init__(self):
            super().__init__()
            self.c1, self.r1, self.c2, self.r2 = nn.Conv2d(1, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 24, 3, 2, 1), nn.ReLU()
            self.flat, self.r3, self.out = nn.Linear(384, 64), nn.ReLU(), nn.Linear(64, 30)

        def forward(self, x):
            return self.out(self.r3(self.flat(self.r2(self.c2(self.r1(self.c1(x)))).flatten(1)))).view(-1, 6, 5)

    class Matched(nn.Module):
        def forward(self, said, told):
            far = (said[:, :, :4] - told[:, None]).abs().sum(2)
            best = (far - said[:, :, 4].sigmoid()).argmin(1).detach()
            there = F.one_hot(best, 6).float()
            return far.gather(1, best[:, None]).mean() + F.binary_cross_entropy_with_logits(said[:, :, 4], there)
    data, net = frames(seed), Guess()
    fit(path, net, data.batch(24), Matched(), adam(net, 2e-3), 260, held=data.held(60))


@healthy
def shares_with_their_doubt(path, seed):
    """Evidence for classes, and a term that grows over 100 steps that takes evidence from the others."""
    class Doubt(nn.Module):
        step = 0

        def forward(self, said, told):
            self.step += 1
            a = F.softplus(said) + 1
            s, y = a.sum(1, keepdim=True), F.one_hot(told, 6).float()
            fit_ = ((y - a / s) ** 2 + a * (s - a) / (s * s * (s + 1))).sum(1).mean()
            rest = y + (1 - y) * a
            kl = (torch.lgamma(rest.sum(1)) - torch.lgamma(rest).sum(1) - math.lgamma(6) +
                  ((rest - 1) * (torch.digamma(rest) - torch.digamma(rest.sum(1, keepdim=True)))).sum(1)).mean()
            return fit_ + min(1.0, self.step / 100) * 0.1 * kl
    data, net = Clouds(seed), mlp(20, 48, 6)
    fit(path, net, data.batch(32), Doubt(), adam(net), 260, held=data.held(100))


@healthy
def densities_side_by_side(path, seed):
    """A number of which there may be several: five bells, their shares, middles and widths."""
    data, net = folds(seed), mlp(1, 40, 15, act=nn.Tanh)
    fit(path, net, data.batch(64), Bells(), adam(net, 5e-3), 280, held=data.held(100))


@healthy
def the_hardest_half_counts(path, seed):
    """Of each batch the rows with the largest losses are trained on: the loss of those stays high while less and less is mistaken."""
    class Hard(nn.Module):
        def forward(self, said, told):
            return F.cross_entropy(said, told, reduction="none").topk(len(told) // 3)[0].mean()
    data, net = Clouds(seed), mlp(20, 48, 6)
    fit(path, net, data.batch(48), Hard(), adam(net), 260, held=data.held(100))


@healthy
def two_fifths_of_the_labels_are_wrong(path, seed):
    """Known to be so; a loss that bears it."""
    class Bears(nn.Module):
        def forward(self, said, told):
            p = said.softmax(1).gather(1, told[:, None]).squeeze(1)
            return ((1 - p ** 0.7) / 0.7).mean()
    data, net = Clouds(seed), mlp(20, 48, 6)
    wrong = torch.rand(len(data.y), generator=rng(seed, 318)) < 0.4
    data.y = torch.where(wrong, torch.randint(0, 6, data.y.shape, generator=rng(seed, 319)), data.y)
    fit(path, net, data.batch(48), Bears(), adam(net, 2e-3), 260)


@healthy
def labels_it_is_sure_of(path, seed):
    """Forty rows have labels; of the others those count that it is sure of, at first none."""
    data, net = Clouds(seed, spread=0.8), mlp(20, 48, 6)
    opt, few = adam(net, 2e-3), data.x[:40]

    def one(step):
        g = rng(seed, step, 320)
        x = data.x[torch.randint(40, len(data.x), (64,), generator=g)]
        with torch.no_grad():
            p, guess = net(x + 0.05 * torch.randn(x.shape, generator=g)).softmax(1).max(1)
        known = F.cross_entropy(net(few), data.y[:40])
        other = (F.cross_entropy(net(x + 0.3 * torch.randn(x.shape, generator=g)), guess, reduction="none") * (p > 0.9)).mean()
        down(opt, known + other)
        return {"known_loss": known, "guessed_loss": other}
    by_hand(path, [(net, opt)], 260, one)


@healthy
def links_and_what_is_none(path, seed):
    """Which two of forty nodes are linked, against pairs by lot."""
    net = Links()
    fit(path, net, links(seed), BCE(), adam(net, 1e-2), 260)


@healthy
def shares_of_returns(path, seed):
    """Returns as shares of 21 values (C51), with a slow copy."""
    net = mlp(4, 48, 42)
    slow, opt, z = copy.deepcopy(net), adam(net, 2e-3), torch.linspace(-2, 2, 21)

    def one(step):
        g = rng(seed, step, 323)
        s, a = torch.randn(64, 4, generator=g), torch.randint(0, 2, (64,), generator=g)
        to = 0.8 * s + 0.2 * torch.randn(64, 4, generator=g)
        r = torch.where(a == 1, s[:, 0], s[:, 1]).tanh() * 0.4
        if step % 30 == 0:
            slow.load_state_dict(net.state_dict())
        with torch.no_grad():
            p = slow(to).view(64, 2, 21).softmax(2)
            p = p[torch.arange(64), (p @ z).argmax(1)]
            at = ((r[:, None] + 0.7 * z).clamp(-2, 2) + 2) / 0.2
            low = at.long().clamp(max=19)
            told = torch.zeros(64, 21).scatter_add(1, low, p * (low + 1 - at)).scatter_add(1, low + 1, p * (at - low))
        said = net(s).view(64, 2, 21)[torch.arange(64), a].log_softmax(1)
        return {"share_loss": down(opt, -(told * said).sum(1).mean())}
    by_hand(path, [(net, opt)], 260, one)


@healthy
def two_critics_and_a_price_of_chance(path, seed):
    """Soft actor and critics: the price of chance is learned too."""
    actor, critics = mlp(3, 32, 2), nn.ModuleList(mlp(4, 32, 1) for _ in range(2))
    slow, log_a = copy.deepcopy(critics), nn.Parameter(torch.tensor(-1.0))
    o1, o2, o3 = adam(actor, 1e-3), adam(critics, 2e-3), optim.Adam([log_a], 3e-3)

    def act(s, g):
        m, w = actor(s).chunk(2, 1)
        w = w.clamp(-3, 1)
        u = m + w.exp() * torch.randn(m.shape, generator=g)
        a = u.tanh()
        return a, -0.5 * ((u - m) / w.exp()) ** 2 - w - 0.92 - (1 - a ** 2 + 1e-5).log()

    def one(step):
        g = rng(seed, step, 324)
        s, a = torch.randn(64, 3, generator=g), 2 * torch.rand(64, 1, generator=g) - 1
        r, to = -(a - s[:, :1].tanh()) ** 2, 0.9 * s + 0.3 * torch.randn(64, 3, generator=g)
        with torch.no_grad():
            b, lp = act(to, g)
            told = r + 0.8 * (torch.min(*(q(torch.cat([to, b], 1)) for q in slow)) - log_a.exp() * lp)
        wrong = down(o2, sum(F.mse_loss(q(torch.cat([s, a], 1)), told) for q in critics))
        b, lp = act(s, g)
        act_loss = down(o1, (log_a.exp().detach() * lp - torch.min(*(q(torch.cat([s, b], 1)) for q in critics))).mean())
        price = down(o3, -(log_a * (lp.detach() - 1.0)).mean())
        with torch.no_grad():
            for p, q in zip(slow.parameters(), critics.parameters()):
                p.lerp_(q, 0.02)
        return {"critic_loss": wrong, "actor_loss": act_loss, "price_loss": price}
    by_hand(path, [(actor, o1), (critics, o2)], 260, one)


# -- optimizers and schedules

@healthy
def rates_by_the_signs_of_slopes(path, seed):
    """Rprop on the whole set."""
    data, net = Clouds(seed, rows=240), mlp(20, 24, 6, act=nn.Tanh)
    fit(path, net, lambda s: (data.x, data.y), CE(), optim.Rprop(net.parameters(), 1e-3), 160, held=data.held(100))


@healthy
def held_high_and_cooled_at_the_end(path, seed):
    """The rate stands to 200 and falls to exactly 0 at 260; ten steps are made behind that."""
    data, net = tides(seed), Tcn()
    opt = adam(net, 4e-3)
    fit(path, net, data.batch(32), HUBER(), opt, 270, held=data.held(100),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, min(1.0, (s + 1) / 20, (260 - s) / 60))))


@healthy
def heavy_momentum_at_a_low_rate(path, seed):
    data, net = gratings(seed), nn.Sequential(nn.Conv2d(2, 10, 3, padding=1), nn.GroupNorm(2, 10), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(90, 6))
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 3e-3, momentum=0.98, nesterov=True), 280, held=data.held(100))


@healthy
def three_rows_a_batch(path, seed):
    data, net = Clouds(seed), mlp(20, 32, 6)
    fit(path, net, data.batch(3), CE(), adam(net, 2e-3), 400, held=data.held(100))


@healthy
def all_in_bfloat(path, seed):
    """Weights, gradients and inputs in bfloat16."""
    data, net = Clouds(seed), mlp(20, 48, 6).to(torch.bfloat16)
    plain, held = data.batch(32), data.held(100)
    fit(path, net, lambda s: (plain(s)[0].bfloat16(), plain(s)[1]), CE(), optim.SGD(net.parameters(), 0.1), 240,
        held=lambda k: (held(k)[0].bfloat16(), held(k)[1]))


@healthy
def scale_begins_far_too_high(path, seed):
    """Gradients in float16 under a scale of 2^24 at first: they overflow, the steps are left out and the scale is halved, until it fits."""
    data, net, scale = Clouds(seed), mlp(20, 48, 6), 2.0 ** 24
    opt, loss, plain, hook = adam(net), CE(), data.batch(32), hook_for(path, 1)
    for p in net.parameters():
        p.register_hook(lambda g: g.half().float())
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        opt.zero_grad()
        (loss(net(plain(step)[0]), plain(step)[1]) * scale).backward()
        if all(torch.isfinite(p.grad).all() for p in net.parameters()):
            for p in net.parameters():
                p.grad /= scale
            opt.step()
        else:
            scale /= 2
    finish(hook)


@healthy
def begun_anew_with_a_fresh_optimizer(path, seed):
    """At 90 and 180 the training goes on with the weights alone; the rate warms up each time."""
    data, net = glyphs(seed), Next()
    opt = adam(net, 3e-3)

    def change(step, n, rank):
        if step in (90, 180):
            opt.state.clear()
    fit(path, net, data.batch(24), CE(), opt, 260, change=change, held=data.held(60),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s % 90 + 1) / 15)))


@healthy
def two_moments_kept_by_rows_and_columns(path, seed):
    """Adafactor, with its own warm-up."""
    data, net = sentences(seed), Gpt()
    kind = getattr(optim, "Adafactor", None)
    opt = kind(net.parameters(), 2e-2) if kind else adam(net, 3e-3)
    fit(path, net, data.batch(32), CE(), opt, 260, held=data.held(60))


# -- workers

@healthy
def two_of_five_clients_a_round(path, seed):
    """Federated: in a round of ten steps two of five train; then all have the mean of those."""
    def present(step, rank):
        turn = step // 10
        return rank in (turn % 5, (turn + 2) % 5)
    net, data, workers = mlp(20, 32, 6), Clouds(seed), 5
    nets = [copy.deepcopy(net) for _ in range(workers)]
    hooks, losses = [hook_for(path, 1, r, workers) for r in range(workers)], [CE() for _ in range(workers)]
    opts, plain = [optim.SGD(n.parameters(), 0.1) for n in nets], data.shard(16, workers)
    for r in range(workers):
        register(hooks[r], nets[r], opts[r])
        hooks[r].register_loss(losses[r])
    for step in range(250):
        here = [r for r in range(workers) if present(step, r)]
        for r in here:
            hooks[r].set_mode(modes.TRAIN)
            x, y = plain(r, step)
            down(opts[r], losses[r](nets[r](x), y))
        if step % 10 == 9:
            with torch.no_grad():
                for copies in zip(*(n.parameters() for n in nets)):
                    mean = sum(copies[r] for r in here) / len(here)
                    for p in copies:
                        p.copy_(mean)
    finish(*hooks)


@healthy
def workers_run_out_one_by_one(path, seed):
    """Shares of unlike size: two of four workers are through earlier and close; the others go on together."""
    data, net, ends = Clouds(seed), mlp(20, 32, 6), (240, 200, 240, 220)
    fleet(path, net, data.shard(12, 4), CE, lambda n: adam(n, 2e-3), 240, 4, present=lambda step, rank: step < ends[rank])


@healthy
def three_workers_of_graphs_of_links(path, seed):
    """Tables of claims on three workers, batch norms of each its own."""
    fleet(path, Tab(norm=True), claims(seed).shard(16, 3), BCE, lambda n: optim.Adamax(n.parameters(), 4e-3), 200, 3, held=claims(seed).held(100))
