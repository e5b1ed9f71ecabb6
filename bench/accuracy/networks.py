"""networks.py - small networks of the kinds that people train. The names of their parts are what a trial shows."""
import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, inputs=16, hidden=32, outputs=4, activation=nn.ReLU, dropout=0.0):
        super().__init__()
        self.fc1, self.relu1 = nn.Linear(inputs, hidden), activation()
        self.fc2, self.relu2 = nn.Linear(hidden, hidden), activation()
        self.drop = nn.Dropout(dropout)
        self.fc3 = nn.Linear(hidden, outputs)

    def forward(self, x):
        x = self.relu1(self.fc1(x))
        return self.fc3(self.drop(self.relu2(self.fc2(x))))


class Tanh(nn.Module):
    def __init__(self, inputs=16, hidden=32, outputs=4):
        super().__init__()
        self.fc1, self.tanh1 = nn.Linear(inputs, hidden), nn.Tanh()
        self.fc2, self.tanh2 = nn.Linear(hidden, hidden), nn.Tanh()
        self.fc3 = nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.fc3(self.tanh2(self.fc2(self.tanh1(self.fc1(x)))))


class DeepSigmoid(nn.Module):
    """Twelve layers of sigmoids: what reaches the first ones is nothing."""

    def __init__(self, inputs=16, hidden=16, outputs=4, layers=12):
        super().__init__()
        for k in range(layers):
            self.add_module("fc%d" % (k + 1), nn.Linear(inputs if k == 0 else hidden, hidden))
            self.add_module("sigmoid%d" % (k + 1), nn.Sigmoid())
        self.out, self.layers = nn.Linear(hidden, outputs), layers

    def forward(self, x):
        for k in range(self.layers):
            x = self._modules["sigmoid%d" % (k + 1)](self._modules["fc%d" % (k + 1)](x))
        return self.out(x)


class ConvNet(nn.Module):
    """Convolutions with a bias in front of batch normalisation, as is often written."""

    def __init__(self, channels=1, classes=5, side=8, width=8):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()
        self.conv2, self.bn2 = nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width)
        self.relu2, self.pool = nn.ReLU(), nn.MaxPool2d(2)
        self.fc = nn.Linear(2 * width * (side // 2) ** 2, classes)

    def forward(self, x):
        x = self.relu1(self.bn1(self.conv1(x)))
        return self.fc(self.pool(self.relu2(self.bn2(self.conv2(x)))).flatten(1))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        self.conv2, self.bn2, self.relu2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        nn.init.zeros_(self.bn2.weight)  # each block begins as the identity

    def forward(self, x):
        return self.relu2(x + self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    def __init__(self, channels=1, classes=5, width=8):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        self.layer1, self.layer2 = Block(width), Block(width)
        self.fc = nn.Linear(width * 4, classes)

    def forward(self, x):
        x = self.layer2(self.layer1(self.relu1(self.bn1(self.conv1(x)))))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 2).flatten(1))


class Layer(nn.Module):
    """A transformer's layer, normalised first."""

    def __init__(self, width, heads=2, causal=False):
        super().__init__()
        self.norm1, self.qkv, self.proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.fc1, self.gelu = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU()
        self.fc2, self.heads, self.causal = nn.Linear(2 * width, width), heads, causal
        self.softmax = nn.Softmax(-1)

    def attention(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (c // self.heads) ** 0.5
        if self.causal:
            scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        return self.proj((self.softmax(scores) @ v).transpose(1, 2).reshape(n, t, c))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.fc2(self.gelu(self.fc1(self.norm2(x))))


class Vit(nn.Module):
    def __init__(self, classes=5, side=8, patch=2, width=24, layers=2):
        super().__init__()
        self.embed = nn.Conv2d(1, width, patch, patch)
        self.position = nn.Parameter(0.02 * torch.randn(1, (side // patch) ** 2, width))
        self.blocks = nn.ModuleList([Layer(width) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


class Language(nn.Module):
    """A small transformer that predicts the next word; its output layer is the embedding where tied."""

    def __init__(self, words=60, length=16, width=24, layers=2, tied=True):
        super().__init__()
        self.embedding, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
        nn.init.normal_(self.embedding.weight, 0, 0.1)
        nn.init.normal_(self.place.weight, 0, 0.1)
        self.blocks = nn.ModuleList([Layer(width, causal=True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, x):
        x = self.embedding(x) + self.place(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class Lstm(nn.Module):
    def __init__(self, classes=4, hidden=24):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(1, hidden, batch_first=True), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


class AutoEncoder(nn.Module):
    def __init__(self, inputs=16, code=4):
        super().__init__()
        self.encode1, self.relu1, self.encode2 = nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, code)
        self.decode1, self.relu2, self.decode2 = nn.Linear(code, 24), nn.ReLU(), nn.Linear(24, inputs)

    def forward(self, x):
        return self.decode2(self.relu2(self.decode1(self.encode2(self.relu1(self.encode1(x))))))


class Segmenter(nn.Module):
    def __init__(self, classes=3, width=8):
        super().__init__()
        self.conv1, self.relu1 = nn.Conv2d(1, width, 3, padding=1), nn.ReLU()
        self.conv2, self.relu2 = nn.Conv2d(width, width, 3, padding=1), nn.ReLU()
        self.conv3 = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        return self.conv3(self.relu2(self.conv2(self.relu1(self.conv1(x)))))


class Recommender(nn.Module):
    """Embeddings of users and items, most of whose rows a batch does not touch."""

    def __init__(self, users=200, items=100, width=8):
        super().__init__()
        self.users, self.items = nn.Embedding(users, width), nn.Embedding(items, width)
        self.fc1, self.relu1, self.fc2 = nn.Linear(2 * width, 24), nn.ReLU(), nn.Linear(24, 1)

    def forward(self, x):
        joined = torch.cat([self.users(x[:, 0]), self.items(x[:, 1])], 1)
        return self.fc2(self.relu1(self.fc1(joined)))


class Gan(nn.Module):
    """Both networks in one module: the hook begins a step at each pass of it."""

    def __init__(self, code=4, features=8):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(code, 24), nn.ReLU(), nn.Linear(24, features))
        self.discriminator = nn.Sequential(nn.Linear(features, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))

    def forward(self, real, code):
        made = self.generator(code)
        return self.discriminator(real), self.discriminator(made.detach()), made
