"""healthy_twelfth.py - healthy trainings beside causes_twelfth.py: usual networks, usual data, usual ways of training them."""
import copy

import torch
from torch import nn, optim

from causes_fifth import adamw, sgd
from causes_seventh import Adapted, pretrained
from causes_twelfth import Factors, Houses, Lm, Ratings, Recurrent, Resnet, Text, of_batches
from fifth_parts import Clouds, Patterns, Stack, rng, swings
from loop import finish, fit, fleet, hook_for, modes
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("twelfth")


@healthy
def resnet_with_one_cycle(path, seed):
    data, net = Patterns(seed), Resnet()
    opt = sgd(net, 0.02, weight_decay=5e-4)
    fit(path, net, data.batch(32), CE(label_smoothing=0.1), opt, 240, held=data.held(60),
        schedule=optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=241))


@healthy
def language_model_warmed_up(path, seed):
    text, net = Text(seed), Lm(drop=0.1)
    opt = adamw(net, 4e-3, weight_decay=0.1)
    rate = lambda s: min(1.0, (s + 1) / 20) * (0.1 + 0.9 * (1 + torch.cos(torch.tensor(3.14 * s / 260)).item()) / 2)
    fit(path, net, text.batch(16), CE(), opt, 260, held=text.batch(32, number=1), schedule=optim.lr_scheduler.LambdaLR(opt, rate), clip=1.0)


@healthy
def words_with_padding_left_out(path, seed):
    text, net = Text(seed, pad=True), Lm()
    fit(path, net, text.batch(16), CE(), adamw(net, 3e-3), 240, held=text.batch(32, number=1))


@healthy
def words_by_lstm(path, seed):
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.drop, self.lstm, self.out = nn.Embedding(24, 24), nn.Dropout(0.2), nn.LSTM(24, 40, 2, batch_first=True), nn.Linear(40, 24)

        def forward(self, x):
            return self.out(self.drop(self.lstm(self.drop(self.emb(x)))[0])).flatten(0, 1)
    text, net = Text(seed), Words()
    fit(path, net, text.batch(16), CE(), sgd(net, 1.0), 260, held=text.batch(32, number=1), clip=0.25)


@healthy
def pictures_through_a_bottleneck(path, seed):
    class Auto(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU(), nn.Flatten(), nn.Linear(300, 24))
            self.dec = nn.Sequential(nn.Linear(24, 300), nn.ReLU(), nn.Unflatten(1, (12, 5, 5)), nn.ConvTranspose2d(12, 3, 2, 2))

        def forward(self, x):
            return self.dec(self.enc(x))
    data, net = Patterns(seed), Auto()
    twice = lambda x, y: (x, x)
    fit(path, net, of_batches(data.batch(32), twice), nn.MSELoss(), adamw(net), 240, held=of_batches(data.held(60), twice))


@healthy
def generator_and_discriminator(path, seed):
    data = Clouds(seed)
    gen, disc, bce = Stack(8, 20), Stack(20, 1, act=lambda: nn.LeakyReLU(0.2)), nn.BCEWithLogitsLoss()
    g_opt, d_opt = (optim.Adam(n.parameters(), 1e-3, betas=(0.5, 0.999)) for n in (gen, disc))
    hook = hook_for(path, 1)
    hook.register_module(gen)
    hook.register_module(disc)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        x, _ = data.batch(32)(step)
        fake = gen(torch.randn(32, 8, generator=rng(seed, step)))
        d_opt.zero_grad()
        value = bce(disc(x), torch.full((32, 1), 0.9)) + bce(disc(fake.detach()), torch.zeros(32, 1))
        value.backward()
        d_opt.step()
        hook.record_tensor_value("discriminator_loss", value.detach())
        g_opt.zero_grad()
        other = bce(disc(fake), torch.ones(32, 1))
        other.backward()
        g_opt.step()
        hook.record_tensor_value("generator_loss", other.detach())
    finish(hook)


@healthy
def stars_by_factors(path, seed):
    data, net = Ratings(seed), Factors()
    fit(path, net, data.batch(128), nn.MSELoss(), adamw(net, 1e-2, weight_decay=1e-3), 300, held=data.batch(300, 1))


@healthy
def prices_with_a_robust_loss(path, seed):
    data, net = Houses(seed), Stack(5, 1, drop=0.1)
    fit(path, net, data.batch(32), nn.SmoothL1Loss(), adamw(net), 260, held=data.held(100))


@healthy
def prices_in_dollars_with_a_scaled_head(path, seed):
    """The target is about 250000; the network ends with its mean and deviation."""
    class Scaled(Stack):
        def forward(self, x):
            return super().forward(x) * 70000 + 250000
    data, net = Houses(seed, target=False), Scaled(5, 1)
    fit(path, net, data.batch(32), nn.MSELoss(), optim.Adam(net.parameters(), 2e-3), 260, held=data.held(100))


@healthy
def raw_columns_behind_a_norm(path, seed):
    class Normed(Stack):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.first = nn.BatchNorm1d(5)

        def forward(self, x):
            return super().forward(self.first(x))
    data, net = Houses(seed, scaled=False), Normed(5, 1)
    fit(path, net, data.batch(32), nn.MSELoss(), adamw(net), 280, held=data.held(100))


@healthy
def head_alone_then_all(path, seed):
    """Two phases: the new head, then everything at a smaller rate."""
    net, data = pretrained(Clouds(seed + 50)), Clouds(seed)
    net.top = nn.Linear(48, 6)
    body = [p for n, p in net.named_parameters() if "top" not in n]
    opt = optim.AdamW([{"params": net.top.parameters(), "lr": 5e-3}, {"params": body, "lr": 5e-4}])

    def change(step, n, rank):
        for p in body:
            p.requires_grad_(step >= 80)
    fit(path, net, data.batch(32), CE(), opt, 240, held=data.held(100), change=change)


@healthy
def head_on_a_frozen_resnet(path, seed):
    """The body is frozen, and its norms stay in eval mode."""
    class Frozen(nn.Module):
        def __init__(self, body):
            super().__init__()
            self.body, self.head = body.requires_grad_(False), nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 5))
            body.fc = nn.Identity()

        def train(self, mode=True):
            super().train(mode)
            self.body.eval()
            return self

        def forward(self, x):
            return self.head(self.body(x))
    data, body = Patterns(seed), Resnet()
    opt = adamw(body)
    for s in range(80):
        opt.zero_grad()
        x, y = data.batch(32)(s)
        CE()(body(x), y).backward()
        opt.step()
    net = Frozen(body)
    fit(path, net, Patterns(seed + 9).batch(32), CE(), adamw(net), 220, held=Patterns(seed + 9).held(60))


@healthy
def adapters_with_dropout(path, seed):
    net, data = pretrained(Clouds(seed + 50)), Clouds(seed)
    net.inp, net.mid = Adapted(net.inp), Adapted(net.mid)
    net.drop = nn.Dropout(0.1)
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 240, held=data.held(100))


@healthy
def autocast_and_accumulation(path, seed):
    text, net = Text(seed), Lm()
    fit(path, net, text.batch(8), CE(), adamw(net, 3e-3), 160, held=text.batch(32, number=1), accumulate=4, autocast=True, clip=1.0)


@healthy
def half_precision_with_a_scaler(path, seed):
    """The scale doubles every forty steps, and halves where a gradient is not finite, in which step nothing is updated."""
    class Scaler:
        scale, good = 2.0 ** 14, 0
    data, net, s = Clouds(seed), Stack(20, 6), Scaler()
    opt = sgd(net, 0.05)
    plain = opt.step

    def after(step, n, rank):
        for p in n.parameters():
            p.grad /= s.scale

    def guarded(*args, **more):
        finite = all(p.grad.isfinite().all() for p in net.parameters())
        s.good = s.good + 1 if finite else 0
        s.scale = s.scale / 2 if not finite else s.scale * (2 if s.good % 40 == 39 else 1)
        return plain(*args, **more) if finite else None
    opt.step = guarded
    fit(path, net, data.batch(32), CE(), opt, 240, held=data.held(100), scale=lambda step: s.scale, after=after)


@healthy
def rate_lowered_on_a_plateau(path, seed):
    class Plateau:
        def __init__(self, opt):
            self.inner, self.losses = optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.3, patience=3), []

        def step(self):
            if len(self.losses) >= 20:
                self.inner.step(sum(self.losses) / 20)
                self.losses.clear()
    data, net = Clouds(seed), Stack(20, 6, drop=0.2)
    opt, ce = sgd(net, 0.03), CE()
    plateau = Plateau(opt)
    ce.register_forward_hook(lambda m, i, o: plateau.losses.append(o.item()) if o.requires_grad else None)
    fit(path, net, data.batch(32), ce, opt, 300, held=data.held(100), schedule=plateau)


@healthy
def average_for_the_evaluation(path, seed):
    class Averaged(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Resnet()
            self.ema = copy.deepcopy(self.net).requires_grad_(False)

        def forward(self, x):
            return (self.net if self.training else self.ema)(x)
    data, net = Patterns(seed), Averaged()

    def updated(step, n):
        with torch.no_grad():
            keep = min(0.98, (1 + step) / (10 + step))
            for m, p in zip(n.ema.state_dict().values(), n.net.state_dict().values()):
                m.copy_(keep * m + (1 - keep) * p if m.is_floating_point() else p)
    fit(path, net, data.batch(32), CE(), adamw(net.net), 240, held=data.held(60), updated=updated)


@healthy
def same_order_in_every_pass(path, seed):
    """Mixed once, and never again, as without set_epoch()."""
    data, net = Patterns(seed), Resnet()
    each = len(data.x) // 32
    fit(path, net, lambda s: (data.x[s % each * 32:][:32].clone(), data.y[s % each * 32:][:32].clone()), CE(), adamw(net), 240, held=data.held(60))


@healthy
def ten_to_one_weighted(path, seed):
    g = rng(seed, 131)
    x = 1.5 * torch.randn(2000, 10, generator=g)
    y = (x[:, 0] + 0.5 * torch.randn(2000, generator=g) > 2.0).long()
    data, net = Clouds(seed), Stack(10, 2)
    data.x, data.y, data.held_x, data.held_y = x[:1600], y[:1600], x[1600:], y[1600:]
    fit(path, net, data.batch(64), CE(weight=torch.tensor([1.0, 8.0])), adamw(net), 240, held=data.held(200))


@healthy
def many_tags_of_a_picture(path, seed):
    data = Patterns(seed)
    w = torch.randn(300, 8, generator=rng(seed, 132))
    tags = lambda x, y: (x, torch.cat([nn.functional.one_hot(y, 5).float(), (x.flatten(1) @ w[:, :3] > 12).float()], 1))
    net = Resnet(classes=8)
    fit(path, net, of_batches(data.batch(32), tags), nn.BCEWithLogitsLoss(), adamw(net), 260, held=of_batches(data.held(60), tags))


@healthy
def table_with_categories(path, seed):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.cats = nn.ModuleList(nn.Embedding(n, 4) for n in (5, 12, 30))
            self.bn, self.body = nn.BatchNorm1d(5), Stack(17, 1, drop=0.1)

        def forward(self, x):
            return self.body(torch.cat([e(x[:, 5 + k].long()) for k, e in enumerate(self.cats)] + [self.bn(x[:, :5])], 1))
    data, net = Houses(seed), Mixed()
    worth = [torch.randn(n, generator=rng(seed, n)) for n in (5, 12, 30)]

    def with_cats(number):
        def of(x, y):
            g = rng(seed, number, int(x.sum() * 1000))
            cats = torch.stack([torch.randint(0, len(w), (len(x),), generator=g) for w in worth], 1)
            return torch.cat([x, cats.float()], 1), y + 0.4 * sum(w[cats[:, k]] for k, w in enumerate(worth))[:, None]
        return of
    fit(path, net, of_batches(data.batch(32), with_cats(0)), nn.MSELoss(), adamw(net, 4e-3), 300, held=of_batches(data.held(100), with_cats(1)))


@healthy
def averaged_weights_and_cycles(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    opt = sgd(net, 0.01)
    fit(path, net, data.batch(32), CE(), opt, 260, held=data.held(100),
        schedule=optim.lr_scheduler.CyclicLR(opt, 0.005, 0.05, step_size_up=20))


@healthy
def forecasts_with_clipping(path, seed):
    net = Recurrent(kind=nn.GRU)
    fit(path, net, swings(seed, 32, length=40), nn.L1Loss(), adamw(net, 5e-3), 200, held=swings(seed, 60, length=40, number=1), clip=1.0)


@healthy
def four_workers_of_pictures(path, seed):
    data, net = Patterns(seed), Resnet(drop=0.1)
    fleet(path, net, data.shard(12, 4), CE, lambda n: sgd(n, 0.03), 140, 4, held=data.held(60))


@healthy
def two_workers_of_words(path, seed):
    text, net = Text(seed), Lm()
    fleet(path, net, lambda r, s: text.batch(8, number=5 + r)(s), CE, lambda n: adamw(n, 3e-3), 160, 2, held=text.batch(32, number=1))


@healthy
def stopped_early_by_its_evaluation(path, seed):
    """Few rows, strong decay and dropout; training ends where evaluation has stood for three times."""
    data, net = Clouds(seed, rows=320, spread=1.3), Stack(20, 6, drop=0.4)
    loss, opt, hook, seen = CE(), adamw(net, 3e-3, weight_decay=0.05), hook_for(path, 1), []
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(400):
        hook.set_mode(modes.TRAIN)
        net.train()
        opt.zero_grad()
        x, y = data.batch(32)(step)
        loss(net(x), y).backward()
        opt.step()
        if step % 20 == 19:
            hook.set_mode(modes.EVAL)
            net.eval()
            with torch.no_grad():
                x, y = data.held(200)(0)
                seen.append(loss(net(x), y).item())
            if len(seen) > 3 and min(seen[-3:]) > min(seen):
                break
    finish(hook)
