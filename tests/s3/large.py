#!/usr/bin/env python3
"""Much in S3: a trial of 100 000 objects, and a checkpoint of 5 GB that is read by ranges within --memory. The server is of this test:
the 5 GB are a hole.

    large.py --assay PROGRAM --ranks 1 3 ...
"""
import json
import resource
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from launch import run  # noqa: E402
from reports import body_of, report_of  # noqa: E402
from s3_server import Hole, Server  # noqa: E402
from s3_suite import launch  # noqa: E402

STEPS, GB = 50000, 1 << 30


class Suite(s3_suite.Suite):
    def env(self, server):
        return s3.environment(server.port, server.key, server.secret)

    def check_many(self):
        """An index file and an event file for each of 50 000 steps. Nothing is asked for twice, and nothing one by one."""
        with Server() as server:
            server.put_steps("runs", "t/", STEPS).end()
            for ranks in self.ranks:
                before, began = len(server.requests), time.monotonic()
                out = self.room / "many"
                done = launch(ranks, [self.assay, "run", "s3://runs/t", "--out", out, "--allow-no-data", "--reports", "json"], self.env(server), timeout=900)
                asked = server.requests[before:]
                lists = sum("list-type=2" in path for _, path, _ in asked)
                report = report_of(out) if body_of(out) else {"trials": [{"modes": {}}]}
                steps = sum(mode["steps"] for mode in report["trials"][0]["modes"].values())
                print("%d ranks: %d listings and %d GETs in %.1f s" % (ranks, lists, len(asked) - lists, time.monotonic() - began), flush=True)
                self.checks.expect(done.code in (0, 1) and steps == STEPS, "%d steps of %d: %s" % (steps, STEPS, done))
                self.checks.expect(lists <= 2 * STEPS // 1000 + 60, "%d listings" % lists)
                self.checks.expect(len(asked) - lists <= 2 * STEPS + 100 * ranks, "%d GETs" % (len(asked) - lists))

    def check_large(self):
        """A tensor of 5 GB in a file of safetensors, zero but for its last element, among small ones."""
        size = 5 * GB
        head = json.dumps({"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]},
                           "b": {"dtype": "F32", "shape": [2], "data_offsets": [size, size + 8]}}).encode()
        head += b" " * (-len(head) % 8)
        front = struct.pack("<Q", len(head)) + head
        whole = Hole(len(front) + size + 8, {0: front, len(front) + size - 4: struct.pack("<f", float("nan")),
                                             len(front) + size: struct.pack("<2f", 1, 2)})
        job = self.room / "job.json"
        job.write_text(json.dumps({"rules": [{"rule": "ExplodingTensor"}]}))
        with Server() as server:
            server.put("runs", "t/step-1.safetensors", whole)
            server.put("runs", "t/step-2.safetensors", Hole(len(front) + size + 8, {0: front}))
            out, began = self.room / "large", time.monotonic()
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            done = run([self.assay, "run", job, "s3://runs/t", "--memory", "256M", "--steps", "1:2", "--out", out], self.env(server), timeout=900)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            report = report_of(out) if done.code == 0 else {}
            found = report["trials"][0]["rules"][0] if report else {}
            print("5 GB in %.1f s, %d MiB of memory at most" % (time.monotonic() - began, peak // 1024), flush=True)
            self.checks.expect(done.code == 0 and found["findings_total"] == 1 and found["first"]["tensor"].endswith("w"), "5 GB: %s" % done)
            self.checks.expect(peak <= max(before, (256 + 96) << 10), "%d KiB of memory for --memory 256M" % peak)
            asked = [headers["Range"] for _, path, headers in server.requests if "step-1" in path and "Range" in headers]
            self.checks.expect(size // (8 << 20) <= len(asked) <= size // (8 << 20) + 8, "%d ranges" % len(asked))

    def check_stall(self):
        """A server that says nothing is left after half a minute, and asked again."""
        with Server(lambda number, method, path: "stall" if number == 2 else None) as server:
            server.put_steps("runs", "t/", 3).end()
            done = run([self.assay, "ls", "s3://runs/t"], self.env(server))
            self.checks.expect(done.code == 0 and 30 <= done.seconds and len({path for _, path, _ in server.requests}) < len(server.requests),
                               "a server that stalls: %s" % done)

    def all(self):
        self.check_stall()
        self.check_large()
        self.check_many()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite)
