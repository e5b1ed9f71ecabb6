"""causes_twelfth.py - a twelfth set of faults for the first line: what goes wrong in the usual trainings, in the usual networks. Written in one
go, with the words that a right line has, before any result of it was looked at."""
import torch
from torch import nn, optim

from causes import CE, cause_set
from causes_fifth import adamw, sgd
from causes_seventh import JUMPS, STANDS, STILL, TOO_FAST, Adapted, pretrained
from fifth_parts import Cell, Clouds, Patterns, Stack, rng, swings
from loop import finish, fit, fleet, hook_for, modes

TRAININGS, cause = cause_set("twelfth")


class Resnet(nn.Module):
    """Two stages of residual blocks, dropout before the classifier."""

    def __init__(self, classes=5, width=8, drop=0.0, norm=nn.BatchNorm2d):
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, width, 3, padding=1, bias=False), norm(width), nn.ReLU()
        self.layer1, self.down = Cell(width, norm), nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.layer2, self.dropout, self.fc = Cell(2 * width, norm), nn.Dropout(drop), nn.Linear(2 * width, classes)

    def forward(self, x):
        x = self.layer2(self.down(self.layer1(self.relu(self.bn1(self.conv1(x))))))
        return self.fc(self.dropout(x.mean((2, 3))))


class Lm(nn.Module):
    """A language model of PyTorch's own layers; the last layer has the weights of the first."""

    def __init__(self, words=24, width=32, length=20, layers=2, drop=0.0, first=True, causal=True):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, drop, activation="gelu", batch_first=True, norm_first=first)
        self.h, self.ln_f = nn.TransformerEncoder(layer, layers), nn.LayerNorm(width)
        self.lm_head, self.causal = nn.Linear(width, words, bias=False), causal
        self.lm_head.weight = self.wte.weight
        nn.init.normal_(self.wte.weight, 0, 0.05)

    def forward(self, x):
        n = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(n) if self.causal else None
        h = self.h(self.wte(x) + self.wpe.weight[:n], mask)
        return self.lm_head(self.ln_f(h)).flatten(0, 1)


class Text:
    """Words that follow one another by a table with a memory of two; 0 pads what is behind the end."""

    def __init__(self, seed, words=24, pad=False):
        self.next = torch.randint(1, words, (words, words, 2), generator=rng(seed, 120))
        self.words, self.seed, self.pad = words, seed, pad

    def batch(self, size, length=20, number=0, ignore=True):
        def of(step):
            g = rng(self.seed, step, number, 121)
            rows = [torch.randint(1, self.words, (size,), generator=g) for _ in range(2)]
            for _ in range(length - 1):
                turn = (torch.rand(size, generator=g) < 0.25).long()
                rows.append(self.next[rows[-2] % 3, rows[-1], turn])
            x = torch.stack(rows, 1)
            if self.pad:
                x = x.masked_fill(torch.arange(length + 1)[None] >= torch.randint(4, length + 1, (size, 1), generator=g), 0)
            y = x[:, 1:].reshape(-1)
            return x[:, :-1].clone(), y.masked_fill(y == 0, -100) if ignore else y
        return of


class Ratings:
    """Who likes what: users, films, stars from 1 to 5."""

    def __init__(self, seed, users=80, items=60):
        g = rng(seed, 122)
        self.u, self.v = torch.randn(users, 3, generator=g), torch.randn(items, 3, generator=g)
        self.users, self.items, self.seed = users, items, seed

    def batch(self, size, number=0):
        def of(step):
            g = rng(self.seed, step, number, 123)
            at = torch.stack([torch.randint(0, n, (size,), generator=g) for n in (self.users, self.items)], 1)
            stars = 3 + (self.u[at[:, 0]] * self.v[at[:, 1]]).sum(1) + 0.3 * torch.randn(size, generator=g)
            return at, stars.clamp(1, 5)
        return of


class Factors(nn.Module):
    def __init__(self, users=80, items=60, width=8):
        super().__init__()
        self.user_emb, self.item_emb = nn.Embedding(users, width), nn.Embedding(items, width)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mean = nn.Parameter(torch.tensor(3.0))
        for e in (self.user_emb, self.item_emb):
            nn.init.normal_(e.weight, 0, 0.3)
        for e in (self.user_bias, self.item_bias):
            nn.init.zeros_(e.weight)

    def forward(self, x):
        u, i = x.unbind(1)
        return (self.user_emb(u) * self.item_emb(i)).sum(1) + self.user_bias(u)[:, 0] + self.item_bias(i)[:, 0] + self.mean


class Houses:
    """A table in raw units: rooms, square metres, year, distance in metres, income; the price in dollars."""

    def __init__(self, seed, rows=900, scaled=True, target=True):
        g = rng(seed, 124)
        z = torch.randn(rows + 300, 5, generator=g)
        price = 250 + 60 * z[:, 1] + 20 * z[:, 0] * z[:, 4].tanh() - 25 * z[:, 3] + 10 * torch.randn(rows + 300, generator=g)
        x = z if scaled else z * torch.tensor([1.2, 40, 20, 3000, 2e4]) + torch.tensor([4.0, 120, 1980, 9000, 6e4])
        y = (price - 250) / 70 if target else price * 1000
        self.x, self.y, self.held_x, self.held_y, self.seed = x[:rows], y[:rows, None], x[rows:], y[rows:, None], seed

    batch, held = Clouds.batch, Clouds.held


class Recurrent(nn.Module):
    def __init__(self, inputs=2, hidden=24, outputs=1, kind=nn.LSTM):
        super().__init__()
        self.rnn, self.head = kind(inputs, hidden, batch_first=True), nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


def train_mode(net):
    net.train()


def of_batches(made, spoil):
    return lambda *place: spoil(*made(*place))


# -- what is fed

@cause(r"(?i)sort|shuffle|class", None)
def sorted_folder_without_shuffle(path, seed):
    """ImageFolder has one class behind the other, and the loader does not shuffle."""
    data, net = Patterns(seed), Resnet()
    order = data.y.argsort()
    data.x, data.y = data.x[order], data.y[order]
    each = len(data.x) // 32
    fit(path, net, lambda s: (data.x[s % each * 32:][:32].clone(), data.y[s % each * 32:][:32].clone()), CE(), sgd(net, 0.02), 240, held=data.held(60))


@cause(r"(?i)input|normalis|" + TOO_FAST, 0)
def bytes_that_are_not_divided(path, seed):
    """Pixels from 0 to 255 go into a network without normalisation."""
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.relu1, self.conv2, self.relu2 = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU()
            self.fc = nn.Linear(16, 5)

        def forward(self, x):
            return self.fc(self.relu2(self.conv2(self.relu1(self.conv1(x)))).mean((2, 3)))
    data, net = Patterns(seed), Plain()
    as_bytes = lambda x, y: ((x * 40 + 100).clamp(0, 255).round(), y)
    fit(path, net, of_batches(data.batch(32), as_bytes), CE(), sgd(net, 0.05), 220, held=of_batches(data.held(60), as_bytes))


@cause(r"(?i)evaluation.*(scale|fed|normal)|(scale|fed).*evaluation", 49)
def validation_without_its_normalisation(path, seed):
    data, net = Patterns(seed), Resnet()
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=of_batches(data.held(60), lambda x, y: (x * 0.5 + 0.2, y)))


@cause(r"(?i)target|scale|too small|hardly|" + STANDS, None)
def price_in_dollars(path, seed):
    """The target is about 250000, and the rate is that of a target of about 1."""
    data, net = Houses(seed, target=False), Stack(5, 1)
    fit(path, net, data.batch(32), nn.MSELoss(), optim.Adam(net.parameters(), 1e-3), 260, held=data.held(100))


@cause(r"(?i)input|column|" + TOO_FAST, 0)
def table_in_raw_units(path, seed):
    """Columns of 4 and of 60000 beside one another."""
    data, net = Houses(seed, scaled=False), Stack(5, 1)
    fit(path, net, data.batch(32), nn.MSELoss(), sgd(net, 0.01), 220, held=data.held(100))


@cause(r"(?i)label|evaluat|" + STANDS, None)
def labels_sorted_apart_from_inputs(path, seed):
    """The labels were shuffled, the pictures were not."""
    data, net = Patterns(seed, rows=1600), Resnet()
    data.y = data.y[torch.randperm(len(data.y), generator=rng(seed, 5))]
    fit(path, net, data.batch(32), CE(), adamw(net, 1e-3), 240, held=data.held(100))


@cause(r"(?i)label.*evaluat|evaluat.*label|shift", None)
def validation_counts_classes_from_one(path, seed):
    data, net = Clouds(seed), Stack(20, 7)
    fit(path, net, data.batch(32), CE(), adamw(net), 260, held=of_batches(data.held(100), lambda x, y: (x, y + 1)))


@cause(r"(?i)fed.*NaN|NaN.*(input|fed)|input.*NaN", None)
def rows_with_missing_values(path, seed):
    """Three rows of a table have holes, which are NaN."""
    data, net = Houses(seed), Stack(5, 1)
    data.x[[70, 300, 512], [1, 3, 4]] = float("nan")
    fit(path, net, data.batch(32), nn.MSELoss(), adamw(net), 160, held=data.held(100))


@cause(r"(?i)target.*NaN|label.*NaN|NaN.*(target|label)|fed.*NaN", None)
def target_with_a_hole(path, seed):
    data, net = Houses(seed), Stack(5, 1)
    data.y[400] = float("nan")
    fit(path, net, data.batch(32), nn.MSELoss(), adamw(net), 160, held=data.held(100))


@cause(r"(?i)class|imbalance", None)
def fifty_to_one(path, seed):
    """Two classes, of which one has one row in fifty; the loss has no weights."""
    g = rng(seed, 130)
    data, net = Clouds(seed, inputs=10, kinds=2), Stack(10, 2, drop=0.5)
    data.x, data.held_x = (1.5 * torch.randn(n, 10, generator=g) for n in (2000, 400))
    data.y, data.held_y = ((0.3 * x[:, 0] + torch.randn(len(x), generator=g) > 2.25).long() for x in (data.x, data.held_x))
    fit(path, net, data.batch(32), CE(), adamw(net, 1e-3), 240, held=data.held(400))


@cause(r"(?i)evaluation.*rose|overfit|by heart|hardly came down", None)
def forty_samples(path, seed):
    data, net = Clouds(seed, spread=2.0), Stack(20, 6, width=128)
    data.x, data.y = data.x[:40], data.y[:40]
    fit(path, net, data.batch(20), CE(), adamw(net, 3e-3), 300, held=data.held(200), eval_every=25)


@cause(r"(?i)evaluation is done on training data|evaluat.*train", None)
def split_with_overlap(path, seed):
    """What is evaluated on was trained on: the split was made behind an oversampling."""
    data, net = Houses(seed), Stack(5, 1)
    data.held_x, data.held_y = data.x[100:400], data.y[100:400]
    fit(path, net, data.batch(32), nn.MSELoss(), adamw(net), 260, held=data.held(100))


@cause(r"(?i)same batch|batch.*(again|repeat)", 0)
def iterator_made_at_each_step(path, seed):
    """next(iter(loader)) of a loader that does not shuffle."""
    data, net = Patterns(seed), Resnet()
    first = data.batch(32)(0)
    fit(path, net, lambda s: (first[0].clone(), first[1].clone()), CE(), adamw(net), 220, held=data.held(60))


@cause(r"(?i)input|constant|item", 0)
def every_film_is_film_0(path, seed):
    """The ids of films were read as names and did not parse: all are 0."""
    data, net = Ratings(seed), Factors()

    def lost(x, y):
        x[:, 1] = 0
        return x, y
    fit(path, net, of_batches(data.batch(64), lost), nn.MSELoss(), adamw(net, 5e-3), 260, held=data.batch(200, 1))


# -- the network and its loss

@cause(r"(?i)probabilit|softmax", 0)
def softmax_in_the_network(path, seed):
    class Ends(Resnet):
        def __init__(self):
            super().__init__()
            self.softmax = nn.Softmax(1)

        def forward(self, x):
            return self.softmax(super().forward(x))
    data, net = Patterns(seed), Ends()
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 240, held=data.held(60))


@cause(r"(?i)probabilit|sigmoid", 0)
def sigmoid_before_its_logits_loss(path, seed):
    class Ends(Stack):
        def forward(self, x):
            return super().forward(x).sigmoid()
    data, net = Clouds(seed), Ends(20, 1)
    binary = lambda x, y: (x, (y[:, None] < 3).float())
    fit(path, net, of_batches(data.batch(32), binary), nn.BCEWithLogitsLoss(), adamw(net), 240, held=of_batches(data.held(100), binary))


@cause(r"(?i)probabilit|logarithm|" + STANDS, 0)
def softmax_over_the_batch(path, seed):
    class Ends(Stack):
        def forward(self, x):
            return super().forward(x).log_softmax(0)
    data, net = Clouds(seed), Ends(20, 6)
    fit(path, net, data.batch(32), nn.NLLLoss(), adamw(net), 240, held=data.held(100))


@cause(r"(?i)shape|stretch|broadcast", 0)
def column_against_row(path, seed):
    """Outputs (N, 1), targets (N)."""
    data, net = Houses(seed), Stack(5, 1)
    fit(path, net, of_batches(data.batch(32), lambda x, y: (x, y[:, 0])), nn.MSELoss(), adamw(net), 240,
        held=of_batches(data.held(100), lambda x, y: (x, y[:, 0])))


@cause(r"(?i)zero|" + STANDS, 0)
def all_weights_begin_at_zero(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    for p in net.parameters():
        nn.init.zeros_(p)
    fit(path, net, data.batch(32), CE(), adamw(net), 200, held=data.held(100))


@cause(r"(?i)dead|never active", 0)
def biases_of_minus_ten(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    nn.init.constant_(net.mid.bias, -10.0)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 220, held=data.held(100))


@cause(r"(?i)vanish|satur|hardly|" + STANDS, None)
def ten_sigmoids_in_a_row(path, seed):
    data = Clouds(seed)
    parts = [nn.Linear(20, 32), nn.Sigmoid()] + [p for _ in range(9) for p in (nn.Linear(32, 32), nn.Sigmoid())]
    net = nn.Sequential(*parts, nn.Linear(32, 6))
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 220, held=data.held(100))


@cause(r"(?i)detach|never got a gradient|body.*" + STILL + "|" + STILL + r".*(conv|layer|body)|no gradient|did not move", 0)
def features_detached(path, seed):
    """Features go into the head as data; the body is in the optimizer, and not frozen on purpose."""
    class Cut(Resnet):
        def forward(self, x):
            x = self.layer2(self.down(self.layer1(self.relu(self.bn1(self.conv1(x))))))
            return self.fc(x.detach().mean((2, 3)))
    data, net = Patterns(seed), Cut()
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(60))


@cause(r"(?i)lora|gradients.*zero|" + STILL, 0)
def adapters_begin_at_zero_twice(path, seed):
    """Both factors of the adapters begin at zero: neither gets a gradient."""
    net = pretrained(Clouds(seed + 50))
    net.inp, net.mid = Adapted(net.inp), Adapted(net.mid)
    for m in (net.inp, net.mid):
        nn.init.zeros_(m.lora_a)
    net.top.requires_grad_(False)
    data = Clouds(seed)
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 200, held=data.held(100))


# -- modes

@cause(r"(?i)mode|train\(\)|eval\(\)|dropout", 50)
def train_is_not_called_again(path, seed):
    """The evaluation calls eval(), and nothing calls train() behind it."""
    class Stays(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.seen = Resnet(drop=0.3), False

        def train(self, mode=True):
            self.seen = self.seen or not mode
            return super().train(mode and not self.seen)

        def forward(self, x):
            return self.net(x)
    data, net = Patterns(seed), Stays()
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(60))


@cause(r"(?i)mode|train\(\)|eval\(\)|dropout", None)
def eval_is_not_called(path, seed):
    data, net = Patterns(seed), Resnet(drop=0.5)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(60), evaluate=train_mode)


@cause(r"(?i)mode|train\(\)|eval\(\)|dropout", None)
def language_model_evaluated_with_dropout(path, seed):
    text, net = Text(seed), Lm(drop=0.3)
    fit(path, net, text.batch(16), CE(), adamw(net), 220, held=text.batch(32, number=1), evaluate=train_mode)


# -- updates

def uncleared(path, net, batch, loss, opt, steps, held, clear=lambda s: False, behind=False):
    """The loop with zero_grad() where it should not be, or nowhere."""
    hook = hook_for(path, 1)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        net.train()
        if clear(step):
            opt.zero_grad()
        x, y = batch(step)
        loss(net(x), y).backward()
        if behind:
            opt.zero_grad()
        opt.step()
        if (step + 1) % 50 == 0:
            hook.set_mode(modes.EVAL)
            net.eval()
            with torch.no_grad():
                x, y = held(step)
                loss(net(x), y)
    finish(hook)


@cause(r"(?i)clear|zero_grad|accumul|sum|grow|" + TOO_FAST + "|" + JUMPS, None)
def zero_grad_forgotten(path, seed):
    data, net = Patterns(seed), Resnet()
    uncleared(path, net, data.batch(32), CE(), sgd(net, 0.02), 240, data.held(60))


@cause(r"(?i)clear|zero_grad|accumul|sum|grow|" + TOO_FAST + "|" + JUMPS, None)
def zero_grad_forgotten_with_adam(path, seed):
    text, net = Text(seed), Lm()
    uncleared(path, net, text.batch(16), CE(), optim.Adam(net.parameters(), 2e-3), 240, text.batch(32, number=1))


@cause(r"(?i)no weight has moved|" + STILL, 0)
def zero_grad_before_the_step(path, seed):
    data, net = Patterns(seed), Resnet()
    uncleared(path, net, data.batch(32), CE(), sgd(net, 0.02), 220, data.held(60), behind=True)


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS, None)
def rate_of_sgd_given_to_adam(path, seed):
    data, net = Patterns(seed), Resnet()
    fit(path, net, data.batch(32), CE(), optim.Adam(net.parameters(), 0.3), 220, held=data.held(60))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|" + STANDS, None)
def transformer_without_a_warmup(path, seed):
    """Norms behind the blocks, a rate thirty times the usual one, no warm-up."""
    text, net = Text(seed), Lm(first=False, layers=4)
    fit(path, net, text.batch(16), CE(), optim.Adam(net.parameters(), 0.03), 200, held=text.batch(32, number=1))


@cause(r"(?i)hardly|too small|too low", None)
def rate_a_thousandth(path, seed):
    data, net = Patterns(seed), Resnet()
    fit(path, net, data.batch(32), CE(), optim.Adam(net.parameters(), 1e-6), 220, held=data.held(60))


@cause(r"(?i)fc.*" + STILL + "|" + STILL + ".*fc", 0)
def new_head_unknown_to_the_optimizer(path, seed):
    """The head is exchanged behind the making of the optimizer."""
    data, net = Patterns(seed), Resnet()
    opt = adamw(net)
    net.fc = nn.Linear(16, 5)
    fit(path, net, data.batch(32), CE(), opt, 220, held=data.held(60))


@cause(r"(?i)rate|hardly|too small|" + STILL, None)
def schedule_stepped_at_each_batch(path, seed):
    """A schedule meant for epochs, a tenth every ten, is stepped at every batch."""
    data, net = Clouds(seed), Stack(20, 6)
    opt = sgd(net, 0.05)
    fit(path, net, data.batch(32), CE(), opt, 260, held=data.held(100), schedule=optim.lr_scheduler.StepLR(opt, 10, 0.1))


@cause(r"(?i)rate|hardly|too small|" + STILL, (90, 101))
def linear_decay_ends_too_early(path, seed):
    """The number of steps of the schedule is that of one worker of three."""
    text, net = Text(seed), Lm()
    opt = adamw(net)
    fit(path, net, text.batch(16), CE(), opt, 260, held=text.batch(32, number=1),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, min(1.0, (s + 1) / 10, (90 - s) / 80))))


@cause(r"(?i)clip|hardly|too small|" + STANDS, None)
def clipped_to_next_to_nothing(path, seed):
    data, net = Patterns(seed), Resnet()
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 220, held=data.held(60), clip=1e-4)


@cause(r"(?i)decay|shr[au]nk|toward zero", None)
def decay_of_five(path, seed):
    text, net = Text(seed), Lm()
    fit(path, net, text.batch(16), CE(), optim.AdamW(net.parameters(), 2e-3, weight_decay=20.0), 240, held=text.batch(32, number=1))


@cause(r"(?i)" + TOO_FAST + "|" + JUMPS + "|sum|grew", None)
def loss_summed_over_the_batch(path, seed):
    data, net = Houses(seed), Stack(5, 1)
    fit(path, net, data.batch(64), nn.MSELoss(reduction="sum"), sgd(net, 0.01), 200, held=data.held(64))


@cause(r"(?i)underflow|zero", None)
def half_precision_without_a_scaler(path, seed):
    """Gradients are in half precision; the loss is a mean over many places and has no scale."""
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.half().float()

    class SmallMSELoss(nn.Module):
        def forward(self, s, y):
            return ((s - y) ** 2).mean() * 1e-4

    class Ends(Stack):
        def forward(self, x):
            return Half.apply(super().forward(x))
    data, net = Clouds(seed), Ends(20, 20)
    fit(path, net, lambda s: (data.batch(64)(s)[0],) * 2, SmallMSELoss(), sgd(net, 100.0), 200)


@cause(r"(?i)clip|hardly|too small|" + STANDS, None)
def clipped_before_unscaling(path, seed):
    """Gradients are clipped to norm 1 while the scale of 65536 is in them, and are divided then."""
    data, net = Clouds(seed), Stack(20, 6)

    def after(step, n, rank):
        nn.utils.clip_grad_norm_(n.parameters(), 1.0)
        for p in n.parameters():
            p.grad /= 65536
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 220, held=data.held(100), scale=lambda s: 65536.0, after=after)


@cause(r"(?i)(gradient|loss).*jump|NaN|\binf|" + TOO_FAST + "|" + JUMPS, None)
def recurrent_without_clipping(path, seed):
    """A plain recurrent network over 60 steps, whose weights are large; nothing clips its gradients."""
    net = Recurrent(kind=nn.RNN)
    with torch.no_grad():
        net.rnn.weight_hh_l0.copy_(torch.eye(24) * 1.3 + 0.1 * torch.randn(24, 24))
    fit(path, net, swings(seed, 24, length=60), nn.MSELoss(), sgd(net, 0.1), 180, held=swings(seed, 60, length=60, number=1))


@cause(r"(?i)discr|gen|vanish|zero|satur|hardly", None)
def judge_far_too_strong(path, seed):
    """The judge of a GAN has a hundred times the rate of the generator, which is paid by log(1 - D)."""
    data = Clouds(seed)
    gen, disc, bce = Stack(8, 20), Stack(20, 1, width=96), nn.BCEWithLogitsLoss()
    g_opt, d_opt = optim.Adam(gen.parameters(), 1e-4), optim.Adam(disc.parameters(), 1e-2)
    hook = hook_for(path, 1)
    hook.register_module(gen)
    hook.register_module(disc)
    for step in range(240):
        hook.set_mode(modes.TRAIN)
        x, _ = data.batch(32)(step)
        fake = gen(torch.randn(32, 8, generator=rng(seed, step)))
        d_opt.zero_grad()
        value = bce(disc(x), torch.ones(32, 1)) + bce(disc(fake.detach()), torch.zeros(32, 1))
        value.backward()
        d_opt.step()
        hook.record_tensor_value("discriminator_loss", value.detach())
        g_opt.zero_grad()
        other = -bce(disc(fake), torch.zeros(32, 1))
        other.backward()
        g_opt.step()
        hook.record_tensor_value("generator_loss", other.detach())
    finish(hook)


@cause(r"(?i)rate|weights? changed|changed far|" + JUMPS, 120)
def resumed_with_a_new_schedule(path, seed):
    """A training is resumed with an optimizer made anew, whose rate is a hundred times what it had come to."""
    text, net = Text(seed), Lm()
    opt = optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def change(step, n, rank):
        if step == 120:
            opt.state.clear()
            opt.param_groups[0]["lr"] = 10.0
    fit(path, net, text.batch(16), CE(), opt, 220, held=text.batch(32, number=1), change=change)


# -- workers

@cause(r"(?i)same data", 0)
def no_distributed_sampler(path, seed):
    data, net = Patterns(seed), Resnet()
    plain = data.batch(16)
    fleet(path, net, lambda r, s: plain(s), CE, adamw, 140, 2)


@cause(r"(?i)began|equal|differ", 0)
def seeds_by_rank(path, seed):
    """Each worker makes its network by a seed of its own, and gradients are averaged by hand."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if step == 0 and rank:
            for m in (n.inp, n.mid, n.top):
                m.reset_parameters()
    fleet(path, net, data.shard(16, 2), CE, adamw, 140, 2, change=change)


@cause(r"(?i)worker_2", 0)
def one_worker_with_another_rate(path, seed):
    """One of three workers reads the rate from an older file."""
    data, net = Clouds(seed), Stack(20, 6)
    made = []

    def optimizer(n):
        made.append(n)
        return adamw(n, 2e-3 if len(made) < 3 else 2e-2)
    fleet(path, net, data.shard(16, 3), CE, optimizer, 140, 3)


@cause(r"(?i)exchang|averaged|apart|never equal|equal at no", 0)
def not_wrapped(path, seed):
    """Every worker trains on its shard alone."""
    text, net = Text(seed), Lm()
    fleet(path, net, lambda r, s: text.batch(8, number=5 + r)(s), CE, adamw, 120, 2, average=lambda s: False)


@cause(r"(?i)worker_1", 0)
def one_worker_without_normalisation(path, seed):
    data, net = Patterns(seed), Resnet(norm=lambda n: nn.GroupNorm(2, n))
    plain = data.shard(12, 3)
    fleet(path, net, lambda r, s: (plain(r, s)[0] * (0.5 if r == 1 else 1) + (0.2 if r == 1 else 0), plain(r, s)[1]), CE, adamw, 120, 3)
