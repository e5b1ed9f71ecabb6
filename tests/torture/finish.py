#!/usr/bin/env python3
"""How short jobs end, thousands of times: a report that is right ends with its own exit code, whatever MPI does behind it.

    finish.py --assay PROGRAM [--jobs N] [--ranks 1 3] [--beside N] [--plain]

Jobs of a few milliseconds on a damaged trial, BESIDE of them at once so that the machine is busy, under glibc's checking allocator
(MALLOC_CHECK_=3, freed bytes overwritten) where that library is there. Each has to end with 3, the same report, and no word of an abort.
"""
import argparse
import concurrent.futures
import ctypes.util
import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, mpirun  # noqa: E402
from reports import body_of  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--ranks", type=int, nargs="+", default=[3])
    parser.add_argument("--beside", type=int, default=6)
    parser.add_argument("--plain", action="store_true", help="the allocator as it is")
    args = parser.parse_args()
    checks = Checks()
    checking = None if args.plain else ctypes.util.find_library("c_malloc_debug")
    env = {"LD_PRELOAD": checking, "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165"} if checking else {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        trial = folder / "trial"
        shutil.copytree(TRIALS / "ddp_partial", trial)
        index = next(p for p in sorted(trial.glob("index/*/*.json")) if "worker_1" in p.name)
        whole = json.loads(index.read_text())
        whole["meta"] = ["of", "another", "type"]
        index.write_text(json.dumps(whole))
        job = folder / "job.json"
        job.write_text(json.dumps({"rules": [{"rule": "AllZero", "parameters": {"tensor_regex": ".*"}}]}))

        def once(i):
            ranks = args.ranks[i % len(args.ranks)]
            out = folder / ("out-%d" % i)
            done = mpirun(ranks, [args.assay, "run", job, "--trial", trial, "--out", out, "--reports", "json", "--quiet"], env=env, timeout=300)
            body = body_of(out)
            shutil.rmtree(out, True)
            return done, body

        with concurrent.futures.ThreadPoolExecutor(args.beside) as pool:
            first = None
            for i, (done, body) in enumerate(pool.map(once, range(args.jobs))):
                first = first or body
                words = [word for word in ("malloc", "corrupt", "Signal", "abort", "free()", "double") if word in done.err]
                checks.expect(done.code == 3 and body and body == first and not words, "job %d: %s %s" % (i, words, done))
    print("%d jobs on %s ranks, %s" % (args.jobs, args.ranks, "checked by %s" % checking if checking else "as they are"))
    checks.done()


if __name__ == "__main__":
    main()
