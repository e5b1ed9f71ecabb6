#!/usr/bin/env python3
"""What assay pilot and slurm/launch.sh make of answers that a sound Slurm gives at rare moments only: a state that nobody knows,
a launcher that fails with an exit code of assay's, or ends in the very moment of a signal. And of a pilot that is a rank itself.
Commands that stand in PATH before Slurm's give the answers.

    slurm_answers.py --assay PROGRAM
"""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, TRIALS, Checks, mpirun, run  # noqa: E402

# One job, number 7, whose state is in the file `state`.
COMMANDS = {
    "sbatch": 'env >submitted; echo PENDING >state; echo 7',
    "squeue": '! [ -e state ] || case "$*" in *states=all*) echo 7;; esac',
    "scontrol": 'case $1 in release) echo RUNNING >state;; *) echo "JobId=7 JobState=$(cat state) ExitCode=0:0";; esac',
    "scancel": 'echo CANCELLED >state',
    "sacct": 'echo "Slurm accounting storage is disabled" >&2; exit 1',
    # Begins as `mpirun -n 1 assay`, and cannot start it any more when the training has ended.
    "launcher": '[ ! -e started ] || { echo COMPLETED >state; echo "no slots" >&2; exit 1; }\n'
                'touch started; cp -r "%s" "runs/$(basename "$4")"; exec "$ASSAY" "$@"' % (TRIALS / "healthy"),
}


def pilot(assay, directory, start=run, commands=None, **monitor):
    (directory / "bin").mkdir()
    for name, text in dict(COMMANDS, **(commands or {})).items():
        (directory / "bin" / name).write_text("#!/bin/sh\n%s\n" % text)
        (directory / "bin" / name).chmod(0o755)
    (directory / "train.sbatch").write_text("#!/bin/sh\n")
    (directory / "rules.json").write_text(json.dumps({"rules": [{"rule": "ExplodingTensor"}]}))
    state = directory / "state.json"
    state.write_text(json.dumps({"run_spec": {"base_job_name": "x"}, "launch": {"script": "train.sbatch"}, "strategies": [],
                                 "monitor": dict({"job": "rules.json", "poll_seconds": 0.1}, **monitor)}))
    state.chmod(0o600)
    done = start([assay, "pilot", "state.json"], {"PATH": "%s:%s" % (directory / "bin", os.environ["PATH"]), "ASSAY": assay},
               cwd=directory)
    return done, json.loads(state.read_text()), state.stat().st_mode & 0o777


def test_old_report(checks, assay, directory):
    """The report of an earlier look is not the verdict on a training that has ended since."""
    done, state, mode = pilot(assay, directory, command=["launcher"])
    checks.expect(done.code == 4 and "an older one: launcher: exit status 1: no slots" in done.err, "an old report: %s" % done)
    checks.expect(state["next_action"] == "monitor", "it stays to be judged: %s" % state)
    checks.expect(mode == 0o600, "a state that is closed to others stays so: %o" % mode)


def test_unknown_state(checks, assay, directory):
    """A job whose state is not understood has not ended: no other training may be launched beside it."""
    done, state, _ = pilot(assay, directory, commands={"scontrol": COMMANDS["scontrol"].replace("RUNNING", "GARBAGE")})
    checks.expect(done.code == 4 and 'job 7 the state "GARBAGE"' in done.err, "a state that is none: %s" % done)
    checks.expect((state["next_action"], state["job_status"]) == ("monitor", "Pending"), "it is not taken for an end: %s" % state)


def test_under_a_launcher(checks, assay, directory):
    """A pilot that is a rank itself: its runs, one after the other, and its job are none of that launcher's."""
    looks = """
case $1 in release)
    for name in $(sed -n 's/.*"latest_job_name": "\\(.*\\)".*/\\1/p' state.json); do cp -r "%s" "runs/$name"; done
    echo RUNNING >state;;
*)
    echo look >>looks
    [ $(wc -l <looks) -lt 4 ] || echo COMPLETED >state
    echo "JobId=7 JobState=$(cat state) ExitCode=0:0";;
esac""" % (TRIALS / "healthy")
    def start(argv, env, **more): # an mpirun that is started by its whole path puts its own directory before PATH
        return mpirun(1, ["env", "PATH=" + env["PATH"], *argv], env, **more)
    done, state, _ = pilot(assay, directory, start, {"scontrol": looks})
    checks.expect(done.code == 0 and state["history"]["num_monitor_transitions"] == 3, "looks again and again: %s" % done)
    names = [line.split("=")[0] for line in (directory / "submitted").read_text().splitlines()]
    checks.expect("ASSAY_PILOT_NAME" in names and not {"PMIX_RANK", "OMPI_COMM_WORLD_RANK"} & set(names), "submits: %s" % names)


def test_signal_at_the_end(checks, _, directory):
    """The launcher ends while the shell handles the signal: its exit code counts all the same."""
    script = directory / "watch.sh"
    script.write_text("""
. "%s"
srun() { exec bash -c 'trap "exit 3" USR1; touch ready; while :; do sleep 0.02; done'; }
kill() { builtin kill "$@" || return; [ "$1" = -0 ] || while builtin kill -0 "$launcher" 2>/dev/null; do sleep 0.02; done; }
LAUNCH=srun
(while [ ! -e ready ]; do sleep 0.02; done; builtin kill -USR1 $$) &
assay_watch job.json
""" % (ROOT / "slurm" / "launch.sh"))
    done = run(["bash", script], cwd=directory)
    checks.expect(done.code == 3, "the launcher's exit code: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay = os.path.abspath(parser.parse_args().assay)
    checks = Checks()
    for test in (test_old_report, test_unknown_state, test_under_a_launcher, test_signal_at_the_end):
        with tempfile.TemporaryDirectory() as directory:
            test(checks, assay, Path(directory))
    checks.done()


if __name__ == "__main__":
    main()
