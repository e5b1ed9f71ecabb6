"""causes_fourteenth.py - a fourteenth set of faults for the first line: checkpoints of activations, rounding, codes and quantisers, two towers, judges,
averages, policies that are kept, sharpness, domains, boxes, graphs by the batch, workers that exchange a part. Written in one go, with the words that a
right line has, before any result of it was looked at."""
import torch
from torch import nn

from causes import CE, cause_set
from causes_fifth import adamw, sgd
from causes_seventh import JUMPS, STANDS, STILL, TOO_FAST
from fifth_parts import Clouds, Memory, Patterns, Pixels, Stack, codes, swings
from fourteenth_parts import (Both, Boxes, Domains, Ema, Hops, Judged, Mixed, Quantised, Tower, Towers, crew, gathered, neighbourhoods, policy,
                              sharp, squares, taken, two_sources)
from healthy_fourteenth import diffuse
from loop import fit

TRAININGS, cause = cause_set("fourteenth")
NO_GRADIENT = STILL + "|exactly zero|got a gradient"


def of(part, what=NO_GRADIENT):
    return r"(?i)(%s).*(%s)|(%s).*(%s)" % (part, what, what, part)


@cause(of("tok"), 0)
def checkpointed_blocks_cut_the_gradient(path, seed):
    """Blocks that are computed twice in the old way, behind an input that requires no gradient: what lies before them learns nothing."""
    net = Tower(again=True)
    fit(path, net, codes(seed, 32), CE(), adamw(net), 240, held=codes(seed, 100, number=1))


@cause("(?i)no weight|hardly|too small|round|" + STILL + "|" + STANDS, None)
def updates_rounded_away(path, seed):
    """Weights in bfloat16 without a copy in float32: the updates are less than half of the last bit."""
    data = Clouds(seed)
    net = Stack(20, 6).to(torch.bfloat16)
    fit(path, net, lambda s: (data.batch(32)(s)[0].bfloat16(), data.batch(32)(s)[1]), CE(), sgd(net, 3e-5, momentum=0), 240)


@cause(r"(?i)came back|restored|weights?.*(jump|changed|back)|hardly|" + STANDS, None)
def best_weights_loaded_at_each_evaluation(path, seed):
    """The weights of the best evaluation are loaded behind each, and the best is the first: the condition is the wrong way round."""
    net, held = Towers(), taken(seed, 64, 1)
    best = {}

    def updated(step, n):
        if (step + 1) % 50 == 0:
            best.setdefault("state", {k: v.clone() for k, v in n.state_dict().items()})
            n.load_state_dict(best["state"])
    fit(path, net, taken(seed, 64), CE(), adamw(net, 1e-2), 300, held=held, updated=updated)


@cause(r"(?i)exactly zero|no gradient|" + STILL, 0)
def rounded_without_a_way_back(path, seed):
    """Weights are rounded, and the derivative of rounding is 0."""
    data, net = Clouds(seed), Quantised(straight=False)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100))


@cause(r"(?i)NaN|\binf|infinit", 0)
def quantiser_calibrated_on_zeros(path, seed):
    """The range of activations was observed on a batch of zeros."""
    data, net = Clouds(seed), Quantised(learned=False)
    fit(path, net, data.batch(32), CE(), adamw(net), 160, held=data.held(100))


@cause(of("router"), 0)
def router_that_only_chooses(path, seed):
    """The outputs of the experts are not weighed by their shares: the router gets no gradient."""
    data, net = Clouds(seed), Mixed(weighed=False)
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 240, held=data.held(100))


@cause(r"(?i)(make|sequential_\d|sequential).*(" + STILL + ")|(" + STILL + ").*(make|sequential)", 0)
def both_optimizers_hold_the_judge(path, seed):
    Judged(seed).record(path, lambda j: j.judge.parameters(), lambda j: j.judge.parameters())


@cause(r"(?i)" + JUMPS + r"|gradient.*jump|batch|input", None)
def last_batch_has_one_sample(path, seed):
    """drop_last is left out: each 15th batch is of one row, and its norm is taken over that."""
    data = Patterns(seed)
    net = Pixels()

    def batch(step):
        x, y = data.batch(32)(step)
        return (x[:1], y[:1]) if step % 15 == 14 else (x, y)
    fit(path, net, batch, CE(), sgd(net, 0.05), 225, held=data.held(100))


@cause(r"(?i)tok|rows|zero|constant|one value|" + STANDS, 0)
def last_place_is_padding(path, seed):
    """The state of the last place is read, and texts are filled up on the right: it is the same for all."""
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.conv, self.relu = nn.Embedding(10, 24), nn.Conv1d(24, 32, 3), nn.ReLU()
            self.fc = nn.Linear(32, 8)

        def forward(self, x):
            return self.fc(self.relu(self.conv(self.tok(x).transpose(1, 2)))[:, :, -1])
    texts = codes(seed, 32)

    def batch(step):
        x, y = texts(step)
        return torch.cat([x, torch.full((32, 6), 9)], 1), y
    net = Last()
    fit(path, net, batch, CE(), adamw(net), 240)


@cause(r"(?i)NaN|\binf|infinit", 95)
def node_without_neighbours(path, seed):
    """Its degree is 0, to the power of -1/2 infinite, and times 0 not a number."""
    net = Hops()
    fit(path, net, neighbourhoods(seed, alone=95), CE(), adamw(net), 200, held=neighbourhoods(seed, number=1))


@cause(r"(?i)" + JUMPS + "|" + TOO_FAST + r"|gradient.*jump|scale", None)
def weight_of_a_loss_without_bound(path, seed):
    """Errors are weighed by the share of signal over that of noise, which has no bound where there is next to no noise."""
    diffuse(path, seed, least=1e-5)


@cause(r"(?i)logarithm|target|probabilit|bound|negative|below", 0)
def target_in_logarithms(path, seed):
    """The teacher's answer is a log_softmax, and the divergence expects probabilities."""
    data, teacher = Clouds(seed), Stack(20, 6)
    net = nn.Sequential(Stack(20, 6), nn.LogSoftmax(1))

    def batch(step):
        x, _ = data.batch(32)(step)
        return x, (2 * teacher(x)).log_softmax(1).detach()
    fit(path, net, batch, nn.KLDivLoss(reduction="batchmean"), adamw(net), 220)


@cause(r"(?i)target|label|" + JUMPS + "|gradient.*jump", 100)
def boxes_of_one_file_in_pixels(path, seed):
    """From step 100 on each fourth batch comes from a file whose boxes are not divided by the size of the picture."""
    net = Boxes()
    fit(path, net, squares(seed, 32, pixels=lambda s: s >= 100 and s % 4 == 1), nn.SmoothL1Loss(), adamw(net), 240, held=squares(seed, 60, 1))


@cause(r"(?i)zero|vanish|" + STILL + "|" + STANDS + "|hardly|jump|came back|grew", None)
def old_policy_never_refreshed(path, seed):
    """The ratio is that to the policy at the start: once it is clipped nothing is learned."""
    policy(path, seed, refreshed=False)


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS + "|grew", None)
def step_up_is_not_taken_back(path, seed):
    """Sharpness-aware, and the weights stay where the loss is higher."""
    data, net = Clouds(seed), Stack(20, 6)
    sharp(path, seed, net, data, rate=0.01, rho=0.4, back=False)


@cause(r"(?i)" + STANDS + "|rose|body|sign", None)
def gradient_turned_for_the_wrong_head(path, seed):
    """The body is trained against the classes, and for the sources."""
    data, net = Clouds(seed), Domains(turned="classes")
    fit(path, net, two_sources(data, seed, 32), Both(), adamw(net), 240)


@cause(of(r"blocks.2|block"), 0)
def last_block_is_never_called(path, seed):
    net = Tower(called=2)
    fit(path, net, codes(seed, 32), CE(), adamw(net), 240, held=codes(seed, 100, number=1))


@cause(r"(?i)evaluat|average|ema|statistics", None)
def average_without_its_statistics(path, seed):
    """The average has the weights, and the running figures of the norms are those of the start."""
    data = Patterns(seed)
    net = Ema(Pixels())
    opt = sgd(net.net, 0.05)
    fit(path, net, data.batch(32), CE(), opt, 240, held=data.held(100), updated=lambda s, n: n.update(False))


@cause(r"(?i)weights?.*(zero|jump|changed)|zero|dead|" + JUMPS, 110)
def the_large_ones_are_pruned(path, seed):
    """At step 110 four fifths of the weights are cut: those that are larger than the bound."""
    data, net = Clouds(seed), Stack(20, 6)

    def updated(step, n):
        if step >= 110:
            with torch.no_grad():
                for p in (n.inp.weight, n.mid.weight, n.top.weight):
                    mask = masks.setdefault(id(p), p.abs() <= p.abs().quantile(0.2))
                    p.mul_(mask)
    masks = {}
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), updated=updated)


@cause(r"(?i)input|" + TOO_FAST + "|" + JUMPS, 0)
def running_scale_begins_at_nothing(path, seed):
    """Inputs are divided by a running deviation that begins at 0 and comes slowly to its own."""
    net = Memory()
    made, held = swings(seed, 32), swings(seed, 100, number=1)

    def batch(step):
        x, y = made(step)
        return x / (1e-4 + 1 - 0.98 ** step), y
    fit(path, net, batch, nn.MSELoss(), adamw(net, 5e-3), 240, held=held)


@cause(r"(?i)worker|label|target|" + STANDS, 0)
def labels_without_the_offset_of_the_worker(path, seed):
    """Views are gathered from three workers, and each counts its labels from 0: those of the second and third are another's."""
    gathered(path, seed, Clouds(seed), offset=False)


@cause(of("mid", r"differ|apart|exchang|averag|equal|leave"), 0)
def one_layer_is_not_exchanged(path, seed):
    """The wrapper was told to ignore it."""
    data = Clouds(seed)
    crew(path, Stack(20, 6), data.shard(16, 4), CE, lambda n: sgd(n, 0.05), 140, 4, exchange=lambda s, r, name: not name.startswith("mid"))


@cause(r"(?i)worker_1|(mid|top).*(differ|apart|move|equal|exchang)|(differ|apart|move|equal|exchang).*(mid|top)", 0)
def piece_of_one_worker_is_not_handed_round(path, seed):
    """Each of three workers updates a third of the weights and hands them to the others; what worker_1 updates stays there."""
    data, parts = Clouds(seed), {"inp": 0, "mid": 1, "top": 2}

    def updated(step, nets, optimizers):
        with torch.no_grad():
            for group in zip(*(n.named_parameters() for n in nets)):
                owner = parts[group[0][0].split(".")[0]]
                for rank, (_, p) in enumerate(group):
                    if rank != owner:
                        p.copy_(start[group[0][0]] if owner == 1 else group[owner][1])
    net = Stack(20, 6)
    start = {name: p.detach().clone() for name, p in net.named_parameters()}
    crew(path, net, data.shard(16, 3), CE, lambda n: adamw(n), 140, 3, updated=updated)


@cause(r"(?i)worker_1|differ|apart", 60)
def optimizer_of_one_worker_begins_anew(path, seed):
    """worker_1 was lost at step 60; its successor has the weights, and not the moments."""
    data = Clouds(seed)

    def updated(step, nets, optimizers):
        if step == 60:
            optimizers[1].state.clear()
    crew(path, Stack(20, 6), data.shard(16, 3), CE, lambda n: adamw(n), 150, 3, updated=updated)
