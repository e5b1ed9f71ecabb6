#!/usr/bin/env python3
"""assay verify: what it says of sound checkpoints in every layout, and of the same with damage planted.

    verify.py --assay PROGRAM [--group NAME ...]
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import damaged_checkpoints  # noqa: E402
from launch import Checks, mpirun, run  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--group", nargs="*", default=None)
    args, checks = parser.parse_args(), Checks()
    groups = [g for g in damaged_checkpoints.ALL if not args.group or g.__name__ in args.group]
    mark = Path(damaged_checkpoints.Runs.mark)
    mark.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-verify-") as work:
        def seal(path):
            done = run([args.assay, "seal", path, "--quiet"])
            checks.expect(done.code == 0 and done.out.startswith("sealed 2 checkpoints, "), "seal %s: %s" % (path.name, done))
            for listed in path.rglob("*.sha256"):
                checks.expect(subprocess.run(["sha256sum", "--quiet", "-c", listed.name], cwd=listed.parent).returncode == 0, "sha256sum: %s" % listed)
            again = run([args.assay, "seal", path, "--quiet"])
            checks.expect(again.code == 0 and "sealed 0 checkpoints" in again.out and "2 had a seal" in again.out, "seal again: %s" % again)

        every = list(damaged_checkpoints.cases(Path(work), groups))
        if not args.group or "seal_and_flip" in args.group:
            every += damaged_checkpoints.seal_and_flip(Path(work) / "seals", seal)
        for case in every:
            done = run([args.assay, "verify", case.path, "--quiet", *case.options])
            first = done.out.split("\n", 1)[0]
            right = done.code == case.code if case.code is not None else done.code != 0
            checks.expect(right and (not case.says or re.search(case.says, first)), "%s %s: exit %s, not %s: %s\n%s" % (
                case.name, case.options, done.code, case.code, first, done.err))
        root = damaged_checkpoints.spread(Path(work) / "ranks", "dcp")
        damaged = next(p for p in damaged_checkpoints.newest(root) if p.suffix == ".distcp")
        for offset, size, _ in damaged_checkpoints.summed(damaged)[::3]:
            damaged_checkpoints.flip(damaged, offset + size // 2)
        said = [mpirun(ranks, [args.assay, "verify", root, "--json", "--quiet"]) for ranks in (1, 3)]
        checks.expect(said[0].code == said[1].code == 3 and said[0].out == said[1].out, "one and three ranks: %s\n%s" % tuple(said))
        bad = Path(work) / "run" / "model.pt"
        damaged_checkpoints.put(bad, {"w": damaged_checkpoints.torch.ones(2), "x": damaged_checkpoints.Runs()})
        done = run([args.assay, "run", bad, "--quiet", "--out", Path(work) / "out"])
        checks.expect(done.code == 3 and re.search("model.pt: loading this runs (os|posix).system", done.out.split("\n", 1)[0]), "run: %s" % done)
    checks.expect(not mark.exists(), "something of a pickle was run")
    checks.done()


if __name__ == "__main__":
    main()
