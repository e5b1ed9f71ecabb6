"""goes_on.py - nothing stops a training: values and names that cannot be recorded, children that were forked, limits of file
sizes, a disk that does not answer.

Usage: goes_on.py STEADY SHIM WORK_DIR
"""
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings

import assay_hook
import numpy


def hook_in(work, name, **more):
    return assay_hook.Hook(os.path.join(work, name), include_collections=["default", "losses"],
                           save_config=assay_hook.SaveConfig(save_interval=1), **more)


def check_values(work):
    """One warning for all of it, and what can be recorded is."""
    class Odd:
        def __array__(self, *_, **__):
            raise RuntimeError("no array")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        hook = hook_in(work, "values")
        hook.step()
        for value in (None, "text", [], 10 ** 400, 1j, object()):
            hook.save_scalar("x", value)
        for name in (None, 7, b"bytes", "\ud800", "a" * 5000, ""):
            hook.save_scalar(name, 1.0)
            hook.save_tensor(name, numpy.ones(3))
        for value in (None, Odd(), object(), [[1], [1, 2]], 10 ** 400, numpy.zeros(3, dtype="M8[s]")):
            hook.save_tensor("odd", value)
        hook.record_tensor_value(None, numpy.ones(2))
        hook.seek(None, assay_hook.modes.TRAIN, 1)
        hook.save_tensor("good", numpy.ones(3))
        hook.close()
    assert len(said) == 1 and "the training goes on" in str(said[0].message), [str(w.message) for w in said]
    index = [os.path.join(d, f) for d, _, fs in os.walk(os.path.join(work, "values", "index")) for f in fs]
    assert any("good" in open(f).read() for f in index), index
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # even where warnings are errors
        hook = hook_in(work, "strict")
        hook.step()
        hook.save_scalar("x", None)
        hook.close()


def check_fork(work):
    """A child that saves, flushes and closes leaves the parent's trial alone, and ends."""
    hook = hook_in(work, "fork")
    hook.step()
    hook.save_tensor("t", numpy.ones(10))
    child = os.fork()
    if child == 0:
        hook._pid = os.getpid()  # as code in C would do it: nothing of Python stands between
        hook.save_tensor("u", numpy.ones(10))
        hook.step()
        hook.flush()
        hook.close()
        os._exit(7)
    until = time.monotonic() + 20
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        assert time.monotonic() < until, "the child hangs"
        time.sleep(0.05)
    assert not os.path.exists(os.path.join(work, "fork", "training_job_end.ts")), "the child has ended the training"
    hook.close()
    assert os.path.exists(os.path.join(work, "fork", "training_job_end.ts"))


def check_limit(steady, work):
    done = subprocess.run([steady, os.path.join(work, "limit"), "20", "4", "50000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    assert done.returncode >= 0 and "could not record" in done.stderr, done


def check_stalled(steady, shim, work):
    """A disk that stops answering: the first full queue waits for the limit, closing once more, and each is said."""
    for policy in "block", "drop":
        trial = os.path.join(work, "stalled-" + policy)
        env = dict(os.environ, LD_PRELOAD=shim, ASSAY_STALL_AT="40")
        start = time.monotonic()
        done = subprocess.run([steady, trial, "400", "4", "5000", "queue_memory", "200000", "queue_policy", policy, "stall_seconds", "1"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, env=env)
        took = time.monotonic() - start
        assert done.returncode == 0 and took < 20, (policy, took, done)
        assert "the disk took nothing for 1 s" in done.stderr and "not written" in done.stderr, done
        assert done.stderr.count("assay:") == 2, done.stderr


def check_stalled_paths(steady, shim, work):
    """A disk that is dead from the beginning, or at any file later on: the training goes on, ends, and it is said. Steps are lost, no time."""
    parts = ["/claims/", ".assay-hook-", "worker_0.open", "/run/", "/events/", "/index/", "/collections/", "worker_0.closed", "training_job_end",
             "/system/", "/framework/"]
    running = []
    for part in parts:
        trial = os.path.join(work, "dead-%d" % len(running), "claims" if part == "/claims/" else "trial")
        env = dict(os.environ, LD_PRELOAD=shim, ASSAY_STALL_PATH=part)
        running.append((part, subprocess.Popen(
            [steady, trial, "40", "4", "5000", "queue_memory", "200000", "queue_policy", "block", "stall_seconds", "1", "timeline", "true",
             "system_metrics_interval", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)))
    for part, process in running:
        out, said = process.communicate(timeout=60)
        print("%s: %s %s" % (part, out.splitlines()[-1:], said))
        assert process.returncode == 0, (part, process.returncode, said)
        first = part in ("/claims/", ".assay-hook-", "worker_0.open", "worker_0.closed", "/run/")  # a claim that is closed is looked for
        wanted = "nothing is recorded" if first else "without an answer of the disk"
        assert wanted in said and 1 <= said.count("assay:") <= 3, (part, said)
    env = dict(os.environ, LD_PRELOAD=shim, ASSAY_STALL_PATH="dead-listing")
    code = "import assay_hook; h = assay_hook.Hook(%r, stall_seconds=1); h.step(); h.save_scalar('x', 1.0); h.close()" % os.path.join(work, "dead-listing")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, env=env)
    assert done.returncode == 0 and "nothing is recorded" in done.stderr, done


def main():
    steady, shim, work = sys.argv[1:4]
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    check_values(work)
    check_fork(work)
    check_limit(steady, work)
    check_stalled(steady, shim, work)
    check_stalled_paths(steady, shim, work)


if __name__ == "__main__":
    main()
