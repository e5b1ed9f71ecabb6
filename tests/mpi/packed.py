#!/usr/bin/env python3
"""A packed trial is the trial: the same bytes at any number of ranks, the same report, and the same tree when it is unpacked.

    packed.py --assay PROGRAM --ranks 1 2 4 7 -- CASE TRIAL...      CASE: whole, damaged
"""
import argparse
import filecmp
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, SUITE, TRIALS, Checks, mpirun  # noqa: E402
from reports import body_of  # noqa: E402


def tree(folder):
    """{path: bytes, None for a directory} of everything below a folder."""
    return {p.relative_to(folder).as_posix(): None if p.is_dir() else p.read_bytes() for p in sorted(Path(folder).rglob("*"))}


def report(checks, assay, ranks, where, name, code):
    """The report's body on the trial called `name` in the folder `where`."""
    out = where / ("out-%d" % ranks)
    done = mpirun(ranks, [assay, "run", SUITE, "--trial", name, "--out", out, "--quiet"], cwd=where)
    if checks.expect(done.code == code, "run on %s/%s at %d ranks: expected exit %d: %s" % (where, name, ranks, code, done)):
        return body_of((out / "report.json").read_bytes())
    return None


def listing(assay, where, name):
    return [mpirun(1, [assay, "ls", name] + more, cwd=where).out for more in ([], ["--json"])]


class Trial:
    """A trial beside its packed form under the same name, so that reports say the same path."""

    def __init__(self, folder, name):
        self.name = name
        self.directories, self.files = folder / "directories", folder / "files"
        for place in (self.directories, self.files):
            place.mkdir(exist_ok=True)
        self.original, self.packed = self.directories / name, self.files / name
        shutil.copytree(TRIALS / name, self.original)


def check(checks, assay, trial, ranks, pack_code, run_code, restored):
    first = None
    for n in ranks:
        done = mpirun(n, [assay, "pack", trial.original, "-o", trial.packed, "--verify"])
        if not checks.expect(done.code == pack_code, "packing %s at %d ranks: %s" % (trial.name, n, done)):
            return
        checks.expect("verified" in done.out, "packing says that it verified: %s" % done)
        bytes_now = trial.packed.read_bytes()
        first = first or bytes_now
        checks.expect(bytes_now == first, "%s: the file differs at %d ranks" % (trial.name, n))
        back = trial.files / ("back-%d" % n)
        done = mpirun(n, [assay, "unpack", trial.packed, "-o", back])
        if checks.expect(done.code == pack_code, "unpacking %s at %d ranks: %s" % (trial.name, n, done)):
            checks.expect(tree(back) == restored, "%s: unpacked at %d ranks it is another tree" % (trial.name, n))
            shutil.rmtree(back)
        checks.expect(not list(trial.files.glob("*.part")), "nothing unfinished is left")
    expected = report(checks, assay, 1, trial.directories, trial.name, run_code)
    for n in ranks:
        checks.expect(expected and report(checks, assay, n, trial.files, trial.name, run_code) == expected,
                      "%s: another report from the packed trial at %d ranks" % (trial.name, n))
    checks.expect(listing(assay, trial.files, trial.name) == listing(assay, trial.directories, trial.name),
                  "%s: assay ls says something else" % trial.name)


def check_whole(checks, assay, trial, ranks):
    check(checks, assay, trial, ranks, 0, 0, tree(trial.original))
    compressed = []
    for n in ranks:
        path = trial.files / ("compressed-%d.h5" % n)
        done = mpirun(n, [assay, "pack", trial.original, "-o", path, "--compress", "--verify"])
        checks.expect(done.code == 0, "packing %s compressed at %d ranks: %s" % (trial.name, n, done))
        compressed.append(path)
    checks.expect(all(filecmp.cmp(compressed[0], other, False) for other in compressed),
                  "%s: the compressed file depends on the ranks" % trial.name)
    again = trial.files / "again.h5"
    done = mpirun(ranks[-1], [assay, "pack", "%s=%s" % (trial.name, compressed[0]), "-o", again])
    checks.expect(done.code == 0 and filecmp.cmp(again, trial.packed, False), "packed from the compressed file: %s" % done)
    two = trial.files / "two.h5"
    done = mpirun(2, [assay, "pack", "a=%s" % trial.original, "b=%s" % again, "-o", two])
    checks.expect(done.code == 0, "two trials in a file: %s" % done)
    done = mpirun(2, [assay, "unpack", "%s/b" % two, "-o", trial.files / "b"])
    checks.expect(done.code == 0 and tree(trial.files / "b") == tree(trial.original), "the second trial of a file: %s" % done)
    done = mpirun(1, [assay, "ls", two])
    checks.expect(done.code == 2 and "holds 2 trials" in done.err, "two trials, and none is named: %s" % done)


def damage(trial):
    """Every kind of damage and oddity at once; returns the tree that unpacking gives."""
    index = sorted(trial.original.glob("index/*/*.json"))
    events = sorted(trial.original.glob("events/*/*.tfevents"))
    index[1].write_bytes(index[1].read_bytes()[:-40])        # cut
    index[2].unlink()
    index[2].mkdir()                                         # a directory where a file should be
    index[3].write_text(index[3].read_text().replace('"start_idx": 0', '"start_idx": -5', 1))
    events[1].unlink()                                       # missing
    events[2].write_bytes(events[2].read_bytes()[:1000])     # cut
    broken = bytearray(events[3].read_bytes())
    broken[200] ^= 0xff
    events[3].write_bytes(broken)
    (trial.original / "events" / "000000000777").mkdir()     # empty, and no index file
    (trial.original / "tensorboard").mkdir()
    (trial.original / "tensorboard" / "names with ümlauts and spaces").write_bytes(b"")
    (trial.original / "index" / "000000000" / "what.json").write_text("{}")
    (trial.original / ".hidden.tmp").write_text("passing")
    restored = tree(trial.original)
    del restored[index[2].relative_to(trial.original).as_posix()]
    os.mkfifo(events[1])                                     # no regular files: cannot be read, nor be put back
    return restored


def check_behind(checks, assay, ranks):
    """What stands behind the end of a packed file is named, and changes nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.h5"
        shutil.copy(ROOT / "tests" / "data" / "packed" / "small.h5", path)
        with open(path, "ab") as file:
            file.write(b"more")
        for n in ranks:
            body = report(checks, assay, n, Path(folder), path.name, 0) or b""
            checks.expect(b'"bytes-behind"' in body and b"4 bytes stand behind the end" in body, "bytes behind the end, %d ranks: %s" % (n, body[:400]))


def check_damaged(checks, assay, trial, ranks):
    check(checks, assay, trial, ranks, 3, 3, damage(trial))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("case", choices=["whole", "damaged"])
    parser.add_argument("trials", nargs="+")
    args = parser.parse_args()
    checks = Checks()
    if args.case == "damaged":
        check_behind(checks, args.assay, args.ranks)
    for name in args.trials:
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(Path(folder), name)
            {"whole": check_whole, "damaged": check_damaged}[args.case](checks, args.assay, trial, args.ranks)
    checks.done()


if __name__ == "__main__":
    main()
