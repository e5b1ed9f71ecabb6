"""s3_suite.py - what the scripts of tests/s3 share: a folder for files, checks, expected refusals, the end.

    class Suite(s3_suite.Suite):
        def all(self): ...
    s3_suite.main(__doc__, Suite, "--no-pack")       options.no_pack
"""
import argparse
import shutil
import tempfile
from pathlib import Path

from launch import Checks, mpirun, run


def launch(ranks, argv, env=None, **more):
    """As mpirun(); one rank needs no launcher, which is most of what a small run takes."""
    return run(argv, env, **more) if ranks == 1 else mpirun(ranks, argv, env, **more)


class Suite:
    def __init__(self, options):
        self.options, self.assay, self.ranks = options, options.assay, options.ranks
        self.checks, self.room = Checks(), Path(tempfile.mkdtemp(prefix="assay-s3-"))

    def file(self, name, text):
        path = self.room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def expect_refusal(self, what, done, words, code=2):
        """One line, with these words in it, and the code."""
        lines = done.err.strip().splitlines()
        self.checks.expect(done.code == code and len(lines) == 1 and all(word in lines[0] for word in words), "%s %s: %s" % (what, words, done))


def main(doc, suite, *flags, **choices):
    """`choices`: options with a value, of which the first is the default; None: any value, "none" by default."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    for name, values in choices.items():
        parser.add_argument("--" + name, choices=values, default=values[0] if values else "none")
    tests = suite(parser.parse_args())
    tests.all()
    shutil.rmtree(tests.room, ignore_errors=True)
    tests.checks.done()
