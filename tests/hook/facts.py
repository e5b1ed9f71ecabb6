"""facts.py - what the hook records about a run itself: command, commit, settings, and how much of it was recorded. Secrets stay out.

Usage: facts.py WORK_DIR        (with git)
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

WORK = Path(sys.argv[1])
TRAIN = """
import json, sys
import numpy, assay_hook
asked = json.loads(sys.argv[1])
hook = assay_hook.Hook(asked["trial"], config=asked.get("config"), **asked.get("arguments", {}))
hook.set_mode(assay_hook.modes.TRAIN)
for step in range(asked.get("steps", 3)):
    hook.step()
    hook.save_tensor("net.weight", numpy.ones(3, numpy.float32))
hook.close()
"""


def train(trial, *more, cwd=None, env=None, **asked):
    """The facts of a run of TRAIN in a process of its own, and what it said on stderr."""
    script = Path(cwd or WORK) / "train.py"
    script.write_text(TRAIN)
    argv = [sys.executable, str(script), json.dumps(dict(asked, trial=str(trial))), *more]
    environment = dict(os.environ, **env or {})
    done = subprocess.run(argv, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    path = Path(trial) / "run" / "worker_0.json"
    return json.loads(path.read_text()) if path.exists() else None, done.stderr


def fresh(name):
    shutil.rmtree(WORK / name, ignore_errors=True)
    return WORK / name


def test_what_is_recorded():
    facts, _ = train(fresh("plain"), config={"lr": 0.1, "optim": {"name": "sgd", "nesterov": True}, "seed": 3,
                                             "layers": [1, 2], "none": None}, env={"USER": "ada", "SLURM_JOB_ID": "17"})
    assert facts["schema"] == "assay-run/1" and facts["worker"] == "worker_0" and facts["workers"] == 1
    assert facts["config"] == {"lr": 0.1, "optim.name": "sgd", "optim.nesterov": True, "seed": 3, "layers": "[1, 2]",
                               "none": None}, facts["config"]
    assert facts["user"] == "ada" and facts["slurm_job"] == "17" and facts["host"] == os.uname().nodename
    assert facts["command"][:2] == [sys.executable, str(WORK / "train.py")]
    assert facts["versions"]["python"] == sys.version.split()[0] and facts["versions"]["assay"], facts["versions"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", facts["started"]) and facts["started"] <= facts["ended"]
    assert facts["recorded"] == {"workers": 1, "of": 1, "modes": {"TRAIN": {"steps": 1, "of": 3, "every": 500}}}
    facts, _ = train(fresh("array"), env={"SLURM_JOB_ID": "19", "SLURM_ARRAY_JOB_ID": "18", "SLURM_ARRAY_TASK_ID": "7"})
    assert facts["slurm_job"] == "18_7", facts
    assert train(fresh("none"), arguments={"run_facts": False})[0] is None


MODULES = """
import sys
import torch
from torch import nn
import assay_hook

class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)

class Root(nn.Module):
    def __init__(self):
        super().__init__()
        self.variance_epsilon, self.note = 1e-6, "a b=c"

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(5, 4, padding_idx=0)
        self.conv, self.same = nn.Conv2d(4, 8, 3, stride=(2, 1), groups=2), nn.Conv1d(4, 4, 5, padding="same", dilation=2)
        self.parts = nn.Sequential(nn.GELU(approximate="tanh"), nn.Dropout(0.25), nn.GroupNorm(2, 4), nn.MultiheadAttention(4, 2))
        self.double, self.root, self.inner = Doubled(4, 4), Root(), nn.ModuleDict({"fc": nn.Linear(4, 4)})
        self.head = nn.Linear(4, 5)
        self.head.weight = self.token.weight

    def forward(self, x):
        return x

net, hook = Net(), assay_hook.Hook(sys.argv[1])
hook.register_module(net)
hook.set_mode(assay_hook.modes.TRAIN)
net(torch.ones(2))
hook.register_module(nn.Tanh())  # too late: it is passed over without a word
hook.close()
"""


def test_modules():
    (WORK / "modules.py").write_text(MODULES)
    path = fresh("modules")
    done = subprocess.run([sys.executable, str(WORK / "modules.py"), str(path)], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0 and "too late" not in done.stderr, done.stderr
    said = json.loads((path / "run" / "worker_0.json").read_text())["modules"]
    for name, what in (("token", "torch.Embedding padding_idx=0"),
                       ("conv", "torch.Conv2d stride=2,1 padding=0,0 dilation=1,1 groups=2 padding_mode=zeros kernel_size=3,3"),
                       ("same", "torch.Conv1d stride=1 padding=same dilation=2 groups=1 padding_mode=zeros kernel_size=5"),
                       ("parts.0", "torch.GELU approximate=tanh"), ("parts.1", "torch.Dropout p=0.25 inplace=false"),
                       ("parts.2", "torch.GroupNorm eps=1e-05 num_groups=2"), ("parts.3", "torch.MultiheadAttention num_heads=2"), ("double", "Doubled"),
                       ("root", "Root variance_epsilon=1e-06"), ("inner.fc", "torch.Linear"), ("Net_token.weight", "shared head")):
        assert said.get(name) == what, (name, said)
    assert "" not in said and "Net" not in said, said


def test_secrets():
    secret = "x1f7hunter2"
    settings = {"db.password": secret, "HF_TOKEN": secret, "awsSecretAccessKey": secret, "api-key": secret, "pin": 7,
                "url": "https://me:%s@host/path?user=me&sig=%s" % (secret, secret), "note": "password=" + secret,
                "token": 12345, "gh": "ghp_" + 20 * "a", "max_tokens": 4096, "tokenizer": "bpe", "key": "left",
                "monkey": "ape", "author": "ada", "data": "s3://bucket/set"}
    command = ["--password=" + secret, "--auth-token", secret, "--header", "Authorization: Bearer " + secret,
               "db.passwd=" + secret, "https://u:%s@h/" % secret, '{"client_secret": "%s", "x": 1}' % secret, "--lr", "0.1"]
    facts, _ = train(fresh("secret"), *command, config=settings, env={"SECRET_OF_THE_ENVIRONMENT": secret})
    facts["command"][2] = ""  # TRAIN's own order has the settings in it: masked or not, they are looked at above
    text = json.dumps(facts)
    assert secret not in text and "12345" not in text and "aaaa" not in text and "OF_THE_ENVIRONMENT" not in text, text
    kept = {key: value for key, value in settings.items()
            if key in ("pin", "max_tokens", "tokenizer", "key", "monkey", "author", "data")}
    assert {key: facts["config"][key] for key in kept} == kept, facts["config"]
    assert facts["config"]["url"] == "https://***@host/path?user=me&sig=***"
    assert facts["command"][3:] == ["--password=***", "--auth-token", "***", "--header", "Authorization: ***",
                                    "db.passwd=***", "https://***@h/", '{"client_secret": "***", "x": 1}', "--lr", "0.1"]


def git(*words, cwd):
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *name, *words], cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def commit_of(folder):
    facts, _ = train(fresh("trial"), cwd=folder)
    return facts.get("commit"), facts.get("branch")


def test_commit():
    tree, linked = fresh("tree"), fresh("linked")
    (tree / "deep" / "er").mkdir(parents=True)
    git("init", "-q", cwd=tree)
    assert commit_of(tree) == (None, "main")  # a branch without a commit
    git("commit", "-q", "--allow-empty", "-m", "a", cwd=tree)
    head = git("rev-parse", "HEAD", cwd=tree)
    assert commit_of(tree) == (head, "main") == commit_of(tree / "deep" / "er")
    git("pack-refs", "--all", cwd=tree)
    assert commit_of(tree) == (head, "main")
    git("worktree", "add", "-q", "-b", "side", linked, cwd=tree)
    assert commit_of(linked) == (head, "side")
    git("checkout", "-q", "--detach", cwd=tree)
    assert commit_of(tree) == (head, None)
    for broken in ("ref: ../../../../etc/passwd\n", "ref: refs/../../x\n", "", "g" * 40, "ref: refs/heads/" + "x" * 4000):
        (tree / ".git" / "HEAD").write_text(broken)
        assert commit_of(tree)[0] is None, broken
    (tree / ".git" / "HEAD").unlink()
    os.mkfifo(tree / ".git" / "HEAD")  # keeps no training waiting
    assert commit_of(tree) == (None, None)


def test_left_out():
    said = lambda **asked: train(fresh("left"), **asked)[1]  # noqa: E731
    every = {"save_interval": "1", "include_collections": ["weights"]}
    whole = said(arguments=every)
    assert re.fullmatch(r"assay: .*: recorded \d+ records of 3 steps, .*; nothing dropped; cost .* s of .* s, and .* s in a background thread\n",
                        whole), whole
    assert "recorded 1 of 60 TRAIN steps (every 500th), as configured" in said(steps=60)
    assert "(every 2nd)" in said(arguments=dict(every, save_interval="2"))
    assert "recorded 2 of 3 TRAIN steps, as configured" in said(arguments=dict(every, start_step="1"))
    assert said(arguments=dict(every, start_step="1")).count("\n") == 1


def test_workers_and_going_on():
    """Four workers, each with a file of its own; a trial that is gone on with keeps the facts of the run before."""
    sys.argv[1:] = []
    import assay_hook
    path = fresh("workers")
    hooks = []
    try:
        for rank in range(4):
            assay_hook._rank_and_workers = lambda rank=rank: (rank, 4)
            hooks.append(assay_hook.Hook(path, include_workers="all", save_interval=1,
                                         config=argparse.Namespace(rank=rank, lr=0.5)))
    finally:
        for hook in hooks:
            hook.step()
            hook.close()
    read = [json.loads((path / "run" / ("worker_%d.json" % r)).read_text()) for r in range(4)]
    assert [(f["rank"], f["workers"], f["config"]) for f in read] == [(r, 4, {"rank": r, "lr": 0.5}) for r in range(4)]
    for lr in (0.25, 0.125):
        assay_hook._rank_and_workers = lambda: (0, 1)
        hook = assay_hook.Hook(path, existing="continue", config={"lr": lr})
        hook.step()
        hook.close()
    names = sorted(str(f.relative_to(path / "run")) for f in (path / "run").rglob("*worker_0.json"))
    assert names == ["earlier/1_worker_0.json", "earlier/2_worker_0.json", "worker_0.json"], names
    assert [json.loads((path / "run" / n).read_text())["config"]["lr"] for n in names] == [0.5, 0.25, 0.125]


if __name__ == "__main__":
    WORK.mkdir(parents=True, exist_ok=True)
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test()
            print(name)
