"""full_disk.py - a disk that fills up: the training goes on, whole steps are lost and counted, none is left in halves,
and recording goes on when there is room again.

Usage: full_disk.py STEADY WORK_DIR        (mounts a tmpfs in a namespace of its own: root, or user namespaces)
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tfevents  # noqa: E402

STEPS, TENSORS, ELEMENTS = 60, 4, 5000


def enter_namespace():
    flags = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--map-root-user"]
    os.execvp("unshare", ["unshare"] + flags + [sys.executable, os.path.abspath(__file__), "--inside"] + sys.argv[1:])


def counts_of(text):
    words = text.splitlines()[-1].split()
    return {key: int(value) for key, value in zip(words[::2], words[1::2])}


def whole_steps(trial):
    found = tfevents.Trial(trial, check=False)
    for step in found.steps.values():
        assert len(step.tensors) == TENSORS
    for folder, _, files in os.walk(trial):
        for file in files:
            assert not file.endswith(".tmp"), "%s/%s is left" % (folder, file)
            if file.endswith(".tfevents"):
                assert (int(file[:12]), "worker_0") in found.steps, "%s has no index" % file
    return sorted(step for step, _ in found.steps)


def record(steady, trial):
    done = subprocess.run([steady, trial, str(STEPS), str(TENSORS), str(ELEMENTS), "durable", "true"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return counts_of(done.stdout), done.stderr


def main():
    if sys.argv[1] != "--inside":
        enter_namespace()
    steady, work = sys.argv[2:4]
    disk = os.path.join(work, "disk")
    os.makedirs(disk, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
    counts, said = record(steady, os.path.join(disk, "full"))
    steps = whole_steps(os.path.join(disk, "full"))
    print("full disk: %d of %d steps, %s" % (len(steps), STEPS, counts))
    assert 0 < len(steps) < STEPS and steps == list(range(len(steps)))
    lost = STEPS - len(steps)
    assert counts == {"errors": lost, "dropped": lost * TENSORS, "steps": len(steps), "status": -4}
    assert said.count("could not record everything") == 1 and "No space left" in said, said
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    counts, said = record(steady, os.path.join(disk, "room"))
    assert counts == {"errors": 0, "dropped": 0, "steps": STEPS, "status": 0}, counts
    assert said.count("\n") == 1 and "nothing dropped" in said and "warning" not in said, said
    assert whole_steps(os.path.join(disk, "room")) == list(range(STEPS))


if __name__ == "__main__":
    main()
