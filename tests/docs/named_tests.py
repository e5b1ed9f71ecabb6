#!/usr/bin/env python3
"""Every test that SECURITY.md and bench/reliability.md name is one of the build, and bench/fuzz.md has how often each fuzz target ran.

    named_tests.py --build DIR --ctest PROGRAM
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from launch import Checks  # noqa: E402

KINDS = ("docs", "e2e", "fuzz", "hook", "install", "laws", "mpi", "python", "rules", "s3", "slurm", "torture", "unit")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--ctest", required=True)
    args = parser.parse_args()
    checks = Checks()
    listed = subprocess.run([args.ctest, "-N"], cwd=args.build, capture_output=True, text=True).stdout
    tests = re.findall(r"^ *Test +#\d+: (\S+)", listed, re.M)
    for page in ("SECURITY.md", "bench/reliability.md"):
        named = {name for name in re.findall(r"`((?:%s)\.[\w.*-]+)`" % "|".join(KINDS), (ROOT / page).read_text())}
        checks.expect(len(named) > 10, "%s names %d tests" % (page, len(named)))
        for name in sorted(named):
            pattern = re.escape(name).replace(r"\*", ".*")
            checks.expect(any(re.fullmatch(pattern, test) for test in tests), "%s names %s, which is no test" % (page, name))
    counts = dict(re.findall(r"`(\w+)` ([\d ]+\d)", (ROOT / "bench" / "fuzz.md").read_text()))
    for target in sorted((ROOT / "tests" / "fuzz").glob("fuzz_*.c")):
        name = target.stem.removeprefix("fuzz_")
        checks.expect(int(counts.pop(name, "0").replace(" ", "")) > 0, "bench/fuzz.md has no executions of %s" % name)
    checks.expect(not counts, "bench/fuzz.md has targets that are none: %s" % sorted(counts))
    checks.done()


if __name__ == "__main__":
    main()
