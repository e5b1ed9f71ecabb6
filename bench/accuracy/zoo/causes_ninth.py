"""causes_ninth.py - a ninth set of faults for the first line: what users of scalers, heads, schedules, norms, collators, language models and
several workers do wrong. Written in one go, with the words that a right line has, before any result of it was looked at."""
import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_fifth import adamw, sgd
from causes_seventh import JUMPS, STANDS, STILL, TOO_FAST, pretrained
from fifth_parts import Attends, Clouds, Curves, Memory, Patterns, Pixels, Stack, codes, rng, swings
from loop import finish, fit, fleet, hook_for, modes

TRAININGS, cause = cause_set("ninth")


def chain(seed, size, length=14, kinds=9, ahead=1, number=0):
    """Texts in which the last two codes tell the next one, mostly; the target of a place is the code that comes `ahead` places later."""
    table = torch.randint(0, kinds, (kinds, kinds), generator=rng(seed, 31))

    def of(step):
        g = rng(seed, step, number, 19)
        x = torch.randint(0, kinds, (size, length + ahead), generator=g)
        for k in range(2, length + ahead):
            told = table[x[:, k - 2], x[:, k - 1]]
            x[:, k] = torch.where(torch.rand(size, generator=g) < 0.85, told, x[:, k])
        return x[:, :length].clone(), x[:, ahead:].reshape(-1).clone()
    return of


class Language(nn.Module):
    """Two blocks; the head is the table of codes, where that is not parted from it."""

    def __init__(self, kinds=9, width=32, length=14, tied=True):
        super().__init__()
        self.tok, self.pos = nn.Embedding(kinds, width), nn.Embedding(length, width)
        self.ln1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln2, self.up, self.gelu, self.down = nn.LayerNorm(width), nn.Linear(width, 96), nn.GELU(), nn.Linear(96, width)
        self.ln3, self.head, self.causal = nn.LayerNorm(width), nn.Linear(width, kinds, bias=False), True
        nn.init.normal_(self.tok.weight, 0, 0.2)
        if tied:
            self.head.weight = self.tok.weight

    def forward(self, x):
        n = x.shape[1]
        h = self.tok(x) + self.pos.weight[:n]
        for _ in range(2):
            q, k, v = self.qkv(self.ln1(h)).chunk(3, -1)
            s = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
            if self.causal:
                s = s.masked_fill(torch.ones(n, n).triu(1).bool(), -1e9)
            h = h + self.out(s.softmax(-1) @ v)
            h = h + self.down(self.gelu(self.up(self.ln2(h))))
        return self.head(self.ln3(h)).flatten(0, 1)


# -- language

@cause(r"(?i)evaluat", None)
def future_is_seen(path, seed):
    """The mask of the future is forgotten in training; evaluation has it, as the generation of text has."""
    net = Language(tied=False)

    def evaluate(n):
        n.eval()
        n.causal = True

    def change(step, n, rank):
        n.causal = False
    fit(path, net, chain(seed, 24), CE(), adamw(net, 5e-3), 260, change=change, evaluate=evaluate, held=chain(seed, 60, number=1))


@cause(r"(?i)label|target|" + JUMPS, 130)
def targets_shifted_again(path, seed):
    """From a step on a collator shifts targets that are shifted already."""
    net, plain, late = Language(), chain(seed, 24), chain(seed, 24, ahead=2)
    fit(path, net, lambda s: plain(s) if s < 130 else late(s), CE(), adamw(net, 5e-3), 240, held=chain(seed, 60, number=1))


@cause(r"(?i)head.*" + STILL, 0)
def head_parted_from_its_table(path, seed):
    """A head that was the table of codes becomes a copy of it in loading, behind the making of the optimizer."""
    net = Language()
    opt = adamw(net, 5e-3)
    net.head.weight = nn.Parameter(net.tok.weight.detach().clone())
    fit(path, net, chain(seed, 24), CE(), opt, 220, held=chain(seed, 60, number=1))


@cause(r"(?i)one class|class|padding|label", None)
def padding_is_learned(path, seed):
    """Nine of ten places are filled up, and the loss takes them for a class."""
    net, plain = Attends(every=True, classes=9), chain(seed, 24)

    def batch(step):
        x, y = plain(step)
        more, y = torch.zeros(24, 14, dtype=torch.long), y.reshape(24, 14).clone()
        more[:, :2], y[:, 2:] = x[:, :2], 0
        y[:, :2] = y[:, :2].clamp(min=1)
        return more, y.reshape(-1)
    fit(path, net, batch, CE(), adamw(net, 2e-3), 200, held=lambda k: batch(10 ** 6 + k))


@cause(STANDS + r"|(?i:evaluat)", 0)
def places_taken_for_rows(path, seed):
    """Rows and places are exchanged by a view before a recurrent network that wants rows first: samples are mixed."""
    net, plain = Memory(), swings(seed, 32)

    def batch(step):
        x, y = plain(step)
        return x.transpose(0, 1).contiguous().view(32, 16, 2), y
    fit(path, net, batch, nn.MSELoss(), adamw(net, 3e-3), 220, held=swings(seed, 60, number=1))


# -- what is fed

@cause(r"(?i)input", 60)
def normalised_in_place(path, seed):
    """Rows are normalised in place as they are read, in each epoch again."""
    data, net = Clouds(seed, shift=2.0, factor=0.5, rows=1920), Stack(20, 6)
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        for _ in range(1 + step // 60):
            x = (x - 2.0) * 2.0
        return x, y
    fit(path, net, batch, CE(), sgd(net, 0.02), 200, held=lambda k: ((data.held(100)(k)[0] - 2.0) * 2.0, data.held(100)(k)[1]))


@cause(r"(?i)input|batch|row|label", 100)
def one_row_for_all(path, seed):
    """From a step on a collator with a late-bound variable gives one row as often as the batch is long."""
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, from_step(data.batch(32), 100, lambda x, y: (x[:1].expand(32, -1).clone(), y[:1].expand(32).clone())), CE(),
        adamw(net), 200, held=data.held(100))


@cause(r"(?i)label|target|loss.*(negative|below|bound)", 0)
def two_classes_from_one(path, seed):
    """The two classes are called 1 and 2, and the loss wants 0 and 1."""
    data, net = Clouds(seed, kinds=2), nn.Sequential(Stack(20, 1), nn.Flatten(0))

    def of(made):
        return lambda s: (made(s)[0], made(s)[1].float() + 1)
    fit(path, net, of(data.batch(32)), nn.BCEWithLogitsLoss(), adamw(net, 1e-3), 220, held=of(data.held(100)))


@cause(r"(?i)class", None)
def weights_of_classes_inverted(path, seed):
    """Classes weigh as much as they are frequent, instead of the inverse: the rare ones are not learned."""
    data, net = Clouds(seed, rows=4000), Stack(20, 6)
    share = torch.tensor([0.6, 0.3, 0.025, 0.025, 0.025, 0.025])

    def batch(step):
        x, y = data.batch(320)(step)
        keep = torch.cat([(y == k).nonzero()[:max(1, int(64 * p)), 0] for k, p in enumerate(share)])
        return x[keep].clone(), y[keep].clone()
    fit(path, net, batch, CE(weight=share ** 2), adamw(net, 2e-3), 240, held=data.held(100))


@cause(r"(?i)NaN|exactly zero|zero", 90)
def not_a_number_swept_away(path, seed):
    """From a step on inputs have a NaN, and the network puts zeros for numbers that are none."""
    class Swept(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = Stack(20, 6)

        def forward(self, x):
            return torch.nan_to_num(self.body(x))
    data, net = Clouds(seed), Swept()

    def spoil(x, y):
        x[:, 3] = float("nan")
        return x, y
    fit(path, net, from_step(data.batch(32), 90, spoil), CE(), sgd(net, 0.02), 160)


@cause(r"(?i)evaluat", None)
def evaluation_is_augmented(path, seed):
    """Evaluation goes through the strong noise and the erasing that only training should have had, and training has neither."""
    data, net = Patterns(seed), Pixels()

    def held(k):
        x, y = data.held(60)(k)
        return x * (torch.rand(60, 1, 10, 10, generator=rng(seed, k)) < 0.35) + 1.5 * torch.randn(x.shape, generator=rng(seed, k, 3)), y
    fit(path, net, data.batch(24), CE(), adamw(net, 2e-3), 240, held=held)


# -- losses and heads

@cause(r"(?i)exactly zero|no gradient|no weight|" + STANDS, 0)
def loss_cut_from_above(path, seed):
    """The loss is cut to 1 against outliers; it begins above, where it has no slope."""
    class CutLoss(nn.Module):
        def forward(self, s, y):
            return nn.functional.cross_entropy(s, y).clamp(max=1.0)
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CutLoss(), sgd(net, 0.03), 200, held=data.held(100))


@cause(r"(?i)dead|never active|class|" + STANDS, None)
def scores_through_a_relu(path, seed):
    """The last layer has the activation of the others, and half of the classes begin below it."""
    data = Clouds(seed)
    net = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 6), nn.ReLU())
    with torch.no_grad():
        net[2].bias[:3] = -4
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 220, held=data.held(100))


@cause(r"(?i)saturat|" + STANDS, None)
def target_out_of_reach(path, seed):
    """A tanh is to tell targets of 4 to 8."""
    data = Curves(seed)
    net = nn.Sequential(Stack(8, 1), nn.Tanh())
    fit(path, net, lambda s: (data.batch(32)(s)[0], data.batch(32)(s)[1] + 6), nn.MSELoss(), adamw(net, 3e-3), 240,
        held=lambda k: (data.held(100)(k)[0], data.held(100)(k)[1] + 6))


@cause(r"(?i)(top|head).*" + STILL, 0)
def new_head_behind_the_optimizer(path, seed):
    """A pretrained network gets a head for other classes when the optimizer has the old one."""
    data, net = Clouds(seed, kinds=4), pretrained(Clouds(seed + 50))
    opt = adamw(net, 1e-3)
    net.top = nn.Linear(48, 4)
    fit(path, net, data.batch(32), CE(), opt, 220, held=data.held(100))


@cause(r"(?i)constant|alike|one value|zero|collaps|vanish|dead|variance", None)
def twins_become_one(path, seed):
    """Two views are drawn together, and nothing holds samples apart: all get one code."""
    data, net = Clouds(seed), nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 16))

    def batch(step):
        x, _ = data.batch(32)(step)
        return torch.cat([x, x + 0.3 * torch.randn(x.shape, generator=rng(seed, step))]), x[:, :1]

    class TwinLoss(nn.Module):
        def forward(self, z, y):
            a, b = z.chunk(2)
            return ((a - b) ** 2).mean()
    fit(path, net, batch, TwinLoss(), sgd(net, 0.1), 240)


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + r"|grow|jump", None)
def discount_above_one(path, seed):
    """What comes later is worth more than what comes now: values grow without end."""
    net = Stack(8, 1, act=nn.Tanh)
    go = torch.randn(8, 8, generator=rng(seed, 9)) / 3

    def batch(step):
        x = torch.randn(32, 8, generator=rng(seed, step))
        after = torch.tanh(x @ go)
        with torch.no_grad():
            return x, x[:, :1].abs() + 1.3 * net(after)
    fit(path, net, batch, nn.MSELoss(), adamw(net, 1e-2), 260)


# -- updates

@cause(r"(?i)\binf|overflow|NaN|no weight", 0)
def scale_never_halved(path, seed):
    """Gradients of a loss times 2 to the 30th overflow in half precision; every update is skipped, and the scale is not updated."""
    data, net = Clouds(seed), Stack(20, 6)

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.half().float()

    class Skips:
        inner = sgd(net, 0.03)

        def zero_grad(self, set_to_none=True):
            self.inner.zero_grad(set_to_none)

        def step(self):
            if all(torch.isfinite(p.grad).all() for p in net.parameters()):
                self.inner.step()
    fit(path, net, data.batch(32), CE(), Skips(), 200, scale=lambda s: 2.0 ** 30, forward=lambda n, x: Half.apply(n(x)),
        held=data.held(100))


@cause(r"(?i)decay|shrank|toward zero", None)
def norms_decayed(path, seed):
    """The decay of the groups is exchanged: the gains of the norms get 20, the matrices none."""
    net = Attends()
    norms = [p for n, p in net.named_parameters() if "ln" in n]
    rest = [p for n, p in net.named_parameters() if "ln" not in n]
    opt = optim.AdamW([{"params": norms, "weight_decay": 20.0}, {"params": rest, "weight_decay": 0.0}], 3e-3)
    fit(path, net, codes(seed, 32), CE(), opt, 240, held=codes(seed, 60, number=1))


@cause(r"(?i)decay|grow|jump|" + TOO_FAST, None)
def decay_with_the_wrong_sign(path, seed):
    """A penalty that is taken off the loss: the weights grow."""
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 240, held=data.held(100),
        after=lambda s, n, r: [p.grad.sub_(0.3 * p.detach()) for p in n.parameters()] and None)


@cause(r"(?i)" + TOO_FAST + "|" + STANDS + "|" + JUMPS, None)
def momentum_of_almost_one(path, seed):
    """A momentum of 0.999 at the rate for 0.9."""
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05, momentum=0.999), 240, held=data.held(100))


@cause(r"(?i)(no weight|weights?).*" + STILL + "|" + STILL + "|no weight|too small|hardly", 0)
def rate_divided_to_zero(path, seed):
    """A warm-up that divides whole numbers: the rate is 0 for a hundred steps, and whole then."""
    data, net = Clouds(seed), Stack(20, 6)
    opt = adamw(net, 3e-3)
    fit(path, net, data.batch(32), CE(), opt, 220, held=data.held(100),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, s // 100)))


@cause(r"(?i)mode|dropout|statistics|running", 50)
def never_back_to_training(path, seed):
    """train() is called once before the loop: from the first evaluation on dropout is off and the running statistics stand."""
    net = nn.Sequential(nn.Linear(20, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.5), nn.Linear(48, 6))
    data, loss, opt, hook = Clouds(seed), CE(), adamw(net), hook_for(path, 1)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(220):
        hook.set_mode(modes.TRAIN)
        opt.zero_grad()
        x, y = data.batch(32)(step)
        loss(net(x), y).backward()
        opt.step()
        if step % 50 == 49:
            hook.set_mode(modes.EVAL)
            net.eval()
            with torch.no_grad():
                x, y = data.held(100)(0)
                loss(net(x), y)
    finish(hook)


# -- workers

@cause(r"(?i)" + TOO_FAST + "|jump", (0, 20))
def rate_scaled_twice(path, seed):
    """Four workers: the rate is multiplied by four in the script, and by four again in the launcher."""
    data, net = Clouds(seed), Stack(20, 6)
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.15 * 16), 120, 4, held=data.held(100))


@cause(r"(?i)worker_1|batch", 70)
def one_worker_gets_a_tenth(path, seed):
    """From a step on one worker's queue gives two rows instead of twenty."""
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.shard(20, 3)
    fleet(path, net, lambda r, s: tuple(t[:2].clone() for t in plain(r, s)) if r == 1 and s >= 70 else plain(r, s), CE, adamw, 150, 3)


@cause(r"(?i)weights?.*(jump|changed far more)|" + TOO_FAST, (19, 20))
def weights_summed_not_averaged(path, seed):
    """Three workers bring their weights together every twenty steps, by their sum."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if step and step % 20 == 0:
            with torch.no_grad():
                for p in n.parameters():
                    p *= 3
    fleet(path, net, data.shard(16, 3), CE, lambda n: sgd(n, 0.02), 120, 3, change=change, average=lambda s: False,
          together=lambda s: s % 20 == 19)


@cause(r"(?i)worker_1", 0)
def directories_in_another_order(path, seed):
    """One worker lists the folders of the classes in another order: its labels are another permutation."""
    data, net = Clouds(seed), Stack(20, 6)
    plain, other = data.shard(24, 4), torch.tensor([3, 0, 5, 1, 2, 4])
    fleet(path, net, lambda r, s: (plain(r, s)[0], other[plain(r, s)[1]]) if r == 1 else plain(r, s), CE, adamw, 160, 4)


@cause(r"(?i)worker_2", 40)
def gradient_of_the_step_before(path, seed):
    """From a step on one worker updates with the mean gradient of the step before."""
    data, net = Clouds(seed), Stack(20, 6)
    kept = {}

    class Late(optim.SGD):
        def step(self):
            mine = [p.grad.clone() for p in self.param_groups[0]["params"]]
            kept["n"] = kept.get("n", -1) + 1
            if kept["n"] >= 40:
                for p, g in zip(self.param_groups[0]["params"], kept["g"]):
                    p.grad = g
            kept["g"] = mine
            return super().step()
    made = []

    def new(n):
        made.append(n)
        return (Late if len(made) == 3 else optim.SGD)(n.parameters(), 0.05)
    fleet(path, net, data.shard(16, 3), CE, new, 120, 3)
