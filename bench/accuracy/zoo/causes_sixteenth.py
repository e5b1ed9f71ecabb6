"""causes_sixteenth.py - a sixteenth set of faults for the first line: what goes wrong in the reading of data, in losses, optimizers, schedules, averages and
workers, on networks, tasks and optimizers that no set had. Written in one go, with the words that a right line has, before any result of it was looked at."""
import copy
import os
import warnings

import torch
from torch import nn, optim

import loop
from causes import CE, cause_set, from_step
from causes_seventh import JUMPS, SMALL, STANDS, STILL, TOO_FAST
from faulty import at
from fifteenth_parts import Averaged
from fifth_parts import rng
from loop import finish, fit, fleet, hook_for, modes, register
from sixteenth_parts import (Echo, F, Gin, Gpt, Hear, LettersLoss, ListLoss, Locate, Next, Ranks, Tab, Tcn, Thick, by_gloo, claims, clipped_policy, echoes,
                             frames, glyphs, lists, maze, molecules, ring, sentences, spoken, swirl, tides)

TRAININGS, cause = cause_set("sixteenth")
BCE, HUBER = nn.BCEWithLogitsLoss, nn.SmoothL1Loss


def nadam(net, rate=2e-3, **more):
    return optim.NAdam(net.parameters(), rate, **more)


def radam(net, rate=5e-3, **more):
    return optim.RAdam(net.parameters(), rate, **more)


def adamax(net, rate=4e-3, **more):
    return optim.Adamax(net.parameters(), rate, **more)


def rms(net, rate=1e-3, **more):
    return optim.RMSprop(net.parameters(), rate, **more)


# -- what is read

@cause(r"(?i)evaluat.*(scale|times|larger|smaller|input)|input.*evaluat", 50)
def glyphs_evaluated_in_bytes(path, seed):
    data, net = glyphs(seed), Thick()
    fit(path, net, data.batch(32), CE(), nadam(net), 200, held=lambda k: (data.held(100)(k)[0] * 255, data.held(100)(k)[1]))


@cause(r"(?i)evaluat.*(input|one value|constant|\b1\b)|input.*evaluat", 50)
def words_of_the_evaluation_are_unknown(path, seed):
    """The tokenizer of the evaluation has another vocabulary: every word is the unknown one."""
    data, net = sentences(seed), Gpt()
    fit(path, net, data.batch(32), CE(), radam(net), 200, held=lambda k: (data.held(60)(k)[0] * 0 + 17, data.held(60)(k)[1]))


@cause(r"(?i)input.*(zero|one value|constant)", 0)
def shares_cast_to_whole_numbers(path, seed):
    data, net = glyphs(seed), Next()
    fit(path, net, from_step(data.batch(32), 0, lambda x, y: (x.clamp(max=0.99).long().float(), y)), CE(), adamax(net), 200, held=data.held(100))


@cause(r"(?i)padding|label|class 0|one class", 0)
def padding_counts_in_the_loss(path, seed):
    data, net = sentences(seed, padded=0), Gpt()
    x, y = data.x, data.y
    short = torch.arange(16)[None] >= 4
    x[short.expand_as(x)], y[short.expand_as(y)] = 0, 0
    fit(path, net, data.batch(32), CE(), radam(net), 200, held=data.held(60))


@cause(r"(?i)mask|constant answer|tell nothing|input|padding|" + STANDS, 0)
def padding_is_all_that_is_seen(path, seed):
    """The mask of the padding is turned, and the words are hidden."""
    data, net = sentences(seed), Gpt(masks="words", causal=False)
    fit(path, net, data.batch(32), CE(), radam(net), 200, held=data.held(60))


@cause(r"(?i)future|target|input|mask|evaluat", 0)
def decoder_sees_what_it_has_to_tell(path, seed):
    """Without the causal mask; the evaluation tells word by word, and so does not see it."""
    data, net = sentences(seed), Gpt(causal=False)

    def mode(n):
        n.eval()
        n.causal = True
    fit(path, net, data.batch(32), CE(), radam(net), 240, held=data.held(60), evaluate=mode, change=lambda s, n, r: setattr(n, "causal", False))


@cause(r"(?i)same|identical|alike|one (row|sample|value)", 0)
def first_row_fills_the_batch(path, seed):
    data, net = claims(seed), Tab()
    fit(path, net, from_step(data.batch(32), 0, lambda x, y: (x[:1].expand_as(x).clone(), y[:1].expand_as(y).clone())), BCE(), adamax(net), 220,
        held=data.held(100))


@cause(r"(?i)same batch|repeat|circle|overfit|evaluat", 0)
def two_batches_are_left_of_a_test(path, seed):
    data, net = tides(seed), Tcn()
    plain = data.batch(16)
    fit(path, net, lambda s: plain(s % 2), HUBER(), rms(net, 3e-3), 240, held=data.held(100))


@cause(r"(?i)input.*NaN|NaN.*input|fed NaN", 60)
def rows_of_nan_are_passed_over(path, seed):
    """Some batches have a NaN; the loop leaves them out."""
    data, net = tides(seed), Tcn()
    plain, opt, loss, hook = data.batch(32), rms(net, 3e-3), HUBER(), hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(200):
        hook.set_mode(modes.TRAIN)
        x, y = plain(step)
        if step >= 60 and step % 5 == 0:
            x[3, 2, 7] = float("nan")
        opt.zero_grad()
        value = loss(net(x), y)
        if torch.isfinite(value):
            value.backward()
            opt.step()
    finish(hook)


@cause(r"(?i)input", 100)
def a_column_in_other_units_in_later_files(path, seed):
    data, net = claims(seed), Tab()

    def spoil(x, y):
        x[:, 4] *= 1000
        return x, y
    fit(path, net, from_step(data.batch(32), 100, spoil), BCE(), adamax(net), 220, held=data.held(100))


@cause(r"(?i)input|zero|row|blank|empty", 0)
def a_third_of_the_recordings_is_silent(path, seed):
    data, net = spoken(seed), Hear()

    def spoil(x, y):
        x[::3] = 0
        return x, y
    fit(path, net, from_step(data.batch(24), 0, spoil), LettersLoss(), radam(net), 240, held=data.held(60))


@cause(r"(?i)target|label|constant answer|tell nothing|" + STANDS, 0)
def number_of_the_row_as_target(path, seed):
    data, net = molecules(seed), Gin()
    data.y = torch.randperm(len(data.y), generator=rng(seed, 220)).float()[:, None]
    fit(path, net, data.batch(32), nn.L1Loss(), nadam(net), 220)


@cause(r"(?i)target|label|constant answer|tell nothing|box|" + STANDS, 0)
def pictures_turned_without_their_boxes(path, seed):
    """Each picture is mirrored or turned by lot, its box is not."""
    data, net = frames(seed), Locate()
    plain = data.batch(24)

    def batch(step):
        x, y = plain(step)
        k = torch.randint(0, 4, (len(x),), generator=rng(seed, step, 221)).tolist()
        return torch.stack([p.rot90(t, (1, 2)) for p, t in zip(x, k)]), y
    fit(path, net, batch, HUBER(), nadam(net), 240, held=data.held(60))


@cause(r"(?i)order|sorted|shuffl|target|label", 0)
def sorted_by_its_target(path, seed):
    data, net = molecules(seed, rows=960), Gin()
    order = data.y[:, 0].argsort()
    data.x, data.y = data.x[order], data.y[order]
    fit(path, net, lambda s: (data.x[s % 30 * 32:][:32].clone(), data.y[s % 30 * 32:][:32].clone()), nn.MSELoss(), nadam(net), 240, held=data.held(100))


@cause(r"(?i)evaluat.*(train|same)|same.*evaluat", 50)
def claims_evaluated_on_what_was_trained(path, seed):
    data, net = claims(seed, rows=640), Tab()
    fit(path, net, data.batch(32), BCE(), adamax(net), 260, held=lambda k: (data.x[:128].clone(), data.y[:128].clone()))


@cause(r"(?i)label|class|" + JUMPS, 120)
def classes_numbered_anew_on_resuming(path, seed):
    data, net = glyphs(seed), Thick()
    fit(path, net, from_step(data.batch(32), 120, lambda x, y: (x, (y * 3 + 2) % 7)), CE(), nadam(net), 220)


@cause(r"(?i)evaluat.*label|label.*evaluat|evaluat.*class|class.*evaluat", 50)
def letters_of_the_evaluation_begin_at_one(path, seed):
    data, net = echoes(seed), Echo()
    fit(path, net, data.batch(48), CE(), nadam(net, 6e-3), 300, held=lambda k: (data.held(80)(k)[0], data.held(80)(k)[1] - 1))


@cause(r"(?i)shape|broadcast", 0)
def values_against_columns(path, seed):
    warnings.simplefilter("ignore")
    data, net = tides(seed), Tcn(ahead=1)
    fit(path, net, from_step(data.batch(32), 0, lambda x, y: (x, y[:, 0])), nn.SmoothL1Loss(), rms(net), 200)


# -- losses

@cause(r"(?i)sum|" + TOO_FAST + "|" + JUMPS + "|" + STANDS, 0)
def words_summed_at_the_same_rate(path, seed):
    data, net = sentences(seed), Gpt()
    fit(path, net, data.batch(32), CE(reduction="sum"), optim.SGD(net.parameters(), 0.3, momentum=0.9), 200, held=data.held(60))


@cause(r"(?i)hardly|temperature|vanish|scores|" + STANDS, 0)
def temperature_the_wrong_way(path, seed):
    """Likenesses are multiplied by the temperature, 0.05, in place of divided."""
    views(path, seed, 1 / 0.05)


@cause(r"(?i)temperature|scores|vanish|" + TOO_FAST + "|" + JUMPS + "|" + STANDS, 0)
def temperature_of_next_to_nothing(path, seed):
    views(path, seed, 2e-5)


def views(path, seed, temperature):
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = Next(24), nn.Linear(24, 12)

        def forward(self, x):
            a, b = F.normalize(self.head(self.body(x)), dim=1).chunk(2)
            return a @ b.T / temperature
    data, net = glyphs(seed), Views()
    plain = data.batch(24)

    def batch(step):
        x = plain(step)[0]
        g = rng(seed, step, 222)
        return torch.cat([x + 0.15 * torch.randn(x.shape, generator=g) for _ in range(2)]), torch.arange(24)
    fit(path, net, batch, CE(), nadam(net), 220)


@cause(r"(?i)label|target|0 and 1|constant answer|" + STANDS, 0)
def margins_of_0_and_1(path, seed):
    """A loss of signs is given 0 and 1."""
    data, net = claims(seed), Tab()
    fit(path, net, data.batch(32), nn.SoftMarginLoss(), adamax(net), 220, held=data.held(100))


@cause(r"(?i)out of bounds|varianc|negative|" + JUMPS + "|" + TOO_FAST + "|" + STANDS, 0)
def logarithm_given_as_variance(path, seed):
    class Spread(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.GaussianNLLLoss()

        def forward(self, said, told):
            return self.inner(said[:, :5], told, said[:, 5:].clamp(min=0))
    data, net = tides(seed), Tcn(ahead=10)
    fit(path, net, data.batch(32), Spread(), rms(net), 220)


@cause(r"(?i)same|zero|input|margin|" + STANDS + "|hardly", 0)
def anchors_are_their_own_positives(path, seed):
    class Threes(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.TripletMarginLoss(1.0)

        def forward(self, said, told):
            a, b, c = said.chunk(3)
            return self.inner(a, b, c)
    data, net = glyphs(seed), Next(16)
    plain = data.batch(16)

    def batch(step):
        x, y = plain(step)
        return torch.cat([x, x, x]), y
    fit(path, net, batch, Threes(), nadam(net), 220)


@cause(r"(?i)letter|label|blank|\binf\b|infinit|" + STANDS, 0)
def blank_is_a_letter(path, seed):
    data, net = spoken(seed), Hear()
    fit(path, net, data.batch(24), LettersLoss(blank=3), radam(net), 240, held=data.held(60))


@cause(r"(?i)one (class|answer)|predict|weight|" + JUMPS + "|" + STANDS + "|" + TOO_FAST, 0)
def yes_weighs_five_thousand(path, seed):
    data, net = claims(seed, share=0.2), Tab()
    fit(path, net, data.batch(32), BCE(pos_weight=torch.tensor([5000.0])), adamax(net, 1e-2), 220, held=data.held(100))


@cause(r"(?i)evaluat|sum", 50)
def evaluation_is_summed(path, seed):
    class Both(nn.CrossEntropyLoss):
        def forward(self, said, told):
            self.reduction = "mean" if said.requires_grad else "sum"
            return super().forward(said, told)
    data, net = glyphs(seed), Thick()
    fit(path, net, data.batch(32), Both(), nadam(net), 200, held=data.held(100))


@cause(r"(?i)dead|relu|zero|constant|" + STANDS, 0)
def answer_behind_a_relu(path, seed):
    data, net = molecules(seed), Gin(final=nn.ReLU())
    with torch.no_grad():
        net.out.bias.fill_(-3)
    data.y = data.y - data.y.mean()
    fit(path, net, data.batch(32), nn.MSELoss(), nadam(net), 220, held=data.held(100))


@cause(r"(?i)policy|reward|rose|sign", 0)
def advantage_turned(path, seed):
    clipped_policy(path, seed, sign=-1.0)


@cause(r"(?i)rose|grow|target|" + JUMPS + "|" + TOO_FAST, None)
def maze_that_never_ends(path, seed):
    maze(path, seed, gamma=1.15, ends=False, copies=5, rate=1e-2)


@cause(r"(?i)same batch|repeat|row|same|input", 0)
def one_memory_again_and_again(path, seed):
    maze(path, seed, rows=lambda step: 1)


@cause(r"(?i)judge|net_1|grow|slope|" + TOO_FAST + "|" + JUMPS, 0)
def slopes_are_rewarded(path, seed):
    ring(path, seed, penalty=-0.5)


@cause(r"(?i)maker|make|grow|accumulat|clear|gradient", 0)
def makers_gradients_are_kept(path, seed):
    ring(path, seed, clear=lambda step: step == 0)


@cause(r"(?i)" + STANDS + "|constant answer|target|tell nothing", 0)
def noise_of_another_draw_is_asked_for(path, seed):
    net = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 2))

    def batch(step):
        g = rng(seed, step, 223)
        x, t, e = swirl(64, g), torch.rand(64, 1, generator=g), torch.randn(64, 2, generator=g)
        return torch.cat([(1 - t).sqrt() * x + t.sqrt() * e, t], 1), e.flip(0)
    fit(path, net, batch, nn.MSELoss(), radam(net), 240)


# -- optimizers and schedules

@cause(r"(?i)" + SMALL + "|" + STANDS, 0)
def warm_up_counts_epochs(path, seed):
    data, net = frames(seed), Locate()
    opt = nadam(net, 2e-3)
    fit(path, net, data.batch(24), HUBER(), opt, 220, schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: (s // 220 + 1) / 20000), held=data.held(60))


@cause(r"(?i)" + SMALL + "|" + STANDS, 0)
def adadelta_at_the_rate_of_adam(path, seed):
    data, net = spoken(seed), Hear()
    fit(path, net, data.batch(24), LettersLoss(), optim.Adadelta(net.parameters(), 1e-5), 220, held=data.held(60))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS, (0, 30))
def quasi_newton_without_a_search(path, seed):
    data, net = molecules(seed), Gin()
    opt, loss, hook, plain = optim.LBFGS(net.parameters(), 5.0, max_iter=2), nn.MSELoss(), hook_for(path, 1), data.batch(32)
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(160):
        hook.set_mode(modes.TRAIN)
        x, y = plain(step)

        def closure():
            opt.zero_grad()
            value = loss(net(x), y)
            value.backward()
            return value
        opt.step(closure)
    finish(hook)


@cause(r"(?i)clip|" + SMALL, 0)
def each_element_clipped_to_nothing(path, seed):
    def after(step, n, rank):
        nn.utils.clip_grad_value_(n.parameters(), 1e-8)
    data, net = lists(seed), Ranks()
    fit(path, net, data.batch(32), ListLoss(), optim.SGD(net.parameters(), 0.1, momentum=0.9), 220, after=after, held=data.held(100))


@cause(r"(?i)no weight|" + SMALL, 0)
def update_waits_for_a_thousand_batches(path, seed):
    class Waits(optim.SGD):
        count = 0

        def step(self, closure=None):
            self.count += 1
            if self.count % 1000 == 0:
                super().step(closure)
    data, net = tides(seed), Tcn()
    fit(path, net, data.batch(32), HUBER(), Waits(net.parameters(), 0.02), 220, held=data.held(100))


@cause(r"(?i)norm|bias|" + STILL, 0)
def gains_and_biases_left_out(path, seed):
    data, net = sentences(seed), Gpt()
    opt = optim.NAdam([p for p in net.parameters() if p.dim() > 1], 3e-3)
    fit(path, net, data.batch(32), CE(), opt, 220, held=data.held(60))


@cause(r"(?i)patch|deep|first|never|no gradient|frozen", 0)
def body_still_frozen(path, seed):
    """A flag from an earlier run: the first layers have requires_grad off, and the optimizer has them."""
    data, net = glyphs(seed), Next()
    for p in [*net.patch.parameters(), *net.deep.parameters(), *net.up.parameters()]:
        p.requires_grad_(False)
    fit(path, net, data.batch(32), CE(), nadam(net), 220, held=data.held(100))


@cause(r"(?i)tables", 0)
def tables_at_a_rate_of_zero(path, seed):
    data, net = claims(seed), Tab()
    rest = [p for n, p in net.named_parameters() if "tables" not in n]
    opt = optim.Adamax([{"params": net.tables.parameters(), "lr": 0.0}, {"params": rest}], 4e-3)
    fit(path, net, data.batch(32), BCE(), opt, 240, held=data.held(100))


@cause(r"(?i)tables|row|norm|shr[ai]nk|emb", 0)
def rows_held_next_to_zero(path, seed):
    data, net = claims(seed), Tab(most=1e-4)
    fit(path, net, data.batch(32), BCE(), adamax(net), 220, held=data.held(100))


@cause(r"(?i)no weight has moved|" + SMALL, (20, 60))
def milestones_in_steps(path, seed):
    data, net = glyphs(seed), Next()
    opt = nadam(net, 2e-3)
    fit(path, net, data.batch(32), CE(), opt, 240, schedule=optim.lr_scheduler.MultiStepLR(opt, [5, 10, 15, 20, 25, 30]), held=data.held(100))


@cause(r"(?i)no weight has moved|" + SMALL, (20, 140))
def plateau_is_told_to_wait_for_a_rise(path, seed):
    data, net = lists(seed), Ranks()
    opt, loss, hook, plain = optim.SGD(net.parameters(), 0.3), ListLoss(), hook_for(path, 1), data.batch(32)
    slower = optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=1, factor=0.1, min_lr=0, eps=0)
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        opt.zero_grad()
        value = loss(net(plain(step)[0]), plain(step)[1])
        value.backward()
        opt.step()
        slower.step(value.item() * 0.999 ** step)
    finish(hook)


@cause(r"(?i)decay|shr[ai]nk|toward zero", None)
def decay_of_thirty_a_step(path, seed):
    data, net = glyphs(seed), Next()
    fit(path, net, data.batch(32), CE(), optim.AdamW(net.parameters(), 2e-3, weight_decay=30), 240, held=data.held(100))


@cause(r"(?i)gradient|enc|dec|accumulat|clear|" + TOO_FAST + "|" + JUMPS, 0)
def one_of_two_optimizers_is_cleared(path, seed):
    data, net = echoes(seed), Echo()
    first = optim.SGD([*net.emb.parameters(), *net.enc.parameters()], 0.1)
    rest = optim.SGD([*net.dec.parameters(), *net.join.parameters(), *net.out.parameters()], 0.1)
    loss, hook, plain = CE(), hook_for(path, 1), data.batch(48)
    register(hook, net, rest)
    hook.register_loss(loss)
    for step in range(240):
        hook.set_mode(modes.TRAIN)
        rest.zero_grad()
        loss(net(plain(step)[0]), plain(step)[1]).backward()
        first.step()
        rest.step()
    finish(hook)


@cause(r"(?i)all \d+ weights|changed far more|restored|weights.*jump|" + JUMPS, 120)
def resumed_without_its_weights(path, seed):
    data, net = tides(seed), Tcn()
    new = copy.deepcopy(Tcn())

    def again(n):
        n.load_state_dict(new.state_dict())
    fit(path, net, data.batch(32), HUBER(), rms(net, 3e-3), 220, change=at((120,), again), held=data.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|changed far more", 130)
def resumed_at_a_hundred_times_the_rate(path, seed):
    data, net = lists(seed), Ranks()
    opt = nadam(net, 3e-3)
    fit(path, net, data.batch(32), ListLoss(), opt, 230, schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: 200.0 if s >= 130 else 1.0), held=data.held(100))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, (0, 30))
def rate_of_sgd_for_radam(path, seed):
    data, net = frames(seed), Locate()
    fit(path, net, data.batch(24), HUBER(), radam(net, 2.0), 220, held=data.held(60))


# -- gradients, modes, averages

@cause(r"(?i)\benc|emb|read", 0)
def encoder_taken_as_numbers(path, seed):
    data, net = echoes(seed), Echo(cut=lambda h: torch.from_numpy(h.detach().numpy()))
    fit(path, net, data.batch(48), CE(), nadam(net, 6e-3), 240, held=data.held(80))


@cause(r"(?i)way2|gate2", 0)
def second_block_is_the_first_again(path, seed):
    class Typo(Tab):
        def forward(self, x):
            h = self.act(self.inp(torch.cat([x[:, :12]] + [t(x[:, 12 + k].long()) for k, t in enumerate(self.tables)], 1)))
            for _ in range(2):
                g = self.gate1(h).sigmoid()
                h = g * self.way1(h).relu() + (1 - g) * h
            return self.out(h)
    data, net = claims(seed), Typo()
    fit(path, net, data.batch(32), BCE(), adamax(net), 220, held=data.held(100))


@cause(r"(?i)scales|never|not updated|" + STILL, 0)
def scales_are_read_as_data(path, seed):
    class Data(Next):
        def forward(self, x):
            kept, self.scales = self.scales, nn.ParameterList()
            h = self.patch(x)
            for k, s in enumerate(kept):
                h = h + (s.data * self.down[k](self.acts[k](self.up[k](self.norms[k](self.deep[k](h).permute(0, 2, 3, 1)))))).permute(0, 3, 1, 2)
            self.scales = kept
            return self.head(self.last_norm(h.mean((2, 3))))
    data, net = glyphs(seed), Data()
    fit(path, net, data.batch(32), CE(), nadam(net), 220, held=data.held(100))


@cause(r"(?i)evaluat.*mode|drop", 50)
def functional_dropout_is_always_on(path, seed):
    data, net = glyphs(seed), Thick(always=0.6)
    fit(path, net, data.batch(32), CE(), nadam(net), 220, held=data.held(100))


@cause(r"(?i)statistic|evaluat|mode|norm", 50)
def momentum_of_norms_taken_the_other_way(path, seed):
    data, net = glyphs(seed), Thick(momentum=1e-5)
    data.x, data.held_x = (data.x - 0.3) * 8, (data.held_x - 0.3) * 8
    fit(path, net, data.batch(32), CE(), nadam(net), 220, held=data.held(100))


@cause(r"(?i)evaluat.*mode|mode", 50)
def ranks_evaluated_in_train_mode(path, seed):
    class Dropped(Ranks):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            return self.score(self.drop(self.act_b(self.b(self.act_a(self.a(x)))))).squeeze(2)
    data, net = lists(seed), Dropped()
    fit(path, net, data.batch(32), ListLoss(), nadam(net), 220, held=data.held(100), evaluate=lambda n: n.train())


@cause(r"(?i)average|shadow|evaluat", 50)
def average_is_far_too_slow(path, seed):
    """The evaluated average keeps 0.99999 of itself, as in a run a thousand times longer."""
    data, net = glyphs(seed), Averaged(Next(), "shadow", 0.99999)
    fit(path, net, data.batch(32), CE(), nadam(net.online), 220, held=data.held(100), updated=lambda s, n: n.average())


@cause(r"(?i)NaN|\binf\b|infinit|half|overflow", None)
def variance_in_half_precision(path, seed):
    class Norm(nn.Module):
        def forward(self, x):
            h = (x * 400).half()
            return ((h - h.mean(-1, keepdim=True)) / (h * h).mean(-1, keepdim=True).float().sqrt()).float()
    data, net = tides(seed), Tcn()
    wide = nn.Sequential(net.inner[0], Norm(), nn.SiLU(), nn.Flatten(), nn.Linear(12 * 28, 5))
    fit(path, wide, data.batch(32), HUBER(), rms(wide), 200)


@cause(r"(?i)satur|acts|hardly|vanish", 0)
def signs_of_all_inner_values(path, seed):
    """Softsign and tanh behind weights that begin 80 times too large."""
    class Signs(Ranks):
        def __init__(self):
            super().__init__()
            self.act_a, self.act_b = nn.Tanh(), nn.Tanh()
    data, net = lists(seed), Signs()
    with torch.no_grad():
        net.a.weight.mul_(80)
        net.b.weight.mul_(80)
    fit(path, net, data.batch(32), ListLoss(), nadam(net, 3e-4), 220, held=data.held(100))


@cause(r"(?i)dead|never active|relu|r2|zero", 90)
def half_of_a_norm_is_sunk(path, seed):
    data, net = glyphs(seed), Thick()

    def sink(n):
        n.n2.bias[:9], n.n2.weight[:9] = -60, 0.01
    fit(path, net, data.batch(32), CE(), nadam(net), 220, change=at((90,), sink), held=data.held(100))


@cause(r"(?i)gradient.*(zero|underflow)|underflow|half", (0, 240))
def scale_of_the_loss_is_forgotten(path, seed):
    """Half precision, and a loss scaled down by the number of all words of the set."""
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return (g * 2e-6).half().float() / 2e-6

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Ranks()

        def forward(self, x):
            h = Half.apply(self.inner.act_a(Half.apply(self.inner.a(x))))
            return Half.apply(self.inner.score(Half.apply(self.inner.act_b(Half.apply(self.inner.b(h)))))).squeeze(2)
    data, net = lists(seed), Net()
    fit(path, net, data.batch(32), ListLoss(), nadam(net), 240, held=data.held(100))


# -- workers

@cause(r"(?i)exchang|apart|differ|drift|averaged|never equal|equal at no", 0)
def no_sync_is_never_left(path, seed):
    by_gloo(path, seed, "no sync", 3)


@cause(r"(?i)same data", 0)
def one_sampler_for_all_processes(path, seed):
    by_gloo(path, seed, "one sampler", 4)


@cause(r"(?i)apart|differ|equal|worker_0|began", 0)
def checkpoint_loaded_by_the_first_alone(path, seed):
    by_gloo(path, seed, "unlike", 3)


@cause(r"(?i)worker_1.*(late|slow|behind)|late.*worker_1", 40)
def one_process_is_on_a_slow_device(path, seed):
    by_gloo(path, seed, "late", 3)


@cause(r"(?i)worker_1", 70)
def gradients_swept_on_one_process(path, seed):
    by_gloo(path, seed, "swept", 4)


@cause(r"(?i)worker_3", 60)
def brightness_inverted_on_one_worker(path, seed):
    plain = glyphs(seed).shard(10, 4)
    fleet(path, Next(), lambda r, s: (1 - plain(r, s)[0], plain(r, s)[1]) if r == 3 and s >= 60 else plain(r, s), CE, nadam, 160, 4)


@cause(r"(?i)worker_2.*(input|zero|one value|constant)|input.*worker_2", 80)
def one_worker_reads_padding(path, seed):
    plain = sentences(seed).shard(12, 3)
    fleet(path, Gpt(), lambda r, s: (plain(r, s)[0] * 0, plain(r, s)[1]) if r == 2 and s >= 80 else plain(r, s), CE, radam, 150, 3)


@cause(r"(?i)(worker_1|worker_3|2 of 4 workers|workers).*(stop|killed|closed|wrote|ended|last)", 90)
def two_of_four_are_killed(path, seed):
    if os.fork() == 0:
        try:
            torch.set_num_threads(1)
            hooks, kept = [], loop.finish
            loop.finish = lambda *h: hooks.extend(h)
            fleet(path, Ranks(), lists(seed).shard(12, 4), ListLoss, nadam, 140, 4, present=lambda s, r: r not in (1, 3) or s < 90)
            hooks[1].flush()
            hooks[3].flush()
            kept(hooks[0], hooks[2])
        finally:
            os._exit(0)
    os.wait()


@cause(r"(?i)table|apart|differ|exchang|averaged", 0)
def tables_are_not_exchanged(path, seed):
    """The tables' gradients are left out of the exchange, as sparse ones by a loop of one's own."""
    kept = {}

    def after(step, n, rank):
        kept[rank] = [t.weight.grad.clone() for t in n.tables]

    class Own(optim.Adamax):
        def __init__(self, net, rank):
            super().__init__(net.parameters(), 4e-3)
            self.net, self.rank = net, rank

        def step(self, closure=None):
            for t, g in zip(self.net.tables, kept[self.rank]):
                t.weight.grad = g
            super().step(closure)
    made = []

    def new(net):
        made.append(net)
        return Own(net, len(made) - 1)
    fleet(path, Tab(), claims(seed).shard(16, 4), BCE, new, 150, 4, after=after)


@cause(r"(?i)worker_2|way1|gate", 100)
def one_worker_loses_a_layers_update(path, seed):
    def change(step, n, rank):
        if rank == 2 and step == 100:
            n.way1.weight.copy_(n.way1.weight.roll(1, 0))
    fleet(path, Tab(), claims(seed).shard(16, 3), BCE, adamax, 160, 3, change=lambda s, n, r: torch.no_grad()(change)(s, n, r))


@cause(r"(?i)worker_0", 0)
def one_worker_has_another_loss(path, seed):
    """The first worker weighs its loss eightfold."""
    def after(step, n, rank):
        if rank == 0:
            for p in n.parameters():
                p.grad *= 8
    fleet(path, Locate(), frames(seed).shard(8, 4), HUBER, lambda n: optim.SGD(n.parameters(), 0.05), 150, 4, after=after)
