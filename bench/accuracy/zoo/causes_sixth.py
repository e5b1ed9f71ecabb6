"""causes_sixth.py - a sixth set of faults for the first line: mistakes of losses, scales, masks and restarts that the other sets lack. Written
in one go, with the words that a right line has; nobody had looked at rules or causes for them."""
import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_fifth import adamw, sgd
from faulty import spoilt
from fifth_parts import Attends, Clouds, Curves, Patterns, Pixels, Stack, codes, rng, swings
from loop import finish, fit, fleet, hook_for, modes

TRAININGS, cause = cause_set("sixth")
STANDS = r"loss.*(did not|hardly) f[ae]ll"
TOO_FAST = r"learning rate|updates?.*large|loss.*rose|NaN|infinit|\binf\b"


class Then(nn.Module):
    """A network and what comes behind it."""

    def __init__(self, body, of):
        super().__init__()
        self.body, self.of = body, of

    def forward(self, x):
        return self.of(self.body(x))


def placed(seed, size, number=0):
    """Codes whose class is the one at place 3."""
    def of(step):
        x = torch.randint(0, 9, (size, 14), generator=rng(seed, step, number, 8))
        return x, x[:, 3] % 8
    return of


# -- what is fed

@cause(r"(?i)(column|feature|channel|input).*(label|target)|leak|evaluat", 0)
def label_among_the_inputs(path, seed):
    """A column that training has from the label, and evaluation has not."""
    data, net = Clouds(seed, spread=2.5), Stack(20, 6)
    data.x[:, 7] = data.y.float()
    fit(path, net, data.batch(32), CE(), adamw(net), 260, held=data.held(100))


@cause(r"(?i)input|tok", 100)
def codes_all_unknown(path, seed):
    """From a step on nine of ten codes are the one for what is unknown."""
    net, plain = Attends(), codes(seed, 32)

    def spoil(x, y):
        return x.masked_fill(torch.rand(x.shape, generator=rng(seed, int(x.sum()))) < 0.9, 0), y
    fit(path, net, from_step(plain, 100, spoil), CE(), adamw(net, 3e-3), 220, held=codes(seed, 60, number=1))


@cause(r"(?i)input", 90)
def bytes_wrap(path, seed):
    """Pictures made brighter in bytes: what is above 255 begins at 0 again."""
    data, net = Patterns(seed), Pixels()
    fit(path, net, from_step(data.batch(24), 90, lambda x, y: ((((x + 2) * 64 + 120) % 256 - 120) / 64 - 2, y)), CE(), sgd(net, 0.02), 200,
        held=data.held(60))


@cause(r"(?i)input.*(scale|large|normali|255)", 0)
def pixels_never_scaled(path, seed):
    data, net = Patterns(seed, rows=1200), Pixels(norm=lambda w: nn.Identity())
    for x in (data.x, data.held_x):
        x.mul_(40).add_(120).clamp_(0, 255).round_()
    fit(path, net, data.batch(24), CE(), sgd(net, 0.02), 220, held=data.held(60))


@cause(r"(?i)(target|label|Loss_input_1).*(inf)|fed inf", 130)
def infinite_target(path, seed):
    data, net = Curves(seed), Stack(8, 1, act=nn.GELU)

    def spoil(x, y):
        y[5] = float("-inf")
        return x, y
    fit(path, net, spoilt(data.batch(32), (130,), spoil), nn.MSELoss(), adamw(net), 200, held=data.held(100))


@cause(r"(?i)(target|label).*(range|255|scale|between)|loss.*(below|negative|unbounded)", 0)
def masks_in_bytes(path, seed):
    """A mask of 0 and 255 for a loss that takes 0 and 1."""
    data = Clouds(seed, kinds=2)
    net = Stack(20, 1)
    fit(path, net, lambda s: (data.batch(32)(s)[0], data.batch(32)(s)[1][:, None].float() * 255), nn.BCEWithLogitsLoss(), adamw(net), 220)


@cause(r"(?i)label|" + STANDS, 0)
def labels_of_the_neighbour(path, seed):
    data, net = Clouds(seed), Stack(20, 6, act=nn.GELU)
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1].roll(1)), CE(), adamw(net, 1e-3), 260, held=data.held(100))


@cause(r"(?i)input|label|" + STANDS, 0)
def rows_and_columns_mixed(path, seed):
    """A view where a transposition was meant: each row has a bit of every sample."""
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.batch(40)
    fit(path, net, lambda s: (plain(s)[0].t().reshape(40, 20), plain(s)[1]), CE(), sgd(net, 0.01), 260, held=data.held(100))


@cause(r"(?i)same (batch|noise|input)|again and again|repeat", 0)
def noise_drawn_once(path, seed):
    """A generator that is given one draw of noise for ever."""
    make, judge = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2)), nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
    hook, made_loss, real_loss = hook_for(path, 1), nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss()
    hook.register_module(make)
    hook.register_loss(made_loss)
    hook.register_loss(real_loss)
    opts = [optim.Adam(n.parameters(), 2e-3, (0.5, 0.9)) for n in (make, judge)]
    noise = torch.randn(64, 6, generator=rng(seed))
    for step in range(240):
        hook.set_mode(modes.TRAIN)
        made, real = make(noise), torch.randn(64, 2, generator=rng(seed, step)) + 2
        opts[1].zero_grad()
        real_loss(torch.cat([judge(real), judge(made.detach())]), torch.cat([torch.ones(64, 1), torch.zeros(64, 1)])).backward()
        opts[1].step()
        opts[0].zero_grad()
        made_loss(judge(made), torch.ones(64, 1)).backward()
        opts[0].step()
    finish(hook)


# -- the loss

@cause(r"(?i)probabilit|softmax|" + STANDS, 0)
def softmax_over_the_batch(path, seed):
    data, net = Clouds(seed), Then(Stack(20, 6), nn.Softmax(0))
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100))


@cause(r"(?i)label|smooth|" + STANDS, 0)
def smoothed_to_nothing(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CE(label_smoothing=1.0), adamw(net), 240, held=data.held(100))


@cause(r"(?i)logarithm|log.?(prob|lik)|scores|softmax|loss.*(below|negative|unbounded)", 0)
def likelihood_of_scores(path, seed):
    """A likelihood that expects logarithms of probabilities is given scores."""
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), nn.NLLLoss(), sgd(net, 0.01), 240, held=data.held(100))


@cause("(?i)" + TOO_FAST, (0, 30))
def summed_over_the_batch(path, seed):
    data, net = Clouds(seed), Stack(20, 6, act=nn.Tanh)
    fit(path, net, data.batch(64), CE(reduction="sum"), sgd(net, 0.1), 200, held=data.held(100))


@cause(r"(?i)class|predict", 0)
def classes_without_weight(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CE(weight=torch.tensor([1.0, 0, 1, 0, 0, 0])), adamw(net), 260, held=data.held(200))


@cause(r"(?i)gradient.*(vanish|small)|too small|too low|hardly|" + STANDS, 0)
def temperature_too_high(path, seed):
    net = Then(Attends(), lambda s: s / 3000)
    fit(path, net, codes(seed, 32), CE(), sgd(net, 0.05), 240, held=codes(seed, 60, number=1))


@cause(r"(?i)loss.*(rose|rises)|diverg|" + TOO_FAST, 0)
def critic_runs_away(path, seed):
    """A value that is learned from itself, and multiplied by more than one."""
    data, net = Clouds(seed), Stack(20, 1)
    plain = data.batch(32)

    def batch(step):
        x = plain(step)[0]
        with torch.no_grad():
            return x, x[:, :1] + 1.3 * net(x.roll(1, 0))
    fit(path, net, batch, nn.MSELoss(), adamw(net, 5e-3), 300)


@cause(r"(?i)collaps|code|constant|" + STANDS, 0)
def prior_weighs_too_much(path, seed):
    data = Clouds(seed, rows=2000)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.act, self.code = nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8)
            self.dec, self.act2, self.out = nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20)

        def forward(self, x):
            mean, spread = self.code(self.act(self.enc(x))).chunk(2, 1)
            return self.out(self.act2(self.dec(mean + torch.randn_like(mean) * (spread / 2).exp()))), mean, spread

    class BoundLoss(nn.Module):
        def forward(self, out, x):
            return ((out[0] - x) ** 2).mean() + 30 * (out[1] ** 2 + out[2].exp() - 1 - out[2]).mean() / 2
    net = Model()
    fit(path, net, lambda s: (data.batch(40)(s)[0],) * 2, BoundLoss(), adamw(net), 260)


# -- scales, rates and restarts

@cause(r"(?i)(gradient|weight|update).*(jump|large|changed|rate)", 120)
def no_more_unscaled(path, seed):
    """The loss is scaled by 1024, and from a step on nothing divides the gradients by it."""
    data, net = Clouds(seed), Stack(20, 6)

    def after(step, n, rank):
        for p in n.parameters():
            p.grad /= 1024 if step < 120 else 1
    fit(path, net, data.batch(32), CE(), sgd(net, 0.01), 200, scale=lambda s: 1024.0, after=after, held=data.held(100))


@cause(r"(?i)gradient.*(inf|NaN|overflow|finite)|no weight.*moved", 0)
def scale_never_comes_down(path, seed):
    """Gradients overflow, every update is left out, and the scale is not lowered."""
    data, net = Clouds(seed), Stack(20, 6)
    opt = adamw(net)
    kept = opt.step

    def after(step, n, rank):
        for p in n.parameters():
            p.grad = p.grad.half().float()
    opt.step = lambda *a: kept(*a) if all(p.grad.isfinite().all() for p in net.parameters()) else None
    fit(path, net, data.batch(32), CE(), opt, 200, scale=lambda s: 2.0 ** 24, after=after, held=data.held(100))


@cause("(?i)jump|" + TOO_FAST, (0, 30))
def no_warm_up(path, seed):
    net = Attends()
    fit(path, net, codes(seed, 32), CE(), optim.Adam(net.parameters(), 0.1), 240, held=codes(seed, 60, number=1))


@cause(r"(?i)mid.*(large|changed|rate|jump)|(large|rate).*mid", (0, 30))
def one_group_too_fast(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    groups = [{"params": net.mid.parameters(), "lr": 3.0}, {"params": [*net.inp.parameters(), *net.top.parameters()]}]
    fit(path, net, data.batch(32), CE(), optim.SGD(groups, 0.03), 220, held=data.held(100))


@cause(r"(?i)no weight|weights?.*(hardly|not|never|no).*mov|updates are too small|rate", 0)
def updates_rounded_away(path, seed):
    """Weights are kept in bfloat16, whose steps are larger than the updates."""
    data, net = Clouds(seed), Stack(20, 6)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(p.sign() * (p.abs() + 0.05)).copy_(p.bfloat16().float())

    def round_off(step, n):
        with torch.no_grad():
            for p in n.parameters():
                p.copy_(p.bfloat16().float())
    fit(path, net, data.batch(32), CE(), adamw(net, 2e-5, weight_decay=0), 240, updated=round_off, held=data.held(100))


@cause(r"(?i)weights?.*(jump|changed)|update|loss.*jump|restart|optimi[sz]er", 150)
def restarted_without_moments(path, seed):
    """The optimiser begins anew at a step, with a rate that its second moments had made small."""
    data, net = Patterns(seed), Pixels(norm=lambda w: nn.GroupNorm(2, w))
    opt = optim.Adam(net.parameters(), 2e-2, (0.9, 0.9999))

    def change(step, n, rank):
        if step == 150:
            opt.state.clear()
    fit(path, net, data.batch(32), CE(), opt, 240, change=change, held=data.held(60))


# -- layers

@cause(r"(?i)evaluat|running", None)
def running_statistics_stand(path, seed):
    data = Clouds(seed, shift=6.0, factor=4.0)
    net = nn.Sequential(nn.BatchNorm1d(20, momentum=0.0), Stack(20, 6))
    fit(path, net, data.batch(32), CE(), adamw(net), 260, held=data.held(100), eval_every=40)


@cause(r"(?i)dropout|" + STANDS, 0)
def dropout_of_nearly_all(path, seed):
    data, net = Clouds(seed), Stack(20, 6, drop=0.99)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.01), 240, held=data.held(100))


@cause(r"(?i)grow|explod|initial|begins|too large|larger|" + TOO_FAST, (0, 10))
def residual_added_twice(path, seed):
    data = Clouds(seed)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.act, self.down = nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 24)

        def forward(self, x):
            return x + x + self.down(self.act(self.up(x)))
    net = nn.Sequential(nn.Linear(20, 24), *(Block() for _ in range(16)), nn.Linear(24, 6))
    fit(path, net, data.batch(32), CE(), sgd(net, 0.01), 200, held=data.held(100))


@cause(r"(?i)mask|input|" + STANDS, 0)
def attends_to_padding(path, seed):
    """The mask is the wrong way round: only what fills up is seen."""
    net = Attends()
    inner = net.tok.forward

    def batch(size, number):
        plain = codes(seed, size, number=number)

        def of(step):
            x, y = plain(step)
            return torch.cat([x[:, :11], x[:, 11:] * 0], 1), y
        return of
    net.tok.forward = lambda x: inner(x) * (x == 0)[..., None]
    fit(path, net, batch(32, 0), CE(), adamw(net), 240, held=batch(60, 1))


@cause(r"(?i)pos|place|" + STANDS, 0)
def positions_all_zero(path, seed):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.pos = nn.Embedding(9, 24), nn.Embedding(14, 24)
            self.mix, self.act, self.top = nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 8)

        def forward(self, x):
            return self.top(self.act(self.mix(self.tok(x) * self.pos(torch.zeros_like(x)))).mean(1))
    net = Net()
    fit(path, net, placed(seed, 48), CE(), adamw(net, 5e-3), 260, held=placed(seed, 80, 1))


@cause(r"(?i)quant|saturat|clip|constant|act_b|mid|" + STANDS, 110)
def quantised_too_narrow(path, seed):
    class Quantised(nn.Module):
        most = 8.0

        def forward(self, x):
            short = x.clamp(-self.most, self.most)
            return short + ((short * 15 / self.most).round() * self.most / 15 - short).detach()
    net, data = Stack(20, 6), Clouds(seed)
    net.act_b = Quantised()

    def change(step, n, rank):
        n.act_b.most = 8.0 if step < 110 else 0.02
    fit(path, net, data.batch(32), CE(), adamw(net), 220, change=change, held=data.held(100))


@cause(r"(?i)(act_a|act_b|mid|half).*(inf|NaN)|(inf|NaN).*(act_a|act_b|mid|half)", None)
def scores_overflow_half(path, seed):
    """Scores in half precision, before which everything grows by a twentieth each step."""
    class Half(nn.Module):
        factor = 1.0

        def forward(self, x):
            return (x.clamp(0) * self.factor).half().float() / self.factor
    net, data = Stack(20, 6), Clouds(seed)
    net.act_b = Half()

    def change(step, n, rank):
        n.act_b.factor = 1.07 ** step
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 220, change=change)


@cause(r"(?i)cell\.(c1|n1|c2|n2)|cell.*(not move|never|unchanged)", 0)
def one_block_frozen(path, seed):
    data, net = Patterns(seed), Pixels(norm=lambda w: nn.GroupNorm(2, w))
    net.cell.requires_grad_(False)
    fit(path, net, data.batch(24), CE(), adamw(net), 200, held=data.held(60))


@cause(r"(?i)left.*(not move|never|unchanged|gradient)", 0)
def one_branch_detached(path, seed):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right, self.top = nn.Linear(20, 24), nn.Linear(20, 24), nn.Linear(48, 6)
            self.act = nn.ReLU()

        def forward(self, x):
            return self.top(self.act(torch.cat([self.left(x).detach(), self.right(x)], 1)))
    data, net = Clouds(seed), Two()
    fit(path, net, data.batch(32), CE(), adamw(net), 200, held=data.held(100))


# -- workers

@cause(r"(?i)worker_2.*(weight|differ|left|jump|updated)|(weight|differ|left|jump|updated).*worker_2", 80)
def one_worker_comes_back_old(path, seed):
    """A worker that is started again has the weights of twenty steps before."""
    data, net, kept = Clouds(seed), Stack(20, 6), {}

    def change(step, n, rank):
        if rank == 2 and step == 60:
            kept.update({k: v.clone() for k, v in n.state_dict().items()})
        if rank == 2 and step == 80:
            n.load_state_dict(kept)
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.03), 160, 4, change=change)


@cause(r"(?i)worker_1.*input|input.*worker_1", 0)
def colours_of_one_worker_swapped(path, seed):
    data, net = Patterns(seed), Pixels()
    tint = torch.tensor([1.0, 0.2, -0.8])[:, None, None]
    plain = data.shard(12, 3)
    fleet(path, net, lambda r, s: ((plain(r, s)[0] + tint)[:, [2, 1, 0] if r == 1 else [0, 1, 2]], plain(r, s)[1]), CE,
          lambda n: sgd(n, 0.02), 150, 3)


@cause(r"(?i)worker_2", 90)
def all_of_one_worker_ignored(path, seed):
    """All labels of a batch of one worker are to be ignored: a mean of nothing."""
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.shard(16, 3)
    fleet(path, net, lambda r, s: (plain(r, s)[0], plain(r, s)[1] * 0 - 100 if r == 2 and s == 90 else plain(r, s)[1]), CE, adamw, 140, 3)


@cause(r"(?i)worker_1.*(gradient|loss)|(gradient|loss).*worker_1", 70)
def one_worker_sums_its_loss(path, seed):
    net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
    plain = swings(seed, 48)

    class SwingLoss(nn.Module):
        summed = False

        def forward(self, out, y):
            each = (out - y) ** 2
            return each.sum() if self.summed else each.mean()
    losses = []

    def new():
        losses.append(SwingLoss())
        return losses[-1]

    def before(step, rank):
        losses[rank].summed = rank == 1 and step >= 70

    def batch(r, s):
        x, y = plain(s)
        return x[r::3, -1].clone(), y[r::3].clone()
    fleet(path, net, batch, new, lambda n: sgd(n, 0.01), 150, 3, before_pass=before)
