"""causes_seventh.py - a seventh set of faults for the first line: what is fed changes at a step, parts of a network that are left out, adapters,
judges, policies, several tasks, workers. Written in one go, with the words that a right line has; nobody had looked at rules or causes for them."""
import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_fifth import adamw, sgd
from faulty import spoilt
from fifth_parts import Clouds, Curves, Memory, Patterns, Pixels, Stack, codes, rng, swings
from loop import finish, fit, fleet, hook_for, modes

TRAININGS, cause = cause_set("seventh")
STANDS = r"loss.*(did not|hardly) f[ae]ll"
TOO_FAST = r"learning rate|updates?.*large|loss.*rose|NaN|infinit|\binf\b|changed far more"
JUMPS = r"loss.*(jump|rose|came back)"
STILL = r"(not move|not moved|never|hardly move|no gradient|frozen|unchanged)"
SMALL = "hardly|too small|" + STILL


class Encoder(nn.Module):
    """Three layers of torch's own transformer; a class of the whole."""

    def __init__(self, kinds=9, classes=8, width=24):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 2, 48, dropout=0.0, batch_first=True)
        self.tok, self.pos, self.body = nn.Embedding(kinds, width), nn.Embedding(14, width), nn.TransformerEncoder(layer, 3)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(self.tok(x) + self.pos.weight[:x.shape[1]]).mean(1))


class Adapted(nn.Module):
    """A linear layer that stands, and a way of low rank around it."""

    def __init__(self, inner, rank=4):
        super().__init__()
        self.inner = inner.requires_grad_(False)
        self.lora_a, self.lora_b = nn.Parameter(torch.randn(rank, inner.in_features) / 4), nn.Parameter(torch.zeros(inner.out_features, rank))

    def forward(self, x):
        return self.inner(x) + x @ self.lora_a.t() @ self.lora_b.t()


def pretrained(data, outputs=6):
    net, steps = Stack(20, outputs), data.batch(64)
    opt = adamw(net, 3e-3)
    for s in range(150):
        opt.zero_grad()
        x, y = steps(s)
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    return net


def adapted(seed):
    """A network of one set, and another set that it is to be adapted to."""
    net = pretrained(Clouds(seed + 50))
    net.inp, net.mid = Adapted(net.inp), Adapted(net.mid)
    net.top.requires_grad_(False)
    return net


class Blobs:
    """Pictures with a disc, and a mask of it."""

    def __init__(self, seed):
        self.seed = seed

    def batch(self, size, number=0):
        def of(step):
            g = rng(self.seed, step, number, 12)
            at, r = torch.randint(3, 9, (size, 2, 1, 1), generator=g), torch.randint(2, 4, (size, 1, 1), generator=g)
            rows, columns = torch.arange(12)[None, :, None], torch.arange(12)[None, None, :]
            mask = ((rows - at[:, 0]) ** 2 + (columns - at[:, 1]) ** 2 <= r * r).long()
            return mask[:, None] * torch.tensor([1.2, 0.4])[:, None, None] + 0.4 * torch.randn(size, 2, 12, 12, generator=g), mask
        return of


class Masks(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.down, self.relu_a = nn.Conv2d(2, 12, 3, padding=1), nn.ReLU()
        self.mid, self.relu_b = nn.Conv2d(12, 12, 3, padding=1), nn.ReLU()
        self.out = nn.Conv2d(12, classes, 1)

    def forward(self, x):
        return self.out(self.relu_b(self.mid(self.relu_a(self.down(x)))))


def letters(seed, size, number=0):
    """Series of three channels, of which one swings: that one and how fast tell the class, of six."""
    def of(step):
        g = rng(seed, step, number, 14)
        y, t = torch.randint(0, 6, (size,), generator=g), torch.arange(12).float()
        x = 0.4 * torch.randn(size, 12, 3, generator=g)
        swing = torch.sin((0.6 + 0.9 * (y // 3).float())[:, None] * t + 6.28 * torch.rand(size, 1, generator=g))
        x[torch.arange(size), :, y % 3] += swing
        return x, y
    return of


class Series(nn.Module):
    def __init__(self, classes=6, width=24):
        super().__init__()
        self.gru, self.read = nn.GRU(3, width, batch_first=True), nn.Linear(width, classes)

    def forward(self, x):
        return self.read(self.gru(x)[0].mean(1))


# -- what is fed changes at a step

@cause(r"(?i)input", 120)
def mean_of_inputs_moves(path, seed):
    """From a step on the mean is no longer taken off."""
    data, net = Curves(seed), Stack(8, 1, act=nn.GELU)
    fit(path, net, from_step(data.batch(32), 120, lambda x, y: (x + 3, y)), nn.MSELoss(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)input", 100)
def pictures_clipped(path, seed):
    """From a step on pictures are cut to a narrow range."""
    data, net = Patterns(seed), Pixels()
    fit(path, net, from_step(data.batch(24), 100, lambda x, y: (x.clamp(-0.4, 0.0), y)), CE(), sgd(net, 0.02), 200, held=data.held(60))


@cause(r"(?i)input|" + JUMPS, 110)
def noise_for_pictures(path, seed):
    """From a step on a decoder returns noise of the usual mean and deviation."""
    data, net = Patterns(seed), Pixels(norm=lambda w: nn.GroupNorm(2, w))

    def noise(x, y):
        return torch.randn(x.shape, generator=rng(seed, int(x.abs().sum() * 10))) * x.std() + x.mean(), y
    fit(path, net, from_step(data.batch(24), 110, noise), CE(), adamw(net, 3e-3), 220, held=data.held(60))


@cause(r"(?i)label|class", 120)
def two_classes_become_one(path, seed):
    """From a step on classes 3, 4 and 5 are all read as 3."""
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, from_step(data.batch(32), 120, lambda x, y: (x, y.clamp(max=3))), CE(), sgd(net, 0.03), 240, held=data.held(100))


@cause(r"(?i)input|tok|code", 100)
def codes_of_a_smaller_table(path, seed):
    """From a step on all codes above 4 are read as 4."""
    net = Encoder()
    fit(path, net, from_step(codes(seed, 32), 100, lambda x, y: (x.clamp(max=4), y)), CE(), adamw(net, 3e-3), 200, held=codes(seed, 60, number=1))


@cause(r"(?i)input|" + JUMPS, 100)
def series_turned_round(path, seed):
    """From a step on time runs backwards."""
    net = Memory()
    fit(path, net, from_step(swings(seed, 32), 100, lambda x, y: (x.flip(1), y)), nn.MSELoss(), adamw(net, 5e-3), 200,
        held=swings(seed, 60, number=1))


@cause(r"(?i)(mask|label|target)|" + JUMPS, 110)
def masks_of_other_pictures(path, seed):
    data, net = Blobs(seed), Masks()
    fit(path, net, from_step(data.batch(12), 110, lambda x, y: (x, y.roll(1, 0))), CE(), adamw(net, 3e-3), 200, held=data.batch(30, 1))


@cause(r"(?i)(mask|label|target|class)|loss.*NaN", 90)
def masks_all_ignored(path, seed):
    """From a step on a mask has nothing but the number that is ignored, in all but a few batches."""
    data, net = Blobs(seed), Masks()
    fit(path, net, from_step(data.batch(12), 90, lambda x, y: (x, y * 0 + 255 if int(x[0, 0, 0, 0] * 1000) % 4 else y)),
        nn.CrossEntropyLoss(ignore_index=255), adamw(net, 3e-3), 180, held=data.batch(30, 1))


@cause(r"(?i)(target|label|input).*scale|" + JUMPS + "|gradient.*jump", 120)
def gains_never_scaled(path, seed):
    """Policy gradient: from a step on the gains are a thousand times as large."""
    best, net = torch.randn(8, 4, generator=rng(seed, 9)), nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))

    class PolicyLoss(nn.Module):
        def forward(self, scores, chosen):
            return -(scores.log_softmax(1).gather(1, chosen[:, :1].long())[:, 0] * chosen[:, 1]).mean()
    loss, opt, hook = PolicyLoss(), optim.Adam(net.parameters(), 3e-3), hook_for(path, 1)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(220):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step)
        x = torch.randn(32, 8, generator=g)
        scores = net(x)
        did = torch.multinomial(scores.detach().softmax(1), 1, generator=g)
        gain = (x @ best).gather(1, did) * (1 if step < 120 else 1000)
        opt.zero_grad()
        loss(scores, torch.cat([did.float(), gain], 1)).backward()
        opt.step()
    finish(hook)


@cause(r"(?i)input.*(zero|one value|constant|nothing)", 0)
def times_all_zero(path, seed):
    """A denoiser that is told the time of no sample: that input is always 0, while the noise is not."""
    data = Clouds(seed, rows=1600)

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Stack(21, 20, act=nn.SiLU)

        def forward(self, t, x):
            return self.net(torch.cat([t, x], 1))
    net = Denoiser()

    def batch(step):
        x, _ = data.batch(32)(step)
        g = rng(seed, step)
        t, noise = torch.rand(32, 1, generator=g), torch.randn(x.shape, generator=g)
        return ((t * 0, x * (1 - t) + noise * t), noise)
    fit(path, net, batch, nn.MSELoss(), adamw(net), 220, forward=lambda n, x: n(*x))


@cause(r"(?i)input.*(inf|NaN)|fed (inf|NaN)", 110)
def divided_by_no_deviation(path, seed):
    data, net = Curves(seed), Stack(8, 1, act=nn.GELU)

    def spoil(x, y):
        x[:, 4] = (x[:, 4] - x[:, 4]) / 0.0
        return x, y
    fit(path, net, spoilt(data.batch(32), (110,), spoil), nn.MSELoss(), adamw(net), 180, held=data.held(100))


# -- evaluation

@cause(r"(?i)evaluat", None)
def colours_swapped_in_evaluation(path, seed):
    data, net = Patterns(seed), Pixels()
    tint = torch.tensor([1.0, 0.2, -0.8])[:, None, None]
    plain, held = data.batch(24), data.held(60)
    fit(path, net, lambda s: (plain(s)[0] + tint, plain(s)[1]), CE(), sgd(net, 0.02), 220, held=lambda k: ((held(k)[0] + tint).flip(1), held(k)[1]))


@cause(r"(?i)evaluat.*(target|label|scale|loss)|(target|label).*evaluat", None)
def targets_of_evaluation_in_other_units(path, seed):
    data, net = Curves(seed), Stack(8, 1, act=nn.GELU)
    held = data.held(100)
    fit(path, net, data.batch(32), nn.MSELoss(), adamw(net), 220, held=lambda k: (held(k)[0], held(k)[1] * 100))


@cause(r"(?i)evaluat", None)
def labels_of_evaluation_mixed_up(path, seed):
    net, held = Series(), letters(seed, 60, 1)
    fit(path, net, letters(seed, 32), CE(), adamw(net, 5e-3), 240, held=lambda k: (held(k)[0], held(k)[1].roll(7)))


# -- losses

@cause(r"(?i)class", 0)
def two_classes_weigh_nothing(path, seed):
    net, weight = Series(), torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    fit(path, net, letters(seed, 32), nn.CrossEntropyLoss(weight=weight), adamw(net, 5e-3), 260, held=letters(seed, 60, 1))


@cause(r"(?i)label.*(one class|0)|" + STANDS, 0)
def pairs_all_of_the_first(path, seed):
    """Contrast within a batch, but all are told that the first is theirs."""
    data, net = Clouds(seed, rows=2000, kinds=16), Stack(20, 16)

    class Pairs(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            g = rng(seed, int(x.abs().sum() * 100))
            a, b = (nn.functional.normalize(self.net(x + 0.3 * torch.randn(x.shape, generator=g)), dim=1) for _ in range(2))
            return a @ b.t() / 0.1
    fit(path, Pairs(), lambda s: (data.batch(32)(s)[0], torch.zeros(32, dtype=torch.long)), CE(), adamw(net), 220)


@cause(r"(?i)shr[au]nk|decay|zero|" + STANDS, None)
def pulled_to_zero(path, seed):
    """The sum of all weights' magnitudes is added to the loss, with a factor a hundred times too large."""
    data, net = Clouds(seed), Stack(20, 6)

    class PulledLoss(nn.Module):
        def forward(self, out, y):
            return nn.functional.cross_entropy(out, y) + 0.1 * sum(p.abs().sum() for p in net.parameters())
    fit(path, net, data.batch(32), PulledLoss(), sgd(net, 0.01), 240)


@cause(r"(?i)(target|label)|" + JUMPS, 110)
def tasks_exchanged(path, seed):
    """Two tasks of one body: from a step on each head gets the targets of the other."""
    data = Curves(seed)

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.act, self.first, self.second = nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1), nn.Linear(48, 1)

        def forward(self, x):
            h = self.act(self.body(x))
            return torch.cat([self.first(h), self.second(h)], 1)
    net, plain = Two(), data.batch(32)

    def batch(step):
        x, y = plain(step)
        return x, torch.cat([y, x[:, :1] - x[:, 3:4]], 1)
    fit(path, net, from_step(batch, 110, lambda x, y: (x, y.flip(1))), nn.MSELoss(), adamw(net), 200)


# -- parts that are not trained

@cause(r"(?i)layers\.1.*" + STILL, 0)
def middle_of_three_frozen(path, seed):
    net = Encoder()
    net.body.layers[1].requires_grad_(False)
    fit(path, net, codes(seed, 32), CE(), adamw(net, 3e-3), 200, held=codes(seed, 60, number=1))


@cause(r"(?i)(mid|down).*" + STILL, 0)
def middle_left_out_of_the_optimizer(path, seed):
    data, net = Blobs(seed), Masks()
    fit(path, net, data.batch(12), CE(), adamw(nn.ModuleList([net.down, net.out]), 3e-3), 200, held=data.batch(30, 1))


@cause(r"(?i)mid.*" + STILL, 100)
def middle_frozen_later(path, seed):
    """A clean-up switches off the gradients of the middle layer at a step."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if step == 100:
            n.mid.requires_grad_(False)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.03), 220, change=change, held=data.held(100))


@cause(r"(?i)lora.*(zero|" + STILL + ")|no weight|gradients are exactly zero|" + STANDS, 0)
def adapters_all_zero(path, seed):
    """Both factors of the adapters begin at zero: no gradient reaches either."""
    data, net = Clouds(seed), adapted(seed)
    for p in (net.inp.lora_a, net.mid.lora_a):
        p.data.zero_()
    fit(path, net, data.batch(32), CE(), adamw(net, 1e-2), 200, held=data.held(100))


@cause(r"(?i)lora.*" + STILL + "|no weight", 0)
def adapters_left_out(path, seed):
    """Everything but the head stands: the optimizer does not know the adapters."""
    data, net = Clouds(seed), adapted(seed)
    net.top.requires_grad_(True)
    fit(path, net, data.batch(32), CE(), adamw(net.top, 1e-2), 200, held=data.held(100))


@cause(r"(?i)make.*" + STILL, 0)
def generator_never_steps(path, seed):
    """A generator and a judge; both optimizers have the judge's weights."""
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.make, self.judge = Stack(6, 2), Stack(2, 1)

        def forward(self, x):
            return self.judge(x)
    net, loss, hook = Pair(), nn.BCEWithLogitsLoss(), hook_for(path, 1)
    ours, theirs = optim.Adam(net.judge.parameters(), 1e-3), optim.Adam(net.judge.parameters(), 1e-3)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(220):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step)
        angle = 6.28 * torch.rand(64, 1, generator=g)
        real = torch.cat([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(64, 2, generator=g)
        fake = net.make(torch.randn(64, 6, generator=g))
        net.zero_grad()
        loss(net(torch.cat([real, fake.detach()])), torch.cat([torch.ones(64, 1), torch.zeros(64, 1)])).backward()
        theirs.step()
        net.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net.judge(fake), torch.ones(64, 1)).backward()
        ours.step()
    finish(hook)


@cause(r"(?i)target.*" + STILL, 0)
def targets_network_never_follows(path, seed):
    """Q-learning: the network that makes the targets is never made equal to the one that learns."""
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.online, self.target = Stack(6, 3, act=nn.Tanh), Stack(6, 3, act=nn.Tanh)
            self.target.load_state_dict(self.online.state_dict())
            self.target.requires_grad_(False)

        def forward(self, x):
            return self.online(x)
    net, drift = Both(), torch.randn(3, 6, generator=rng(seed, 8)) * 0.3

    def batch(step):
        g = rng(seed, step, 3)
        x, act = torch.randn(48, 6, generator=g), torch.randint(0, 3, (48,), generator=g)
        with torch.no_grad():
            later = net.target(x + drift[act]).max(1, keepdim=True)[0]
            return x, torch.cat([act[:, None].float(), (x * drift[act]).sum(1, keepdim=True) + 0.9 * later], 1)

    class QLoss(nn.Module):
        def forward(self, out, want):
            return nn.functional.smooth_l1_loss(out.gather(1, want[:, :1].long()), want[:, 1:])
    fit(path, net, batch, QLoss(), adamw(net.online, 3e-3), 260)


@cause(r"(?i)rows? of|tok.*" + STILL, None)
def padding_is_a_word(path, seed):
    """The table takes a code that is used for the padding: its row stands at zero."""
    net, plain = Encoder(), codes(seed, 32)
    net.tok = nn.Embedding(9, 24, padding_idx=4)
    fit(path, net, plain, CE(), adamw(net, 3e-3), 220, held=codes(seed, 60, number=1))


@cause(r"(?i)(relu|code|enc|act).*dead|dead.*(relu|code|enc|act)", 0)
def bottleneck_dead(path, seed):
    data = Clouds(seed, rows=1600)

    class Squeeze(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.act, self.code, self.relu = nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 6), nn.ReLU()
            self.dec = nn.Linear(6, 20)
            nn.init.constant_(self.code.bias, -12.0)

        def forward(self, x):
            return self.dec(self.relu(self.code(self.act(self.enc(x)))))
    net = Squeeze()
    fit(path, net, lambda s: (data.batch(32)(s)[0],) * 2, nn.MSELoss(), adamw(net), 220)


# -- rates and numbers

@cause("(?i)jump|" + TOO_FAST, (0, 30))
def first_updates_too_large(path, seed):
    """A convolutional network without norms, Adam at 0.1 without a warm-up."""
    data, net = Patterns(seed), Pixels(norm=lambda w: nn.Identity())
    fit(path, net, data.batch(24), CE(), optim.Adam(net.parameters(), 0.1), 200, held=data.held(60))


@cause("(?i)jump|" + TOO_FAST, (0, 30))
def fine_tuned_too_fast(path, seed):
    data, net = Clouds(seed), pretrained(Clouds(seed))
    fit(path, net, data.batch(32), CE(), sgd(net, 2.0), 160, held=data.held(100))


@cause("(?i)jump|" + TOO_FAST, 150)
def restart_of_the_cycle_too_high(path, seed):
    net = Series()
    opt = adamw(net, 3e-3)
    fit(path, net, letters(seed, 32), CE(), opt, 240, held=letters(seed, 60, 1),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: 1 - 0.9 * s / 150 if s < 150 else 60.0))


@cause(r"(?i)NaN", 90)
def row_all_masked(path, seed):
    """A sequence of which every place is masked: the softmax is taken over nothing."""
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.pick, self.up, self.gelu, self.head = nn.Embedding(9, 24), nn.Linear(24, 1), nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 8)

        def forward(self, x):
            h = self.tok(x)
            s = self.pick(h)[..., 0].masked_fill(x == 0, float("-inf")).softmax(1)
            return self.head(self.gelu(self.up(h + (s[..., None] * h).sum(1, keepdim=True))).mean(1))
    net = Masked()

    def spoil(x, y):
        x[3] = 0
        return x, y
    fit(path, net, spoilt(codes(seed, 32), (90,), spoil), CE(), adamw(net, 3e-3), 160)


# -- workers

@cause(r"(?i)worker_1.*(same|again|repeat)|(same|again|repeat).*worker_1", 60)
def one_worker_stuck_at_a_batch(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.shard(16, 3)
    fleet(path, net, lambda r, s: plain(r, 60) if r == 1 and s >= 60 else plain(r, s), CE, lambda n: sgd(n, 0.03), 160, 3)


@cause(r"(?i)worker_3.*(label|loss|gradient|class)|(label|loss|gradient|class).*worker_3", 70)
def one_worker_counts_from_one(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.shard(16, 4)
    fleet(path, net, lambda r, s: (plain(r, s)[0], (plain(r, s)[1] + 1) % 6 if r == 3 and s >= 70 else plain(r, s)[1]), CE,
          lambda n: sgd(n, 0.03), 160, 4)


@cause(r"(?i)worker_2", 0)
def one_worker_in_evaluation_mode(path, seed):
    data, net = Patterns(seed), Pixels()

    def change(step, n, rank):
        if rank == 2 and step == 0:
            n.eval()
            n.train = lambda mode=True: n
    fleet(path, net, data.shard(12, 3), CE, lambda n: sgd(n, 0.02), 120, 3, change=change)


@cause(r"(?i)worker_1.*(not move|weight|differ|updated|apart)|two workers|weights.*(apart|differ)", 80)
def rate_of_one_of_two_workers_ends(path, seed):
    net, opts = Series(), []

    def new(n):
        opts.append(sgd(n, 0.05))
        return opts[-1]

    def before(step, rank):
        if rank == 1 and step == 80:
            opts[1].param_groups[0]["lr"] = 0.0
    plain = letters(seed, 32)
    fleet(path, net, lambda r, s: (plain(s)[0][r::2].clone(), plain(s)[1][r::2].clone()), CE, new, 150, 2, before_pass=before)
