#!/usr/bin/env python3
"""Every call fails once: what assay then writes is what it writes without faults, or it says what failed.

    walk.py --assay PROGRAM --shim LIBRARY [--ranks N] [--rank R] [--every | --growth N] [--only TEXT] [--set NAME] [--hdf5]
            [--reader PROGRAM] [KIND...]

For each command of subjects.py, the N-th call of a kind (fail_call.c) fails, for N from 1 until that call is not reached any more; without
--every with gaps that grow. KIND=ERROR is a kind with another error than its own, "read=ESTALE". The kind `disk` is another one: what is
written goes to a disk of N blocks, until all of it fits. With `short` no call fails: each read gives a part of what was asked for.
Allowed ends:
  the exit code, the output and the files of a run without faults
  exit 3 (or 0, when the run without faults has it), with a report that has a problem more, or a rule in error
  exit 2 or 4, and one error line at least; files are those of a run without faults, or are not there
"""
import argparse
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun, run  # noqa: E402
from subjects import SETS, Subjects, commands  # noqa: E402

ENOENT, EIO, ENOMEM, EMFILE, ENOSPC = 2, 5, 12, 24, 28
ERRORS = {"alloc": [ENOMEM], "open": [EMFILE, EIO], "read": [EIO], "stat": [EIO], "close": [EIO], "write": [ENOSPC],
          "fsync": [EIO], "rename": [EIO], "mkdir": [ENOSPC], "readdir": [EIO], "disk": [ENOSPC]}
BLOCK = 4096
TIMEOUT = 60


def settle(data, name):
    """The bytes of a file that are the same in each run."""
    if name == "report.json":
        cut = data.find(b'\n "run":')
        data = data[:cut] if cut >= 0 else data
    if name == ".assay-files":
        data = re.sub(rb"[0-9a-f]{64}", b"HASH", data)
    if name == "report.html":
        data = data[:data.rfind(b"How this report was made")]
    # What is asked for ahead, or of another rank, and not had is read in its turn.
    data = re.sub(rb"Read [0-9.]+ [kMGT]?B in [0-9]+ records", b"Read 0 B in 0 records", data)
    return re.sub(rb"[0-9.]+ s\b", b"0 s", data)


class Command:
    def __init__(self, args, name, argv, ranks, folder, environment):
        self.args, self.name, self.argv, self.ranks, self.environment = args, name, argv, ranks, environment
        self.folder = Path(folder)
        self.disk = self.folder / "disk"
        self.disk.mkdir(exist_ok=True)
        self.place = self.disk / "out"
        first, second = self.once()[1:], self.once()[1:]
        self.code = first[0].code
        self.masked = {n for n in first[1] if first[1][n] != second[1].get(n)}
        self.text = first[0].out if first[0].out == second[0].out else None
        self.files = first[1]
        self.shape = {n: self.blank(first[1][n]) for n in self.masked}
        unlike = [n for n in self.masked if self.shape[n] != self.blank(second[1][n])]
        if unlike or self.code not in (0, 1, 3):
            raise SystemExit("%s: not the same twice: %s %s" % (name, unlike, first[0]))

    @staticmethod
    def blank(data):
        """Without numbers, which are times."""
        return re.sub(rb"[0-9.]+", b"0", data)

    def once(self, fault=None):
        if not (fault or "").startswith("disk:"):
            return self.run(fault)
        blocks = int(fault.split(":")[1])
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % (blocks * BLOCK), "tmpfs", self.disk], check=True)
        try:
            return True, *self.run(None)[1:]
        finally:
            subprocess.run(["umount", self.disk], check=True)

    def run(self, fault):
        """Did the call fail, how did the command end, and what has it written?"""
        shutil.rmtree(self.place, True)
        mark = self.folder / "mark"
        mark.unlink(missing_ok=True)
        if self.argv[0] in ("stats", "pack"):
            self.place.mkdir()  # takes no block
        argv = [str(a).replace("OUT", str(self.place)) for a in self.argv]
        argv = argv if isinstance(self.argv[0], Path) else [self.args.assay] + argv
        env = {"FAIL_CALL": fault, "FAIL_MARK": str(mark), "FAIL_PROGRAM": Path(argv[0]).name, "FAIL_RANK": str(min(self.args.rank, self.ranks - 1)),
               "LD_PRELOAD": self.args.shim} if fault else {}
        env.update(self.environment)
        done = run(argv, env=env, timeout=TIMEOUT) if self.ranks == 1 else mpirun(self.ranks, argv, env=env, timeout=TIMEOUT)
        files = {}
        if self.place.is_dir():
            for path in sorted(self.place.rglob("*")):
                if path.is_file():
                    name = re.sub(r"\d{10}\.", "N.", str(path.relative_to(self.place)))
                    files[name] = settle(path.read_bytes(), path.name)
        done.out = settle(done.out.encode(), "").decode()
        return mark.exists(), done, files

    def same(self, name, data):
        if name in self.masked:
            return self.blank(data) == self.shape[name]
        return data == self.files.get(name)

    def judge(self, checks, fault):
        reached, done, files = self.once(fault)
        where = "%s, %d ranks, %s" % (self.name, self.ranks, fault)
        if not reached and not (done.hung or done.code is None):
            return None
        if not checks.expect(not done.hung and done.code is not None and 0 <= done.code <= 4, "%s: %s" % (where, done)):
            return "bad"
        wrong = [n for n in files if not self.same(n, files[n]) and n != "state"]  # a checkpoint is what is left of a run
        missing = [n for n in self.files if n not in files]
        if done.code == self.code and not wrong and not missing and (self.text is None or done.out == self.text):
            return "same"
        if done.code in (2, 4):
            errors = [line for line in done.err.splitlines() if line.startswith(("assay:", "error: "))]
            fine = checks.expect(errors, "%s: exit %d without a word: %s" % (where, done.code, done))
            fine &= checks.expect(not wrong, "%s: exit %d and other contents in %s" % (where, done.code, wrong))
            return "exit %d" % done.code if fine else "bad"
        told = self.told(files) or "run" not in self.argv and done.code == 3 and bool(done.err.strip() or done.out.strip())
        told = told or isinstance(self.argv[0], Path) and "remark: " in done.err
        told = told or self.argv[0] == "ls" and re.search(r"^[0-9]+ found|\"kind\": \"damaged-facts\"", done.out, re.M)  # or a remark
        told = told or self.argv[0] == "compare" and re.search(r"could not be read|damaged or missing|\"state\": \"unread\"|\"kind\": \"",
                                                               done.out.replace("\n", " "))
        told = told or self.argv[0] == "watch" and not wrong and not missing  # a look that failed is told, and the next is right
        checks.expect(told, "%s: exit %d, other contents in %s, missing %s%s" %
                      (where, done.code, wrong, missing, ", other output" if self.text not in (None, done.out) else ""))
        return "told" if told else "bad"

    def told(self, files):
        if "report.json" not in files:
            return False
        try:
            now, before = (json.loads(f["report.json"].rstrip(b", \n") + b"}") for f in (files, self.files))
        except ValueError:
            return False
        count = [sum(len(t["problems"]) + sum(r.get("status") == "Error" for r in t["rules"]) for t in r["trials"]) for r in (now, before)]
        return count[0] > count[1]


def numbers(first, every, growth):
    """N, N + 1 ... or with gaps that grow: each is larger than the one before by a share of 1 / growth."""
    n = first
    while True:
        yield n
        n += 1 if every else max(1, n // growth)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rank", type=int, default=1 << 30, help="whose calls fail; the last one's")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--only", action="append", help="commands whose name has this text")
    parser.add_argument("--set", action="append", choices=list(SETS), help="commands of this set")
    parser.add_argument("--growth", type=int, default=3)
    parser.add_argument("--hdf5", action="store_true")
    parser.add_argument("--reader", help="the program of read_recording.c")
    parser.add_argument("kinds", nargs="*")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        subjects = Subjects(folder, args.assay, args.reader)
        for name, argv, parallel in commands(subjects, args.hdf5, args.set or list(SETS)):
            if not any(part in name for part in args.only or [""]) or (args.ranks > 1 and not parallel):
                continue
            command = Command(args, name, argv, args.ranks, folder, subjects.environment.get(name, {}))
            for kind in args.kinds or list(ERRORS):
                kind, _, other = kind.partition("=")
                if kind == "short":
                    command.environment = dict(command.environment, ASSAY_FAULT="cold:1+,short:1+")
                    done, files = command.run(None)[1:]
                    checks.expect(done.code == command.code and set(files) == set(command.files) and command.text in (None, done.out) and
                                  all(command.same(n, files[n]) for n in files), "%s on %d ranks, short reads: %s" % (name, args.ranks, done))
                    continue
                if kind == "disk" and (os.geteuid() != 0 or not command.files):
                    continue
                for error in [getattr(errno, other)] if other else ERRORS[kind]:
                    ends = {}
                    # The first two allocations are the communicator's: a rank that fails there is the launcher's to notice, which
                    # sees no exit code through mpirun() of launch.py.
                    for n in numbers(3 if kind == "alloc" and args.ranks > 1 else 1, args.every, args.growth):
                        end = command.judge(checks, "%s:%d:%d" % (kind, n, error))
                        if end is None:
                            break
                        ends[end] = ends.get(end, 0) + 1
                        if kind == "disk" and end == "same":
                            break
                    print("%s on %d ranks, %s %d: up to %d: %s" % (name, args.ranks, kind, error, n, ends), flush=True)
    checks.done()


if __name__ == "__main__":
    main()
