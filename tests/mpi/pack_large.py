#!/usr/bin/env python3
"""More than 4 GiB in one data set: an event file of 4.5 GiB, nearly all of it a hole, packed compressed and read back.

    pack_large.py --assay PROGRAM --ranks 2 -- TRIAL        TRIAL: what the large file is added to
"""
import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, mpirun  # noqa: E402

SIZE = (9 << 29) + 12345
MARKS = [7, (1 << 31) - 3, (1 << 31) + 5, (1 << 32) - 4, (1 << 32) + 1, SIZE - 8]  # where single bytes are not 0


def main():
    import h5py
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("trial")
    args = parser.parse_args()
    checks = Checks()
    for ranks in args.ranks:
        with tempfile.TemporaryDirectory() as folder:
            trial, packed = Path(folder) / "trial", Path(folder) / "run.h5"
            shutil.copytree(TRIALS / args.trial, trial)
            name = "events/999999999999/999999999999_worker_0.tfevents"
            (trial / name).parent.mkdir()
            with open(trial / name, "wb") as file:
                file.truncate(SIZE)
                for i, at in enumerate(MARKS):
                    file.seek(at)
                    file.write(bytes([i + 1]))
            done = mpirun(ranks, [args.assay, "pack", trial, "-o", packed, "--compress", "--verify"], timeout=1000)
            if not checks.expect(done.code == 3 or done.code == 0, "packing at %d ranks: %s" % (ranks, done)):
                continue
            checks.expect("verified" in done.out, "read back and found equal: %s" % done)
            with h5py.File(packed) as file:
                group = file["trials/trial"]
                names = group["names"][:].tobytes()
                row = next(r for r in group["files"][:] if names[r["name_at"]:r["name_at"] + r["name_length"]] == name.encode())
                checks.expect(row["size"] == SIZE and group["bytes"].shape[0] > SIZE > 1 << 32, "the size survives: %s" % row)
                for i, at in enumerate(MARKS):
                    checks.expect(group["bytes"][int(row["at"]) + at] == i + 1, "the byte at %d survives" % at)
            done = mpirun(ranks, [args.assay, "pack", trial, "-o", packed, "--resume"], timeout=1000)
            checks.expect(done.code == 0 and "complete already" in done.out, "its file list is right: %s" % done)
    checks.done()


if __name__ == "__main__":
    main()
