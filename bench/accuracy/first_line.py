#!/usr/bin/env python3
"""Does the first line of a report name the cause? Trainings of the zoo at several save intervals.

    bench/accuracy/first_line.py BUILD FOLDER [--intervals 1 10 100] [--seeds 1 2] [--only NAME...] [--healthy] [--make]

Records what is missing in FOLDER (it stays), runs assay on each, and prints one line a training: the first line of its report and whether it
is right; "certain:" stands before what the report calls proven. For healthy trainings right is a line that starts with "nothing wrong" or a count of rules that passed.
"""
import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ["ASSAY_OVERWRITE"] = "1"  # one place for the reports of many trials
SETS = ["causes", "causes_more", "causes_third", "causes_fourth", "causes_fifth", "causes_sixth", "causes_seventh",
        "causes_eighth", "causes_ninth", "causes_tenth", "causes_eleventh", "causes_twelfth", "causes_thirteenth", "causes_fourteenth", "causes_fifteenth",
        "causes_sixteenth", "causes_seventeenth", "causes_eighteenth", "causes_twentieth", "causes_twentyfirst"]
QUIET = r"^(nothing wrong|\d+ rules? passed)"
HOLE = "damaged or missing"  # what was not recorded as a whole judges nothing


def record(folder, interval, seed, names, env):
    folder.mkdir(parents=True, exist_ok=True)
    code = ("import sys, torch; torch.set_num_threads(1)\nimport faulty, healthy, %s\nknown = {}\n"
            "for m in (healthy, faulty, %s):\n    known.update(m.TRAININGS)\n"
            "for n in sys.argv[3:]:\n    known[n](sys.argv[1] + '/' + n, int(sys.argv[2]))"
            % (", ".join(SETS), ", ".join(SETS)))
    env = dict(env, ASSAY_ZOO_INTERVAL=str(interval), PYTHONPATH="%s:%s" % (HERE / "zoo", env["PYTHONPATH"]))
    subprocess.run([sys.executable, "-c", code, str(folder), str(seed), *names], env=env, check=True)


def verdict(assay, trial, env):
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([assay, "run", str(trial), "--out", out], env=env, capture_output=True, text=True)
        try:
            report = json.loads((Path(out) / "report.json").read_text())
        except OSError:
            return "no report: " + done.stderr[-200:], [], False
        return report["verdict"], [r["rule"] for t in report["trials"] for r in t["rules"]
                                   if r["status"] == "IssuesFound" and r["severity"] != "info"], is_certain(report["verdict"], done.stdout)


def is_certain(line, text):
    """Does the report put neither "(likely)" nor "(possible)" behind the first cause? Then it calls it proven."""
    sentence, text = re.sub(r"^(.*) \([A-Z]\w+\)(; from it may follow .*)?$", r"\1", line), " ".join(text.split())
    return re.search(QUIET, line) is None and text.count(sentence) > 1 and not any(sentence + " (%s)" % w in text for w in ("likely", "possible"))


def is_right(line, says):
    """says: the words of a fault; None: the training is healthy."""
    quiet = re.search(QUIET, line) is not None
    return HOLE not in line and (quiet if says is None else not quiet and re.search(says, line) is not None)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--intervals", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("--held", action="store_true", help="the faults at which nobody looked while causes were written")
    parser.add_argument("--assay", help="another program than the build's")
    parser.add_argument("--make", action="store_true", help="record, and judge nothing")
    args = parser.parse_args()
    env = dict(os.environ, PYTHONPATH="%s:%s" % (HERE.parents[1] / "src" / "python", HERE), PYTHONDONTWRITEBYTECODE="1",
               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    env.setdefault("ASSAY_HOOK_LIBRARY", str(Path(args.build) / "src" / "hook" / "libassay_hook.so"))
    sys.path[:0] = [str(HERE / "zoo"), str(HERE.parents[1] / "src" / "python")]
    os.environ.update(env)
    import causes
    import causes_more
    import healthy
    faults = [n for s in SETS for n in importlib.import_module(s).TRAININGS if args.held == (n in causes_more.HELD)]
    known = list(healthy.TRAININGS) if args.healthy else faults
    names = [n for n in known if not args.only or any(o in n for o in args.only)]
    for seed in args.seeds:
        for interval in args.intervals:
            folder = args.folder / ("%d-%d" % (seed, interval))
            missing = [n for n in names if not (folder / n).exists()]
            if missing:
                record(folder, interval, seed, missing, env)
            if args.make:
                continue
            with ThreadPoolExecutor(2) as pool:
                said = list(pool.map(lambda n: verdict(args.assay or Path(args.build) / "src" / "assay", folder / n, env), names))
            right = proven = 0
            for name, (line, fired, certain) in zip(names, said):
                good = is_right(line, causes.CAUSES[name].says if name in causes.CAUSES else None)
                right += good
                proven += certain and not good
                if not (good and args.healthy):
                    print("%-4s %s: %s%s [%s]" % ("ok" if good else "BAD", name, "certain: " if certain else "", line, ", ".join(sorted(set(fired)))))
            print("seed %d, interval %d: %d of %d right; %d certain and wrong\n" % (seed, interval, right, len(names), proven), flush=True)


if __name__ == "__main__":
    main()
