"""kinds_updates.py - healthy trainings with unusual optimizers and rates."""
import torch

from kinds import KINDS, Loop, kind, perceptron, vectors


# ---- optimizers ----

def with_optimizer(make, **changes):
    return Loop(perceptron(), vectors(), optimizer=make, **changes)


def optimizers(cls, *arguments):
    for number, named in enumerate(arguments):
        name = "%s%s" % (cls.__name__.lower(), "_" + "_".join(named) if named else "")
        KINDS[name] = lambda named=named: with_optimizer(lambda net: cls(net.parameters(), **{"lr": 1e-2, **named}))


optimizers(torch.optim.Adagrad, {}, {"lr_decay": 0.1, "weight_decay": 0.01})
optimizers(torch.optim.RMSprop, {}, {"momentum": 0.9, "centered": True})
optimizers(torch.optim.NAdam, {}, {"weight_decay": 0.1})
optimizers(torch.optim.RAdam, {})
optimizers(torch.optim.Adamax, {})
optimizers(torch.optim.Adadelta, {"lr": 1.0})
optimizers(torch.optim.ASGD, {})
optimizers(torch.optim.Rprop, {"lr": 1e-3})
optimizers(torch.optim.Adam, {"amsgrad": True}, {"weight_decay": 0.1}, {"eps": 1e-2}, {"betas": (0.5, 0.9)}, {"maximize": True}, {"foreach": True}, {"betas": (0.0, 0.99)})
optimizers(torch.optim.AdamW, {"amsgrad": True}, {"weight_decay": 0.5, "foreach": True})
optimizers(torch.optim.SGD, {}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "dampening": 0.5}, {"momentum": 0.9, "foreach": True}, {"weight_decay": 0.1})


class Own(torch.optim.Optimizer):
    """What others wrote: a rule for a parameter and its state."""
    def __init__(self, params, **settings):
        super().__init__(params, settings)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.change(p, p.grad, self.state[p], group)

    def moment(self, state, p, name):
        if name not in state:
            state[name] = torch.zeros_like(p)
        return state[name]


class Lion(Own):
    def change(self, p, g, state, group):
        m = self.moment(state, p, "exp_avg")
        p.mul_(1 - group["lr"] * 0.1).add_((0.9 * m + 0.1 * g).sign(), alpha=-group["lr"])
        m.mul_(0.99).add_(g, alpha=0.01)


class Lamb(Own):
    def change(self, p, g, state, group):
        m, v = self.moment(state, p, "exp_avg"), self.moment(state, p, "exp_avg_sq")
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        update = m / (v.sqrt() + 1e-6) + 0.01 * p
        trust = p.norm() / update.norm()
        p.add_(update, alpha=-group["lr"] * float(trust if trust > 0 else 1))


class Lars(Own):
    def change(self, p, g, state, group):
        g = g + 1e-4 * p
        trust = 0.01 * p.norm() / (g.norm() + 1e-9)
        m = self.moment(state, p, "momentum_buffer")
        m.mul_(0.9).add_(g, alpha=float(trust if p.dim() > 1 else 1.0) * group["lr"])
        p.sub_(m)


class Adafactor(Own):
    def change(self, p, g, state, group):
        squares = g * g + 1e-30
        if p.dim() > 1:
            row, column = state.setdefault("exp_avg_sq_row", torch.zeros_like(p[:, 0])), state.setdefault("exp_avg_sq_col", torch.zeros_like(p[0]))
            row.mul_(0.9).add_(squares.mean(1), alpha=0.1)
            column.mul_(0.9).add_(squares.mean(0), alpha=0.1)
            update = g * (row / row.mean()).rsqrt().unsqueeze(1) * column.rsqrt().unsqueeze(0)
        else:
            v = self.moment(state, p, "exp_avg_sq")
            v.mul_(0.9).add_(squares, alpha=0.1)
            update = g / v.sqrt()
        update /= max(1.0, float(update.norm() / update.numel() ** 0.5))
        p.sub_(update, alpha=group["lr"] * max(1e-3, float(p.norm() / p.numel() ** 0.5)))


class Muon(Own):
    def change(self, p, g, state, group):
        m = self.moment(state, p, "momentum_buffer")
        m.mul_(0.9).add_(g)
        if p.dim() > 1:
            x = m / (m.norm() + 1e-7)
            for _ in range(5):
                a = x @ x.t()
                x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
            m = x
        p.sub_(m, alpha=group["lr"])


class AdaBelief(Own):
    def change(self, p, g, state, group):
        m, v = self.moment(state, p, "exp_avg"), self.moment(state, p, "exp_avg_var")
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g - m, g - m, value=0.001).add_(1e-16)
        p.sub_(m / (v.sqrt() + 1e-8), alpha=group["lr"])


class AdamOfOthers(Own):
    """Adam without corrections, with e below the root."""
    def change(self, p, g, state, group):
        m, v = self.moment(state, p, "exp_avg"), self.moment(state, p, "exp_avg_sq")
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.99).addcmul_(g, g, value=0.01)
        p.sub_(m / (v + 1e-6).sqrt(), alpha=group["lr"])


class SignedMomentum(Own):
    def change(self, p, g, state, group):
        m = self.moment(state, p, "momentum_buffer")
        m.mul_(0.9).add_(g, alpha=0.1)
        p.sub_(m.sign(), alpha=group["lr"])


class Shampoo(Own):
    def change(self, p, g, state, group):
        if p.dim() < 2:
            p.sub_(g, alpha=group["lr"])
            return
        left = state.setdefault("left", 1e-3 * torch.eye(p.shape[0]))
        left.add_(g @ g.t())
        values, vectors_ = torch.linalg.eigh(left)
        p.sub_((vectors_ * values.clamp(min=1e-6) ** -0.5) @ vectors_.t() @ g, alpha=group["lr"])


for _cls in (Lion, Lamb, Lars, Adafactor, Muon, AdaBelief, AdamOfOthers, SignedMomentum, Shampoo):
    KINDS[_cls.__name__.lower()] = lambda cls=_cls: with_optimizer(lambda net: cls(net.parameters(), lr=1e-3), only="float32")


def decayed(net):
    return torch.optim.AdamW([{"params": [p for p in net.parameters() if p.dim() > 1], "weight_decay": 0.1},
                              {"params": [p for p in net.parameters() if p.dim() == 1], "weight_decay": 0.0}], lr=1e-3)


@kind
def groups_of_decay():
    return with_optimizer(decayed)


@kind
def rates_by_layer():
    return with_optimizer(lambda net: torch.optim.Adam([{"params": m.parameters(), "lr": 1e-3 * 0.5 ** k} for k, m in enumerate(net) if list(m.parameters())]))


@kind
def rates_by_layer_sgd():
    return with_optimizer(lambda net: torch.optim.SGD([{"params": m.parameters(), "lr": 0.1 * 0.5 ** k} for k, m in enumerate(net) if list(m.parameters())], lr=0.1, momentum=0.9))


@kind
def two_optimizers():
    """One for weights, one for biases: the hook is told of one of them."""
    def begin(self, net, optimizer):
        self.other = torch.optim.SGD([p for p in net.parameters() if p.dim() == 1], lr=0.1)
    loop = with_optimizer(lambda net: torch.optim.Adam([p for p in net.parameters() if p.dim() > 1], lr=1e-3))
    loop.begin = lambda net, optimizer: begin(loop, net, optimizer)
    loop.after_update = lambda net, optimizer, step: (loop.other.step(), loop.other.zero_grad())
    return loop


def scheduled(make, rate=1e-2, cls=torch.optim.SGD, **named):
    def begin(net, optimizer):
        loop.schedule = make(optimizer)
    loop = with_optimizer(lambda net: cls(net.parameters(), lr=rate, **named), after_update=lambda net, optimizer, step: loop.schedule.step())
    loop.begin = begin
    return loop


@kind
def one_cycle():
    return scheduled(lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=60), momentum=0.9)


@kind
def one_cycle_adam():
    return scheduled(lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.01, total_steps=60), cls=torch.optim.AdamW)


@kind
def warm_restarts():
    return scheduled(lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 7), cls=torch.optim.Adam)


@kind
def rate_of_zero():
    return scheduled(lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda step: 0.0 if step < 12 else 1.0), cls=torch.optim.Adam)
