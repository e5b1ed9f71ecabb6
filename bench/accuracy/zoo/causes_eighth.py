"""causes_eighth.py - an eighth set of faults for the first line: pictures, speech, recommendation, graphs, diffusion, adapters, half precision,
schedules, loaders, workers. Written in one go, with the words that a right line has, before any result of it was looked at."""
import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_fifth import adamw, sgd
from causes_seventh import Adapted, Blobs, Encoder, JUMPS, Masks, STANDS, STILL, Series, TOO_FAST, adapted, letters
from faulty import spoilt
from fifth_parts import Clouds, Curves, Memory, Patterns, Pixels, Stack, codes, rng, swings
from loop import fit, fleet

TRAININGS, cause = cause_set("eighth")
TOO_SMALL = r"too small|hardly|vanish|underflow|exactly zero|no weight|" + STANDS


class Speech(nn.Module):
    """Frames of six bands; a unit for each, and the blank."""

    def __init__(self, units=5):
        super().__init__()
        self.gru, self.out = nn.GRU(6, 24, batch_first=True), nn.Linear(24, units)

    def forward(self, x):
        return self.out(self.gru(x)[0]).log_softmax(2)


class CtcLoss(nn.Module):
    def forward(self, scores, y):
        n = len(y)
        return nn.functional.ctc_loss(scores.transpose(0, 1), y, torch.full((n,), scores.shape[1]), torch.full((n,), y.shape[1]))


def spoken(seed, size, number=0, frames=12, units=3):
    """A unit lasts four frames, in which its own two bands are loud."""
    def of(step):
        g = rng(seed, step, number, 17)
        y = torch.randint(1, 4, (size, units), generator=g)
        loud = y.repeat_interleave(frames // units, 1)
        x = 0.3 * torch.randn(size, loud.shape[1], 6, generator=g)
        for k in range(2):
            x.scatter_add_(2, (2 * (loud - 1) + k)[..., None], torch.ones(loud.shape)[..., None])
        return x, y
    return of


class Recommender(nn.Module):
    """A user's vector times an item's."""

    def __init__(self, sparse=False):
        super().__init__()
        self.user, self.item = nn.Embedding(60, 8, sparse=sparse), nn.Embedding(40, 8, sparse=sparse)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return (self.user(x[:, 0]) * self.item(x[:, 1])).sum(1) + self.bias


def ratings(seed, size, number=0):
    g = rng(seed, 21)
    u, v = torch.randn(60, 3, generator=g), torch.randn(40, 3, generator=g)

    def of(step):
        g = rng(seed, step, number, 18)
        x = torch.stack([torch.randint(0, 60, (size,), generator=g), torch.randint(0, 40, (size,), generator=g)], 1)
        return x, ((u[x[:, 0]] * v[x[:, 1]]).sum(1) > 0).float()
    return of


class Graph(nn.Module):
    """Two rounds of messages over the edges of a graph that stands."""

    def __init__(self, adjacency, inputs=8, classes=3):
        super().__init__()
        self.register_buffer("adjacency", adjacency)
        self.first, self.relu, self.second, self.relu_b, self.out = (nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(),
                                                                   nn.Linear(24, classes))

    def forward(self, x):
        h = self.relu(self.first(self.adjacency @ x))
        return self.out(self.relu_b(self.second(self.adjacency @ h)))


def neighbours(seed, normalise=True, nodes=90):
    g = rng(seed, 23)
    y = torch.arange(nodes) % 3
    same = (y[:, None] == y[None]).float()
    a = (torch.rand(nodes, nodes, generator=g) < 0.02 + 0.15 * same).float()
    a = ((a + a.t() + torch.eye(nodes)) > 0).float()
    x = torch.randn(nodes, 8, generator=g)
    x[:, :3] += 0.7 * nn.functional.one_hot(y, 3)
    return (a / a.sum(1, keepdim=True) if normalise else a), x, y


# -- pictures and masks

@cause(r"(?i)(mask|label|target)|input|" + JUMPS, 100)
def pictures_flipped_without_masks(path, seed):
    """From a step on pictures are mirrored, and their masks are not."""
    data, net = Blobs(seed), Masks()
    fit(path, net, from_step(data.batch(12), 100, lambda x, y: (x.flip(3), y)), CE(), adamw(net, 3e-3), 200, held=data.batch(30, 1))


@cause(r"(?i)input|channel", 110)
def pictures_turn_grey(path, seed):
    """From a step on all three channels are their mean."""
    data, net = Patterns(seed), Pixels()
    for x in (data.x, data.held_x):
        x *= torch.tensor([1.5, 1.0, 0.5])[:, None, None]
    fit(path, net, from_step(data.batch(24), 110, lambda x, y: (x.mean(1, keepdim=True).expand(-1, 3, -1, -1).clone(), y)), CE(),
        sgd(net, 0.02), 220, held=data.held(60))


@cause(r"(?i)evaluat", None)
def evaluated_on_one_class(path, seed):
    """The set of evaluation is sorted, and only its first part is looked at."""
    data, net = Clouds(seed), Stack(20, 6)
    x, y = data.held_x[data.held_y == 2][:40], data.held_y[data.held_y == 2][:40]
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=lambda k: (x.clone(), y.clone()))


# -- speech

@cause(r"(?i)input.*(large|scale)|" + TOO_FAST, 0)
def power_without_logarithm(path, seed):
    """Bands as power, from 0 to ten thousands, where their logarithm was meant."""
    net, plain = Speech(), spoken(seed, 24)
    fit(path, net, lambda s: ((2.3 * (1 + plain(s)[0])).exp() ** 2, plain(s)[1]), CtcLoss(), adamw(net, 5e-3), 180)


@cause(r"(?i)loss.*\binf|inf.*loss|(label|target).*(length|long)", 90)
def text_longer_than_sound(path, seed):
    """A batch whose texts have more units than its sound has frames."""
    net, plain = Speech(), spoken(seed, 24)
    fit(path, net, spoilt(plain, (90,), lambda x, y: (x[:, :2].contiguous(), y)), CtcLoss(), adamw(net, 5e-3), 160)


# -- recommendation

@cause(r"(?i)user.*" + STILL, 0)
def users_left_out(path, seed):
    """The optimizer of the tables is given the items' only."""
    net = Recommender()
    fit(path, net, ratings(seed, 64), nn.BCEWithLogitsLoss(), adamw(net.item, 3e-2), 220, held=ratings(seed, 100, 1))


@cause(r"(?i)(label|target).*(one|all|constant|0)|one class", 100)
def all_are_negatives(path, seed):
    """From a step on the sampler puts negatives in the places of what was clicked."""
    net = Recommender()
    fit(path, net, from_step(ratings(seed, 64), 100, lambda x, y: (x, y * 0)), nn.BCEWithLogitsLoss(), adamw(net, 3e-2), 220,
        held=ratings(seed, 100, 1))


@cause(r"(?i)probabilit|sigmoid|" + STANDS, 0)
def sigmoid_before_logits(path, seed):
    data = Clouds(seed, kinds=2)
    net = nn.Sequential(Stack(20, 1), nn.Sigmoid(), nn.Flatten(0))

    def batch(step):
        x, y = data.batch(32)(step)
        return x, y.float()
    fit(path, net, batch, nn.BCEWithLogitsLoss(), adamw(net, 3e-3), 240)


# -- graphs, diffusion, rewards

@cause(r"(?i)initial|begins|large|grow|" + TOO_FAST, (0, 30))
def neighbours_summed(path, seed):
    """Messages are summed over a dozen neighbours, where their mean was meant, at a rate for the mean."""
    a, x, y = neighbours(seed, normalise=False)
    net = Graph(a * 3)
    fit(path, net, lambda s: (x, y), CE(), sgd(net, 0.3), 160)


@cause(r"(?i)input.*(large|scale)|" + TOO_FAST, 0)
def time_not_scaled(path, seed):
    """A denoiser gets times of 0 to 1000 beside inputs of about 1."""
    data, net = Clouds(seed, rows=1600, kinds=4, spread=0.4), Stack(21, 20, act=nn.SiLU)

    def batch(step):
        x, _ = data.batch(32)(step)
        g = rng(seed, step)
        t, noise = torch.randint(0, 1000, (32, 1), generator=g).float(), torch.randn(x.shape, generator=g)
        return torch.cat([t, x * (1 - t / 1000) + noise * t / 1000], 1), noise
    fit(path, net, batch, nn.MSELoss(), sgd(net, 0.02), 220)


@cause(r"(?i)(target|label|reward).*(one value|constant|zero|all|scale|chang)|(target|label)", 110)
def rewards_all_zero(path, seed):
    """From a step on every reward is zero."""
    data, net = Curves(seed), Stack(8, 1, act=nn.Tanh)
    fit(path, net, from_step(data.batch(32), 110, lambda x, y: (x, y * 0)), nn.SmoothL1Loss(), adamw(net), 220)


# -- adapters

@cause(r"(?i)lora|jump|" + TOO_FAST, (0, 20))
def adapter_scale_too_large(path, seed):
    """What the adapters add is multiplied by 64, at the rate for 1."""
    data, net = Clouds(seed), adapted(seed)

    def loud(inner):
        class Loud(Adapted):
            def forward(self, x):
                return self.inner(x) + 64 * (x @ self.lora_a.t() @ self.lora_b.t())
        return Loud(inner)
    net.inp, net.mid = loud(net.inp.inner), loud(net.mid.inner)
    fit(path, net, data.batch(32), CE(), adamw(net, 3e-2), 200, held=data.held(100))


@cause(r"(?i)inner.*(jump|chang|left)|weights?.*jump|(inp|mid).*(jump|chang)", 120)
def adapter_merged_and_kept(path, seed):
    """At a step the adapters are added to the weights that stand, and stay beside them."""
    data, net = Clouds(seed), adapted(seed)
    net.top.requires_grad_(True)

    def change(step, n, rank):
        if step == 120:
            with torch.no_grad():
                for m in (n.inp, n.mid):
                    m.inner.weight += 3 * m.lora_b @ m.lora_a
    fit(path, net, data.batch(32), CE(), adamw(net, 1e-2), 220, change=change, held=data.held(100))


# -- precision and clipping

@cause(r"(?i)" + TOO_SMALL, 0)
def clipped_before_unscaled(path, seed):
    """The gradients of a loss times 65536 are cut to norm 1, and then divided by 65536."""
    data, net = Clouds(seed), Stack(20, 6)

    def after(step, n, rank):
        nn.utils.clip_grad_norm_(n.parameters(), 1.0)
        for p in n.parameters():
            p.grad /= 65536
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 220, scale=lambda s: 65536.0, after=after, held=data.held(100))


@cause(r"(?i)(inf|NaN)|(input|channel).*(constant|one value|zero)", 90)
def epsilon_lost_in_half(path, seed):
    """Rows are brought to deviation 1 in half precision, where 1e-8 is zero; at a step a row is constant."""
    data = Clouds(seed)

    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = Stack(20, 6)

        def forward(self, x):
            h = x.half().float()
            spread = (h.std(1, keepdim=True).half().float() + torch.tensor(1e-8).half().float())
            return self.body((h - h.mean(1, keepdim=True)) / spread)

    def spoil(x, y):
        x[5] = 0
        return x, y
    net = Normed()
    fit(path, net, spoilt(data.batch(32), (90,), spoil), CE(), adamw(net), 160)


@cause(r"(?i)NaN|\binf", 120)
def temperature_reaches_zero(path, seed):
    class Cooled(nn.Module):
        heat = 1.0

        def __init__(self):
            super().__init__()
            self.body = Stack(20, 6)

        def forward(self, x):
            return self.body(x) / self.heat
    data, net = Clouds(seed), Cooled()

    def change(step, n, rank):
        n.heat = max(0.0, 1 - step // 12 / 10)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.003), 160, change=change)


# -- schedules

@cause(r"(?i)no weight|" + TOO_SMALL + "|" + STILL, None)
def epochs_counted_as_batches(path, seed):
    """A schedule that divides the rate by ten every 10 epochs is stepped with every batch."""
    data, net = Clouds(seed), Stack(20, 6)
    opt = sgd(net, 0.02)
    fit(path, net, data.batch(32), CE(), opt, 220, held=data.held(100), schedule=optim.lr_scheduler.StepLR(opt, 10, 0.1))


@cause("(?i)jump|" + TOO_FAST, None)
def warm_up_never_ends(path, seed):
    net = Encoder()
    opt = optim.Adam(net.parameters(), 1e-3)
    fit(path, net, codes(seed, 32), CE(), opt, 240, held=codes(seed, 60, number=1),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: 1.05 ** s))


@cause(r"(?i)initial|variance|equal|constant|one value|" + STANDS, 0)
def weights_all_alike(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    for m in (net.inp, net.mid, net.top):
        nn.init.constant_(m.weight, 0.05)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.03), 220, held=data.held(100))


# -- loaders

@cause(r"(?i)same batch|repeat|again", 110)
def three_batches_in_a_circle(path, seed):
    """From a step on a queue gives the same three batches in turn."""
    data, net = Clouds(seed, spread=2.0), Stack(20, 6)
    plain = data.batch(32)
    fit(path, net, lambda s: plain(s if s < 110 else 110 + s % 3), CE(), adamw(net), 240, held=data.held(100))


@cause(r"(?i)label|target|input|" + JUMPS, 110)
def inputs_of_the_batch_before(path, seed):
    """A buffer is used again too early: inputs are those of the batch before."""
    net, plain = Series(), letters(seed, 32)
    fit(path, net, lambda s: plain(s) if s < 110 else (plain(s - 1)[0], plain(s)[1]), CE(), adamw(net, 5e-3), 220,
        held=letters(seed, 60, 1))


@cause(r"(?i)input", 100)
def padded_on_the_wrong_axis(path, seed):
    """From a step on the second half of every series is zero."""
    net = Memory()

    def cut(x, y):
        x = x.clone()
        x[:, 8:] = 0
        return x, y
    fit(path, net, from_step(swings(seed, 32), 100, cut), nn.MSELoss(), adamw(net, 5e-3), 200, held=swings(seed, 60, number=1))


# -- workers

@cause(r"(?i)worker_1.*(weight|differ|apart|top)|weights.*(apart|differ|equal at no)|two workers", 0)
def head_of_one_worker_not_loaded(path, seed):
    """A checkpoint is loaded on one of two workers without the head; gradients are exchanged."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if rank == 1 and step == 0:
            nn.init.normal_(n.top.weight, 0, 0.1)
    fleet(path, net, data.shard(16, 2), CE, lambda n: sgd(n, 0.03), 140, 2, change=change)


@cause(r"(?i)worker_2", 70)
def one_worker_leaves_out_an_update(path, seed):
    """A worker's own scaler sees an overflow, and that worker alone skips the update."""
    data, net = Clouds(seed), Stack(20, 6)
    opts = []

    def new(n):
        opts.append(sgd(n, 0.03, momentum=0.0))
        return opts[-1]

    def before(step, rank):
        if rank == 2:
            opts[2].param_groups[0]["lr"] = 0.0 if step == 70 else 0.03
    fleet(path, net, data.shard(16, 3), CE, new, 140, 3, before_pass=before)
