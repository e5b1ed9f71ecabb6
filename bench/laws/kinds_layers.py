"""kinds_layers.py - healthy trainings with unusual layers and losses."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from kinds import Loop, Of, images, kind, perceptron, tokens, vectors


# ---- layers ----

@kind
def weight_norm():
    return Loop(nn.Sequential(nn.utils.weight_norm(nn.Linear(24, 40)), nn.ReLU(), nn.utils.weight_norm(nn.Linear(40, 40), dim=1), nn.ReLU(), nn.Linear(40, 10)), vectors())


@kind
def weight_norm_of_convolutions():
    return Loop(nn.Sequential(nn.utils.weight_norm(nn.Conv2d(3, 8, 3)), nn.ReLU(), nn.utils.weight_norm(nn.Conv2d(8, 8, 3, groups=2)), nn.Flatten(), nn.Linear(128, 10)), images())


@kind
def spectral_norm():
    return Loop(nn.Sequential(nn.utils.spectral_norm(nn.Linear(24, 40)), nn.ReLU(), parametrizations.spectral_norm(nn.Linear(40, 40)), nn.ReLU(), nn.Linear(40, 10)), vectors())


@kind
def orthogonal():
    return Loop(nn.Sequential(nn.Linear(24, 24), nn.Tanh(), parametrizations.orthogonal(nn.Linear(24, 24)), nn.ReLU(), nn.Linear(24, 10)), vectors())


@kind
def autoencoder_with_tied_weights():
    net = Of(lambda m, x: F.linear(m.act(m.encode(x)), m.encode.weight.t(), m.bias), encode=nn.Linear(24, 12), act=nn.Tanh(), bias=nn.Parameter(torch.zeros(24)))

    def data():
        x = torch.randn(16, 24)
        return x, x
    return Loop(net, data, loss=nn.MSELoss)


@kind
def two_layers_with_one_weight():
    net = Of(lambda m, x: m.head(torch.relu(m.b(torch.relu(m.a(torch.relu(m.first(x))))))), first=nn.Linear(24, 32), a=nn.Linear(32, 32), b=nn.Linear(32, 32), head=nn.Linear(32, 10))
    net.b.weight = net.a.weight
    return Loop(net, vectors())


class RmsNorm(nn.Module):
    def __init__(self, width, plus=0.0):
        super().__init__()
        self.weight, self.plus = nn.Parameter(torch.ones(width) - plus), plus

    def forward(self, x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5).to(x.dtype) * (self.weight + self.plus)


class GroupedQueries(nn.Module):
    """Attention whose keys are shared by two heads, with rotations, a causal mask and SwiGLU."""
    def __init__(self, width=32, heads=4, keys=2, plus=0.0):
        super().__init__()
        self.heads, self.keys, self.size = heads, keys, width // heads
        self.norm1, self.norm2 = RmsNorm(width, plus), RmsNorm(width, plus)
        self.q_proj, self.kv_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * keys * self.size, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down, self.act = nn.Linear(width, 64, bias=False), nn.Linear(width, 64, bias=False), nn.Linear(64, width, bias=False), nn.SiLU()

    def turned(self, x):
        angle = torch.arange(x.shape[-2]).unsqueeze(-1) / 10.0 ** torch.arange(self.size // 2)
        sin, cos = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, x):
        batch, length, _ = x.shape
        n = self.norm1(x)
        q = self.turned(self.q_proj(n).view(batch, length, self.heads, self.size).transpose(1, 2))
        k, v = self.kv_proj(n).view(batch, length, 2 * self.keys, self.size).transpose(1, 2).chunk(2, 1)
        k, v = self.turned(k).repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        seen = (q @ k.transpose(-1, -2) / self.size ** 0.5).masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf")).softmax(-1) @ v
        x = x + self.o_proj(seen.transpose(1, 2).reshape(x.shape))
        n = self.norm2(x)
        return x + self.down(self.act(self.gate(n)) * self.up(n))


@kind
def llama():
    return Loop(nn.Sequential(nn.Embedding(50, 32), GroupedQueries(), GroupedQueries(), RmsNorm(32), Of(lambda m, x: m.head(x[:, -1]), head=nn.Linear(32, 10))), tokens())


@kind
def gemma():
    return Loop(nn.Sequential(Of(lambda m, x: m.embed(x) * 32 ** 0.5, embed=nn.Embedding(50, 32)), GroupedQueries(plus=1.0), RmsNorm(32, 1.0), Of(lambda m, x: m.head(x).mean(1), head=nn.Linear(32, 10))), tokens())


@kind
def scaled_up_embedding_and_checkpointing():
    net = Of(lambda m, x: m.head(checkpoint(m.b, checkpoint(m.a, m.embed(x), use_reentrant=False), use_reentrant=False)[:, -1]),
             embed=nn.Embedding(50, 32), a=GroupedQueries(), b=GroupedQueries(), head=nn.Linear(32, 10))
    return Loop(net, tokens())


@kind
def reentrant_checkpointing_with_dropout():
    part = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, 32), nn.LayerNorm(32))
    return Loop(Of(lambda m, x: m.head(checkpoint(m.part, m.first(x))), first=nn.Linear(24, 32), part=part, head=nn.Linear(32, 10)), vectors())


@kind
def dilated_and_transposed():
    return Loop(nn.Sequential(nn.Conv2d(3, 8, 3, dilation=2, padding=2), nn.ReLU(), nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1), nn.ReLU(), nn.Conv2d(6, 4, 3, stride=2, padding=1, dilation=1),
                              nn.ConvTranspose2d(4, 4, 4, stride=2, padding=1, groups=2), nn.Flatten(), nn.Linear(1024, 10)), images())


@kind
def one_axis():
    return Loop(nn.Sequential(nn.Conv1d(3, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 3, dilation=2), nn.GELU(), nn.ConvTranspose1d(8, 4, 3, stride=2), nn.AvgPool1d(3), nn.Flatten(), nn.LazyLinear(10)), images(size=24, axes=1))


@kind
def three_axes():
    return Loop(nn.Sequential(nn.Conv3d(2, 6, 3, padding=1), nn.BatchNorm3d(6), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(6, 8, (1, 3, 3), padding=(0, 1, 1)), nn.SiLU(), nn.AvgPool3d(2), nn.Flatten(), nn.LazyLinear(10)), images(2, 8, 4, axes=3))


@kind
def padding_of_other_kinds():
    return Loop(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect"), nn.ReLU(), nn.Conv2d(8, 8, 4, padding="same", padding_mode="circular"), nn.ReLU(), nn.Conv2d(8, 8, (3, 5), padding="same", dilation=(2, 1)),
                              nn.ReLU(), nn.ZeroPad2d(1), nn.Conv2d(8, 8, 3, stride=(2, 1)), nn.AdaptiveMaxPool2d((3, 2)), nn.Flatten(), nn.LazyLinear(10)), images())


@kind
def channels_last():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)).to(memory_format=torch.channels_last)
    return Loop(net, images(), scores=lambda net, x: net(x.to(memory_format=torch.channels_last)))


@kind
def weight_standardisation():
    class Standard(nn.Conv2d):
        def forward(self, x):
            w = self.weight
            w = (w - w.mean((1, 2, 3), keepdim=True)) / (w.std((1, 2, 3), keepdim=True) + 1e-5)
            return F.conv2d(x, w, self.bias, self.stride, self.padding)
    return Loop(nn.Sequential(Standard(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.ReLU(), Standard(8, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)), images())


@kind
def norms():
    return Loop(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(1, 8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.PReLU(8), nn.LocalResponseNorm(2), nn.Conv2d(8, 8, 3),
                              nn.InstanceNorm2d(8, track_running_stats=True, affine=True), nn.Hardswish(), nn.Flatten(), nn.LayerNorm(128, elementwise_affine=False), nn.Linear(128, 10)), images())


@kind
def batch_norms():
    return Loop(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8, momentum=None), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8, affine=False, eps=1e-3, momentum=0.01), nn.ReLU(), nn.Conv2d(8, 8, 3),
                              nn.BatchNorm2d(8, track_running_stats=False), nn.ReLU(), nn.Flatten(), nn.Linear(128, 10)), images())


@kind
def frozen_batch_norm():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))

    def freeze(net, optimizer, step):
        if step > 10:
            net[1].eval()
    return Loop(net, images(), after_update=freeze)


@kind
def functions():
    acts = [nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(), nn.Softplus(), nn.ELU(0.5), nn.SELU(), nn.CELU(2), nn.LeakyReLU(0.2), nn.Softsign(), nn.LogSigmoid(), nn.Tanhshrink(), nn.RReLU(), nn.ReLU6(), nn.Threshold(0.1, 0.0), nn.GLU(), nn.Softmin(-1)]
    layers = []
    for act in acts:
        layers += [nn.Linear(12 if layers and isinstance(layers[-1], nn.GLU) else 24, 24), act]
    return Loop(nn.Sequential(*layers, nn.Linear(24, 10)), vectors())


@kind
def in_place():
    return Loop(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Dropout2d(0.1), nn.Conv2d(8, 8, 3), nn.SiLU(inplace=True), nn.Flatten(), nn.Linear(288, 32), nn.LeakyReLU(0.01, inplace=True), nn.Dropout(0.3), nn.Linear(32, 10)), images())


@kind
def changed_behind_a_layer():
    net = Of(lambda m, x: m.c(m.b(m.a(x).mul_(2).add_(1).relu_()).clamp_(-1, 1)), a=nn.Linear(24, 32), b=nn.Linear(32, 32), c=nn.Linear(32, 10))
    return Loop(net, vectors())


@kind
def residual_in_place():
    def run(m, x):
        x = m.a(x)
        x += m.b(F.relu(x))
        y = m.c(x)
        y *= 0.5
        return m.d(y + x)
    return Loop(Of(run, a=nn.Linear(24, 32), b=nn.Linear(32, 32), c=nn.Linear(32, 32), d=nn.Linear(32, 10)), vectors())


@kind
def recurrent():
    def run(m, x):
        a, _ = m.lstm(m.embed(x))
        b, _ = m.gru(a)
        c, _ = m.rnn(b)
        return m.head(c[:, -1])
    return Loop(Of(run, embed=nn.Embedding(50, 16), lstm=nn.LSTM(16, 16, 2, batch_first=True, bidirectional=True, dropout=0.1), gru=nn.GRU(32, 16, batch_first=True), rnn=nn.RNN(16, 16, batch_first=True), head=nn.Linear(16, 10)), tokens())


@kind
def recurrent_cells():
    def run(m, x):
        h, c = torch.zeros(len(x), 16), torch.zeros(len(x), 16)
        for at in range(x.shape[1]):
            h, c = m.lstm(m.embed(x[:, at]).float(), (h, c))
            h = m.gru(h, h)
        return m.head(h)
    return Loop(Of(run, embed=nn.Embedding(50, 16), lstm=nn.LSTMCell(16, 16), gru=nn.GRUCell(16, 16), head=nn.Linear(16, 10)), tokens(), only="float32")


@kind
def packed_sequences():
    def run(m, x):
        lengths = 1 + (x[:, 0] % 12)
        packed = nn.utils.rnn.pack_padded_sequence(m.embed(x), lengths, batch_first=True, enforce_sorted=False)
        _, h = m.gru(packed)
        return m.head(h[-1])
    return Loop(Of(run, embed=nn.Embedding(50, 16, padding_idx=0), gru=nn.GRU(16, 16, batch_first=True), head=nn.Linear(16, 10)), tokens(), only="float32")


@kind
def bags():
    def run(m, x):
        return m.head(torch.cat([m.sums(x), m.means(x), m.largest(x)], -1))
    return Loop(Of(run, sums=nn.EmbeddingBag(50, 8, mode="sum"), means=nn.EmbeddingBag(50, 8), largest=nn.EmbeddingBag(50, 8, mode="max"), head=nn.Linear(24, 10)), tokens(), only="float32")


@kind
def embeddings_of_other_kinds():
    def run(m, x):
        return m.head(torch.cat([m.short(x), m.frequent(x), m.padded(x)], -1).mean(1))
    return Loop(Of(run, short=nn.Embedding(50, 8, max_norm=0.5), frequent=nn.Embedding(50, 8, scale_grad_by_freq=True), padded=nn.Embedding(50, 8, padding_idx=3), head=nn.Linear(24, 10)), tokens(), only="float32")


@kind
def sparse_embedding():
    net = Of(lambda m, x: m.head(m.embed(x).mean(1)), embed=nn.Embedding(50, 16, sparse=True), head=nn.Linear(16, 10))
    return Loop(net, tokens(), optimizer=lambda net: torch.optim.SGD(net.parameters(), lr=0.1), only="float32")


@kind
def attention_of_pytorch():
    net = Of(lambda m, x: m.head(m.body(m.embed(x)).mean(1)), embed=nn.Embedding(50, 32), body=nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True), 2), head=nn.Linear(32, 10))
    return Loop(net, tokens())


@kind
def cross_attention():
    net = Of(lambda m, x: m.head(m.body(m.embed(x), m.embed(x.flip(1))).mean(1)), embed=nn.Embedding(50, 32), body=nn.Transformer(32, 4, 1, 1, 64, batch_first=True), head=nn.Linear(32, 10))
    return Loop(net, tokens())


@kind
def bilinear():
    net = Of(lambda m, x: m.head(torch.relu(m.both(m.a(x), m.b(x)))), a=nn.Linear(24, 8), b=nn.Linear(24, 8), both=nn.Bilinear(8, 8, 16), head=nn.Linear(16, 10))
    return Loop(net, vectors())


@kind
def low_rank_adapters():
    net = Of(lambda m, x: m.head(torch.relu(m.base(x) + 2.0 * m.b(m.a(x)))), base=nn.Linear(24, 32), a=nn.Linear(24, 4, bias=False), b=nn.Linear(4, 32, bias=False), head=nn.Linear(32, 10))
    net.base.requires_grad_(False)
    nn.init.zeros_(net.b.weight)
    return Loop(net, vectors(), optimizer=lambda net: torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3))


@kind
def merged_adapters():
    class Merged(nn.Linear):
        def __init__(self, a, b):
            super().__init__(a, b)
            self.low, self.high = nn.Parameter(torch.randn(4, a) / 5), nn.Parameter(torch.randn(b, 4) / 5)

        def forward(self, x):
            return F.linear(x, self.weight + self.high @ self.low, self.bias)
    return Loop(nn.Sequential(Merged(24, 32), nn.ReLU(), Merged(32, 10)), vectors())


@kind
def squeeze_and_excite():
    def run(m, x):
        x = m.conv(x)
        return m.head((x * m.gate(m.pool(x)).sigmoid()).flatten(1))
    return Loop(Of(run, conv=nn.Conv2d(3, 8, 3), pool=nn.AdaptiveAvgPool2d(1), gate=nn.Conv2d(8, 8, 1), head=nn.Linear(288, 10)), images())


@kind
def unet():
    def run(m, x):
        a = F.relu(m.a(x))
        b = F.relu(m.b(m.down(a)))
        return m.out(torch.cat([m.up(b), a], 1))
    net = Of(run, a=nn.Conv2d(3, 8, 3, padding=1), down=nn.MaxPool2d(2), b=nn.Conv2d(8, 8, 3, padding=1), up=nn.Upsample(scale_factor=2), out=nn.Conv2d(16, 5, 1))
    return Loop(net, lambda: (torch.randn(8, 3, 8, 8), torch.randint(5, (8, 8, 8))))


@kind
def pixel_shuffle():
    net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2), nn.GELU(), nn.Conv2d(3, 4, 3, stride=2), nn.PixelUnshuffle(7), nn.Flatten(), nn.LazyLinear(10))
    return Loop(net, images())


@kind
def layer_drop():
    def run(m, x):
        x = m.a(x)
        for layer in (m.b, m.c, m.d):
            if torch.rand(()) > 0.4:
                x = x + layer(x).relu()
        return m.head(x)
    return Loop(Of(run, a=nn.Linear(24, 32), b=nn.Linear(32, 32), c=nn.Linear(32, 32), d=nn.Linear(32, 32), head=nn.Linear(32, 10)), vectors())


@kind
def sparse_experts():
    def run(m, x):
        x = m.embed(x)
        flat = x.reshape(-1, 32)
        weight, expert = m.router(flat).softmax(-1).topk(2)
        out = torch.zeros_like(flat)
        for k, layer in enumerate(m.experts):
            row, slot = (expert == k).nonzero(as_tuple=True)
            out = out.index_add(0, row, layer(flat[row]) * weight[row, slot].unsqueeze(-1))
        return m.head((flat + out).view_as(x).mean(1))
    return Loop(Of(run, embed=nn.Embedding(50, 32), router=nn.Linear(32, 6), experts=nn.ModuleList(nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32)) for _ in range(6)), head=nn.Linear(32, 10)), tokens(batch=3))


@kind
def binary_weights():
    class Binary(nn.Linear):
        def forward(self, x):
            return F.linear(x, self.weight + (self.weight.sign() * self.weight.abs().mean() - self.weight).detach(), self.bias)
    return Loop(nn.Sequential(Binary(24, 40), nn.Hardtanh(), Binary(40, 10)), vectors())


@kind
def noise_on_weights():
    class Noisy(nn.Linear):
        def forward(self, x):
            return F.linear(x, self.weight + 0.01 * torch.randn_like(self.weight), self.bias)
    return Loop(nn.Sequential(Noisy(24, 40), nn.ReLU(), Noisy(40, 10)), vectors())


@kind
def equalised_rates():
    class Equal(nn.Linear):
        def forward(self, x):
            return F.linear(x, self.weight * (2 / self.in_features) ** 0.5, self.bias)
    net = nn.Sequential(Equal(24, 40), nn.LeakyReLU(0.2), Equal(40, 10))
    [nn.init.normal_(m.weight) for m in net if isinstance(m, Equal)]
    return Loop(net, vectors())


@kind
def masked_weights():
    from torch.nn.utils import prune
    net = perceptron()
    prune.l1_unstructured(net[0], "weight", 0.5)
    prune.random_structured(net[2], "weight", 0.25, dim=0)
    return Loop(net, vectors())


@kind
def doubles():
    return Loop(perceptron().double(), lambda: (torch.randn(16, 24).double(), torch.randint(10, (16,))), only="float32")


@kind
def many_rows_and_wide():
    return Loop(nn.Sequential(nn.Linear(64, 700), nn.GELU(), nn.Linear(700, 300), nn.ReLU(), nn.Linear(300, 10)), vectors(64, batch=600))


@kind
def outliers():
    """A few features are a thousand times as large as the others, in inputs and in weights."""
    net = perceptron(48, 64)
    with torch.no_grad():
        net[2].weight[:, 5] *= 1000
        net[0].weight[7] *= 300

    def data():
        x = torch.randn(16, 48)
        x[:, 3] *= 1000
        return x, torch.randint(10, (16,))
    return Loop(net, data)


@kind
def one_hot_inputs():
    return Loop(perceptron(50), lambda: (F.one_hot(torch.randint(50, (16,)), 50).float(), torch.randint(10, (16,))))


# ---- losses ----

def targets(loss, data, classes=10, net=None):
    return Loop(net or perceptron(classes=classes), data, loss=loss)


@kind
def loss_nll():
    return targets(nn.NLLLoss, vectors(), net=nn.Sequential(perceptron(), nn.LogSoftmax(-1)))


@kind
def loss_bce():
    return targets(lambda: nn.BCEWithLogitsLoss(pos_weight=torch.linspace(1, 3, 10)), lambda: (torch.randn(16, 24), torch.randint(2, (16, 10)).float()))


@kind
def loss_bce_of_probabilities():
    return targets(nn.BCELoss, lambda: (torch.randn(16, 24), torch.rand(16, 10)), net=nn.Sequential(perceptron(), nn.Sigmoid()))


@kind
def loss_mse_and_huber():
    class Both(nn.Module):
        def forward(self, a, b):
            return F.mse_loss(a, b) + F.smooth_l1_loss(a, b) + F.huber_loss(a, b, delta=0.5)
    return targets(Both, lambda: (torch.randn(16, 24), torch.randn(16, 10)))


@kind
def loss_kl():
    return targets(lambda: nn.KLDivLoss(reduction="batchmean"), lambda: (torch.randn(16, 24), torch.rand(16, 10).softmax(-1)), net=nn.Sequential(perceptron(), nn.LogSoftmax(-1)))


@kind
def loss_ignores():
    def data():
        y = torch.randint(10, (16,))
        y[torch.rand(16) < 0.4] = -100
        y[0] = 1
        return torch.randn(16, 24), y
    return targets(lambda: nn.CrossEntropyLoss(label_smoothing=0.05), data)


@kind
def loss_of_soft_labels():
    return targets(nn.CrossEntropyLoss, lambda: (torch.randn(16, 24), torch.rand(16, 10).softmax(-1)))


@kind
def loss_of_mixed_labels():
    class Mixed(nn.Module):
        def forward(self, scores, y):
            part = float(torch.rand(()))
            return part * F.cross_entropy(scores, y) + (1 - part) * F.cross_entropy(scores, y.flip(0))
    return targets(Mixed, vectors())


@kind
def loss_focal():
    class Focal(nn.Module):
        def forward(self, scores, y):
            terms = F.cross_entropy(scores, y, reduction="none")
            return ((1 - (-terms).exp()) ** 2 * terms).mean()
    return targets(Focal, vectors())


@kind
def loss_with_decay_inside():
    class Decayed(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = None

        def forward(self, scores, y):
            return F.cross_entropy(scores, y) + 1e-3 * sum(p.pow(2).sum() for p in self.net[0].parameters())
    loop = targets(Decayed, vectors())
    made = loop.loss

    def loss():
        loss = made()
        object.__setattr__(loss, "net", [loop.net])
        return loss
    loop.loss = loss
    return loop


@kind
def loss_divided_by_batches():
    class Divided(nn.Module):
        def forward(self, scores, y):
            return F.cross_entropy(scores, y, reduction="sum") / 64
    return targets(Divided, vectors())


@kind
def loss_of_tokens():
    net = nn.Sequential(nn.Embedding(50, 32), GroupedQueries(), Of(lambda m, x: m.head(x).transpose(1, 2), head=nn.Linear(32, 50)))
    return Loop(net, lambda: (torch.randint(50, (8, 12)), torch.randint(50, (8, 12))))
