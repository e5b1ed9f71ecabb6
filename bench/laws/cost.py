"""cost.py - what LawViolated costs beside the built-in rules, over trials that record everything at each of four steps, or at 200 small ones.

    cost.py --build BUILD --trials FOLDER [--only NAME ...] [--rounds 5] [--profile NAME]

Trials are made by PyTorch where FOLDER has none of that name. Processor time of the whole command on one rank, the least of rounds in turn;
LawViolated alone over all rules of jobs/built-in.json. --profile runs the laws alone, for a profiler around it.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEPS = 4


def networks():
    from torch import nn
    import trainings
    conv = nn.Conv2d

    def head(*layers, channels, pixels=64):
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * pixels, 10))

    class Block(nn.Module):
        """1 x 1, 3 x 3, 1 x 1 with norms and a sum."""
        def __init__(self, width):
            super().__init__()
            self.a, self.b, self.c = conv(width, width // 4, 1, bias=False), conv(width // 4, width // 4, 3, padding=1, bias=False), conv(width // 4, width, 1, bias=False)
            self.bn1, self.bn2, self.bn3, self.relu1, self.relu2, self.relu3 = nn.BatchNorm2d(width // 4), nn.BatchNorm2d(width // 4), nn.BatchNorm2d(width), nn.ReLU(), nn.ReLU(), nn.ReLU()

        def forward(self, x):
            return self.relu3(x + self.bn3(self.c(self.relu2(self.bn2(self.b(self.relu1(self.bn1(self.a(x)))))))))

    def transformer():
        net = trainings.Transformer(1000, 256)
        net.head = nn.Linear(256, 10)
        return net

    def experts():
        return trainings.Experts(256, 8)

    images = lambda n, pixels=8: ("images", n, pixels)
    return {
        "small": (trainings.Cnn, images(2048)),
        "grouped": (lambda: head(conv(3, 32, 3, padding=1), nn.GELU(), conv(32, 64, 3, padding=1, groups=4), nn.GELU(), conv(64, 64, 3, padding=1, groups=8, bias=False), nn.GELU(), conv(64, 64, 3, padding=2, dilation=2, stride=2), channels=64, pixels=16), images(512)),
        "normed": (lambda: nn.Sequential(conv(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Dropout2d(0.2), conv(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AvgPool2d(2), nn.Dropout(0.3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), images(512)),
        "depthwise": (lambda: head(conv(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.SiLU(), conv(32, 32, 3, padding=1, groups=32, bias=False), nn.BatchNorm2d(32), nn.SiLU(), conv(32, 64, 1, bias=False), nn.BatchNorm2d(64), nn.SiLU(), channels=64), images(512)),
        "pixels": (lambda: nn.Sequential(conv(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), conv(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 10)), images(48, 32)),
        "residual": (lambda: head(conv(3, 128, 3, padding=1), Block(128), Block(128), Block(128), channels=128), images(128)),
        "strided": (lambda: nn.Sequential(conv(3, 64, 5, stride=2, padding=2), nn.ReLU(), conv(64, 128, 3, stride=2, padding=1), nn.ReLU(), conv(128, 128, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)), images(512)),
        "wide": (lambda: head(conv(3, 256, 3, padding=1), nn.ReLU(), conv(256, 512, 3, padding=1), nn.ReLU(), channels=512), images(128)),
        "bfloat16": (transformer, ("tokens", 64, "bfloat16")),
        "transformer": (transformer, ("tokens", 64, "float32")),
        "experts": (experts, ("tokens", 64, "float32")),
        "perceptron": (lambda: nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)), ("vectors", 1024, 512)),
        "steps": (lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)), ("vectors", 32, 64, 200)),
    }


def make(trial, network, data):
    import torch
    from torch import nn
    import assay_hook
    import trainings
    torch.manual_seed(0)
    dtype = torch.bfloat16 if data[2] == "bfloat16" else torch.float32
    net, loss = network().to(dtype), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    hook = assay_hook.Hook(str(trial), save_config=assay_hook.SaveConfig(save_interval=1), save_all=True)
    hook.register_module(net)
    hook.register_loss(loss)
    for _ in range(data[3] if len(data) > 3 else STEPS):
        if data[0] == "images":
            x = torch.randn(data[1], 3, data[2], data[2])
        else:
            x = torch.randint(1000 if "Transformer" in type(net).__name__ else 50, (data[1], 128)) if data[0] == "tokens" else torch.randn(data[1], data[2])
        optimizer.zero_grad()
        out = net(x)
        trainings.save_state(hook, net, optimizer)
        loss(out.float(), torch.randint(10, (data[1],))).backward()
        optimizer.step()
    hook.close()


def processor_time(build, job, trial, out):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run([build / "src/assay", "run", job, "--trial", trial, "--out", out, "-q", "--overwrite"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
    if code not in (0, 1):
        sys.exit("assay run %s --trial %s: exit code %d" % (job, trial, code))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--trials", type=Path, required=True)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.trials.mkdir(parents=True, exist_ok=True)
    sys.path[:0] = [str(ROOT / "src/python"), str(Path(__file__).parent)]
    os.environ.setdefault("ASSAY_HOOK_LIBRARY", str(options.build.resolve() / "src/hook/libassay_hook.so"))
    print("| | MB | laws, CPU s | built-in set | laws over built-in |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        laws = Path(work) / "laws.json"
        laws.write_text(json.dumps({"rules": [{"rule": "LawViolated"}]}))
        for name, (network, data) in networks().items():
            trial = options.trials / name
            if options.only and name not in options.only:
                continue
            if not trial.exists():
                make(trial, network, data)
            taken = [[processor_time(options.build, job, trial, Path(work) / "out") for job in (laws, ROOT / "jobs/built-in.json")] for _ in range(options.rounds)]
            of_laws, of_set = (min(t[k] for t in taken) for k in (0, 1))
            size = sum(f.stat().st_size for f in trial.rglob("*") if f.is_file())
            print("| %s | %d | %.3f | %.3f | %.2f |" % (name, size / 1e6, of_laws, of_set, of_laws / of_set), flush=True)


if __name__ == "__main__":
    main()
