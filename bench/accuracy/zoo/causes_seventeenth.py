"""causes_seventeenth.py - a seventeenth set of faults for the first line: kinds that were met before (what is fed, labels, losses, gradients, updates, workers,
evaluation, precision, saturation, layers restored) on networks that fire, splines, states that decay, soft trees, tables of corners, bells and pairs of nodes.
Written in one go, with the words that a right line has, before any result of it was looked at."""
import copy

import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_seventh import JUMPS, SMALL, STANDS, STILL, TOO_FAST
from fifteenth_parts import Averaged, gratings, signals
from fifth_parts import Clouds, rng
from loop import finish, fit, fleet, hook_for, modes, register
from seventeenth_parts import Bells, Grids, Links, Spiking, Splines, States, Tree, adam, by_hand, down, folds, hills, links, mlp
from sixteenth_parts import Gpt, Next, Tab, claims, glyphs, sentences

TRAININGS, cause = cause_set("seventeenth")
BCE, MSE, HUBER = nn.BCEWithLogitsLoss, nn.MSELoss, nn.SmoothL1Loss


def splines():
    return nn.Sequential(Splines(20, 16), Splines(16, 6))


# -- what is fed

@cause(r"(?i)input.*zero", 90)
def nothing_reaches_what_fires(path, seed):
    data, net = Clouds(seed), Spiking()
    fit(path, net, from_step(data.batch(32), 90, lambda x, y: (x * 0, y)), CE(), adam(net), 220, held=data.held(100))


@cause(r"(?i)worker_2.*input|input.*worker_2", 70)
def one_of_three_reads_one_value(path, seed):
    data, net = Clouds(seed), mlp(20, 32, 6)
    plain = data.shard(16, 3)
    fleet(path, net, lambda r, s: (plain(r, s)[0] * 0 + 0.5 if r == 2 and s >= 70 else plain(r, s)[0], plain(r, s)[1]), CE, lambda n: adam(n, 2e-3), 200, 3)


@cause(r"(?i)same batch|again and again|repeat", 0)
def iterator_begins_anew(path, seed):
    data, net = Clouds(seed), splines()
    plain = data.batch(32)
    fit(path, net, lambda s: plain(0), CE(), adam(net), 220, held=data.held(100))


@cause(r"(?i)input", 100)
def column_in_thousandths(path, seed):
    data, net = claims(seed), Tree()

    def spoil(x, y):
        x[:, 2] *= 1000
        return x, y
    fit(path, net, from_step(data.batch(64), 100, spoil), BCE(), adam(net, 2e-2), 220, held=data.held(100))


@cause(r"(?i)input|channel", 80)
def lead_falls_off(path, seed):
    data, net = signals(seed), States()

    def spoil(x, y):
        x[:, 1] = 0
        return x, y
    fit(path, net, from_step(data.batch(32), 80, spoil), CE(), adam(net, 1e-2), 220, held=data.held(100))


@cause(r"(?i)evaluat.*NaN|NaN.*evaluat", 100)
def nan_in_an_evaluation_of_bells(path, seed):
    data, net = folds(seed), mlp(1, 40, 15, act=nn.Tanh)
    held, seen = data.held(100), []

    def broken(k):
        seen.append(k)
        x, y = held(k)
        if len(seen) == 2:
            x[7] = float("nan")
        return x, y
    fit(path, net, data.batch(64), Bells(), adam(net, 5e-3), 240, held=broken)


@cause(r"(?i)evaluat.*(scale|times|larger|smaller|input)|input.*evaluat", 50)
def notes_evaluated_without_their_norm(path, seed):
    data, net = Clouds(seed), splines()
    held = data.held(100)
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=lambda k: (held(k)[0] * 30 + 5, held(k)[1]))


@cause(r"(?i)same data|same batch", 0)
def third_worker_reads_behind_the_first(path, seed):
    data, net = Clouds(seed), mlp(20, 32, 6)
    plain = data.shard(16, 3)
    fleet(path, net, lambda r, s: plain(0, s - 2) if r == 2 and s >= 2 else plain(r, s), CE, lambda n: adam(n, 2e-3), 200, 3)


@cause(r"(?i)same data|same batch", 0)
def four_workers_shuffle_one_share(path, seed):
    data, net = signals(seed), States()
    plain = data.batch(24)

    def batch(rank, step):
        x, y = plain(step)
        order = torch.randperm(24, generator=rng(seed, step, rank, 401))
        return x[order], y[order]
    fleet(path, net, batch, CE, lambda n: adam(n, 1e-2), 160, 4)


@cause(r"(?i)target.*(copy|input)", 0)
def next_word_is_this_one(path, seed):
    data, net = sentences(seed), Gpt()
    plain, held = data.batch(32), data.held(60)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[0].clone()), CE(), adam(net, 2e-3), 200, held=held)


@cause(r"(?i)same batch|again|repeat|circle|few", 0)
def three_batches_in_a_circle(path, seed):
    data, net = hills(seed), Grids()
    plain = data.batch(32)
    fit(path, net, lambda s: plain(s % 3), MSE(), adam(net, 1e-2), 240, held=data.held(300), eval_every=30)


# -- labels

@cause(r"(?i)evaluat.*(label|class)|(label|class).*evaluat", 50)
def letters_of_evaluation_count_from_one(path, seed):
    data, net = glyphs(seed), Next()
    held = data.held(100)
    fit(path, net, data.batch(24), CE(), adam(net), 260, held=lambda k: (held(k)[0], (held(k)[1] + 1) % 7))


@cause(r"(?i)label|target|constant answer|tell nothing|" + STANDS, 0)
def answers_of_other_rows(path, seed):
    data, net = Clouds(seed, rows=4000), splines()
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1][torch.randperm(32, generator=rng(seed, s, 402))]), CE(), adam(net), 220, held=data.held(100))


@cause(r"(?i)order|sorted|shuffl|target|label", 0)
def hills_sorted_by_height(path, seed):
    data, net = hills(seed), Grids()
    order = data.y[:, 0].argsort()
    data.x, data.y = data.x[order], data.y[order]
    fit(path, net, lambda s: (data.x[s % 31 * 64:][:64].clone(), data.y[s % 31 * 64:][:64].clone()), MSE(), adam(net, 1e-2), 240, held=data.held(300))


@cause(r"(?i)label", 100)
def index_of_labels_stands(path, seed):
    data, net = gratings(seed), nn.Sequential(nn.Conv2d(2, 10, 3, padding=1), nn.GroupNorm(2, 10), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(90, 6))
    fit(path, net, from_step(data.batch(32), 100, lambda x, y: (x, y * 0 + 4)), CE(), adam(net), 220, held=data.held(100))


# -- losses

@cause(r"(?i)probabilit|softmax", 0)
def shares_given_for_scores(path, seed):
    data, net = glyphs(seed), nn.Sequential(Next(), nn.Softmax(1))
    fit(path, net, data.batch(24), CE(), adam(net), 220, held=data.held(60))


@cause(r"(?i)sign|rose|rises|learning rate|lower bound|NaN|\binf", 0)
def bells_made_less_likely(path, seed):
    data, net = folds(seed), mlp(1, 40, 15, act=nn.Tanh)
    fit(path, net, data.batch(64), Bells(), adam(net, 2e-3), 200, scale=lambda s: -1.0)


@cause(r"(?i)sum|" + TOO_FAST + "|" + JUMPS + "|" + STANDS, 0)
def corners_summed_over_four(path, seed):
    """Gradients are summed over four workers, and losses over rows: 256 times."""
    data, net = hills(seed), Grids()
    plain = data.shard(32, 4)
    fleet(path, net, plain, lambda: MSE(reduction="sum"), lambda n: optim.SGD(n.parameters(), 0.05), 160, 4)


# -- gradients

@cause(r"(?i)underflow|zero", 60)
def a_scale_that_falls_for_signals(path, seed):
    """Gradients in float16; the scale falls by and by until most of them are nothing."""
    data, net = signals(seed), nn.Sequential(nn.Flatten(), nn.Linear(80, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 5))

    def scale(step):
        return 2.0 ** (-step / 12)

    def after(step, n, rank):
        for p in n.parameters():
            p.grad = (p.grad.half().float())
    for p in net.parameters():
        p.register_hook(lambda g: g.half().float())
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.1, momentum=0.9), 260, scale=scale, after=after, held=data.held(100))


@cause(r"(?i)worker_1.*(jump|gradient)|gradient.*worker_1", 110)
def a_bit_of_a_worker_of_four(path, seed):
    def after(step, n, rank):
        if rank == 1 and step == 110:
            next(n.parameters()).grad[3, 3] = 4000.0
    fleet(path, mlp(20, 32, 6), Clouds(seed).shard(16, 4), CE, lambda n: optim.SGD(n.parameters(), 0.05), 200, 4, after=after)


@cause(r"(?i)worker_2", 60)
def a_worker_with_half_the_scale(path, seed):
    """From a step on the loss of one worker is scaled by a half, and its gradients are."""
    def after(step, n, rank):
        if rank == 2 and step >= 60:
            for p in n.parameters():
                p.grad *= 0.5
    fleet(path, States(), signals(seed).shard(16, 4), CE, lambda n: adam(n, 1e-2), 200, 4, after=after)


@cause(r"(?i)not cleared|added|kept|clear", 0)
def slopes_of_ever(path, seed):
    data, net = Clouds(seed), splines()
    fit(path, net, data.batch(32), CE(), adam(net, 1e-3), 220, clear=lambda s: False)


@cause(r"(?i)gradient|" + STILL, 0)
def nodes_are_cut_off(path, seed):
    class Cut(Links):
        def forward(self, pairs):
            h = self.more(self.nodes(pairs).detach())
            return (h[:, 0] * h[:, 1]).sum(1)
    net = Cut()
    fit(path, net, links(seed), BCE(), adam(net, 1e-2), 240)


@cause(r"(?i)gradient|" + STILL, 0)
def small_gate_is_cut_off(path, seed):
    """A part of a tenth of the weights is behind detach()."""
    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.side, self.out = mlp(20, 64, 64), nn.Linear(20, 16), nn.Linear(80, 6)

        def forward(self, x):
            return self.out(torch.cat([self.body(x), self.side(x).tanh().detach()], 1))
    data, net = Clouds(seed), Gated()
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=data.held(100))


@cause(r"(?i)vanish", 0)
def fourteen_sigmoids(path, seed):
    data, net = Clouds(seed), mlp(20, *[24] * 14, 6, act=nn.Sigmoid)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.1), 220, held=data.held(100))


@cause(r"(?i)" + SMALL + "|" + STANDS, 0)
def clipped_to_a_millionth(path, seed):
    data, net = gratings(seed), nn.Sequential(nn.Flatten(), nn.Linear(288, 32), nn.ReLU(), nn.Linear(32, 6))
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.1), 220, clip=1e-6, held=data.held(100))


# -- updates

@cause(r"(?i)" + SMALL + "|rate", 100)
def rate_falls_to_nothing(path, seed):
    """The schedule multiplies at every step from 60 on: nothing is left of the rate by 100, long before it is learned."""
    data, net = glyphs(seed), Next()
    opt = adam(net, 1e-3)
    fit(path, net, data.batch(24), CE(), opt, 240, held=data.held(60),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 ** max(0, s - 60)))


@cause(r"(?i)" + STILL + "|no weight", 0)
def optimizer_of_another_copy(path, seed):
    data, net = Clouds(seed), splines()
    other = copy.deepcopy(net)
    fit(path, net, data.batch(32), CE(), optim.AdamW(other.parameters(), 3e-3), 200, held=data.held(100))


@cause(r"(?i)" + STILL + "|no weight", 120)
def all_frozen_from_120(path, seed):
    data, net = signals(seed), States()
    opt = adam(net, 2e-3)

    def after(step, n, rank):
        if step >= 120:
            for p in n.parameters():
                p.grad = None
    fit(path, net, data.batch(32), CE(), opt, 240, after=after, held=data.held(100))


@cause(r"(?i)decay|shrink|smaller|norm", 0)
def decay_of_forty(path, seed):
    data, net = Clouds(seed), splines()
    fit(path, net, data.batch(32), CE(), adam(net, 3e-3, weight_decay=40.0), 220, held=data.held(100))


@cause(r"(?i)evaluat.*(same|stand)|average|always the same", 50)
def average_of_the_first_step(path, seed):
    data, body = Clouds(seed), splines()
    net = Averaged(body, "ema")
    fit(path, net, data.batch(32), CE(), adam(body), 220, held=data.held(100))


@cause(r"(?i)coef|base|layer|changed far more|jump", 120)
def a_layer_as_it_began(path, seed):
    data, net = Clouds(seed), splines()
    first = copy.deepcopy(net.state_dict())

    def change(step, n, rank):
        if step == 120:
            with torch.no_grad():
                for name, p in n.named_parameters():
                    if name.startswith("1."):
                        p.copy_(torch.randn_like(first[name]))
    fit(path, net, data.batch(32), CE(), adam(net), 220, change=change, held=data.held(100))


@cause("(?i)" + TOO_FAST + "|" + JUMPS + "|dead|vanish", 0)
def rate_of_a_third(path, seed):
    data, net = glyphs(seed), Next()
    fit(path, net, data.batch(24), CE(), adam(net, 0.3), 200, held=data.held(60))


@cause(r"(?i)row", 0)
def half_of_the_nodes_stand(path, seed):
    net = Links()

    def after(step, n, rank):
        n.nodes.weight.grad[20:] = 0
    fit(path, net, links(seed), BCE(), optim.Adam(net.parameters(), 1e-2), 240, after=after)


# -- workers

@cause(r"(?i)worker_1.*(stopped|gone|killed)", 150)
def one_of_three_is_killed(path, seed):
    data, net, workers = Clouds(seed), mlp(20, 32, 6), 3
    nets = [copy.deepcopy(net) for _ in range(workers)]
    hooks, losses = [hook_for(path, 1, r, workers) for r in range(workers)], [CE() for _ in range(workers)]
    opts, plain = [adam(n, 2e-3) for n in nets], data.shard(16, workers)
    for r in range(workers):
        register(hooks[r], nets[r], opts[r])
        hooks[r].register_loss(losses[r])
    for step in range(200):
        here = [r for r in range(workers) if r != 1 or step < 150]
        for r in here:
            hooks[r].set_mode(modes.TRAIN)
            opts[r].zero_grad()
            losses[r](nets[r](plain(r, step)[0]), plain(r, step)[1]).backward()
        for ps in zip(*(nets[r].parameters() for r in here)):
            mean = sum(p.grad for p in ps) / len(ps)
            for p in ps:
                p.grad = mean.clone()
        for r in here:
            opts[r].step()
        if step == 150:
            hooks[1].flush()
    finish(hooks[0], hooks[2])


@cause(r"(?i)exchanged|averaged|differ", 0)
def four_that_never_met(path, seed):
    fleet(path, States(), signals(seed).shard(12, 4), CE, lambda n: adam(n, 1e-2), 180, 4, average=lambda s: False)


@cause(r"(?i)worker_1", 80)
def a_layer_of_a_worker_is_noisy(path, seed):
    """On one worker what goes into the second layer is spoilt; weights stay equal."""
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.act, self.b, self.act2, self.out, self.factor = nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 6), 1.0

        def forward(self, x):
            return self.out(self.act2(self.b(self.factor * self.act(self.a(x)))))

    def change(step, n, rank):
        n.factor = 6.0 if rank == 1 and step >= 80 else 1.0
    fleet(path, Noisy(), Clouds(seed).shard(16, 4), CE, lambda n: optim.SGD(n.parameters(), 0.02), 180, 4, change=change)


@cause(r"(?i)worker_3|began|differ", 0)
def one_of_four_began_otherwise(path, seed):
    def change(step, n, rank):
        if step == 0 and rank == 3:
            with torch.no_grad():
                for p in n.parameters():
                    p.add_(0.05 * torch.randn(p.shape, generator=rng(seed, 403)))
    fleet(path, Tab(norm=True), claims(seed).shard(16, 4), BCE, lambda n: adam(n, 2e-3), 160, 4, change=change)


# -- evaluation

@cause(r"(?i)evaluated in the mode of training|eval.*train", 50)
def evaluation_drops_too(path, seed):
    data, net = signals(seed), nn.Sequential(nn.Flatten(), nn.Linear(80, 64), nn.SiLU(), nn.Dropout(0.5), nn.Linear(64, 5))
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=data.held(100), evaluate=lambda n: n.train())


@cause(r"(?i)trained in the mode of evaluation|train.*eval", 51)
def never_back_to_training(path, seed):
    data, net = glyphs(seed), nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.BatchNorm2d(8), nn.SiLU(), nn.Flatten(), nn.Linear(288, 7))
    opt, loss, plain, held, hook = adam(net), CE(), data.batch(24), data.held(60), hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(loss)
    net.train()
    for step in range(220):
        hook.set_mode(modes.TRAIN)
        down(opt, loss(net(plain(step)[0]), plain(step)[1]))
        if step % 50 == 49:
            hook.set_mode(modes.EVAL)
            net.eval()
            with torch.no_grad():
                loss(net(held(0)[0]), held(0)[1])
    finish(hook)


@cause(r"(?i)evaluat.*(train|same)|same.*evaluat", 50)
def hills_evaluated_where_they_were_learned(path, seed):
    data, net = hills(seed, rows=640), Grids()
    fit(path, net, data.batch(64), MSE(), adam(net, 1e-2), 240, held=lambda k: (data.x[:256].clone(), data.y[:256].clone()))


# -- precision, saturation, policies

@cause(r"(?i)" + SMALL + "|no weight|" + STANDS, 0)
def rounding_takes_the_updates(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 6).to(torch.bfloat16)
    plain, held = data.batch(32), data.held(100)
    fit(path, net, lambda s: (plain(s)[0].bfloat16(), plain(s)[1]), CE(), optim.SGD(net.parameters(), 2e-4), 220,
        held=lambda k: (held(k)[0].bfloat16(), held(k)[1]))


@cause(r"(?i)NaN|\binf|not finite|overflow", 0)
def squares_beyond_half_precision(path, seed):
    """Rows are divided by the root of the mean of their squares, which float16 does not hold."""
    class Rooted(nn.Module):
        def forward(self, x):
            big = (x * 300).half()
            return x * 300 / (big * big).mean(1, keepdim=True).float().sqrt().clamp(min=1e-3)
    data, net = Clouds(seed, factor=3.0), nn.Sequential(nn.Linear(20, 48), Rooted(), nn.ReLU(), nn.Linear(48, 6))
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.1), 200, held=data.held(100))


@cause(r"(?i)saturat|input", 0)
def tanh_behind_raw_numbers(path, seed):
    data, net = Clouds(seed, factor=40.0), mlp(20, 32, 32, 6, act=nn.Tanh)
    fit(path, net, data.batch(32), CE(), adam(net, 1e-3), 220, held=data.held(100))


@cause(r"(?i)saturat|learning rate|changed far more|large", 0)
def questions_all_answered_at_the_ends(path, seed):
    data, net = claims(seed), Tree()
    with torch.no_grad():
        net.ask.weight.mul_(60)
    fit(path, net, data.batch(64), BCE(), adam(net, 2e-3), 220, held=data.held(100))


@cause(r"(?i)dead|never active", 0)
def biases_far_below(path, seed):
    data, net = Clouds(seed), mlp(20, 64, 64, 6)
    with torch.no_grad():
        net[2].bias.fill_(-12)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.05), 220, held=data.held(100))


@cause(r"(?i)reward|fell|falls|rose", 0)
def what_is_worst_is_rewarded(path, seed):
    """The advantage has the wrong sign; the loss of a policy says nothing, its reward falls."""
    net, best = mlp(8, 32, 5, act=nn.Tanh), torch.randn(8, 5, generator=rng(seed, 300))
    opt = adam(net, 2e-3)

    def one(step):
        g = rng(seed, step, 404)
        s = torch.randn(96, 8, generator=g)
        said = net(s).log_softmax(1)
        a = torch.multinomial(said.detach().exp(), 1, generator=g)
        got = (s @ best).gather(1, a)
        return {"policy_loss": down(opt, (said.gather(1, a) * (got - got.mean())).mean()), "reward": got.mean()}
    by_hand(path, [(net, opt)], 260, one)
