#!/usr/bin/env python3
"""What `assay watch` says beside its report: a line for each cause, the report of what is known so far, a file for Prometheus.

    watch_lines.py --assay PROGRAM --ranks 1 3

A finding is a cause's evidence, not a line: one NaN is one line, at any number of ranks. `mpi.watch` has the findings one by one.
"""
import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, TRIALS, Checks, environment, mpirun  # noqa: E402

SAYS = re.compile(r"(info|warning|error|withdrawn) +")


def lines_before_report(text):
    said = []
    for line in text.splitlines():
        if not SAYS.match(line):
            break
        said.append(line)
    return said


class Live:
    """A watch over a trial that does not end by itself."""

    def __init__(self, assay, trial, *options):
        self.process = subprocess.Popen([assay, "watch", trial, "--every", "0.05", "--lag", "0.3", *map(str, options)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=environment(), text=True)

    def end(self):
        self.process.send_signal(signal.SIGUSR1)
        return self.process.communicate(timeout=60)[0]


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def read_json(path):
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError):
        return {}


def check_causes(checks, args, room):
    wanted = {"linreg_nan": ["error"], "healthy": [], "dead_relu": ["warning"], "ddp_partial": ["warning", "error"]}
    for trial, severities in wanted.items():
        said = []
        for count in args.ranks:
            done = mpirun(count, [args.assay, "watch", TRIALS / trial, "--lag", "0.3", "--every", "0.1", "--out", room / trial])
            said.append(lines_before_report(done.out))
            checks.expect(done.code == 0, "%s on %d ranks: %s" % (trial, count, done))
        checks.expect([line.split()[0] for line in said[0]] == severities and all(trial + ": " in line for line in said[0]),
                      "%s: %s" % (trial, said[0]))
        checks.expect(all(lines == said[0] for lines in said), "%s: other lines on other ranks: %s" % (trial, said))
        first = read_json(room / trial / "report.json")["verdict"]
        checks.expect(not said[0] or any(line.split(": ", 1)[1].split(" (")[0] in first for line in said[0]),
                      "%s: the report begins with a line that was never said: %s" % (trial, first))


def check_so_far(checks, args, room):
    trial, out, metrics = room / "live", room / "so-far", room / "assay.prom"
    shutil.copytree(TRIALS / "linreg_nan", trial)
    (trial / "training_job_end.ts").unlink(missing_ok=True)
    live = Live(args.assay, trial, "--out", out, "--report-every", "0.05", "--metrics", metrics, "--reports", "json,html")
    checks.expect(wait_for(lambda: read_json(out / "report.json").get("verdict", "").startswith("so far: ")),
                  "no report while the training runs")
    checks.expect(wait_for(lambda: (out / "report.html").exists() and "so far: " in (out / "report.html").read_text()), "the page does not say that it is not the last one")
    wait_for(metrics.exists)  # each file comes by itself
    said = metrics.read_text()
    live.end()
    verdict = read_json(out / "report.json").get("verdict", "")
    checks.expect(verdict and not verdict.startswith("so far"), "the last report: %s" % verdict)
    total = sum(r["findings_total"] for r in read_json(out / "report.json")["trials"][0]["rules"])
    counted = [int(n) for n in re.findall(r'^assay_watch_findings\{trial="live",severity="\w+"\} (\d+)$', said, re.M)]
    checks.expect(len(counted) == 3 and sum(counted) == total > 0, "findings: %s\n%s" % (total, said))
    steps = re.search(r"^assay_watch_steps (\d+)$", said, re.M)
    checks.expect(steps and int(steps[1]) > 0 and "# TYPE assay_watch_seconds_since_change gauge" in said, said)


def check_withdrawn(checks, args, room):
    trial, kept = room / "late", room / "kept"
    shutil.copytree(TRIALS / "ddp", trial)
    (trial / "training_job_end.ts").unlink(missing_ok=True)
    index = trial / "index" / "000000000" / "000000000051_worker_3.json"
    shutil.move(index, kept)
    live = Live(args.assay, trial, "--out", room / "out", "--metrics", room / "late.prom")
    missing = 'assay_watch_findings{trial="late",severity="error"} 1'
    checks.expect(wait_for(lambda: missing in ((room / "late.prom").read_text() if (room / "late.prom").exists() else "")),
                  "nobody misses worker_3")
    shutil.move(kept, index)
    wait_for(lambda: missing not in (room / "late.prom").read_text())
    said = lines_before_report(live.end())
    missed = [line for line in said if "worker_3" in line]
    checks.expect([line.split()[0] for line in missed] == ["error", "withdrawn"] and
                  missed[0].split(None, 1)[1] == missed[1].split(None, 1)[1], "\n".join(said))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    args = parser.parse_args()
    if LAUNCHER == "none":
        args.ranks = [1]
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        for number, check in enumerate((check_causes, check_so_far, check_withdrawn)):
            room = Path(folder) / str(number)
            room.mkdir()
            check(checks, args, room)
    return checks.done()


sys.exit(main())
