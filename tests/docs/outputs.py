#!/usr/bin/env python3
"""What the documents show is what assay prints: each block of README.md and docs/ with a line that begins with `$ ` is run, and the
lines below are compared with what comes out.

    outputs.py --assay PROGRAM [--show] [PAGE...]

Within a line `...` stands for any text, as a line by itself for any lines. Messages on stderr count where a command is refused
(exit code 2). Blocks of `console` are of a terminal. A page's commands run one after the other in a folder that its scene filled.
Blocks without `$ ` that begin with a command of assay are run too, without a look at what they print, but for lines that NOT_RUN
says. --show prints what came out.
"""
import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import numpy  # noqa: E402

import dumps  # noqa: E402
import logs  # noqa: E402
import made_traces  # noqa: E402
from checkpoints import save_safetensors, save_sharded  # noqa: E402
from endings import planted  # noqa: E402
from launch import TRIALS, Checks, on_terminal, run  # noqa: E402
from made import Made  # noqa: E402
from plots import PLOTS  # noqa: E402

SCENES = {}
# What needs more than a folder: other machines, stores, debuggers, an end by a signal. Tests of their own run these.
NOT_RUN = re.compile(r"s3://|srun|gdb|--watch|^(mpirun .*)?assay run job.json|\.\.\.")
LOSSES = {"losses": "Loss"}


def scene(page):
    def keep(function):
        SCENES[page] = function
        return function
    return keep


def link(place, **trials):
    for name, trial in trials.items():
        path = place / name.replace("__", "-").replace("_of_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(TRIALS / trial)


def weights(step, layers=4):
    random = numpy.random.default_rng(7)
    return {"layers.%d.mlp.weight" % i: (random.normal(size=(64, 32)) * (1 + step / 1e4)).astype("f4") for i in range(layers)}


@scene("README.md")
def readme(place, assay):
    (place / "tests").symlink_to(ROOT / "tests")


@scene("docs/checkpoints-as-trials.md")
def checkpoints(place, assay):
    for step in (10, 20):
        folder = place / ("runs/7/checkpoint-%d" % step)
        folder.mkdir(parents=True)
        save_sharded(folder, weights(step), 3)
    save_safetensors(place / "converted/model.safetensors", weights(10))
    other = weights(10)
    other["layers.2.mlp.weight"][0, 17] += 0.5
    save_safetensors(place / "runs/8/checkpoint-10/model.safetensors", other)
    save_safetensors(place / "model.safetensors", other)
    save_safetensors(place / "hub/checkpoint-10/model.safetensors", {"output_layer": other["layers.0.mlp.weight"], **other})
    save_safetensors(place / "megatron/iter_0000010/model.safetensors", {"embedding.word_embeddings": other["layers.0.mlp.weight"], **other})
    for name in ("fsdp/checkpoints/step_500", "megatron/iter_0000500"):
        save_safetensors(place / ("runs/" + name) / "model.safetensors", weights(500))
    save_safetensors(place / "megatron/iter_0000020/model.safetensors", {"out": other["layers.0.mlp.weight"].T})
    save_safetensors(place / "hf/checkpoint-20/model.safetensors", {"lm_head.weight": other["layers.0.mlp.weight"]})
    part = place / "runs/7/checkpoint-20/model-00002-of-00003.safetensors"
    part.write_bytes(part.read_bytes()[:6000])


@scene("docs/compare.md")
def compare(place, assay):
    random = numpy.random.default_rng(3)
    for k in range(12):
        made = Made(place / ("sweep/run-%02d" % k), collections=LOSSES)
        weight = random.normal(size=(8, 8))
        for step in range(40):
            loss = 2 * numpy.exp(-step / 9) + 0.01 * random.random() if k != 10 else 1.8 + 0.02 * random.random()
            weight = weight - (0.01 * random.normal(size=(8, 8)) if k != 11 else 0)
            made.step(step, "TRAIN", step, {"CrossEntropyLoss_output_0": loss, "Mlp_fc2.weight": weight})
        made.put("run/worker_0.json", json.dumps({"schema": "assay-run/1", "worker": "worker_0", "config": {"lr": 0.5 if k == 10 else 0.05}}).encode())
        made.end()
    (place / "jobs").symlink_to(ROOT / "jobs")
    for name in ("runs/resnet-17", "runs/resnet-18", "runs/tonight", *("good/%d" % i for i in range(6))):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).symlink_to(TRIALS / "healthy")


@scene("docs/expressions.md")
def expressions(place, assay):
    (place / "job.json").write_text(json.dumps({"trials": ["x"], "rules": [{"name": "tiny", "when": "abs_men(gradients) < 1e-6"}]}))


@scene("docs/report-forms.md")
def formats(place, assay):
    (place / "tests").symlink_to(ROOT / "tests")
    (place / "two.json").write_text(json.dumps({"rules": [{"rule": "LossSpike"}, {"rule": "DeadRelu", "parameters": {"tensor_regex": "act"}}]}))
    spiky = Made(place / "spiky", collections=LOSSES)
    for step in range(40):
        spiky.step(step, "TRAIN", step, {"CrossEntropyLoss_output_0": 50.0 if step == 30 else 2 - step / 30})
    spiky.end()
    for day, trial in enumerate((TRIALS / "dead_relu", TRIALS / "dead_relu", TRIALS / "healthy", TRIALS / "healthy", place / "spiky", place / "spiky")):
        out = place / ("reports/%d" % day)
        run([assay, "run", place / "two.json", "--trial", trial, "--out", out, "--quiet"])
        report = json.loads((out / "report.json").read_text())
        report["run"]["date"] = "2026-11-%02dT02:10:00Z" % (16 + day)
        (out / "report.json").write_text(json.dumps(report))
    link(place, runs_of_17="healthy")
    for night in range(1, 41):
        rows = [(step, 1 + 4 * numpy.exp(-0.1 * step) + (0.4 if night > 30 else 0) + 0.01 * (night % 7), None) for step in range(60)]
        logs.tfevents(place / ("nights/night_%04d" % night), rows)


@scene("docs/hang.md")
def hang(place, assay):
    dumps.write(place / "DUMPS", dumps.stuck(stopped=(2,), ranks=4))


@scene("docs/laws.md")
def laws(place, assay):
    (place / "laws.json").write_text('{"rules": [{"rule": "LawViolated"}]}\n')
    random, made = numpy.random.default_rng(7), Made(place / "runs/17", workers=2)
    w, b = (random.normal(size=shape).astype("f4") for shape in ((5, 33), (5,)))
    for step in range(12):
        saved = {}
        for worker in range(2):
            x = random.normal(size=(20, 33)).astype("f4")
            y = x @ w.T + b
            y[3, 2] += (step, worker) == (11, 1)
            saved["worker_%d" % worker] = {"Net_fc2.weight": w, "Net_fc2.bias": b, "fc2_input_0": x, "fc2_output_0": y}
        made.step(step, "TRAIN", step, saved)
    made.end()


@scene("docs/logs.md")
def of_logs(place, assay):
    logs.hf(place / "runs/17", logs.curve(60))


@scene("docs/traces.md")
def traces(place, assay):
    made_traces.write(place / "traces", made_traces.job(slow={1: 1.5}))
    made_traces.write(place, made_traces.job(ranks=2, late_input={0: 9000000}))
    (place / "host_rank0.1700000000.pt.trace.json.gz").rename(place / "rank0.pt.trace.json.gz")
    made_traces.write(place / "before", made_traces.job(ranks=2))
    made_traces.write(place / "after", made_traces.job(ranks=2, slow={0: 3, 1: 3}))


@scene("docs/why.md")
def why(place, assay):
    next(e for e in planted(4, PLOTS) if e.name == "gpu_memory_one").write(place / "runs/4711")


@scene("docs/packed.md")
def packed(place, assay):
    link(place, runs_of_resnet__17="healthy", runs_of_1="healthy", runs_of_2="ddp")
    (place / "jobs").symlink_to(ROOT / "jobs")


@scene("docs/seal.md")
def seal(place, assay):
    for step in (10, 20):
        save_safetensors(place / ("runs/7/checkpoint-%d/model.safetensors" % step), weights(step))


def blocks_of(text):
    """(line, lines, whether it is of a terminal) of blocks without the name of another language."""
    for found in re.finditer(r"^(```+)(|sh|console)\n(.*?)^\1$", text, re.M | re.S):
        yield text.count("\n", 0, found.start()) + 1, found[3].splitlines(), found[2] == "console"


def shown(lines):
    """[(command, lines below it)]"""
    parts = []
    for line in lines:
        if line.startswith("$ "):
            parts.append((line[2:], []))
        elif parts:
            parts[-1][1].append(line)
    return parts


def pattern_of(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    parts = ["(?:.*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + "\n" for line in lines]
    return re.compile("".join(parts) + r"\n*\Z")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("pages", nargs="*")
    args, checks, outputs, commands = parser.parse_args(), Checks(), 0, 0
    args.assay = Path(args.assay).resolve()
    path = "%s:%s" % (args.assay.parent, os.environ["PATH"])
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        page = str(file.relative_to(ROOT))
        if args.pages and page not in args.pages:
            continue
        with tempfile.TemporaryDirectory() as place:
            if page in SCENES:
                SCENES[page](Path(place), args.assay)
            for number, lines, terminal in blocks_of(file.read_text()):
                parts = shown(lines)
                checks.expect(not parts or page in SCENES, "%s:%d: no scene for what it shows" % (page, number))
                if not parts and page in SCENES:
                    parts = [(line, None) for line in lines if re.match(r"(mpirun (-n \d+ )?)?assay ", line) and not NOT_RUN.search(line)]
                for command, wanted in parts:
                    shell = ["bash", "-c", "cd %s; %s" % (place, command)]
                    done = on_terminal(shell, 100, env={"PATH": path, "NO_COLOR": "1"}) if terminal else run(shell, env={"PATH": path})
                    said = done.err if done.code == 2 else done.out
                    commands, outputs = commands + 1, outputs + (wanted is not None)
                    if args.show:
                        print("%s:%d: $ %s (%d)\n%s%s" % (page, number, command, done.code, said, "" if wanted is not None else done.err))
                    if wanted is None:
                        checks.expect(done.code in (0, 1, 3), "%s:%d: %s: %s" % (page, number, command, done))
                    else:
                        checks.expect(pattern_of(wanted).match(said), "%s:%d: `%s` prints\n%s\nand not\n%s" % (page, number, command, said, "\n".join(wanted)))
    checks.expect(args.pages or (outputs > 15 and commands > outputs), "%d outputs of %d commands were compared" % (outputs, commands))
    checks.done()


if __name__ == "__main__":
    main()
