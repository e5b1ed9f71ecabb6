"""s3_watch.py - a trial in S3 that is watched while it grows: looks list what is new, and the last report misses nothing. It waits more
than it works, so it runs beside other tests.

    watched = Watched(assay, room, checks); watched.start(); ...; watched.join()
"""
import threading

import s3
from launch import mpirun
from reports import body_of
from s3_server import Server
from watching import Watch

STEPS = 2500  # three pages of a listing, of the index and of the events


class Watched(threading.Thread):
    def __init__(self, assay, room, checks):
        super().__init__(daemon=True)
        self.assay, self.room, self.checks = assay, room, checks

    def run(self):
        with Server() as server:
            trial = server.put_steps("runs", "t/", STEPS)
            env = s3.environment(server.port, server.key, server.secret)
            watch = Watch(self.assay, 0, None, ["s3://runs/t"], self.room / "watched", "--every", "0.5", "--lag", "1",
                          env=env)
            self.checks.expect(watch.wait_for(lambda: self.looks(server, 0)[-1:] == [True]), "each look lists all: %s" % watch)
            self.check_growth(server, trial, watch)
            self.check_another(server, watch)
            done = mpirun(1, [self.assay, "run", "s3://runs/t", "--out", self.room / "not-watched"], env)
            self.checks.expect(watch.end() == done.code == 0 and body_of(self.room / "watched") == body_of(self.room / "not-watched"),
                               "the last report: %s, %s" % (watch, done))

    @staticmethod
    def looks(server, since):
        """Of each look that is over: does it list what is new alone? In few requests, that is, and of no tree that grows from its
        beginning. Of each look one lists the collections."""
        looks, lists = [], None
        for method, path, _ in server.requests[since:]:
            if "list-type=2" not in path:
                continue
            if "collections" in path:
                if lists:
                    looks.append(len(lists) <= 10 and all("start-after" in p for p in lists if "index" in p or "events" in p))
                lists = []
            elif lists is not None:
                lists.append(path)
        return looks

    def check_growth(self, server, trial, watch):
        since = len(server.requests)
        for step in range(STEPS, STEPS + 3):
            server.put_step(trial, step)
        newest = "events/%012d/" % (STEPS + 2)
        seen = watch.wait_for(lambda: any(newest in path and "list-type" not in path for _, path, _ in server.requests[since:])
                              and len(self.looks(server, since)) >= 3)
        looks = self.looks(server, since)
        self.checks.expect(seen and looks.count(False) <= 1, "looks at a trial that grows: %s, %s" % (looks, watch))  # the twentieth
        self.checks.expect(not any("prefix=t%2Ftraining_job_end.ts" in path for _, path, _ in server.requests),
                           "a directory was listed that the listing above it does not have")
        gets = [path for _, path, _ in server.requests[since:] if "list-type" not in path and "collections" not in path]
        self.checks.expect(len(gets) <= 12, "%d GETs for three steps: %s" % (len(gets), gets[:20]))

    def check_another(self, server, watch):
        """Another trial at its place, with fewer steps; then a worker that nobody expected, early and late."""
        with server.lock:
            for key in [key for key in server.buckets["runs"] if "/events/" in key or "/index/" in key]:
                del server.buckets["runs"][key]
            server.sorted.clear()
        trial = server.put_steps("runs", "t/", 1200)
        trial.workers.append("worker_9")
        for step in (3, 1199):
            trial.step(step, "TRAIN", step, {"worker_9": {"loss": 2.0}})
        trial.end()
