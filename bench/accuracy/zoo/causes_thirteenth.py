"""causes_thirteenth.py - a thirteenth set of faults for the first line: encoders and decoders, denoisers, graphs, pairs, actors and critics, tables
with categories, experts. Written in one go, with the words that a right line has, before any result of it was looked at."""
import torch
from torch import nn, optim

from causes import CE, cause_set
from causes_fifth import adamw, sgd
from causes_seventh import JUMPS, STANDS, STILL, TOO_FAST
from fifth_parts import Clouds, Stack, rng
from loop import finish, fit, fleet, hook_for, modes, register

TRAININGS, cause = cause_set("thirteenth")
NO_GRADIENT = STILL + "|exactly zero|detach"


class Translator(nn.Module):
    """A word by word translation, turned round: what is read comes from the encoder's state alone, the target's words before are read as well."""

    def __init__(self, words=9, width=32, told=True):
        super().__init__()
        self.src, self.tgt = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder, self.decoder = nn.GRU(width, width, batch_first=True), nn.GRU(width, width, batch_first=True)
        self.out, self.told = nn.Linear(width, words), told

    def forward(self, read, before):
        state = self.encoder(self.src(read))[1]
        return self.out(self.decoder(self.tgt(before), state if self.told else None)[0]).flatten(0, 1)


def sentences(seed, size, number=0, length=5):
    def of(step):
        g = rng(seed, step, number, 130)
        read = torch.randint(1, 9, (size, length), generator=g)
        said = (read.flip(1) * 2) % 9
        return (read, torch.cat([torch.zeros(size, 1, dtype=torch.long), said[:, :-1]], 1)), said.reshape(-1)
    return of


def both(net, x):
    return net(*x)


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.inp, self.time, self.mid, self.top = nn.Linear(2, width), nn.Linear(4, width), nn.Linear(width, width), nn.Linear(width, 2)
        self.act_a, self.act_b = nn.SiLU(), nn.SiLU()

    def forward(self, x, t):
        waves = torch.cat([(t * k * 3.14).cos() for k in (0.5, 1, 2, 4)], 1)
        return self.top(self.act_b(self.mid(self.act_a(self.inp(x) + self.time(waves)))))


def noisy(seed, size, number=0, again=False):
    """Points of a ring in noise of any strength; the noise is to be told."""
    def of(step):
        g = rng(seed, step, number, 131)
        a, t = 6.28 * torch.rand(size, 1, generator=g), torch.rand(size, 1, generator=g)
        clean, noise = torch.cat([a.cos(), a.sin()], 1), torch.randn(size, 2, generator=g)
        x = (1 - t).sqrt() * clean + t.sqrt() * noise
        return (x, t), torch.randn(size, 2, generator=g) if again else noise
    return of


class Experts(nn.Module):
    """Four experts, of which a router takes the best for each row, and weighs it."""

    def __init__(self, inputs=20, outputs=6, width=24):
        super().__init__()
        self.router, self.head = nn.Linear(inputs, 4), nn.Linear(width, outputs)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width)) for _ in range(4))

    def forward(self, x):
        share = self.router(x).softmax(1)
        taken = nn.functional.one_hot(share.argmax(1), 4) * share
        return self.head(sum(taken[:, k:k + 1] * e(x) for k, e in enumerate(self.experts)))


class Nodes(nn.Module):
    """A graph of 60 nodes as a matrix; the features of a step are those of its nodes."""

    def __init__(self, graph, inputs=12, classes=4, width=32):
        super().__init__()
        self.register_buffer("graph", graph)
        self.w1, self.relu, self.w2 = nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, classes)

    def forward(self, x):
        return (self.graph @ self.w2(self.relu(self.graph @ self.w1(x)))).flatten(0, 1)


class Graph:
    """Four groups of nodes that know one another; features tell little of a node, those of its neighbours much."""

    def __init__(self, seed, nodes=60):
        g = rng(seed, 132)
        self.y, self.seed = torch.randint(0, 4, (nodes,), generator=g), seed
        edges = torch.rand(nodes, nodes, generator=g) < 0.02 + 0.2 * (self.y[:, None] == self.y)
        edges = (edges | edges.T).float().fill_diagonal_(1)
        self.matrix, self.means = edges / edges.sum(1, keepdim=True), torch.randn(4, 12, generator=g)

    def batch(self, size=4, number=0):
        def of(step):
            noise = torch.randn(size, len(self.y), 12, generator=rng(self.seed, step, number, 133))
            return self.means[self.y] * 0.5 + noise, self.y.repeat(size)
        return of


class Pairs(nn.Module):
    """Two views of each row; which of the others belongs to it?"""

    def __init__(self, inputs=20, width=32, masked=False):
        super().__init__()
        self.body, self.masked = Stack(inputs, 16, width=width), masked

    def forward(self, a, b):
        a, b = (nn.functional.normalize(self.body(v), dim=1) for v in (a, b))
        scores = a @ b.T / 0.2
        return scores.masked_fill(torch.eye(len(a), dtype=torch.bool), float("-inf")) if self.masked else scores


def views(seed, size, number=0, one=False):
    data = Clouds(seed)

    def of(step):
        g = rng(seed, step, number, 134)
        x = data.x[torch.randint(0, len(data.x), (size,), generator=g)]
        a, b = (x + 0.5 * torch.randn(x.shape, generator=g) for _ in range(2))
        return (a, a.clone() if one else b), torch.arange(size)
    return of


def act(path, seed, steps=260, detached=False, reward_scale=1.0, rate=2e-3):
    """An actor that chooses one of four, and a critic that tells what it will get."""
    actor, critic = Stack(8, 4), Stack(8, 1)
    best = torch.randn(8, 4, generator=rng(seed, 135))
    opt = optim.Adam([*actor.parameters(), *critic.parameters()], rate)
    hook = hook_for(path, 1)
    register(hook, actor, opt)
    register(hook, critic, opt)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step, 136)
        s = torch.randn(64, 8, generator=g)
        scores = actor(s).log_softmax(1)
        a = torch.multinomial(scores.detach().exp(), 1, generator=g)
        reward = reward_scale * ((s @ best).argmax(1, keepdim=True) == a).float()
        value, told = critic(s), scores.gather(1, a)
        critic_loss = (value - reward).pow(2).mean()
        actor_loss = -((told.detach() if detached else told) * (reward - value.detach())).mean()
        opt.zero_grad(set_to_none=True)
        (critic_loss + actor_loss).backward()
        opt.step()
        hook.record_tensor_value("critic_loss", critic_loss.detach())
        hook.record_tensor_value("actor_loss", actor_loss.detach())
    finish(hook)


class Columns(nn.Module):
    """A table of three columns of categories and four of numbers."""

    def __init__(self, outputs=1):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(n, 6) for n in (7, 12, 30))
        self.fc1, self.relu, self.fc2 = nn.Linear(22, 40), nn.ReLU(), nn.Linear(40, outputs)

    def forward(self, x):
        told = [e(x[:, k].long()) for k, e in enumerate(self.emb)]
        return self.fc2(self.relu(self.fc1(torch.cat([*told, x[:, 3:]], 1))))


def table(seed, size, number=0):
    g = rng(seed, 137)
    effects = [torch.randn(n, 1, generator=g) for n in (7, 12, 30)]

    def of(step):
        g = rng(seed, step, number, 138)
        codes = torch.cat([torch.randint(0, n, (size, 1), generator=g) for n in (7, 12, 30)], 1)
        numbers = torch.randn(size, 4, generator=g)
        y = sum(e[codes[:, k]] for k, e in enumerate(effects)) / 2 + numbers[:, :1] * numbers[:, 1:2].tanh()
        return torch.cat([codes.float(), numbers], 1), y + 0.1 * torch.randn(size, 1, generator=g)
    return of


@cause(r"(?i)(encoder|src).*(" + NO_GRADIENT + ")|(" + NO_GRADIENT + ").*(encoder|src)", 0)
def decoder_without_the_encoders_state(path, seed):
    """The state is made and not handed on: nothing that is read reaches the output."""
    net = Translator(told=False)
    fit(path, net, sentences(seed, 32), CE(), adamw(net, 5e-3), 220, held=sentences(seed, 60, 1), forward=both)


@cause("(?i)" + STANDS, None)
def noise_is_drawn_again(path, seed):
    """The target is noise, but not the one that was added."""
    net = Denoiser()
    fit(path, net, noisy(seed, 64, again=True), nn.MSELoss(), adamw(net), 240, held=noisy(seed, 100, 1, again=True), forward=both)


@cause(r"(?i)expert.*(" + NO_GRADIENT + ")|(" + NO_GRADIENT + ").*expert", None)
def router_sends_all_to_one(path, seed):
    data, net = Clouds(seed), Experts()
    with torch.no_grad():
        net.router.bias[1] = 50.0
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100))


@cause(r"(?i)(stack|actor).*(" + NO_GRADIENT + ")|(" + NO_GRADIENT + ").*(stack|actor)", 0)
def log_probability_detached(path, seed):
    """The critic learns; what the actor is paid for is a constant."""
    act(path, seed, detached=True)


@cause(r"(?i)NaN|\binf|overflow", 0)
def positives_masked_out(path, seed):
    """The diagonal is masked, as where a view is compared with itself; here it is the answer."""
    net = Pairs(masked=True)
    fit(path, net, views(seed, 32), CE(), adamw(net), 160, held=views(seed, 32, 1), forward=both)


@cause(r"(?i)input.*(same|equal|identical)|(same|equal|identical).*input", 0)
def views_are_one(path, seed):
    """Both views are the same rows: nothing is to be learned from them."""
    net = Pairs()
    fit(path, net, views(seed, 32, one=True), CE(), adamw(net), 220, held=views(seed, 32, 1), forward=both)


@cause(r"(?i)gradient.*(zero|vanish)|" + STILL, (100, 110))
def loss_annealed_to_nothing(path, seed):
    """The weight of the loss falls to 0 at step 100, and stays there."""
    data = Graph(seed)
    net = Nodes(data.matrix)
    fit(path, net, data.batch(), CE(), sgd(net, 0.1), 240, held=data.batch(number=1), scale=lambda s: max(0.0, 1 - s / 100))


@cause("(?i)" + TOO_FAST + "|" + JUMPS + "|grew", None)
def rate_grows_by_its_schedule(path, seed):
    """A factor of 1.06 a step in place of 0.96."""
    data = Graph(seed)
    net = Nodes(data.matrix)
    opt = sgd(net, 0.02)
    fit(path, net, data.batch(), CE(), opt, 240, held=data.batch(number=1), schedule=optim.lr_scheduler.ExponentialLR(opt, 1.06))


@cause(r"(?i)scale|target|too small|" + STANDS + "|" + TOO_FAST, None)
def rewards_in_millions(path, seed):
    act(path, seed, reward_scale=1e6)


@cause(r"(?i)emb.*(" + STILL + ")|(" + STILL + ").*emb", 0)
def categories_left_out_of_the_optimizer(path, seed):
    net = Columns()
    opt = optim.AdamW([p for n, p in net.named_parameters() if "emb" not in n], 3e-3)
    fit(path, net, table(seed, 64), nn.MSELoss(), opt, 240, held=table(seed, 100, 1))


@cause(r"(?i)(target|label).*(zero|same|constant|one value)", 0)
def target_column_is_empty(path, seed):
    """The column of targets was not found, and was filled with 0."""
    net, batch, held = Columns(), table(seed, 64), table(seed, 100, 1)
    fit(path, net, lambda s: (batch(s)[0], batch(s)[1] * 0), nn.MSELoss(), adamw(net), 220, held=held)


@cause(r"(?i)label|" + STANDS, None)
def labels_are_mixed_and_inputs_are_not(path, seed):
    """Mixing of pairs, of which the inputs' part was lost: half of each label is another row's, drawn anew."""
    data, net = Clouds(seed), Stack(20, 6)

    def mixed(step):
        x, y = data.batch(32)(step)
        one = nn.functional.one_hot(y, 6).float()
        return x, 0.15 * one + 0.85 * one[torch.randperm(32, generator=rng(seed, step, 139))]
    fit(path, net, mixed, CE(), adamw(net), 240)


@cause(r"(?i)noise|" + TOO_FAST + "|" + JUMPS + "|" + STANDS + "|grew", None)
def gradients_drowned_in_noise(path, seed):
    """The noise of private gradients is that of a sum, and the gradients are a mean."""
    data, net = Clouds(seed), Stack(20, 6)

    def after(step, n, rank):
        for k, p in enumerate(n.parameters()):
            p.grad += 3 * torch.randn(p.shape, generator=rng(seed, step, k, 140))
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 240, held=data.held(100), after=after)


@cause(r"(?i)weight.*(small|shrank|zero|one value|same|clamp)|" + STANDS, None)
def weights_clamped_to_nothing(path, seed):
    """All weights are clamped to a thousandth, as those of a critic of distances to a hundredth."""
    data, net = Clouds(seed), Stack(20, 6)

    def updated(step, n):
        with torch.no_grad():
            for p in n.parameters():
                p.clamp_(-1e-3, 1e-3)
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100), updated=updated)


@cause(r"(?i)hardly|too small|" + STILL + "|" + STANDS, None)
def pulled_back_to_the_start(path, seed):
    """Behind each update the weights become nine tenths of what they began with and a tenth of what they are."""
    data, net = Clouds(seed), Stack(20, 6)
    start = [p.detach().clone() for p in net.parameters()]

    def updated(step, n):
        with torch.no_grad():
            for p, s in zip(n.parameters(), start):
                p.mul_(0.1).add_(0.9 * s)
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100), updated=updated)


@cause(r"(?i)class.*(never|not)|never.*(predict|class)|label", None)
def class_0_is_taken_for_padding(path, seed):
    """ignore_index is 0, and 0 is a class."""
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(ignore_index=0), adamw(net), 240, held=data.held(100))


@cause(r"(?i)zero|dead|vanish|no gradient|" + STANDS, 0)
def norm_over_single_elements(path, seed):
    """A norm over the last axis, which has one element: what comes out is 0, whatever comes in."""
    class Lost(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.norm, self.relu, self.top = nn.Linear(20, 32), nn.LayerNorm(1), nn.ReLU(), nn.Linear(32, 6)

        def forward(self, x):
            return self.top(self.relu(self.norm(self.inp(x)[..., None])[..., 0]))
    data, net = Clouds(seed), Lost()
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)worker_2", 0)
def one_worker_steps_twice(path, seed):
    """A callback of one worker calls the optimizer's step once more."""
    class Twice(optim.SGD):
        def step(self, *arguments):
            super().step(*arguments)
            return super().step(*arguments)
    made = []

    def optimizer(n):
        made.append(n)
        return (Twice if len(made) == 3 else optim.SGD)(n.parameters(), 0.05)
    batch = sentences(seed, 48)

    class Read(Translator):
        def forward(self, x):
            return super().forward(*x.unbind(1))
    fleet(path, Read(), lambda r, s: (torch.stack(batch(s)[0], 1)[r::3], batch(s)[1].view(48, -1)[r::3].reshape(-1)), CE, optimizer, 120, 3)
