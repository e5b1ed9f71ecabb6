#!/usr/bin/env python3
"""Seals of checkpoints in S3: the same as in a directory, written as a whole or not at all, and held against what lies there.

    seals.py --assay PROGRAM --ranks 1 3 ...
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import numpy  # noqa: E402
import s3  # noqa: E402
import s3_suite  # noqa: E402
from checkpoints import save_safetensors, save_sharded  # noqa: E402
from s3_server import Server  # noqa: E402
from s3_suite import launch  # noqa: E402


class Suite(s3_suite.Suite):
    def run(self, server, *argv, ranks=1):
        return launch(ranks, [self.assay, *argv], {**s3.environment(server.port, server.key, server.secret), "TMPDIR": str(self.room)})

    def seals(self, server):
        return {key: content for key, (content, _) in server.buckets["runs"].items() if "seal." in key}

    def drop_seals(self, server):
        for key in self.seals(server):
            del server.buckets["runs"][key]
        server.sorted.pop("runs", None)

    def series(self):
        here, rng = self.room / "here", numpy.random.default_rng(5)
        for step in (10, 20):
            save_sharded(here / "sets" / ("checkpoint-%d" % step), {"w%d" % i: rng.normal(size=(40, 50)).astype("float32") for i in range(6)}, 3)
            save_safetensors(here / "files" / ("model_%d.safetensors" % step), {"w": rng.normal(size=(40, 50)).astype("float32")})
        return here

    def all(self):
        here = self.series()
        trees = ("sets", "files")
        with Server() as server:
            server.put_tree("runs", "", here)
            for tree in trees:
                done = self.run(server, "seal", here / tree, "--quiet")
                self.checks.expect(done.code == 0 and done.out.startswith("sealed 2 checkpoints"), "a directory: %s" % done)
            wanted = {p.relative_to(here).as_posix(): p.read_bytes() for p in here.rglob("*seal.*")}
            for ranks in self.ranks:
                self.drop_seals(server)
                for tree in trees:
                    done = self.run(server, "seal", "s3://runs/" + tree, "--quiet", ranks=ranks)
                    self.checks.expect(done.code == 0 and done.out.startswith("sealed 2 checkpoints"), "%d ranks: %s" % (ranks, done))
                    puts = [path for method, path, _ in server.requests if method == "PUT"]
                    self.checks.expect(puts and puts[-2].endswith("seal.json") and puts[-1].endswith("seal.sha256"), "the seal is not before its list: %s" % puts)
                    again = self.run(server, "seal", "s3://runs/" + tree, "--quiet", ranks=ranks)
                    self.checks.expect(again.code == 0 and "2 had a seal" in again.out, "again: %s" % again)
                    sound = self.run(server, "verify", "s3://runs/" + tree, "--quiet", ranks=ranks)
                    self.checks.expect(sound.code == 0 and "neither checksum nor seal" not in sound.out, "verify: %s" % sound)
                self.checks.expect(self.seals(server) == wanted, "%d ranks: other seals: %s" % (ranks, sorted(self.seals(server))))
            self.check_changes(server)
            self.check_refusal(server)

    def check_changes(self, server):
        for tree, key in (("sets", "sets/checkpoint-20/model-00002-of-00003.safetensors"), ("files", "files/model_20.safetensors")):
            content, more = server.buckets["runs"][key]
            server.buckets["runs"][key] = (content[:-9] + bytes([content[-9] ^ 1]) + content[-8:], more)
            done = self.run(server, "verify", "s3://runs/" + tree, "--quiet")
            self.checks.expect(done.code == 3 and "20: damaged" in done.out and "is not what was sealed (bytes " in done.out, "a bit of %s: %s" % (key, done))
            server.buckets["runs"][key] = (content, more)

    def check_refusal(self, server):
        """What cannot be written is not there in part: without its .json nothing is sealed."""
        self.drop_seals(server)
        server.decide = lambda n, method, path: ("status", 403, {}, b"<Error><Code>AccessDenied</Code></Error>") if method == "PUT" and ".json" in path else None
        done = self.run(server, "seal", "s3://runs/sets", "--quiet")
        self.checks.expect(done.code == 4 and "assay-seal.json" in done.err and not self.seals(server), "refused: %s" % done)
        server.decide = None
        done = self.run(server, "verify", "s3://runs/sets", "--quiet")
        self.checks.expect(done.code == 0 and "neither checksum nor seal" in done.out, "no seal: %s" % done)


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite)
