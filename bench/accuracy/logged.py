"""logged.py - how many good runs of which only numbers were logged a comparison calls odd, and how many faulty ones it finds.

Usage: logged.py ASSAY WORK_DIR [--seed N] [--groups N] [KIND...]      needs numpy; kinds: KINDS, all by default

Of each kind and size it compares groups of runs that differ by chance alone, and groups of which the third run has a fault. Runs are
drawn as such logs look: noise that lasts some steps, a level of each run's own, numbers that begin at zero or pass through it, loss
scales and counts that jump by chance.
"""
import argparse
import json
import shutil
import subprocess
from pathlib import Path

import numpy

SIZES, STEPS, FAULTY = (5, 6, 8, 10, 15, 20), 200, 2


def wander(rng, scale, lasting=0.7):
    noise = numpy.zeros(STEPS)
    for i in range(1, STEPS):
        noise[i] = lasting * noise[i - 1] + rng.normal() * scale
    return noise


def detection(rng, fault):
    """An accuracy that is 0 at first; the fault: 0.7 of what it should come to."""
    t, late = numpy.arange(STEPS), STEPS / 6 * (1 + 0.05 * rng.normal())
    score = (0.6 + 0.01 * rng.normal()) / (1 + numpy.exp(-(t - 1.5 * late) / (late / 3))) * (0.7 if fault else 1)
    columns = {}
    for name, part in (("metrics/mAP50(B)", 1), ("metrics/mAP50-95(B)", 0.7), ("metrics/precision(B)", 1.1)):
        columns[name] = numpy.clip(score * part * numpy.exp(wander(rng, 0.02)) - 0.02, 0, 1)
        columns[name][:3] *= rng.random(3) < 0.5
    columns["train/box_loss"] = 1.5 * numpy.exp(-t / STEPS) + 0.5 + wander(rng, 0.02)
    columns["val/box_loss"] = 1.6 * numpy.exp(-t / STEPS) + 0.5 + wander(rng, 0.03)
    return columns


def reinforcement(rng, fault):
    """A reward that passes through 0; the fault: it hardly rises."""
    t, own = numpy.arange(STEPS), rng.normal()
    up = (1 - numpy.exp(-t / (STEPS / 4 * (1 + 0.1 * own)))) * (0.1 if fault else 1)
    return {"rollout/ep_rew_mean": -200 + 450 * up + wander(rng, 12, 0.9), "train/value_loss": numpy.exp(3 + wander(rng, 0.4)),
            "train/approx_kl": numpy.abs(0.01 + wander(rng, 0.003)), "train/clip_fraction": numpy.clip(0.08 + wander(rng, 0.02), 0, 1),
            "train/entropy_loss": -1.2 + 0.8 * up * (1 + 0.1 * own) + wander(rng, 0.02),
            "train/explained_variance": numpy.clip(up - 0.3 + wander(rng, 0.1), -1, 1)}


def language(rng, fault):
    """A throughput with dips, a loss scale and a count of skipped steps; the fault: half the throughput."""
    t, own, scale, scales = numpy.arange(STEPS), rng.normal(), 2.0 ** 16, []
    speed = 50000 * (1 + 0.02 * own) + wander(rng, 500)
    speed[rng.random(STEPS) < 0.03] *= 0.5
    for i in range(STEPS):
        scale *= (2 if i % 60 == 59 else 1) * (0.5 if rng.random() < 0.015 else 1)
        scales.append(scale)
    return {"train/loss": 1.8 + 8 * (t + 20.0) ** -0.35 * (1 + 0.005 * own) + wander(rng, 0.02),
            "train/grad_norm": numpy.exp(rng.normal(-0.5, 0.2, STEPS)) * (1 + 5 * numpy.exp(-t / 10)),
            "train/learning_rate": 3e-4 * numpy.minimum(t / 50, 0.5 * (1 + numpy.cos(numpy.pi * t / STEPS))),
            "perf/tokens_per_second": speed * (0.5 if fault else 1), "perf/mfu": speed / 1e5,
            "train/loss_scale": numpy.array(scales), "train/num_skipped": numpy.cumsum(rng.random(STEPS) < 0.005)}


def classifier(rng, fault):
    """The fault: 0.8 of the accuracy."""
    t, own = numpy.arange(STEPS), rng.normal()
    loss = 2.3 * numpy.exp(-t / (STEPS / 5 * (1 + 0.05 * own))) + 0.1 + numpy.abs(wander(rng, 0.03))
    part = 0.8 if fault else 1
    return {"loss": loss, "val_loss": 1.05 * loss + numpy.abs(wander(rng, 0.04)),
            "accuracy": part * numpy.clip(1 - loss / 2.5 + wander(rng, 0.01), 0, 1),
            "val_accuracy": part * numpy.clip(1 - loss / 2.4 + wander(rng, 0.015), 0, 1),
            "weight_norm": 20 + 0.3 * numpy.sqrt(t) * (1 + 0.02 * own), "gpu_util": numpy.clip(90 + wander(rng, 4), 0, 100)}


def diffusion(rng, fault):
    """A distance at every tenth step; the fault: twice as large."""
    t, own = numpy.arange(STEPS), rng.normal()
    distance = (300 * numpy.exp(-t / 60) + 20) * (1 + 0.04 * own) * numpy.exp(0.05 * rng.normal(size=STEPS)) * (2 if fault else 1)
    return {"loss": numpy.exp(-3.2 + wander(rng, 0.1)) * (1 + 3 * numpy.exp(-t / 20)), "ema_decay": 1 - 1 / (t + 10.0),
            "fid": numpy.where(t % 10 == 9, distance, numpy.nan), "grad_norm": numpy.exp(wander(rng, 0.5))}


def wandering(rng, fault):
    """Noise of heavy tails that wanders and comes in bursts, throughputs with dips; the fault: half of what is learned."""
    def walk(scale):
        return numpy.cumsum(rng.standard_t(3, STEPS)) * scale / 10

    def burst(scale):
        x = rng.standard_t(4, STEPS) * scale
        for _ in range(rng.poisson(1.5)):
            at = rng.integers(0, STEPS)
            x[at:at + rng.integers(2, 10)] += abs(rng.standard_t(3)) * 4 * scale
        return x
    t, own, pace = numpy.arange(STEPS), 0.02 * rng.standard_t(5), STEPS / 4 * numpy.exp(0.1 * rng.normal())
    loss = ((1.4 if fault else 0.4) + (1 if fault else 2) * numpy.exp(-t / pace)) * (1 + own) * numpy.exp(walk(0.01) + burst(0.03))
    return {"train/loss": loss, "val/loss": loss * 1.1 * numpy.exp(0.02 * rng.standard_t(5) + burst(0.02)),
            "val/accuracy": numpy.clip(1 - loss / 2.6 + burst(0.01) - abs(own), 0, 1),
            "grad_norm": numpy.exp(rng.gamma(2, 0.3, STEPS) - 1) * (1 + 3 * numpy.exp(-t / 10)),
            "perf/tokens_per_second": 9000 * (1 + 0.01 * rng.normal()) * (1 - 0.3 * (rng.random(STEPS) < 0.05)) + 80 * rng.normal(size=STEPS)}


KINDS = {kind.__name__: kind for kind in (detection, reinforcement, language, classifier, diffusion, wandering)}


def write_group(where, kind, size, rng, fault):
    """Writes runs 00, 01, ... as CSV files."""
    shutil.rmtree(where, ignore_errors=True)
    for run in range(size):
        columns = KINDS[kind](rng, fault and run == FAULTY)
        folder = Path(where) / ("run%02d" % run)
        folder.mkdir(parents=True)
        with open(folder / "metrics.csv", "w") as file:
            file.write("step,%s\n" % ",".join(columns))
            for i in range(STEPS):
                cells = ("" if numpy.isnan(column[i]) else "%.6g" % column[i] for column in columns.values())
                file.write("%d,%s\n" % (10 * i, ",".join(cells)))


def odd_ones(report):
    """Numbers of the runs that a report.json calls odd, with the reasons."""
    return {int(one["trial"][-2:]): one["reasons"] for one in report["comparison"]["odd"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("work")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--groups", type=int, default=6)
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=list(KINDS))
    given = parser.parse_args()
    rng, runs, report = numpy.random.default_rng(given.seed), Path(given.work) / "runs", Path(given.work) / "report"
    good, found = {size: [0, 0] for size in SIZES}, {kind: [0, 0] for kind in given.kinds}
    for kind in given.kinds:
        for size in SIZES * given.groups:
            for fault in (False, True):
                write_group(runs, kind, size, rng, fault)
                subprocess.run([given.assay, "compare", str(runs / "*"), "--out", str(report), "--overwrite", "-q"], stdout=subprocess.DEVNULL, check=True)
                odd = odd_ones(json.loads((report / "report.json").read_text()))
                if fault:
                    found[kind] = [found[kind][0] + (FAULTY in odd), found[kind][1] + 1]
                good[size] = [good[size][0] + sum(run != FAULTY or not fault for run in odd), good[size][1] + size - fault]
                for run, reasons in odd.items():
                    if run != FAULTY or not fault:
                        print("%s, %d runs: run%02d: %s" % (kind, size, run, "; ".join(reasons)))
    print("| runs | good ones called odd |\n|---|---|")
    for size, (odd, of) in good.items():
        print("| %d | %d of %d |" % (size, odd, of))
    print("| kind | faulty ones found |\n|---|---|")
    for kind, (odd, of) in found.items():
        print("| %s | %d of %d |" % (kind, odd, of))


if __name__ == "__main__":
    main()
