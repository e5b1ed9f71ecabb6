#!/usr/bin/env python3
"""`assay compare` begins with the runs that are unlike the others, and says by what and with which settings.

    odd.py --assay PROGRAM --ranks 1 3 7
"""
import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of, report_of  # noqa: E402


def record(folder, name, seed, config, steps=40, ended=True, recorded=None, change=lambda step, tensors: None):
    """A run of a set: a loss that falls to about 0.19, weights that move, a gradient, and the hook's facts of the run."""
    made = Made(folder / name, collections={"losses": "^loss$", "weights": "weight$", "gradients": "^gradient"})
    noise = numpy.random.default_rng(seed)
    for step in range(steps):
        tensors = {"loss": numpy.float32(0.17 + 2 * 0.8 ** step + 0.02 * noise.random()),
                   "Net_fc2.weight": numpy.full(4, 1 + 0.05 * step + 0.01 * noise.random(), "float32"),
                   "gradient/Net_fc2.weight": numpy.full(4, 0.1 + 0.01 * noise.random(), "float32"),
                   "gradient/Net_fc2.bias": numpy.full(2, 0.2 + 0.01 * noise.random(), "float32")}
        change(step, tensors)
        made.step(step, "TRAIN", step, tensors)
    made.put("run/worker_0.json", json.dumps({
        "schema": "assay-run/1", "worker": "worker_0", "rank": 0, "workers": 4, "started": "2026-01-31T12:00:%02dZ" % seed,
        "command": ["train", name], "config": config,
        "recorded": {"workers": recorded or 4, "of": 4, "modes": {}}}).encode())
    return made.end() if ended else folder / name


def check_odd(checks, assay, ranks, folder):
    """Twenty-one runs, seven of them odd, each for a reason of its own: the answer names them, by what, and their settings."""
    sets, usual = folder / "odd", {"lr": 0.1, "batch": 64}

    def freeze(step, tensors):
        tensors["Net_fc2.weight"] = numpy.full(4, 1, "float32")
        del tensors["gradient/Net_fc2.weight"], tensors["gradient/Net_fc2.bias"]

    def stay_high(step, tensors):
        tensors["loss"] = numpy.float32(1.13)

    def end_in_nan(step, tensors):
        tensors["loss"] = numpy.float32(numpy.nan if step > 30 else tensors["loss"])

    def explode(step, tensors):
        tensors["Net_fc2.weight"] = tensors["Net_fc2.weight"] * numpy.float32(100 if step > 9 else 1)

    for i in range(14):
        record(sets, "run-%02d" % i, i, dict(usual, seed=i), recorded=1 if i == 3 else None)
    record(sets, "high", 20, dict(usual, lr=0.5, seed=20), change=stay_high)
    record(sets, "frozen", 21, dict(usual, seed=21, freeze="fc2"), change=freeze)
    record(sets, "short", 22, dict(usual, seed=22), steps=20)
    record(sets, "going", 23, dict(usual, seed=23), steps=25, ended=False)
    record(sets, "broken", 24, dict(usual, seed=24), change=end_in_nan)
    record(sets, "curve", 25, dict(usual, seed=25), change=explode)
    bare, first = sets / "bare", None
    bare.mkdir()
    for n in ranks:
        done = mpirun(n, [assay, "compare", str(sets / "[!b]*"), sets / "broken", bare, "--job", folder / "quiet.json",
                          "--out", folder / "o", "--reports", "json,text,markdown,html"])
        checks.expect(done.code == 3, "the odd at %d ranks: %s" % (n, done))
        first = first or body_of(folder / "o")
        checks.expect(body_of(folder / "o") == first, "the odd at %d ranks: the report differs" % n)
    comparison = report_of(folder / "o")["comparison"]
    odd, answer = {o["trial"]: o["reasons"] for o in comparison["odd"]}, comparison["answer"]
    reasons = {"high": ["last loss 1.13, median 0.1"], "frozen": ["Net_fc2.weight never updated", "gradient/Net_fc2.* missing"],
               "short": ["ends at TRAIN step 19, median 39"], "going": ["is at TRAIN step 24, median 39"],
               "broken": ["last loss nan, median 0.1"],
               "curve": ["norm of Net_fc2.weight leaves those of the others from TRAIN step 10 on"], "bare": ["could not be read"]}
    checks.expect(set(odd) == set(reasons), "the odd: %s" % odd)
    for name, said in reasons.items():
        checks.expect(all(any(r.startswith(s) for r in odd.get(name, [])) for s in said), "%s: %s" % (name, odd.get(name)))
    checks.expect(answer.startswith("7 of 21 are unlike the others: ") and "lr 0.5 where others have 0.1" in answer and
                  answer.endswith("Judged by 1 of 4 workers in 1 of 21 trials."), answer)
    text, page = (folder / "o" / "report.txt").read_text(), (folder / "o" / "report.html").read_text()
    checks.expect(" ".join(text.split()).startswith(answer), "report.txt begins with %s" % text[:200])
    checks.expect((folder / "o" / "report.md").read_text().startswith("## 7 of 21 are unlike"), "report.md begins otherwise")
    checks.expect(page.index('<p class="verdict is-bad"><strong>7 of 21') < page.index("<section"), "report.html begins otherwise")
    single = set(re.findall(r"^(\w[\w-]*)$", text.split("\nTrials\n")[-1].split("\nRead ")[0], re.M)) - {""}
    checks.expect({"high", "frozen"} <= single <= set(reasons), "reports of single trials: %s" % single)
    shown = set(re.findall(r'<(?:h3|summary)>(?:<[^>]*>)*([\w-]+)</span></(?:h3|summary)>', page))
    checks.expect("high" in shown and not [n for n in shown if n.startswith("run-")], "the page shows %s" % shown)
    run([assay, "compare", str(sets / "[!b]*"), "--job", folder / "quiet.json", "--out", folder / "o"])
    verdict = report_of(folder / "o")["verdict"]
    checks.expect(verdict.startswith("rules found nothing wrong in 19 trials"), "beside odd runs: %s" % verdict)
    good = [sets / ("run-%02d" % i) for i in range(14)]
    done = run([assay, "compare", *good, "--job", folder / "quiet.json", "--out", folder / "o"])
    checks.expect(done.code == 0 and done.out.startswith("None of 14 trials is unlike the others."), "none is odd: %s" % done.out[:300])
    for i in range(6):
        (sets / ("empty-%d" % i)).mkdir()
    done = run([assay, "compare", *good[:5], *sorted(sets.glob("empty-*")), "--job", folder / "quiet.json", "--out", folder / "o"])
    checks.expect(re.match("No majority of 11 trials is alike; [67] stand apart: ", done.out), "more are odd than not: %s" % done.out[:300])


def check_batch(checks, assay, folder):
    """A batch size that no run says stands in shapes; one that runs say is not said again."""
    def of(rows, values):
        def change(step, tensors):
            tensors["CrossEntropyLoss_input_1"] = numpy.arange(rows) % 3
            tensors["loss"] = tensors["loss"] + numpy.float32(values)
        return change
    for i in range(7):
        record(folder / "batch", "run-%d" % i, i, {"lr": 0.1}, change=of(24, 0))
    record(folder / "batch", "small", 7, {"lr": 0.1}, change=of(4, 3))
    done = run([assay, "compare", *sorted((folder / "batch").iterdir()), "--job", folder / "quiet.json", "--out", folder / "o"])
    checks.expect("small (" in done.out and "batch size 4 where others have 24" in " ".join(done.out.split()), "a batch: %s" % done.out[:300])
    for i in range(8):
        record(folder / "said", "run-%d" % i, i, {"batch": 4 if i == 7 else 24}, change=of(4 if i == 7 else 24, 3 if i == 7 else 0))
    done = run([assay, "compare", *sorted((folder / "said").iterdir()), "--job", folder / "quiet.json", "--out", folder / "o"])
    said = " ".join(done.out.split())
    checks.expect("batch 4 where others have 24" in said and "batch size" not in said, "a batch that is said: %s" % done.out[:300])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", nargs="+", type=int, required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "quiet.json").write_text('{"rules": [{"rule": "ExplodingTensor"}]}')
        check_odd(checks, args.assay, args.ranks, Path(folder))
        check_batch(checks, args.assay, Path(folder))
    checks.done()


if __name__ == "__main__":
    main()
