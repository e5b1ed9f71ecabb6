#!/usr/bin/env python3
"""What the documents show is what assay prints: each block of README.md and docs/ with a line that begins with `$ ` is run, and the
lines below are compared with what comes out.

    outputs.py --assay PROGRAM --cmake PROGRAM --build DIR [--show] [PAGE...]

Within a line `...` stands for any text, as a line by itself for any lines. Messages on stderr count where a command is refused
(exit code 2). Blocks of `console` are of a terminal. A page's commands run one after the other in a folder that its scene filled.
Blocks without `$ ` whose first line is a command are run too, without a look at what they print. No line is left out: what needs more
than a folder is in ELSEWHERE, with the test that runs it. --show prints what came out.
"""
import argparse
import ast
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import numpy  # noqa: E402

import dumps  # noqa: E402
import logs  # noqa: E402
import made_traces  # noqa: E402
import process_groups  # noqa: E402
import s3  # noqa: E402
import s3_server  # noqa: E402
from checkpoints import save_safetensors, save_sharded  # noqa: E402
from endings import planted  # noqa: E402
from launch import TRIALS, Checks, on_terminal, run  # noqa: E402
from made import Made  # noqa: E402
from plots import PLOTS  # noqa: E402

SCENES = {}
COMMAND = re.compile(r"([A-Z_]+=\S+ )*(assay|mpirun|srun|cc|cmake|python3|apt|pip|gdb|gh|jq|sed|cd|export|jobs/quickstart|tests/run) ")
# What needs more than a folder (an installation of packages, Slurm, a debugger, somebody's account): the test that runs it, and its words there.
ELSEWHERE = {
    r"jobs/quickstart": ("tests/install/quickstart.py", '"jobs" / "quickstart"'),
    r"tests/run": (".ci/run", "tests/run"),
    r"cmake -B build && cmake --build build|cmake --build build && cmake --install build|export PATH=~/assay": ("tests/install/consumers.py", "--install"),
    r"cmake --preset dev": ("tests/run", "--preset"),
    r"SLURM_PMIX_FENCE=ring srun": ("tests/slurm/templates.py", '"srun"'),
    r"apt install ./python3-assay-smdebug": ("tests/install/packages.py", "python3-assay-smdebug"),
    r"ASSAY_SMDEBUG=1 pip wheel": ("tests/python/wheel.py", "ASSAY_SMDEBUG"),
    r"assay pilot (state|STATE).json": ("tests/slurm/pilot.py", '"pilot"'),
    r"cc -O2 train.c -o train ": ("tests/slurm/CMakeLists.txt", "jobs/pilot/train.c"),
    r"\*/5 .* assay pilot --once state.json": ("tests/slurm/pilot.py", '"--once"'),
    r"PYTHONPATH=\$PREFIX/share/assay/python python3 -m torch.distributed.run": ("tests/hook/examples.py", '"hook.md"'),
    r"cc -o list list.c": ("tests/install/consumers.py", "libassay"),
    r"(mpirun -n 1 )?gdb ": None,
    r"gh pr comment": None,
}
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
def readme(place, assay, args):
    (place / "tests").symlink_to(ROOT / "tests")


@scene("docs/checkpoints-as-trials.md")
def checkpoints(place, assay, args):
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
def compare(place, assay, args):
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
    (place / "job.json").write_text('{"trials": ["runs/resnet-17", "runs/resnet-18"], "rules": [{"rule": "LossSpike"}]}\n')
    for name in ("runs/resnet-17", "runs/resnet-18", "runs/tonight", *("good/%d" % i for i in range(6))):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).symlink_to(TRIALS / "healthy")


@scene("docs/expressions.md")
def expressions(place, assay, args):
    (place / "job.json").write_text(json.dumps({"trials": ["x"], "rules": [{"name": "tiny", "when": "abs_men(gradients) < 1e-6"}]}))


@scene("docs/report-forms.md")
def formats(place, assay, args):
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
    run([assay, "run", TRIALS / "ddp_partial", "--quiet"], cwd=place)
    for night in range(1, 41):
        rows = [(step, 1 + 4 * numpy.exp(-0.1 * step) + (0.4 if night > 30 else 0) + 0.01 * (night % 7), None) for step in range(60)]
        logs.tfevents(place / ("nights/night_%04d" % night), rows)


@scene("docs/report-html.md")
def page(place, assay, args):
    run([assay, "run", TRIALS / "ddp_partial", "--reports", "html", "--out", place, "--quiet"])


@scene("docs/hang.md")
def hang(place, assay, args):
    dumps.write(place / "DUMPS", dumps.stuck(stopped=(2,), ranks=4))


@scene("docs/laws.md")
def laws(place, assay, args):
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
def of_logs(place, assay, args):
    logs.hf(place / "runs/17", logs.curve(60))


@scene("docs/traces.md")
def traces(place, assay, args):
    made_traces.write(place / "traces", made_traces.job(slow={1: 1.5}))
    made_traces.write(place, made_traces.job(ranks=2, late_input={0: 9000000}))
    (place / "host_rank0.1700000000.pt.trace.json.gz").rename(place / "rank0.pt.trace.json.gz")
    made_traces.write(place / "before", made_traces.job(ranks=2))
    made_traces.write(place / "after", made_traces.job(ranks=2, slow={0: 3, 1: 3}))


@scene("docs/why.md")
def why(place, assay, args):
    next(e for e in planted(4, PLOTS) if e.name == "gpu_memory_one").write(place / "runs/4711")


@scene("docs/packed.md")
def packed(place, assay, args):
    link(place, runs_of_resnet__17="healthy", runs_of_1="healthy", runs_of_2="ddp")
    (place / "jobs").symlink_to(ROOT / "jobs")


@scene("docs/seal.md")
def seal(place, assay, args):
    for step in (10, 20):
        save_safetensors(place / ("runs/7/checkpoint-%d/model.safetensors" % step), weights(step))


@scene("docs/custom-rules.md")
def of_custom_rules(place, assay, args):
    run([args.cmake, "--install", args.build, "--prefix", place / "prefix"])
    return {"PATH": "%s:%s" % (place / "prefix/bin", os.environ["PATH"]), "CMAKE_PREFIX_PATH": str(place / "prefix"), "ASAN_OPTIONS": "detect_leaks=0"}


@scene("docs/checkpoint.md")
@scene("docs/developing.md")
@scene("docs/mpi.md")
@scene("docs/watch.md")
def of_ranks(place, assay, args):
    link(place, RUN="ddp", runs_of_17="ddp")
    (place / "job.json").write_text('{"trials": ["RUN"], "rules": [{"rule": "ReplicaDivergence"}]}\n')


@scene("jobs/pilot/README.md")
def of_pilot(place, assay, args):
    shutil.copytree(ROOT / "jobs/pilot", place, dirs_exist_ok=True)


@scene("docs/python-rules.md")
def of_python_rules(place, assay, args):
    link(place, runs_of_17="ddp")
    return {"PYTHONPATH": str(ROOT / "src/python"), "ASSAY_LIBRARY": "", "ASSAY": str(assay), "PYTHONDONTWRITEBYTECODE": "1"}


@scene("docs/s3.md")
def of_s3(place, assay, args):
    server = s3_server.Server()
    for run_ in ("17", "18"):
        server.put_tree("bucket", "runs/%s/" % run_, TRIALS / "healthy")
    (place / "job.json").write_text('{"rules": [{"rule": "LossSpike"}]}\n')
    return s3.environment(server.port, server.key, server.secret)


@scene("docs/topology.md")
def of_pieces(place, assay, args):
    process_groups.record(place / "runs/7")
    for rank in range(8):
        process_groups.write_dump(place / ("dumps/nccl_trace_rank_%d" % rank), rank, process_groups.GROUPS)
    (place / "job.json").write_text('{"rules": [{"rule": "ReplicaDivergence"}]}\n')


def blocks_of(text):
    """(line, lines, whether it is of a terminal) of blocks without the name of another language."""
    for found in re.finditer(r"^(```+)(\w*)\n(.*?)^\1$", text, re.M | re.S):
        if found[2] in ("", "sh", "console"):
            yield text.count("\n", 0, found.start()) + 1, found[3].splitlines(), found[2] == "console"


def commands_of(lines):
    """The lines of a block that begins with a command, joined where they go on, without what is said about them."""
    text = "\n".join(lines).replace("\\\n", " ")
    return [re.sub(r"\s+# .*", "", line) for line in text.splitlines() if line] if COMMAND.match(text) else []


def elsewhere(command, checks, found):
    """Whether a command needs more than a folder; then a test that is there has to run it."""
    for pattern, test in ELSEWHERE.items():
        if re.match(pattern, command):
            found.add(pattern)
            checks.expect(test is None or test[1] in (ROOT / test[0]).read_text(), "%s does not run `%s`" % (test and test[0], command))
            return True
    return False


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


def other_languages(page, text, assay, place, checks):
    """Jobs are those that the program takes, all other JSON is JSON, and Python is Python and calls what the library has. Returns how many
    there are. (README's Python and the recipes of report-forms.md and results-hdf5.md run in tests of their own.)"""
    blocks = re.findall(r"^```(json|python)\n(.*?)^```$", text, re.M | re.S)
    for language, block in blocks:
        try:
            known = json.loads(block if block[0] in "{[" else "{%s}" % block) if language == "json" else ast.parse(block)
        except (ValueError, SyntaxError) as error:
            checks.expect(False, "%s: %s: %s" % (page, error, block))
            continue
        if isinstance(known, dict) and "rules" in known and "python" not in known["rules"][0]:
            (place / "shown.json").write_text(block)
            done = run([assay, "check", place / "shown.json"])
            checks.expect(done.code == 0, "%s: %s" % (page, done))
        for module, name in re.findall(r"\b(assay_hook|assay)\.([A-Za-z]\w*)\b(?!\.py)", block) if language == "python" else ():
            files = [ROOT / "src/python/assay_hook.py"] if module == "assay_hook" else [ROOT / "src/python/assay/__init__.py", *(ROOT / "src/python/assay").glob(name + "*")]
            checks.expect(any(file.stem == name or file.is_file() and re.search(r"\b%s\b" % name, file.read_text()) for file in files), "%s: there is no %s.%s" % (page, module, name))
    return len(blocks)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--assay", "--cmake", "--build"):
        parser.add_argument(name, required=True)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("pages", nargs="*")
    args, checks, outputs, commands, others, found = parser.parse_args(), Checks(), 0, 0, 0, set()
    args.assay = Path(args.assay).resolve()
    path = "%s:%s" % (args.assay.parent, os.environ["PATH"])
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "slurm").glob("*.md")), *sorted((ROOT / "jobs").rglob("*.md"))]:
        page = str(file.relative_to(ROOT))
        if args.pages and page not in args.pages:
            continue
        with tempfile.TemporaryDirectory() as place:
            env = {"PATH": path, **((page in SCENES and SCENES[page](Path(place), args.assay, args)) or {})}
            apart = re.search(r"^    (\$ )?(assay|mpirun|srun) ", re.sub(r"^(```+).*?^\1$", "", file.read_text(), flags=re.M | re.S), re.M)
            checks.expect(not apart, "%s: `%s` stands in no fenced block, so nothing runs it" % (page, apart and apart[0].strip()))
            others += other_languages(page, file.read_text(), args.assay, Path(place), checks)
            for number, lines, terminal in blocks_of(file.read_text()):
                parts = shown(lines) or [(line, None) for line in commands_of(lines) if not elsewhere(line, checks, found)]
                checks.expect(not parts or page in SCENES, "%s:%d: no scene for what it shows" % (page, number))
                for command, wanted in parts if page in SCENES else []:
                    shell = ["bash", "-c", "cd %s; %s" % (place, command)]
                    if " --watch" in command:  # it ends by a signal
                        shell = ["timeout", "--preserve-status", "3", *shell[:2], shell[2].replace("; ", "; exec ")]
                    done = on_terminal(shell, 100, env={**env, "NO_COLOR": "1"}) if terminal else run(shell, env=env)
                    said = done.err if done.code == 2 else done.out
                    commands, outputs = commands + 1, outputs + (wanted is not None)
                    if args.show:
                        print("%s:%d: $ %s (%d)\n%s%s" % (page, number, command, done.code, said, "" if wanted is not None else done.err))
                    if wanted is None:
                        checks.expect(done.code in (0, 1, 3), "%s:%d: %s: %s" % (page, number, command, done))
                    else:
                        checks.expect(pattern_of(wanted).match(said), "%s:%d: `%s` prints\n%s\nand not\n%s" % (page, number, command, said, "\n".join(wanted)))
    checks.expect(args.pages or (outputs > 15 and commands > outputs), "%d outputs of %d commands were compared" % (outputs, commands))
    checks.expect(args.pages or others > 20, "%d blocks of JSON and Python" % others)
    checks.expect(args.pages or found == set(ELSEWHERE), "no page has %s" % (set(ELSEWHERE) - found))
    checks.done()


if __name__ == "__main__":
    main()
