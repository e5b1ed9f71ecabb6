"""healthy_kinds.py - healthy trainings of other kinds: pictures and densities that are made, policies, pairs, graphs."""
import copy

import torch
from torch import nn, optim
from torch.nn import functional as F

from loop import fit
from nets import dense
from registry import adam, digits, healthy


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
