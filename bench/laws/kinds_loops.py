"""kinds_loops.py - healthy trainings that do something unusual between their passes, and such of several workers."""
import copy

import torch
from torch import distributed, nn
from torch.nn import functional as F

from kinds import Loop, Of, images, kind, perceptron, vectors
from kinds_updates import decayed, with_optimizer


# ---- what a loop does ----

@kind
def clipped():
    return with_optimizer(decayed, before_update=lambda net, optimizer, step: nn.utils.clip_grad_norm_(net.parameters(), 0.1))


@kind
def clipped_values():
    return with_optimizer(decayed, before_update=lambda net, optimizer, step: nn.utils.clip_grad_value_(net.parameters(), 0.01))


@kind
def clipped_by_hooks():
    net = perceptron()
    for p in net.parameters():
        p.register_hook(lambda g: g.clamp(-0.01, 0.01))
    return Loop(net, vectors())


@kind
def adaptive_clipping():
    def clip(net, optimizer, step):
        for p in net.parameters():
            p.grad.mul_(min(1.0, 0.05 * float(p.norm() + 1e-3) / float(p.grad.norm() + 1e-12)))
    return with_optimizer(decayed, before_update=clip)


@kind
def noise_on_gradients():
    def add(net, optimizer, step):
        for p in net.parameters():
            p.grad.add_(torch.randn_like(p.grad), alpha=1e-3)
    return with_optimizer(decayed, before_update=add)


@kind
def centralised_gradients():
    def centre(net, optimizer, step):
        for p in net.parameters():
            if p.dim() > 1:
                p.grad.sub_(p.grad.mean(1, keepdim=True))
    return with_optimizer(decayed, before_update=centre)


@kind
def scaled_by_hand():
    """Loss scaling: gradients are of a loss 1024 times as large until right before the update; some steps are left out, as for an overflow."""
    def unscale(net, optimizer, step):
        for p in net.parameters():
            p.grad.mul_(1 / 1024)

    def update(net, optimizer, step):
        if step % 7 != 3:
            optimizer.step()
    return with_optimizer(decayed, backward=lambda net, optimizer, loss: (loss * 1024).backward(), before_update=unscale, update=update)


@kind
def autocast():
    def scores(net, x):
        with torch.autocast("cpu", torch.bfloat16):
            return net(x)
    return Loop(nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10)), vectors(), scores=scores, only="float32")


@kind
def autocast_convolutions():
    def scores(net, x):
        with torch.autocast("cpu", torch.bfloat16):
            return net(x)
    return Loop(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(144, 10)), images(), scores=scores, only="float32")


@kind
def master_weights():
    """bfloat16 weights that are copies of float32 ones, which the optimizer has."""
    def begin(net, optimizer):
        pass
    net = perceptron().bfloat16()
    masters = [nn.Parameter(p.detach().float()) for p in net.parameters()]

    def before(net, optimizer, step):
        for p, m in zip(net.parameters(), masters):
            m.grad = p.grad.float()
            p.grad = None

    def after(net, optimizer, step):
        with torch.no_grad():
            for p, m in zip(net.parameters(), masters):
                p.copy_(m)
    return Loop(net, lambda: (torch.randn(16, 24).bfloat16(), torch.randint(10, (16,))), begin=begin, optimizer=lambda net: torch.optim.AdamW(masters, lr=1e-3), before_update=before, after_update=after, only="float32")


def accumulated(times, last=None):
    def step(net, optimizer, loss, step, x, y):
        optimizer.zero_grad()
        for k in range(times):
            part = slice(k * len(x) // times, (k + 1) * len(x) // times)
            (loss(loop.scores(net, x[part]), y[part]) / times).backward()
        optimizer.step()
    loop = with_optimizer(decayed)
    loop.step = step
    return loop


@kind
def accumulated_over_four():
    return accumulated(4)


@kind
def accumulated_over_steps():
    def step(net, optimizer, loss, step, x, y):
        loss(net(x), y).backward()
        if step % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    return with_optimizer(decayed, step=step)


@kind
def gradients_never_cleared_at_begin():
    def step(net, optimizer, loss, step, x, y):
        loss(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
    return with_optimizer(decayed, step=step)


@kind
def averaged_weights():
    def begin(net, optimizer):
        loop.mean = torch.optim.swa_utils.AveragedModel(net, avg_fn=lambda a, p, n: 0.9 * a + 0.1 * p)
    loop = with_optimizer(decayed, after_update=lambda net, optimizer, step: loop.mean.update_parameters(net))
    loop.begin = begin
    return loop


@kind
def teacher_by_average():
    """A student and a teacher in one module; the teacher is an average of the student."""
    net = Of(lambda m, x: m.student(x) + 0.1 * m.teacher(x).detach(), student=perceptron(), teacher=perceptron())
    net.teacher.requires_grad_(False)

    def average(net, optimizer, step):
        with torch.no_grad():
            for t, s in zip(net.teacher.parameters(), net.student.parameters()):
                t.mul_(0.99).add_(s, alpha=0.01)
    return Loop(net, vectors(), after_update=average, optimizer=lambda net: torch.optim.AdamW(net.student.parameters(), lr=1e-3))


@kind
def teacher_copied_now_and_then():
    net = Of(lambda m, x: m.online(x) - m.target(x).detach(), online=perceptron(), target=perceptron())

    def copy(net, optimizer, step):
        if step % 8 == 7:
            net.target.load_state_dict(net.online.state_dict())
    return Loop(net, vectors(), after_update=copy, optimizer=lambda net: torch.optim.Adam(net.online.parameters(), lr=1e-3))


@kind
def weights_clamped():
    def clamp(net, optimizer, step):
        with torch.no_grad():
            for p in net.parameters():
                p.clamp_(-0.1, 0.1)
    return with_optimizer(lambda net: torch.optim.RMSprop(net.parameters(), lr=1e-3), after_update=clamp)


@kind
def weights_clamped_adam():
    def clamp(net, optimizer, step):
        with torch.no_grad():
            net[0].weight.clamp_(-0.1, 0.1)
    return with_optimizer(lambda net: torch.optim.Adam(net.parameters(), lr=1e-3), after_update=clamp)


@kind
def weights_of_unit_length():
    def project(net, optimizer, step):
        with torch.no_grad():
            net[2].weight.div_(net[2].weight.norm(dim=1, keepdim=True))
    return with_optimizer(lambda net: torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), after_update=project)


@kind
def decay_by_hand():
    def decay(net, optimizer, step):
        with torch.no_grad():
            for p in net.parameters():
                p.mul_(0.999)
    return with_optimizer(lambda net: torch.optim.Adam(net.parameters(), lr=1e-3), before_update=decay)


@kind
def pruned_on_the_way():
    def prune(net, optimizer, step):
        if step == 12:
            with torch.no_grad():
                net[2].weight.mul_((net[2].weight.abs() > 0.05).float())
    return with_optimizer(lambda net: torch.optim.Adam(net.parameters(), lr=1e-3), after_update=prune)


@kind
def grown_on_the_way():
    def reset(net, optimizer, step):
        if step == 14:
            net[4].reset_parameters()
            optimizer.state.clear()
    return with_optimizer(lambda net: torch.optim.Adam(net.parameters(), lr=1e-3), after_update=reset)


@kind
def gone_back_on_the_way():
    def back(net, optimizer, step):
        if step == 8:
            loop.kept = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
        if step == 16:
            net.load_state_dict(loop.kept[0])
            optimizer.load_state_dict(loop.kept[1])
    loop = with_optimizer(lambda net: torch.optim.Adam(net.parameters(), lr=1e-3), after_update=back)
    return loop


@kind
def lookahead():
    def begin(net, optimizer):
        loop.slow = [p.detach().clone() for p in net.parameters()]

    def blend(net, optimizer, step):
        if step % 5 == 4:
            with torch.no_grad():
                for p, s in zip(net.parameters(), loop.slow):
                    s.add_(p - s, alpha=0.5)
                    p.copy_(s)
    loop = with_optimizer(lambda net: torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), after_update=blend)
    loop.begin = begin
    return loop


@kind
def sharpness_aware():
    def step(net, optimizer, loss, step, x, y):
        optimizer.zero_grad()
        loss(net(x), y).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            moves = [0.05 * p.grad / norm for p in net.parameters()]
            [p.add_(m) for p, m in zip(net.parameters(), moves)]
        optimizer.zero_grad()
        loss(net(x), y).backward()
        with torch.no_grad():
            [p.sub_(m) for p, m in zip(net.parameters(), moves)]
        optimizer.step()
    return with_optimizer(decayed, step=step)


@kind
def second_order():
    def step(net, optimizer, loss, step, x, y):
        optimizer.zero_grad()
        x.requires_grad_(True)
        scores = net(x)
        slope, = torch.autograd.grad(scores.sum(), x, create_graph=True)
        (loss(scores, y) + 0.1 * slope.pow(2).sum(1).mean()).backward()
        optimizer.step()
    return Loop(nn.Sequential(nn.Linear(24, 40), nn.Tanh(), nn.Linear(40, 10)), vectors(), step=step, only="float32")


@kind
def adversarial_inputs():
    def step(net, optimizer, loss, step, x, y):
        x = x.requires_grad_(True)
        slope, = torch.autograd.grad(loss(net(x), y), x)
        optimizer.zero_grad()
        loss(net((x + 0.1 * slope.sign()).detach()), y).backward()
        optimizer.step()
    return with_optimizer(decayed, step=step)


@kind
def two_views():
    """Contrast of two passes through the same layers before one backward."""
    def step(net, optimizer, loss, step, x, y):
        optimizer.zero_grad()
        a, b = net(x), net(x + 0.1 * torch.randn_like(x))
        loss(F.normalize(a, dim=1) @ F.normalize(b, dim=1).t() * 5, torch.arange(len(x))).backward()
        optimizer.step()
    return with_optimizer(decayed, step=step)


@kind
def adversaries():
    """A generator and a critic, each with its optimizer, in one module."""
    def step(net, optimizer, loss, step, x, y):
        other = loop.other
        loop.other.zero_grad()
        fake = net.made(torch.randn(16, 8))
        (loss(net.critic(x), torch.ones(16, 1)) + loss(net.critic(fake.detach()), torch.zeros(16, 1))).backward()
        other.step()
        optimizer.zero_grad()
        loss(net.critic(net.made(torch.randn(16, 8))), torch.ones(16, 1)).backward()
        optimizer.step()
    net = Of(lambda m, x: m.critic(m.made(x)), made=perceptron(8, 32, 24), critic=perceptron(24, 32, 1))
    loop = Loop(net, vectors(), loss=nn.BCEWithLogitsLoss, step=step, optimizer=lambda net: torch.optim.Adam(net.made.parameters(), lr=1e-3), only="float32")
    loop.begin = lambda net, optimizer: setattr(loop, "other", torch.optim.Adam(net.critic.parameters(), lr=1e-3))
    return loop


@kind
def evaluated_in_between():
    def after(net, optimizer, step):
        if step % 5 == 4:
            net.eval()
            with torch.no_grad():
                for _ in range(3):
                    net(torch.randn(7, 3, 8, 8))
            net.train()
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(), nn.Linear(512, 10))
    return Loop(net, images(), after_update=after)


@kind
def last_batch_is_smaller():
    state = [0]

    def data():
        state[0] += 1
        n = 3 if state[0] % 6 == 0 else 16
        return torch.randn(n, 24), torch.randint(10, (n,))
    return Loop(perceptron(), data)


@kind
def frozen_at_first():
    net = perceptron()
    net[0].requires_grad_(False)

    def thaw(net, optimizer, step):
        if step == 10:
            net[0].requires_grad_(True)
            optimizer.add_param_group({"params": net[0].parameters()})
    return Loop(net, vectors(), after_update=thaw, optimizer=lambda net: torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-3))


@kind
def traced():
    net = perceptron()
    return Loop(nn.Sequential(torch.jit.trace(nn.Sequential(*net[:3]), torch.randn(2, 24)), net[3], net[4]), vectors(), only="float32")


@kind
def updated_within_backward():
    """Each parameter is updated as soon as its gradient is there."""
    def begin(net, optimizer):
        for p in net.parameters():
            p.register_hook(lambda g, p=p: [None, p.data.sub_(g, alpha=0.05)][0])
    return with_optimizer(lambda net: torch.optim.SGD(net.parameters(), lr=0.0), begin=begin)


def by_closure(make, **changes):
    """The optimizer computes the loss itself, as often as it likes."""
    def step(net, optimizer, loss, step, x, y):
        def again():
            optimizer.zero_grad()
            value = loss(net(x), y)
            value.backward()
            return value
        optimizer.step(again)
    return with_optimizer(make, step=step, **changes)


@kind
def closure():
    return by_closure(lambda net: torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4), only="float32")


@kind
def closure_adam():
    return by_closure(lambda net: torch.optim.Adam(net.parameters(), lr=1e-3))


# ---- several workers ----

def parallel(loop, workers=2, wrap=None, **named):
    loop.workers = workers
    loop.wrap = wrap or (lambda net: nn.parallel.DistributedDataParallel(net, **named))
    loop.only = "float32"
    return loop


@kind
def ddp():
    return parallel(with_optimizer(decayed))


@kind
def ddp_with_batch_norm():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
    return parallel(Loop(net, images()), 3)


@kind
def ddp_views_of_buckets():
    return parallel(with_optimizer(decayed), gradient_as_bucket_view=True, bucket_cap_mb=1)


@kind
def ddp_uneven_inputs():
    loop = parallel(with_optimizer(decayed))

    def run(net, optimizer, loss, steps, rank):
        with net.join():
            for step in range(steps - 4 * rank):
                x, y = loop.data()
                loop.step(net, optimizer, loss, step, x, y)
    loop.run = run
    return loop


@kind
def ddp_uneven_batches():
    loop = parallel(with_optimizer(decayed), 3)
    loop.data_of = lambda rank: (torch.randn(5 + 4 * rank, 24), torch.randint(10, (5 + 4 * rank,)))
    return loop


@kind
def ddp_accumulated():
    def step(net, optimizer, loss, step, x, y):
        optimizer.zero_grad()
        with net.no_sync():
            (loss(net(x[:8]), y[:8]) / 2).backward()
        (loss(net(x[8:]), y[8:]) / 2).backward()
        optimizer.step()
    return parallel(with_optimizer(decayed, step=step))


@kind
def ddp_unused_parameters():
    def run(m, x):
        x = m.a(x).relu()
        return m.head(m.b(x) if torch.rand(()) < 0.5 else m.c(x))
    net = Of(run, a=nn.Linear(24, 32), b=nn.Linear(32, 32), c=nn.Linear(32, 32), head=nn.Linear(32, 10))
    return parallel(Loop(net, vectors()), find_unused_parameters=True)


@kind
def ddp_in_16_bits():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    def wrap(net):
        net = nn.parallel.DistributedDataParallel(net)
        net.register_comm_hook(None, default_hooks.fp16_compress_hook)
        return net
    return parallel(with_optimizer(decayed), wrap=wrap)


@kind
def ddp_power_sgd():
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    def wrap(net):
        net = nn.parallel.DistributedDataParallel(net)
        net.register_comm_hook(powerSGD_hook.PowerSGDState(None, 2, start_powerSGD_iter=3), powerSGD_hook.powerSGD_hook)
        return net
    return parallel(with_optimizer(decayed), wrap=wrap)


@kind
def local_sgd():
    def average(net, optimizer, step):
        if step % 4 == 3:
            with torch.no_grad():
                for p in net.parameters():
                    distributed.all_reduce(p)
                    p.div_(2)
    return parallel(with_optimizer(decayed, after_update=average), wrap=lambda net: net)


@kind
def sharded_optimizer():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    return parallel(with_optimizer(lambda net: ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=1e-3)))


@kind
def workers_without_averages():
    return parallel(with_optimizer(decayed), wrap=lambda net: net)
