#!/usr/bin/env python3
"""When one rank fails, all ranks end with the same exit code, and the message comes once.

    faults.py --assay PROGRAM --ranks 3 -- KIND...        KIND: read, alloc

The N-th read or allocation of one rank fails, for growing N until the fault is no longer reached. Allowed ends:
  exit 4, with exactly one error line on stderr (assay: error: ...) that names the cause, and no half report;
  exit 2, likewise, when it was the job file that could not be read;
  exit 3, with a report that names a problem or an Error verdict;
  exit 0, with the report of a run without faults (the fault was not reached, or made good).
Anything else, a hang above all, is a failure. Ranks of two builds are refused with one message.
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import SUITE, TRIALS, Checks, mpirun, run  # noqa: E402
from reports import body_of  # noqa: E402

TIMEOUT = 60
TRIAL = "ddp_partial"
# The early ones lie close together, because every place of the start-up is reached by only a few of them.
STEPS = {"read": [1, 2, 3, 4, 5, 7, 9, 12, 16, 25, 40, 80, 200, 1000, 100000],
         "alloc": [1, 2, 3, 4, 5, 6, 8, 11, 15, 20, 30, 45, 70, 110, 170, 260, 400, 650, 1000, 1600, 2500, 4000, 6500,
                   10000, 20000, 50000, 100000, 1000000]}
WORDS = {"read": ("read", "fault", "input"), "alloc": ("memory",)}


def names_a_problem(report):
    for trial in report["trials"]:
        if trial["problems"]:
            return True
        if any(rule["status"] == "Error" for rule in trial["rules"] + trial["aggregations"] if "status" in rule):
            return True
    return False


def judge(checks, name, kind, done, out, healthy):
    """Returns the exit code when the fault showed, 0 when not, -1 when something was wrong."""
    if not checks.expect(not done.hung, "%s: hung: %s" % (name, done)):
        return -1
    errors = [line for line in done.err.splitlines() if line.startswith("assay: error:")]
    report = out / "report.json"
    if done.code == 4 or done.code == 2 and kind == "read":
        fine = checks.expect(len(errors) == 1, "%s: %d error lines instead of one: %s" % (name, len(errors), done))
        fine &= checks.expect(any(w in " ".join(errors).lower() for w in WORDS[kind]), "%s: the cause is not named: %s" % (name, done))
        fine &= checks.expect(done.code == 4 or SUITE.name in done.err, "%s: exit 2, not about the job file: %s" % (name, done))
        fine &= checks.expect(not report.exists() or body_of(report.read_bytes()) == healthy,
                              "%s: exit %d with a report that is not that of a run without faults" % (name, done.code))
        return done.code if fine else -1
    if done.code == 3:
        fine = checks.expect(report.exists() and names_a_problem(json.loads(report.read_bytes())),
                             "%s: exit 3, but no problem is named in the report: %s" % (name, done))
        return 3 if fine else -1
    if checks.expect(done.code == 0 and report.exists(), "%s: %s" % (name, done)):
        if checks.expect(body_of(report.read_bytes()) == healthy, "%s: exit 0 with another report than without faults" % name):
            return 0
    return -1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("kinds", nargs="+")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        refuse_two_builds(checks, args, folder)
        for ranks in args.ranks:
            common = [args.assay, "run", SUITE, "--trial", TRIALS / TRIAL, "--quiet", "--out"]
            plain = mpirun(ranks, common + [Path(folder) / "plain"])
            if not checks.expect(plain.code == 0, "without faults: %s" % plain):
                continue
            healthy = body_of((Path(folder) / "plain" / "report.json").read_bytes())
            for kind in args.kinds:
                for rank in sorted({0, ranks - 1}):
                    sweep(checks, common, folder, healthy, kind, rank, ranks)
    checks.done()


def refuse_two_builds(checks, args, folder):
    """Rank 1 is a program of another commit."""
    commit = run([args.assay, "--version"]).out.split("commit: ")[-1].split()[0].encode()
    other = Path(folder) / "other"
    other.write_bytes(Path(args.assay).read_bytes().replace(commit, bytes([commit[0] ^ 1]) + commit[1:]))
    other.chmod(0o755)
    either = 'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then exec "$0" "$@"; else exec "$OWN" "$@"; fi'
    done = mpirun(3, ["sh", "-c", either, other, "run", TRIALS / TRIAL, "--out", Path(folder) / "mixed"], env={"OWN": args.assay}, timeout=TIMEOUT)
    checks.expect(done.code == 2 and done.err.count("different builds") == 1 and not (Path(folder) / "mixed").exists(), "two builds: %s" % done)


def sweep(checks, common, folder, healthy, kind, rank, ranks):
    ends = {}
    for n in STEPS[kind]:
        fault = "%s:%d@rank%d" % (kind, n, rank)
        out = Path(folder) / ("%d-%s" % (ranks, fault.replace(":", "-")))
        done = mpirun(ranks, common + [out], env={"ASSAY_FAULT": fault}, timeout=TIMEOUT)
        end = judge(checks, "ASSAY_FAULT=%s, %d ranks" % (fault, ranks), kind, done, out, healthy)
        ends.setdefault(end, []).append(n)
        if end == 0 and n > 50:
            break
    print("%s on rank %d of %d: exit by N: %s" % (kind, rank, ranks, ends), flush=True)
    checks.expect(3 in ends or 4 in ends, "%s on rank %d of %d: no fault ever showed" % (kind, rank, ranks))
    checks.expect(ends.get(0), "%s on rank %d of %d: no N was beyond the last one" % (kind, rank, ranks))


if __name__ == "__main__":
    main()
