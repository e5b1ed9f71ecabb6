#!/usr/bin/env python3
"""Without a launcher there is one rank, and MPI is not started unless --mpi says so or a file is written that needs it: the
same report, the same results.h5 and the same packed trial as on several ranks.

    alone.py --assay PROGRAM --ranks 3 -- [hdf5] TRIAL
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import SUITE, TRIALS, Checks, mpirun, run  # noqa: E402
from reports import body_of  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("what", nargs="+")
    args = parser.parse_args()
    checks = Checks()
    writes = ["--reports", "json,hdf5"] if "hdf5" in args.what else []
    trial = TRIALS / args.what[-1]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)

        def analyse(name, how, *more):
            here, sessions = folder / name, folder / (name + "-mpi")
            here.mkdir()
            out = here / "out"  # results.h5 has the command, in which this is the same everywhere
            done = how([args.assay, "run", SUITE, "--trial", trial, "--out", "out", "--quiet", *more], cwd=here,
                       env={"OMPI_MCA_orte_tmpdir_base": str(sessions)})
            checks.expect(done.code == 0, "%s: %s" % (name, done))
            report = (out / "report.json").read_bytes()
            library = json.loads(report)["run"]["mpi"]
            # Open MPI makes this folder when it is started.
            return out, body_of(report), library, sessions.exists()

        _, body, library, started = analyse("alone", run)
        checks.expect(library == "serial" and not started, "without a launcher MPI is not started: %s" % library)
        _, forced, library, started = analyse("forced", run, "--mpi")
        checks.expect(library != "serial" and started, "--mpi starts MPI: %s" % library)
        checks.expect(forced == body, "the report with --mpi is the same")
        for ranks in args.ranks:
            out, several, library, _ = analyse("on-%d" % ranks, lambda *a, **k: mpirun(ranks, *a, **k), *writes)
            checks.expect(library != "serial", "%d ranks have MPI" % ranks)
            checks.expect(several == body or writes, "the report of %d ranks is the same" % ranks)
            if not writes:
                continue
            alone, written, _, started = analyse("alone-%d" % ranks, run, *writes)
            checks.expect(written == several, "the report of one rank that writes results.h5 is that of %d" % ranks)
            same = (alone / "results.h5").read_bytes() == (out / "results.h5").read_bytes()
            checks.expect(started and same, "results.h5 of one rank is that of %d" % ranks)
            packed = [folder / ("packed-%d" % ranks), folder / "packed"]
            for how, path in ((lambda a: mpirun(ranks, a), packed[0]), (run, packed[1])):
                done = how([args.assay, "pack", trial, "--out", path, "--quiet"])
                checks.expect(done.code == 0, "pack: %s" % done)
            checks.expect(packed[0].read_bytes() == packed[1].read_bytes(), "the packed trial of one rank is that of %d" % ranks)
    checks.done()


if __name__ == "__main__":
    main()
