#!/usr/bin/env python3
"""What goes wrong with packed files is said once and clearly, with the right exit code, and never leaves a file that looks
complete: foreign and damaged files, places that cannot be written to, full disks, failing ranks, killed runs.

    pack_failures.py --assay PROGRAM --ranks 3 -- CASE...      CASE: bad, faults, killed, disk, full
"""
import argparse
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, SUITE, TRIALS, Checks, environment, mpirun, run  # noqa: E402
from records import crc32c  # noqa: E402

TRIAL = TRIALS / "ddp_partial"
STEPS = [1, 2, 3, 5, 8, 15, 30, 70, 170, 400, 1000, 5000, 100000]


def errors(done):
    return [line for line in done.err.splitlines() if line.startswith("assay: error:")]


def refused(checks, done, code, *words):
    """One message that has the words, the exit code, no hang."""
    said = errors(done)
    checks.expect(not done.hung and done.code == code and len(said) == 1 and all(w in said[0] for w in words),
                  "expected exit %d and one message with %s: %s" % (code, words, done))


def left(folder):
    return sorted(p.name for p in Path(folder).iterdir())


# ---- files that are not as they should be

SUMMED = ("files", "names", "checksums", "parts", "entries", "tensors", "tensor_names")


def edit(path, change, seal=False):
    """Changes a packed file; `seal`: with checksums that fit, as if it had been packed so."""
    import h5py
    import numpy
    with h5py.File(path, "r+") as file:
        trial = file["trials/ddp_partial"]
        change(file, trial)
        if seal:
            sums = []
            for rows in (trial[name][:] for name in SUMMED):
                step = 1 << (20 if rows.itemsize == 1 else 16)
                sums += [crc32c(rows[at:at + step].tobytes()) for at in range(0, len(rows), step)]
            trial["table_checksums"][...] = numpy.array(sums, "<u4")


def set_version(file, trial):
    file.attrs.modify("version", 99)


def remove_complete(file, trial):
    del file.attrs["complete"]


def remove_trial(file, trial):
    del file["trials/ddp_partial"]


def remove_tensors(file, trial):
    del trial["tensors"]


def set_row(table, row, column, value):
    def change(file, trial):
        rows = trial[table][:]
        rows[row][column] = value
        trial[table][...] = rows
    return change


def check_bad(checks, assay, ranks, folder):
    import h5py
    good = folder / "good.h5"
    checks.expect(mpirun(ranks, [assay, "pack", TRIAL, "-o", good]).code == 0, "packing")
    bad = folder / "bad.h5"
    with h5py.File(bad, "w") as file:
        file["numbers"] = [1, 2, 3]
    refused(checks, mpirun(ranks, [assay, "run", SUITE, "--trial", bad, "--out", folder / "out"]), 2, "`assay pack` does not write")
    bad.write_bytes(b"not HDF5 at all")
    refused(checks, mpirun(1, [assay, "ls", bad]), 2, "not a directory", "assay pack")
    for size in (100, 2048, good.stat().st_size // 2, good.stat().st_size - 1):
        bad.write_bytes(good.read_bytes()[:size])
        refused(checks, mpirun(ranks, [assay, "unpack", bad, "-o", folder / "tree"]), 2, "bad.h5", "cut short")
    cases = [(set_version, "newer assay"), (remove_complete, "not finished"), (remove_trial, "0 trials"), (remove_tensors, "tensors"),
             (set_row("files", 5, "at", 1 << 60), "row 5 of files"), (set_row("files", 3, "name_length", 0), "row 3 of files"),
             (set_row("files", 2, "name_at", 0), "row 2 of files"), (set_row("parts", 4, "first_entry", 1 << 50), "row 4 of parts"),
             (set_row("parts", 4, "step", 0), "row 4 of parts"), (set_row("tensors", 1, "name_at", 1 << 40), "row 1 of tensors")]
    for change, words in cases:
        row = words.startswith("row ")
        shutil.copy(good, bad)
        edit(bad, change, seal=row)
        refused(checks, mpirun(1, [assay, "ls", bad]), 2, "bad.h5", words)
        if row:
            shutil.copy(good, bad)
            edit(bad, change)
            refused(checks, mpirun(1, [assay, "ls", bad]), 2, "bad.h5", "do not match their checksum")
    check_wrong_index(checks, assay, ranks, folder, good, bad)
    checks.expect(left(folder) == ["bad.h5", "good.h5"], "nothing was written: %s" % left(folder))


def check_wrong_index(checks, assay, ranks, folder, good, bad):
    """Tables and bytes that only show to be wrong when they are used: named problems, and --verify finds them."""
    cases = [set_row("entries", 7, "tensor", 1 << 30), set_row("entries", 7, "length", 3), set_row("entries", 7, "kind", 99),
             set_row("entries", 7, "offset", 1 << 62), set_row("parts", 3, "mode", 77)]
    for change in cases:
        shutil.copy(good, bad)
        edit(bad, change)
        done = mpirun(ranks, [assay, "run", SUITE, "--trial", bad, "--out", folder / "out", "--quiet"])
        checks.expect(done.code in (1, 2, 3) and "checksum" in done.out + done.err, "a table with a wrong checksum: %s" % done)
        shutil.rmtree(folder / "out", True)
        shutil.copy(good, bad)
        edit(bad, change, seal=True)
        done = mpirun(ranks, [assay, "run", SUITE, "--trial", bad, "--out", folder / "out", "--quiet"])
        checks.expect(done.code == 3 and "damaged" in done.out, "a wrong row is a named problem: %s" % done)
        shutil.rmtree(folder / "out")
        refused(checks, mpirun(ranks, [assay, "pack", "ddp_partial=%s" % TRIAL, "-o", bad, "--resume", "--verify"]), 2, "is not what is in")
    shutil.copy(good, bad)
    edit(bad, lambda file, trial: trial["bytes"].write_direct(1 - trial["bytes"][:] % 2))
    refused(checks, mpirun(ranks, [assay, "unpack", bad, "-o", folder / "tree"]), 4, "checksum")


# ---- ranks that fail

def check_faults(checks, assay, ranks, folder):
    shown = {}
    for kind, command in (("write", ["pack"]), ("read", ["pack", "--verify"]), ("alloc", ["pack"]), ("write", ["unpack"])):
        checks.expect(mpirun(1, [assay, "pack", TRIAL, "-o", folder / "in.h5"]).code == 0, "packing")
        for rank in (0, ranks - 1):
            for n in STEPS:
                fault = "%s:%d@rank%d" % (kind, n, rank)
                source = TRIAL if command[0] == "pack" else folder / "in.h5"
                done = mpirun(ranks, [assay, command[0], source, "-o", folder / "out"] + command[1:], env={"ASSAY_FAULT": fault}, timeout=60)
                checks.expect(not done.hung, "%s %s: hung: %s" % (command, fault, done))
                if done.code in (0, 3) and (folder / "out").exists(): # not reached, or a damage that was carried
                    subprocess.run(["rm", "-rf", folder / "out"])
                    if done.code == 0 and n > 20:
                        break
                    continue
                shown[command[0], kind, rank] = n
                checks.expect(done.code in (2, 4) and len(errors(done)) == 1 and left(folder) == ["in.h5"],
                              "%s %s: one message, and nothing left: %s %s" % (command, fault, left(folder), done))
    print("the last N that showed: %s" % shown)
    checks.expect(len(shown) == 8, "faults of every kind showed on both ranks: %s" % shown)


# ---- runs that are killed

def check_killed(checks, assay, ranks, folder):
    trial = folder / "trial"
    shutil.copytree(TRIAL, trial)
    event = sorted(trial.glob("events/*/*.tfevents"))[-1]
    os.truncate(event, 3 << 30)                              # with a hole: what takes long is packing it
    out = folder / "run.h5"
    argv = [LAUNCHER, "-n", str(ranks), assay, "pack", trial, "-o", out, "--compress"]
    process = subprocess.Popen([str(a) for a in argv], env=environment(), start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    part, end = folder / "run.h5.part", time.monotonic() + 60
    while time.monotonic() < end and not (part.exists() and part.stat().st_size > 5000):
        time.sleep(0.02)
    running = process.poll() is None
    for child in subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True).stdout.split():
        os.kill(int(child), signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    checks.expect(running and part.exists() and not out.exists(), "killed in the middle: only the unfinished file is there")
    for foreign in (False, True):  # what an unpacking that was killed has left goes with the next one, and nothing else does
        shutil.rmtree(folder / "tree", True)
        begun = folder / "tree.part" / "index"
        shutil.copytree(TRIAL / "index", begun)
        cut = next(path for path in begun.rglob("*.json"))
        cut.write_bytes(cut.read_bytes()[:5])
        if foreign:
            (folder / "tree.part" / "mine").write_text("mine")
        whole = folder / "whole.h5"
        mpirun(1, [assay, "pack", TRIAL, "-o", whole, "--quiet"]) if not whole.exists() else None
        done = mpirun(ranks, [assay, "unpack", whole, "-o", folder / "tree"])
        if foreign:
            refused(checks, done, 2, "of something else")
            checks.expect((folder / "tree.part" / "mine").read_text() == "mine", "what is not from unpacking stays")
            shutil.rmtree(folder / "tree.part")
        else:
            checks.expect(done.code == 0 and not (folder / "tree.part").exists() and
                          all((folder / "tree" / p.relative_to(TRIAL)).read_bytes() == p.read_bytes() for p in TRIAL.rglob("*.json")),
                          "unpacked over what a kill left: %s" % done)
    shutil.rmtree(folder / "tree", True)
    shutil.copytree(TRIAL / "index", folder / "tree.part" / "index")  # as another unpacking writes it
    lock = os.open(folder / "tree.part", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    refused(checks, mpirun(ranks, [assay, "unpack", whole, "-o", folder / "tree"]), 2, "another unpacking writes there")
    checks.expect((folder / "tree.part" / "index").is_dir() and not (folder / "tree").exists(), "what another unpacking writes is left alone")
    os.close(lock)
    shutil.rmtree(folder / "tree.part")
    whole.unlink()
    done = mpirun(1, [assay, "ls", part])
    checks.expect(done.code == 2 and len(errors(done)) == 1, "an unfinished file is no trial: %s" % done)
    os.truncate(event, 1000)  # before its last records, which packing says
    done = mpirun(ranks, [assay, "pack", trial, "-o", out, "--resume"])
    checks.expect(done.code == 3 and "packed anew from the start" in done.err and left(folder) == ["run.h5", "trial"],
                  "--resume begins again, and says so: %s" % done)
    stamp = out.stat().st_mtime_ns
    done = mpirun(ranks, [assay, "pack", trial, "-o", out, "--resume", "--verify"])
    checks.expect(done.code == 0 and "complete already, and equal" in done.out and out.stat().st_mtime_ns == stamp,
                  "--resume leaves a complete file alone: %s" % done)
    os.truncate(event, 900)
    done = mpirun(ranks, [assay, "pack", trial, "-o", out, "--resume"])
    checks.expect(done.code == 3 and "packed anew" in done.err, "--resume packs a trial that changed anew: %s" % done)


# ---- places that cannot be written to

def check_disk(checks, assay, ranks, folder):
    """In a mount name space of its own: a disk without room, and one without write permission."""
    script = ("mkdir -p %(at)s && mount -t tmpfs -o size=3m tmpfs %(at)s && %(mount)s \"$@\"; code=$?; ls -A %(at)s >&2; exit $code")
    at = folder / "disk"
    trial = TRIALS / "ddp"
    commands = [("full", "true && ", ["pack", trial, "-o", at / "run.h5"]), ("full", "", ["unpack", folder / "in.h5", "-o", at / "tree"]),
                ("read-only", "mount -o remount,ro %s &&" % at, ["pack", trial, "-o", at / "run.h5"]),
                ("read-only", "mount -o remount,ro %s &&" % at, ["stats", trial, "-o", at / "s.csv"]),
                ("read-only", "mount -o remount,ro %s &&" % at, ["stats", trial, "-o", at / "s.h5"])]
    checks.expect(mpirun(1, [assay, "pack", trial, "-o", folder / "in.h5"]).code == 0, "packing")
    for what, mount, command in commands:
        done = run(["unshare", "-m", "sh", "-c", script % {"at": at, "mount": mount}, "sh", LAUNCHER, "-n", str(ranks), assay] + command)
        if "unshare failed" in done.err or "must be superuser" in done.err:
            sys.exit(77)
        refused(checks, done, 4, str(at), "full" if what == "full" and command[0] == "pack" else "")
        checks.expect("run.h5" not in done.err.splitlines()[-1] and "tree" not in done.err.splitlines()[-1],
                      "nothing is left on the disk: %s" % done)
    refused(checks, mpirun(ranks, [assay, "pack", trial, "-o", folder / "no" / "such" / "run.h5"]), 4, "cannot create")
    refused(checks, mpirun(ranks, [assay, "unpack", folder / "in.h5", "-o", folder]), 2, "it is not empty")


def check_full(checks, assay, ranks, folder, shim):
    """Writes that fail at any point, on a disk that could not reserve room: one message, exit 4 within seconds, nothing left.
    Without a launcher too, where HDF5 used to end within MPI_Finalize()."""
    job = folder / "job.json"
    job.write_text('{"rules": [{"rule": "VanishingGradient"}], "output": {"formats": ["hdf5"]}}')
    commands = [["pack", TRIAL, "-o", folder / "out" / "run.h5"], ["run", job, "--trial", TRIAL, "--out", folder / "out"]]
    for command in commands:
        for at in (1, 2):
            (folder / "out").mkdir()
            full = ["env", "LD_PRELOAD=%s" % shim, "ASSAY_FULL_AT=%d" % at, assay, *command]
            done = run(full) if ranks == 1 else run([LAUNCHER, "-n", str(ranks), *full])
            checks.expect(not done.hung and done.code == 4 and "error: " in done.err and "cannot write" in done.err and
                          "Segmentation" not in done.err, "%s, full from write %d on: %s" % (command[0], at, done))
            checks.expect(left(folder / "out") == [], "what is left: %s" % left(folder / "out"))
            shutil.rmtree(folder / "out")


def check_planted(checks, assay, ranks, folder, shim):
    """A link that somebody puts in the place of a file while the trial is unpacked: nothing is written through it."""
    mine, name = folder / "mine", "training_job_end.ts"
    checks.expect(mpirun(1, [assay, "pack", TRIAL, "-o", folder / "in.h5"]).code == 0, "packing")
    for target in (mine, folder / "none"):  # also one that is not there yet
        mine.write_text("mine")
        done = run([LAUNCHER, "-n", str(ranks), "env", "LD_PRELOAD=%s" % shim, "PLANT_AT=%s" % (folder / "tree.part" / name),
                    "PLANT_TARGET=%s" % target, assay, "unpack", folder / "in.h5", "-o", folder / "tree"])
        refused(checks, done, 4, name, "File exists")
        checks.expect(mine.read_text() == "mine" and left(folder) == ["in.h5", "mine"], "written through a link: %s" % left(folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("cases", nargs="+", choices=["bad", "faults", "killed", "disk", "full", "planted"])
    args = parser.parse_args()
    checks = Checks()
    functions = {"bad": check_bad, "faults": check_faults, "killed": check_killed, "disk": check_disk,
                 "full": partial(check_full, shim=os.environ.get("ASSAY_FULL_DISK")),  # what makes disks full
                 "planted": partial(check_planted, shim=os.environ.get("ASSAY_PLANT"))}
    for case in args.cases:
        for ranks in args.ranks:
            with tempfile.TemporaryDirectory() as folder:
                functions[case](checks, args.assay, ranks, Path(folder))
    checks.done()


if __name__ == "__main__":
    main()
