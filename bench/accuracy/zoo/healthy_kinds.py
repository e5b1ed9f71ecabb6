"""healthy_kinds.py - healthy trainings of kinds that the other two files lack: diffusion, policies, contrast, graphs, experts, adapters."""
import copy

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from assay_hook import modes
from loop import finish, fit, fleet, hook_for
from nets import Chars, conv, dense
from registry import adam, digits, healthy, sgd
from sets import Letters


def generator(seed, step):
    return torch.Generator().manual_seed(seed * 6700417 + step)


# -- what a network makes

class Denoiser(nn.Module):
    """A small U-shaped network that tells the noise in a picture; the time comes in as a shift of the channels."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, 2, 1)
        self.middle, self.up = nn.Conv2d(32, 32, 3, padding=1), nn.ConvTranspose2d(32, 16, 2, 2)
        self.out, self.time = nn.Conv2d(32, 1, 3, padding=1), nn.Linear(8, 32)
        self.act1, self.act2, self.act3 = nn.SiLU(), nn.SiLU(), nn.SiLU()
        self.norm = nn.GroupNorm(4, 32)

    def forward(self, both):
        x, when = both
        first = self.act1(self.down1(x))
        angles = when[:, None] * torch.arange(1, 5)
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))[:, :, None, None]
        low = self.act2(self.norm(self.down2(first)) + time)
        return self.out(torch.cat([first, self.act3(self.up(self.middle(low)))], 1))


@healthy
def diffusion(path, seed):
    data, net = digits(seed, images=True), Denoiser()
    pictures = data.batch(32)

    def batch(step):
        x, _ = pictures(step)
        g = generator(seed, step)
        when, noise = torch.rand(len(x), generator=g), torch.randn(x.shape, generator=g)
        kept = torch.cos(when * 1.57)[:, None, None, None]
        return (kept * x + (1 - kept ** 2).sqrt() * noise, when), noise

    fit(path, net, batch, nn.MSELoss(), optim.AdamW(net.parameters(), 2e-3), 500, every=5, held=lambda k: batch(10 ** 6 + k), clip=1.0)


@healthy
def flow(path, seed):
    """Coupling layers that learn a density: the loss is a log likelihood, which falls below zero."""
    torch.manual_seed(seed)

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(dense(2, 4, hidden=32) for _ in range(4))

        def forward(self, x):
            volume = torch.zeros(len(x))
            for i, part in enumerate(self.parts):
                a, b = (x[:, :2], x[:, 2:]) if i % 2 == 0 else (x[:, 2:], x[:, :2])
                scale, shift = part(a).chunk(2, 1)
                scale = torch.tanh(scale)
                b, volume = b * scale.exp() + shift, volume + scale.sum(1)
                x = torch.cat([a, b] if i % 2 == 0 else [b, a], 1)
            return x, volume

    class Likelihood(nn.Module):
        def forward(self, out, _):
            z, volume = out
            return (0.5 * (z ** 2).sum(1) - volume).mean()

    def batch(step):
        g = generator(seed, step)
        base = torch.randn(64, 2, generator=g) * 0.3
        return torch.cat([base, base.sin() + 0.05 * torch.randn(64, 2, generator=g)], 1), None

    net = Flow()
    fit(path, net, batch, Likelihood(), adam(net, 2e-3), 400, every=2, held=lambda k: batch(10 ** 6 + k))


@healthy
def physics(path, seed):
    """A network that solves a differential equation: gradients by the inputs, two terms in the loss."""
    torch.manual_seed(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2, self.fc3 = nn.Linear(1, 32), nn.Linear(32, 32), nn.Linear(32, 1)
            self.tanh1, self.tanh2 = nn.Tanh(), nn.Tanh()

        def forward(self, t):
            return self.fc3(self.tanh2(self.fc2(self.tanh1(self.fc1(t)))))

    class Residual(nn.Module):
        def forward(self, u, t):
            slope = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
            return ((slope + 2 * u) ** 2).mean() + (u[:1] - 1).pow(2).mean()

    def batch(step):
        t = 2 * torch.rand(64, 1, generator=generator(seed, step))
        t[0] = 0
        t.requires_grad_(True)
        return t, t

    net = Net()
    fit(path, net, batch, Residual(), adam(net, 3e-3), 500, every=5)


# -- policies

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.relu, self.fc2 = nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3)

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


def rewards(states, actions):
    """The action that goes with the largest of three numbers pays 1."""
    return (states[:, :3].argmax(1) == actions).float()


class PolicyLoss(nn.Module):
    def forward(self, scores, taken):
        actions, advantage = taken
        return -(F.log_softmax(scores, 1).gather(1, actions[:, None])[:, 0] * advantage).mean()


@healthy
def policy_gradient(path, seed):
    """REINFORCE with a moving baseline: the loss is about zero all the time, what rises is the reward."""
    torch.manual_seed(seed)
    net, level = Policy(), [0.3]

    def batch(step):
        states = torch.randn(64, 4, generator=generator(seed, step))
        with torch.no_grad():
            actions = torch.multinomial(net(states).softmax(1), 1, generator=generator(seed, 7 * step + 1))[:, 0]
        gained = rewards(states, actions)
        advantage = gained - level[0]
        level[0] += 0.1 * (float(gained.mean()) - level[0])
        return states, (actions, advantage)

    fit(path, net, batch, PolicyLoss(), adam(net, 3e-3), 400)


@healthy
def q_learning(path, seed):
    """Values learned from a copy of the network that follows every 50 steps: the loss rises after each."""
    torch.manual_seed(seed)
    net = Policy()
    behind = copy.deepcopy(net)

    def batch(step):
        if step % 50 == 0:
            behind.load_state_dict(net.state_dict())
        g = generator(seed, step)
        states, following = torch.randn(64, 4, generator=g), torch.randn(64, 4, generator=g)
        actions = torch.randint(0, 3, (64,), generator=g)
        with torch.no_grad():
            target = rewards(states, actions) + 0.8 * behind(following).max(1).values
        return states, (actions, target)

    class Difference(nn.Module):
        def forward(self, values, wanted):
            actions, target = wanted
            return F.smooth_l1_loss(values.gather(1, actions[:, None])[:, 0], target)

    fit(path, net, batch, Difference(), adam(net, 1e-3), 600, every=3)


# -- pairs and graphs

@healthy
def contrastive(path, seed):
    """Two views of each picture are to find one another among the others of the batch; labels are places in the batch."""
    data, net = digits(seed), dense(64, 16)
    rows = data.batch(48)

    class Contrast(nn.Module):
        def __init__(self):
            super().__init__()
            self.CrossEntropyLoss = nn.CrossEntropyLoss()

        def forward(self, z, _):
            z = F.normalize(z, dim=1)
            a, b = z.chunk(2)
            return self.CrossEntropyLoss(a @ b.t() / 0.2, torch.arange(len(a)))

    def batch(step):
        x, _ = rows(step)
        g = generator(seed, step)
        return torch.cat([x + 0.3 * torch.randn(x.shape, generator=g), x + 0.3 * torch.randn(x.shape, generator=g)]), None

    fit(path, net, batch, Contrast(), adam(net, 2e-3), 400, every=2, held=lambda k: batch(10 ** 6 + k))


@healthy
def teacher_that_follows(path, seed):
    """A student learns what a slow average of itself says; the average is part of the recorded network and has no gradients."""
    data = digits(seed)
    rows = data.batch(64)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.student, self.head = dense(64, 16), nn.Linear(16, 16)
            self.teacher = copy.deepcopy(self.student)
            for p in self.teacher.parameters():
                p.requires_grad_(False)

        def forward(self, x):
            a, b = x
            with torch.no_grad():
                wanted = self.teacher(b)
            return self.head(self.student(a)), wanted

    class Agreement(nn.Module):
        def forward(self, out, _):
            return 2 - 2 * F.cosine_similarity(out[0], out[1], dim=1).mean()

    net = Both()

    def batch(step):
        x, _ = rows(step)
        g = generator(seed, step)
        return (x + 0.2 * torch.randn(x.shape, generator=g), x + 0.2 * torch.randn(x.shape, generator=g)), None

    def follow(step, net, rank):
        with torch.no_grad():
            for mine, theirs in zip(net.teacher.parameters(), net.student.parameters()):
                mine.mul_(0.99).add_(theirs, alpha=0.01)

    trained = [p for p in net.parameters() if p.requires_grad]
    fit(path, net, batch, Agreement(), optim.Adam(trained, 2e-3), 300, every=2, after=follow)


@healthy
def graph(path, seed):
    """One graph, always whole: few nodes have labels, the others are ignored."""
    torch.manual_seed(seed)
    g, nodes, classes = generator(seed, 0), 120, 3
    kind = torch.randint(0, classes, (nodes,), generator=g)
    near = (torch.rand(nodes, nodes, generator=g) < torch.where(kind[:, None] == kind[None], 0.2, 0.02)).float()
    near = ((near + near.t()) > 0).float() + torch.eye(nodes)
    spread = near / near.sum(1, keepdim=True)
    x = torch.randn(nodes, 12, generator=g) + F.one_hot(kind, 12)
    known = torch.rand(nodes, generator=g) < 0.3
    shown, kept = torch.where(known, kind, -100), torch.where(known, -100, kind)

    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.relu1, self.dropout, self.fc2 = nn.Linear(12, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, classes)

        def forward(self, x):
            return spread @ self.fc2(self.dropout(self.relu1(spread @ self.fc1(x))))

    net = Graph()
    fit(path, net, lambda step: (x, shown), nn.CrossEntropyLoss(), adam(net, 0.01, weight_decay=5e-4), 150,
        held=lambda k: (x, kept), eval_every=10)


# -- parts of a network that take turns

class Experts(nn.Module):
    """Each sample goes to one of eight experts; some get next to none."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(64, 8)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 10)) for _ in range(8))

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(1).max(1)
        out = torch.zeros(len(x), 10)
        for i, expert in enumerate(self.experts):
            rows = (chosen == i).nonzero()[:, 0]
            if len(rows):
                out = out.index_add(0, rows, weight[rows, None] * expert(x[rows]))
        return out


@healthy
def rare_experts(path, seed):
    data, net = digits(seed), Experts()
    with torch.no_grad():
        net.gate.weight.mul_(0.3)
        net.gate.bias.copy_(torch.tensor([0., 0, 0, 0, 0, -0.3, -0.5, -0.6]))
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3), 400, held=data.held(300))


@healthy
def stochastic_depth(path, seed):
    """Blocks that are left out at random: at such a step they have no gradient."""
    data = digits(seed)

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(64, 32), nn.Linear(32, 10)
            self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)) for _ in range(6))
            self.chance, self.step = torch.Generator().manual_seed(seed), 0

        def forward(self, x):
            x = self.first(x)
            for block in self.blocks:
                if not self.training:
                    x = x + 0.7 * block(x)
                elif torch.rand(1, generator=self.chance) < 0.7:
                    x = x + block(x)
            return self.last(x)

    net = Deep()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 1e-3), 400, held=data.held(300))


class Adapted(nn.Linear):
    """A linear layer that stays as it is, beside a product of two thin ones, the second of which begins at zero."""

    def __init__(self, base, rank=4):
        super().__init__(base.in_features, base.out_features)
        self.load_state_dict(base.state_dict())
        self.weight.requires_grad_(False)
        self.bias.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return super().forward(x) + x @ self.lora_a.t() @ self.lora_b.t()


@healthy
def adapters(path, seed):
    """Fine-tuning by adapters of low rank; everything else is frozen."""
    data, net = digits(seed), nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10))
    optimizer, few = adam(net, 2e-3), data.y < 7
    for step in range(150):
        x, y = data.batch(64)(step)
        optimizer.zero_grad()
        F.cross_entropy(net(x)[few[:len(x)]], y[few[:len(x)]]).backward()
        optimizer.step()
    for i in (0, 2, 4):
        net[i] = Adapted(net[i])
    trained = [p for p in net.parameters() if p.requires_grad]
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), optim.AdamW(trained, 3e-3), 300, held=data.held(300))


# -- other ways to compute

class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().max() / 7 + 1e-12
        return (x / scale).round() * scale

    @staticmethod
    def backward(ctx, grad):
        return grad


@healthy
def quantised(path, seed):
    """Weights and activations are rounded to four bits in the forward pass; gradients pass straight through."""
    data = digits(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2, self.fc3 = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)
            self.relu1, self.relu2 = nn.ReLU(), nn.ReLU()

        def forward(self, x):
            x = Rounded.apply(self.relu1(F.linear(x, Rounded.apply(self.fc1.weight), self.fc1.bias)))
            x = Rounded.apply(self.relu2(F.linear(x, Rounded.apply(self.fc2.weight), self.fc2.bias)))
            return F.linear(x, Rounded.apply(self.fc3.weight), self.fc3.bias)

    net = Net()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.05), 400, every=2, held=data.held(300))


@healthy
def clipped_recurrence(path, seed):
    """A plain recurrent network over long sequences: gradients explode now and then and are clipped."""
    torch.manual_seed(seed)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.fc = nn.RNN(2, 32, batch_first=True), nn.Linear(32, 1)

        def forward(self, x):
            return self.fc(self.rnn(x)[0][:, -1])

    def batch(step):  # the sum of two marked numbers
        g = generator(seed, step)
        x = torch.stack([torch.rand(48, 20, generator=g), torch.zeros(48, 20)], 2)
        marks = torch.stack([torch.randperm(20, generator=g)[:2] for _ in range(48)])
        x[torch.arange(48)[:, None], marks, 1] = 1
        return x, (x[:, :, 0] * x[:, :, 1]).sum(1, keepdim=True)

    net = Recurrent()
    with torch.no_grad():
        net.rnn.weight_hh_l0.copy_(1.1 * torch.eye(32))
    fit(path, net, batch, nn.MSELoss(), adam(net, 1e-3), 500, every=5, clip=0.5, held=lambda k: batch(10 ** 6 + k))


@healthy
def checkpointed(path, seed):
    """Activations are computed again in the backward pass: modules run twice a step."""
    data = digits(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(64, 64), nn.Linear(64, 10)
            self.block1 = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
            self.block2 = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())

        def forward(self, x):
            x = self.first(x)
            x = checkpoint(self.block1, x, use_reentrant=False)
            return self.last(checkpoint(self.block2, x, use_reentrant=False))

    net = Net()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.02), 300, every=2, held=data.held(300))


@healthy
def sharpness_aware(path, seed):
    """Two passes a step: the second one on weights that were moved uphill, and moved back before the update."""
    data = digits(seed)
    net, loss = dense(64, 10), nn.CrossEntropyLoss()
    hook, opt = hook_for(path, 2), sgd(net, 0.05)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(300):
        hook.set_mode(modes.TRAIN)
        net.train()
        x, y = data.batch(32)(step)
        opt.zero_grad()
        loss(net(x), y).backward()
        size = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        moves = [0.05 * p.grad / (size + 1e-12) for p in net.parameters()]
        with torch.no_grad():
            for p, move in zip(net.parameters(), moves):
                p.add_(move)
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            for p, move in zip(net.parameters(), moves):
                p.sub_(move)
        opt.step()
        if step % 30 == 29:
            hook.set_mode(modes.EVAL)
            net.eval()
            with torch.no_grad():
                loss(net(data.held_x), data.held_y)
    finish(hook)


@healthy
def speech(path, seed):
    """Connectionist temporal classification: the loss of sequences that are not aligned, large at first."""
    torch.manual_seed(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.fc = nn.GRU(6, 24, batch_first=True, bidirectional=True), nn.Linear(48, 6)

        def forward(self, x):
            return F.log_softmax(self.fc(self.gru(x)[0]), 2).transpose(0, 1)

    class Alignment(nn.Module):
        def forward(self, scores, said):
            n, length = said.shape
            return F.ctc_loss(scores, said, torch.full((n,), len(scores)), torch.full((n,), length))

    def batch(step):
        g = generator(seed, step)
        said = torch.randint(1, 6, (24, 4), generator=g)
        frames = said.repeat_interleave(4, 1)
        return F.one_hot(frames, 6) + 0.4 * torch.randn(24, 16, 6, generator=g), said

    net = Net()
    fit(path, net, batch, Alignment(), adam(net, 3e-3), 400, every=4, clip=5.0, held=lambda k: batch(10 ** 6 + k))


@healthy
def skip_grams(path, seed):
    """Vectors of words from their neighbours: sparse rows, most of them rarely touched."""
    torch.manual_seed(seed)
    words = 500

    class Vectors(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside, self.outside = nn.Embedding(words, 16), nn.Embedding(words, 16)
            nn.init.zeros_(self.outside.weight)

        def forward(self, pairs):
            return (self.inside(pairs[:, :1]) * self.outside(pairs[:, 1:])).sum(2)

    def batch(step):
        g = generator(seed, step)
        odds = 1.0 / torch.arange(1, words + 1) ** 1.2
        first = torch.multinomial(odds, 64, True, generator=g)
        near = (first + torch.randint(1, 4, (64,), generator=g)) % words
        others = torch.randint(0, words, (64, 5), generator=g)
        return torch.cat([first[:, None], near[:, None], others], 1), torch.cat([torch.ones(64, 1), torch.zeros(64, 5)], 1)

    net = Vectors()
    fit(path, net, batch, nn.BCEWithLogitsLoss(), adam(net, 0.01), 400, every=4)


@healthy
def smoothed_and_restarted(path, seed):
    data, net = digits(seed, images=True), conv()
    opt = sgd(net, 0.05)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(label_smoothing=0.2), opt, 400, every=2, held=data.held(300), eval_every=25,
        schedule=optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 100))


@healthy
def letters_of_4_workers(path, seed):
    """A language model on four workers, warmed up, clipped, evaluated on rank 0 alone."""
    torch.manual_seed(seed)
    text = Letters(seed)
    parts = [text.batch(4, 24, number=r) for r in range(4)]
    fleet(path, Chars(text.count), lambda rank, step: parts[rank](step), nn.CrossEntropyLoss,
          lambda n: optim.AdamW(n.parameters(), 3e-3), 200, 4, every=4, held=lambda k: text.batch(16, 24, number=9)(k), eval_ranks=[0])
