"""causes_twentieth.py - a twentieth set of faults for the first line: mistakes that people make with steps of their own, networks that make or teach networks, targets that
are made anew, noise on purpose, rewards, workers that come and go. Written in one go, with the words that a right line has, before any result of it was looked at."""
import copy
import os

import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_seventh import JUMPS, SMALL, STANDS, STILL, TOO_FAST
from eighteenth_parts import Beats, step_together, trained, workers_by_hand
from fifteenth_parts import Averaged, gratings, signals
from fifth_parts import Clouds, Curves, rng
from loop import finish, fit, fleet, hook_for, register
from seventeenth_parts import States, adam, by_hand, down, hills, mlp
from sixteenth_parts import F, Gpt, Next, Tab, Tcn, claims, frames, glyphs, molecules, sentences, tides
from twentieth_parts import Lion, Orthogonal, seen

TRAININGS, cause = cause_set("twentieth")
BCE, MSE, HUBER = nn.BCEWithLogitsLoss, nn.MSELoss, nn.SmoothL1Loss


# -- steps of one's own

@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS, 0)
def signs_at_the_rate_of_adam_times_a_hundred(path, seed):
    data, net = glyphs(seed), Next()
    fit(path, net, data.batch(24), CE(), Lion(net.parameters(), 0.3), 200, held=data.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS + "|dead", 0)
def rotations_of_length_twenty(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    fit(path, net, data.batch(48), CE(), Orthogonal(net.parameters(), 20.0), 200, held=data.held(100))


@cause(r"(?i)" + SMALL, 0)
def norm_cut_at_a_millionth(path, seed):
    data, net = Curves(seed), mlp(8, 48, 1)
    fit(path, net, data.batch(48), MSE(), optim.SGD(net.parameters(), 0.05), 220, clip=1e-6, held=data.held(100))


@cause(r"(?i)shrink|shrunk|decay", 0)
def decay_of_twenty_apart_from_the_gradient(path, seed):
    data, net = gratings(seed), nn.Sequential(nn.Flatten(), nn.Linear(288, 48), nn.ReLU(), nn.Linear(48, 6))
    fit(path, net, data.batch(32), CE(), adam(net, 5e-3, weight_decay=20.0), 220, held=data.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, 120)
def each_cycle_begins_thirty_times_higher(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 48, 6)
    opt = adam(net, 2e-3)

    def change(step, n, rank):
        opt.param_groups[0]["lr"] = 2e-3 * 30 ** (step // 60) * (1 - step % 60 / 60)
    fit(path, net, data.batch(32), CE(), opt, 220, change=change, held=data.held(100))


@cause(r"(?i)" + STILL, 0)
def head_has_a_rate_of_nothing(path, seed):
    data, net = signals(seed), States()
    fit(path, net, data.batch(32), CE(), optim.Adam([{"params": [p for n, p in net.named_parameters() if "out" not in n]},
                                                     {"params": net.out.parameters(), "lr": 0.0}], 5e-3), 220, held=data.held(100))


@cause(r"(?i)" + STILL, 0)
def optimizer_has_a_copy_of_the_network(path, seed):
    data, net = frames(seed), nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 4))
    fit(path, net, data.batch(32), HUBER(), adam(copy.deepcopy(net)), 200, held=data.held(100))


@cause(r"(?i)kept|cleared|zero_grad|add up|" + TOO_FAST, 0)
def gradients_add_up(path, seed):
    data, net = tides(seed), Tcn()
    fit(path, net, data.batch(32), MSE(), adam(net), 200, clear=lambda step: step == 0, held=data.held(100))


@cause(r"(?i)NaN|infinit|\binf\b|overflow|jump", 90)
def divided_by_a_norm_that_is_nothing(path, seed):
    """Gradients are divided by their norm; at 90 a batch is masked as a whole, and the norm is 0."""
    data, net = Clouds(seed), mlp(20, 48, 6)

    def after(step, n, rank):
        norm = sum((p.grad ** 2).sum() for p in n.parameters()).sqrt()
        for p in n.parameters():
            p.grad.div_(norm)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.05), 180, scale=lambda s: 0.0 if s == 90 else 1.0, after=after, held=data.held(100))


# -- networks that make and teach

@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS, 0)
def inner_step_of_fifty(path, seed):
    net = mlp(1, 40, 40, 1)
    opt = adam(net, 2e-3, weight_decay=0)

    def one(step):
        g, own = rng(seed, step, 730), dict(net.named_parameters())
        x = 8 * torch.rand(30, 1, generator=g) - 4
        y = (1 + torch.rand(1, generator=g)) * x.sin()
        slopes = torch.autograd.grad(F.mse_loss(net(x[:15]), y[:15]), list(own.values()), create_graph=True)
        moved = {k: p - 50.0 * s for (k, p), s in zip(own.items(), slopes)}
        return {"outer_loss": down(opt, F.mse_loss(nn.utils.stateless.functional_call(net, moved, x[15:]), y[15:]))}
    by_hand(path, [(net, opt)], 200, one)


@cause(r"(?i)gradient|" + STILL, 0)
def weights_that_are_made_are_cut_off(path, seed):
    """What a network makes of a task are weights of another one, and they are detached."""
    class Makes(nn.Module):
        def __init__(self):
            super().__init__()
            self.make, self.out = mlp(3, 64, 40), nn.Linear(8, 1)

        def forward(self, x):
            w = self.make(x[:, :3]).detach()
            return self.out(torch.tanh(torch.einsum("nij,nj->ni", w[:, :32].view(-1, 8, 4), x[:, 3:]) + w[:, 32:]))

    def batch(step):
        x = torch.randn(96, 7, generator=rng(seed, step, 731))
        return x, x[:, :1] * x[:, 3:4] + x[:, 1:2] * (2 * x[:, 4:5]).sin()
    net = Makes()
    fit(path, net, batch, MSE(), adam(net, 3e-3), 220)


@cause(r"(?i)" + STILL, 0)
def prompts_are_no_parameters_of_the_optimizer(path, seed):
    """Everything but the prompt stands, and the optimizer got what stands."""
    data, net = sentences(seed), Gpt(longest=24)
    trained(net, data.batch(32), CE(), steps=100)

    class Prompted(nn.Module):
        def __init__(self):
            super().__init__()
            self.prompt, self.model = nn.Parameter(0.02 * torch.randn(8, 24)), net.requires_grad_(False)

        def forward(self, x):
            m, n = self.model, x.shape[1] + 8
            h = torch.cat([self.prompt.expand(len(x), 8, 24), m.words(x)], 1) + m.places(torch.arange(n))[None]
            for block in m.blocks:
                h = block(h, src_mask=torch.ones(n, n).triu(1).bool())
            return m.head(m.norm(h))[:, 8:].transpose(1, 2)
    new = sentences(seed + 40)
    fit(path, Prompted(), new.batch(24), CE(), adam(net, 2e-2), 160, held=new.held(60))


@cause(r"(?i)likelihood|probab|logarithm", 0)
def teacher_and_pupil_without_a_logarithm(path, seed):
    """KLDivLoss is given shares where it wants their logarithms."""
    data, big, net = Clouds(seed), mlp(20, 96, 96, 6), nn.Sequential(mlp(20, 16, 6), nn.Softmax(1))
    trained(big, data.batch(32), CE())
    plain = data.batch(32)

    def batch(step):
        x, _ = plain(step)
        return x, big(x).softmax(1).detach()
    fit(path, net, batch, nn.KLDivLoss(reduction="batchmean"), adam(net, 3e-3), 220)


@cause(r"(?i)ema|average|" + STILL, 0)
def average_of_the_pupil_is_never_made(path, seed):
    data = glyphs(seed)
    net = Averaged(Next(), "ema")
    fit(path, net, data.batch(24), CE(), adam(net.online), 200, held=data.held(100))


@cause(r"(?i)labels|class", 80)
def heaps_fall_into_one(path, seed):
    """Names by clusters; from 80 on all rows have the name of the first heap."""
    data, net = Clouds(seed), mlp(20, 48, 6)
    fit(path, net, from_step(data.batch(32), 80, lambda x, y: (x, y * 0)), CE(), adam(net), 200)


# -- rewards

def policy(path, seed, number, rate, steps, reward, sign=-1):
    """A policy over four actions, which goes by `sign` times what each is worth beside the others; reward(worth, step, generator) of what was drawn."""
    net, best = mlp(6, 32, 4, act=nn.Tanh), torch.randn(6, 4, generator=rng(seed, number))
    opt = adam(net, rate)

    def one(step):
        g = rng(seed, step, number + 1)
        s = torch.randn(64, 6, generator=g)
        said = net(s).log_softmax(1)
        a = torch.multinomial(said.detach().nan_to_num().exp().clamp(min=1e-9), 1, generator=g)
        got = reward((s @ best).gather(1, a), step, g)
        return {"policy_loss": down(opt, sign * (said.gather(1, a) * (got - got.mean()) / got.std()).mean()), "reward": got.mean()}
    by_hand(path, [(net, opt)], steps, one)


@cause(r"(?i)reward", 0)
def advantage_has_the_other_sign(path, seed):
    """The policy learns to do what is worth least: the reward falls."""
    policy(path, seed, 732, 3e-3, 260, lambda worth, step, g: worth + 0.3 * torch.randn(64, 1, generator=g), sign=1)


@cause(r"(?i)NaN|infinit|\binf\b", 130)
def an_advantage_of_equal_rewards(path, seed):
    """Within a group all rewards are equal at 130: their deviation is 0."""
    policy(path, seed, 734, 2e-3, 200, lambda worth, step, g: worth * (0 if step == 130 else 1))


# -- what is fed

@cause(r"(?i)input.*(scale|times|larger)", 110)
def columns_are_brought_to_nothing_twice(path, seed):
    data, net = claims(seed), Tab()

    def spoil(x, y):
        x[:, :12] *= 60
        return x, y
    fit(path, net, from_step(data.batch(64), 110, spoil), BCE(), adam(net), 200, held=data.held(100))


@cause(r"(?i)channel|carr", 80)
def second_gauge_is_silent(path, seed):
    data, net = tides(seed), Tcn()

    def spoil(x, y):
        x[:, 1] = 0
        return x, y
    fit(path, net, from_step(data.batch(32), 80, spoil), MSE(), adam(net), 200)


@cause(r"(?i)input.*zero", 100)
def pictures_are_black_from_100(path, seed):
    data, net = glyphs(seed), Next()
    fit(path, net, from_step(data.batch(24), 100, lambda x, y: (x * 0, y)), CE(), adam(net), 180)


@cause(r"(?i)input.*(NaN|infinit|inf)|fed.*(NaN|inf)", 140)
def one_molecule_has_no_number(path, seed):
    data, net = molecules(seed), nn.Sequential(nn.Flatten(), nn.Linear(140, 48), nn.ReLU(), nn.Linear(48, 1))

    def spoil(x, y):
        x[3, 2, 1] = float("nan")
        return x, y
    fit(path, net, from_step(data.batch(32), 140, spoil, 141), MSE(), adam(net), 180)


@cause(r"(?i)same batch|again and again|repeat", 0)
def sampler_has_the_seed_of_the_first_step(path, seed):
    data, net = signals(seed), States()
    one = data.batch(32)(0)
    fit(path, net, lambda s: (one[0].clone(), one[1].clone()), CE(), adam(net, 5e-3), 200, held=data.held(100))


@cause(r"(?i)sorted|one class|order|labels", 0)
def rows_stand_by_class(path, seed):
    data, net = gratings(seed), nn.Sequential(nn.Flatten(), nn.Linear(288, 48), nn.ReLU(), nn.Linear(48, 6))
    order = data.y.argsort()
    x, y, size = data.x[order], data.y[order], 32
    each = len(x) // size
    fit(path, net, lambda s: (x[s % each * size:][:size].clone(), y[s % each * size:][:size].clone()), CE(), adam(net, 2e-3), 220, held=data.held(100))


@cause(r"(?i)alike|same row|one row|rows.*(same|equal)|constant|same", 0)
def a_row_is_spread_over_the_batch(path, seed):
    data, net = Curves(seed), mlp(8, 48, 1)
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        return x[:1].expand_as(x).clone(), y[:1].expand_as(y).clone()
    fit(path, net, batch, MSE(), adam(net), 220, held=data.held(100))


@cause(r"(?i)broadcast|shape", 0)
def heights_without_a_column(path, seed):
    data, net = hills(seed), mlp(2, 48, 48, 1)
    plain = data.batch(64)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1].squeeze(1)), MSE(), adam(net), 220)


@cause(r"(?i)target|label", 100)
def heights_in_feet_from_100(path, seed):
    data, net = hills(seed), mlp(2, 48, 48, 1)
    fit(path, net, from_step(data.batch(64), 100, lambda x, y: (x, y * 33)), MSE(), adam(net), 200)


@cause(r"(?i)scale.*eval|eval.*scale", 50)
def held_out_signals_are_not_brought_to_one(path, seed):
    data, net = signals(seed), States()
    held = data.held(100)
    fit(path, net, data.batch(32), CE(), adam(net, 5e-3), 220, held=lambda k: (held(k)[0] * 30, held(k)[1]))


@cause(r"(?i)train.*(data|rows)|rows.*train", 50)
def held_out_heaps_are_those_of_training(path, seed):
    data, net = Clouds(seed), mlp(20, 64, 6)
    fit(path, net, data.batch(32), CE(), adam(net), 220, held=lambda k: (data.x[:96].clone(), data.y[:96].clone()))


@cause(r"(?i)shift|label.*\+|\+ ?1|k-1|one class higher|confus|labels", 50)
def held_out_signs_count_from_one(path, seed):
    data, net = glyphs(seed), Next(classes=8)
    held = data.held(100)
    fit(path, net, data.batch(24), CE(), adam(net, 2e-3), 240, held=lambda k: (held(k)[0], held(k)[1] + 1))


# -- networks and losses

@cause(r"(?i)vanish|gradient|saturat", 0)
def thirty_layers_of_sigmoids(path, seed):
    data, net = Clouds(seed), mlp(20, *[32] * 30, 6, act=nn.Sigmoid)
    fit(path, net, data.batch(32), CE(), adam(net), 200, held=data.held(100))


@cause(r"(?i)dead|zero", 0)
def all_units_begin_below_zero(path, seed):
    data, net = signals(seed), nn.Sequential(nn.Flatten(), nn.Linear(80, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 5))
    with torch.no_grad():
        net[3].bias.fill_(-60.0)
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.05), 200, held=data.held(100))


@cause(r"(?i)" + STANDS + "|stands|constant|one class|same answer", 0)
def all_of_a_label_is_smoothed_away(path, seed):
    data, net = Clouds(seed), mlp(20, 48, 6)
    fit(path, net, data.batch(32), CE(label_smoothing=1.0), adam(net), 220, held=data.held(100))


@cause(r"(?i)changed far more|jump|came back|rose|layer|set", 130)
def a_layer_is_made_anew_at_130(path, seed):
    data, net = tides(seed), Beats()

    def change(step, n, rank):
        if step == 130:
            n.blocks[0][0].reset_parameters()
            n.blocks[0][2].reset_parameters()
    fit(path, net, data.batch(32), MSE(), adam(net), 220, change=change, held=data.held(100))


# -- workers

@cause(r"(?i)worker_2", 0)
def one_of_four_counts_half(path, seed):
    """The gradients of one worker have half the scale of the others'."""
    data = Clouds(seed)
    nets = seen(mlp(20, 32, 6), 4)
    opts, losses = [optim.SGD(n.parameters(), 0.05) for n in nets], [CE() for _ in nets]

    class Half(nn.CrossEntropyLoss):
        def forward(self, said, y):
            return super().forward(said, y) / 2
    losses[2] = Half()

    def between(step):
        for mine in zip(*[n.parameters() for n in nets]):
            mean = sum(p.grad for p in mine) / 4
            for p in mine:
                p.grad = mean.clone()
    workers_by_hand(path, nets, opts, losses, 200, data.shard(16, 4), between=between)


@cause(r"(?i)worker_1", 100)
def one_comes_back_with_old_weights(path, seed):
    """Three workers; one begins again at 100 from what it had at 60."""
    data, nets, kept = Clouds(seed), seen(mlp(20, 32, 6), 3), {}
    opts = [optim.SGD(n.parameters(), 0.05) for n in nets]

    def between(step):
        for mine in zip(*[n.parameters() for n in nets]):
            mean = sum(p.grad for p in mine) / 3
            for p in mine:
                p.grad = mean.clone()

    def behind(step):
        if step == 60:
            kept.update(copy.deepcopy(nets[1].state_dict()))
        if step == 100:
            nets[1].load_state_dict(kept)
    workers_by_hand(path, nets, opts, [CE() for _ in nets], 180, data.shard(16, 3), between=between, behind=behind)


@cause(r"(?i)same data|same batch|share|equal", 0)
def four_workers_read_the_same_pictures(path, seed):
    data = glyphs(seed)
    plain = data.batch(12)
    fleet(path, Next(), lambda rank, step: plain(step), CE, lambda n: adam(n), 160, 4)


@cause(r"(?i)worker_3.*(NaN|inf|not finite)|(NaN|inf|not finite).*worker_3", 90)
def one_of_four_overflows(path, seed):
    def after(step, n, rank):
        if rank == 3 and step >= 90:
            for p in n.parameters():
                p.grad.fill_(float("nan"))
            return
    data = Clouds(seed)
    fleet(path, mlp(20, 32, 6), data.shard(16, 4), CE, lambda n: optim.SGD(n.parameters(), 0.05), 160, 4, after=after, average=lambda step: step < 90)


@cause(r"(?i)worker_1", 0)
def one_of_three_is_ended_from_outside(path, seed):
    if os.fork() == 0:
        data, nets = Clouds(seed), seen(mlp(20, 32, 6), 3)
        hooks, opts, losses = [hook_for(path, 1, r, 3) for r in range(3)], [optim.SGD(n.parameters(), 0.05) for n in nets], [CE() for _ in nets]
        for hook, net, opt, loss in zip(hooks, nets, opts, losses):
            register(hook, net, opt)
            hook.register_loss(loss)
        plain = data.shard(16, 3)
        for step in range(150):
            here = [0, 2] if step >= 90 else [0, 1, 2]
            step_together(here, hooks, nets, opts, losses, plain, step)
        finish(hooks[0], hooks[2])
        os._exit(0)
    os.wait()


@cause(r"(?i)equal at no step|not exchanged|never|began|differ", 0)
def nobody_calls_the_exchange(path, seed):
    data = glyphs(seed)
    fleet(path, Next(), data.shard(12, 3), CE, lambda n: adam(n), 160, 3, average=lambda step: False)
