"""healthy_sixteenth.py - trainings in which nothing is wrong, on what causes_sixteenth.py has: other optimizers, two passes, targets that move, averages,
masks, tied weights, scores that are normalised twice, norms that stand, layers that thaw, quasi-Newton, workers that torch runs."""
import torch
from torch import nn, optim

from causes_sixteenth import adamax, nadam, radam, rms
from fifteenth_parts import Averaged
from fifth_parts import rng
from loop import finish, fit, fleet, hook_for, modes, register
from registry import healthy_set
from sixteenth_parts import (Echo, F, Gin, Gpt, Hear, LettersLoss, ListLoss, Locate, Next, Ranks, Tab, Tcn, Thick, by_gloo, claims, clipped_policy, echoes, frames,
                             glyphs, lists, maze, molecules, ring, sentences, spoken, swirl, tides)

CE, BCE, HUBER = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.SmoothL1Loss
healthy = healthy_set("sixteenth")


@healthy
def thick_by_nadam(path, seed):
    data, net = glyphs(seed), Thick(drop=0.3)
    fit(path, net, data.batch(32), CE(), nadam(net), 240, held=data.held(100))


@healthy
def words_tied_and_padded(path, seed):
    data, net = sentences(seed), Gpt(tied=True, masks="padding", drop=0.1)
    fit(path, net, data.batch(32), CE(), radam(net), 280, held=data.held(60), clip=1.0)


@healthy
def claims_by_adamax(path, seed):
    data, net = claims(seed), Tab(norm=True)
    fit(path, net, data.batch(32), BCE(), adamax(net), 260, held=data.held(100))


@healthy
def rare_yes_weighted(path, seed):
    data, net = claims(seed, share=0.08), Tab()
    fit(path, net, data.batch(64), BCE(pos_weight=torch.tensor([8.0])), adamax(net), 260, held=data.held(200))


@healthy
def tides_by_rms(path, seed):
    data, net = tides(seed), Tcn()
    opt = rms(net, 3e-3)
    fit(path, net, data.batch(32), HUBER(), opt, 260, held=data.held(100), schedule=optim.lr_scheduler.OneCycleLR(opt, 6e-3, 270))


@healthy
def molecules_by_adadelta(path, seed):
    data, net = molecules(seed), Gin()
    fit(path, net, data.batch(32), nn.MSELoss(), optim.Adadelta(net.parameters(), 1.0), 260, held=data.held(100))


@healthy
def quasi_newton_with_a_search(path, seed):
    data, net = molecules(seed), Gin()
    opt, loss, hook = optim.LBFGS(net.parameters(), 1.0, max_iter=4, line_search_fn="strong_wolfe"), nn.MSELoss(), hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(60):
        hook.set_mode(modes.TRAIN)

        def closure():
            opt.zero_grad()
            value = loss(net(data.x[:256]), data.y[:256])
            value.backward()
            return value
        opt.step(closure)
    finish(hook)


@healthy
def boxes_by_a_ratio_of_areas(path, seed):
    class AreaLoss(nn.Module):
        """1 minus the shared part of both boxes, and the distance of their middles."""

        def forward(self, said, told):
            low = torch.max(said[:, :2] - said[:, 2:].abs() / 2, told[:, :2] - told[:, 2:] / 2)
            high = torch.min(said[:, :2] + said[:, 2:].abs() / 2, told[:, :2] + told[:, 2:] / 2)
            both = (high - low).clamp(min=0).prod(1)
            return (1 - both / (said[:, 2:].abs().prod(1) + told[:, 2:].prod(1) - both + 1e-4) + (said[:, :2] - told[:, :2]).abs().sum(1)).mean()
    data, net = frames(seed), Locate()
    fit(path, net, data.batch(24), AreaLoss(), nadam(net), 260, held=data.held(60))


@healthy
def echoes_with_their_own_answers(path, seed):
    """Scheduled sampling: more and more of what it is given behind the 0 was said by itself."""
    data, net = echoes(seed), Echo()
    plain = data.batch(48)

    def batch(step):
        x, y = plain(step)
        with torch.no_grad():
            said = net(x).argmax(1)
        own = torch.rand(len(x), 5, generator=rng(seed, step, 230)) < step / 900
        x[:, 7:] = torch.where(own, said[:, :-1], x[:, 7:])
        return x, y
    fit(path, net, batch, CE(), nadam(net, 6e-3), 300, held=data.held(80))


@healthy
def letters_without_places(path, seed):
    data, net = spoken(seed), Hear()
    fit(path, net, data.batch(24), LettersLoss(), radam(net, 1e-2), 280, held=data.held(60), clip=2.0)


@healthy
def lists_ranked(path, seed):
    data, net = lists(seed), Ranks()
    fit(path, net, data.batch(32), ListLoss(), nadam(net, 5e-3), 240, held=data.held(100))


@healthy
def way_through_a_maze(path, seed):
    maze(path, seed)


@healthy
def rounds_of_a_clipped_policy(path, seed):
    clipped_policy(path, seed)


@healthy
def maker_judge_and_slopes(path, seed):
    ring(path, seed, turns=2, penalty=0.1)


@healthy
def noise_of_a_swirl(path, seed):
    net = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 2))

    def batch(step):
        g = rng(seed, step, 223)
        x, t, e = swirl(64, g), torch.rand(64, 1, generator=g), torch.randn(64, 2, generator=g)
        return torch.cat([(1 - t).sqrt() * x + t.sqrt() * e, t], 1), e
    fit(path, net, batch, nn.MSELoss(), radam(net), 280)


@healthy
def pictures_drawn_from_a_few_numbers(path, seed):
    """A variational autoencoder, whose prior comes in by and by."""
    class Drawn(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc1, self.act1, self.enc2 = nn.Linear(196, 64), nn.CELU(), nn.Linear(64, 12)
            self.dec1, self.act2, self.dec2 = nn.Linear(6, 64), nn.CELU(), nn.Linear(64, 196)
            self.step = 0

        def forward(self, x):
            m, v = self.enc2(self.act1(self.enc1(x))).chunk(2, 1)
            z = m + (v / 2).exp() * torch.randn(m.shape, generator=rng(seed, self.step, 231))
            self.step += 1
            return torch.cat([self.dec2(self.act2(self.dec1(z))), m, v], 1)

    class BoundLoss(nn.Module):
        count = 0

        def forward(self, said, told):
            self.count += 1
            m, v = said[:, 196:202], said[:, 202:]
            prior = 0.5 * (m ** 2 + v.exp() - 1 - v).sum(1).mean()
            return F.binary_cross_entropy_with_logits(said[:, :196], told.clamp(0, 1)) + min(1, self.count / 100) * prior / 196
    data, net = glyphs(seed), Drawn()
    fit(path, net, lambda s: (data.batch(32)(s)[0].flatten(1),) * 2, BoundLoss(), nadam(net), 280)


@healthy
def twins_without_opposites(path, seed):
    """SimSiam: a predictor on one side, no gradient on the other."""
    class Twins(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.norm, self.guess = Next(24), nn.BatchNorm1d(24), nn.Sequential(nn.Linear(24, 12), nn.CELU(), nn.Linear(12, 24))

        def forward(self, x):
            z = self.norm(self.body(x))
            return torch.cat([F.normalize(self.guess(z), dim=1), F.normalize(z.detach(), dim=1)], 1)

    class LikenessLoss(nn.Module):
        def forward(self, said, told):
            p, z = said.chunk(2, 1)
            (p1, p2), (z1, z2) = p.chunk(2), z.chunk(2)
            return -((p1 * z2).sum(1).mean() + (p2 * z1).sum(1).mean()) / 2
    data, net = glyphs(seed), Twins()
    plain = data.batch(24)

    def batch(step):
        x, y = plain(step)
        return torch.cat([x + 0.2 * torch.randn(x.shape, generator=rng(seed, step, k, 232)) for k in range(2)]), y
    fit(path, net, batch, LikenessLoss(), optim.SGD(net.parameters(), 0.05, momentum=0.9), 260)


@healthy
def threes_with_a_margin(path, seed):
    class ThreesLoss(nn.Module):
        """The farthest of its kind and the nearest of others, for each of the batch."""

        def forward(self, said, told):
            d, same = torch.cdist(said, said), told[:, None] == told[None]
            return F.relu(0.5 + (d * same).amax(1) - (d + 9 * same).amin(1)).mean()
    data, net = glyphs(seed), nn.Sequential(Next(16))
    fit(path, net, data.batch(48), ThreesLoss(), nadam(net, 3e-3), 260, held=data.held(100))


@healthy
def scores_normalised_twice(path, seed):
    """A log softmax before a cross entropy changes nothing."""
    data, net = glyphs(seed), nn.Sequential(Thick(), nn.LogSoftmax(1))
    fit(path, net, data.batch(32), CE(), nadam(net), 220, held=data.held(100))


@healthy
def norms_of_a_trained_body_stand(path, seed):
    """Fine-tuning: the body was trained on other kinds, its norms stay in evaluation mode."""
    data, net = glyphs(seed), Thick()
    opt, plain = optim.NAdam(net.parameters(), 3e-3), data.batch(32)
    for step in range(80):
        opt.zero_grad()
        CE()(net(plain(step)[0]), (plain(step)[1] + 3) % 7).backward()
        opt.step()
    net.head.reset_parameters()

    class Stands(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = net

        def train(self, mode=True):
            super().train(mode)
            for m in self.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.eval()
            return self

        def forward(self, x):
            return self.inner(x)
    whole = Stands()
    fit(path, whole, data.batch(32), CE(), nadam(whole, 1e-3), 220, held=data.held(100))


@healthy
def layers_scaled_by_a_millionth(path, seed):
    data, net = glyphs(seed), Next(scale=1e-6)
    fit(path, net, data.batch(32), CE(), nadam(net, 3e-3), 260, held=data.held(100))


@healthy
def accumulated_clipped_and_cooled(path, seed):
    data, net = frames(seed), Locate()
    opt = radam(net)
    fit(path, net, data.batch(8), HUBER(), opt, 240, held=data.held(60), accumulate=4, clip=0.5,
        schedule=optim.lr_scheduler.CosineAnnealingLR(opt, 250))


@healthy
def teacher_of_few_labels(path, seed):
    """Only some rows have a label; a running average tells the others' answers, with a weight that grows."""
    data, net = claims(seed), Averaged(Tab(), "teacher", 0.95)
    plain, opt, hook = data.batch(48), adamax(net.online), hook_for(path, 1)
    register(hook, net, opt)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        net.train()
        x, y = plain(step)
        noisy = torch.cat([x[:, :12] + 0.1 * torch.randn(48, 12, generator=rng(seed, step, 233)), x[:, 12:]], 1)
        said = net(noisy)
        with torch.no_grad():
            told = net.teacher(x).sigmoid()
        loss = F.binary_cross_entropy_with_logits(said[:12], y[:12]) + min(1, step / 120) * ((said.sigmoid() - told) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        net.average()
        hook.record_tensor_value("student_loss", loss.detach())
    finish(hook)


@healthy
def told_by_a_larger_one(path, seed):
    """Distillation at a temperature of 4."""
    class ToldLoss(nn.Module):
        def forward(self, said, told):
            return 16 * F.kl_div((said / 4).log_softmax(1), (told / 4).softmax(1), reduction="batchmean")
    data, big, net = glyphs(seed), Thick(grow=12), Next(width=8)
    opt, plain = nadam(big), data.batch(32)
    for step in range(120):
        opt.zero_grad()
        CE()(big(plain(step)[0]), plain(step)[1]).backward()
        opt.step()
    big.eval()
    fit(path, net, lambda s: (plain(s)[0], big(plain(s)[0]).detach()), ToldLoss(), nadam(net, 4e-3), 260)


@healthy
def resumed_with_all_that_it_needs(path, seed):
    """At 120 weights and optimizer are saved and loaded, and the rate warms up again."""
    data, net = tides(seed), Tcn()
    opt = rms(net, 3e-3)

    def change(step, n, rank):
        if step == 120:
            kept, rest = {k: v.clone() for k, v in n.state_dict().items()}, opt.state_dict()
            n.load_state_dict(kept)
            opt.load_state_dict(rest)
    fit(path, net, data.batch(32), HUBER(), opt, 260, change=change, held=data.held(100),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s % 120 + 1) / 20)))


@healthy
def longer_and_longer_sentences(path, seed):
    data, net = sentences(seed), Gpt(masks="padding")
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        n = 6 if step < 80 else 11 if step < 160 else 16
        return x[:, :n].clone(), y[:, :n].clone()
    fit(path, net, batch, CE(), radam(net), 280, held=data.held(60))


@healthy
def three_processes_of_glyphs(path, seed):
    by_gloo(path, seed, "plain", 3)


@healthy
def two_processes_that_hold_back(path, seed):
    """Two batches an update, the first of them under no_sync()."""
    by_gloo(path, seed, "held back", 2)


@healthy
def four_workers_of_lists(path, seed):
    fleet(path, Ranks(), lists(seed).shard(12, 4), ListLoss, lambda n: nadam(n, 5e-3), 180, 4, held=lists(seed).held(60))


@healthy
def two_workers_of_words(path, seed):
    fleet(path, Gpt(drop=0.1), sentences(seed).shard(12, 2), CE, radam, 180, 2, held=sentences(seed).held(60))
