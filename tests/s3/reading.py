#!/usr/bin/env python3
"""Trials in S3 as every command reads them, from a real server: the report of the directory, byte for byte but for the path, at any
number of ranks; patterns, lists of trials, odd keys, prefixes of other trials' names; what cannot be read is one clear message.

    reading.py --assay PROGRAM --ranks 1 2 3 ... [--no-pack] [--server swift|s3rver]
"""
import json
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from launch import TRIALS  # noqa: E402
from reports import body_of  # noqa: E402
from s3_server import Hole, Server  # noqa: E402
from s3_suite import launch  # noqa: E402

ODD = "sp ace/plus+per%41cent=eq&amp;\u00e9\u00fc//doubled"  # the end of a key's prefix; "//" is a directory without a name


class Suite(s3_suite.Suite):
    def run(self, *argv, ranks=1, **env):
        return launch(ranks, [self.assay, *argv], {**self.env, **env})

    def body(self, trial, ranks=1, job=()):
        """The report of a trial that is called T, with its path taken out."""
        out = self.room / "report"
        shutil.rmtree(out, ignore_errors=True)
        done = self.run("run", *job, "T=" + str(trial), "--out", out, ranks=ranks)
        body = body_of(out)
        place = json.dumps(str(trial), ensure_ascii=False)[1:-1].encode()
        return done, body and body.replace(b"'" + place + b"'", place).replace(place, b"PATH")

    # ---- what is read ----

    def check_reports(self):
        for name in ("ddp", "healthy", "reductions"):
            done, wanted = self.body(TRIALS / name)
            self.checks.expect(done.code == 0 and wanted, "%s from the directory: %s" % (name, done))
            for ranks in self.ranks if name == "ddp" else [1]:
                done, body = self.body("s3://runs/" + name, ranks)
                self.checks.expect(done.code == 0 and body == wanted, "%s at %d ranks: %s" % (name, ranks, done))

    def check_commands(self):
        """The other commands, from the tests' own server, which answers as the real one does (check_likeness) and sooner."""
        with Server() as server:
            server.put_tree("runs", "healthy/", TRIALS / "healthy")
            self.ask_commands(s3.environment(server.port, server.key, server.secret))

    def ask_commands(self, env):
        same = [("ls", "{}"), ("ls", "{}", "--json"), ("show", "{}", "CrossEntropyLoss_output_0", "--json")]
        for command in same:
            there, here = (self.run(*(word.format(place) for word in command), **env) for place in ("s3://runs/healthy", TRIALS / "healthy"))
            self.checks.expect(there.code == here.code == 0 and there.out.replace("s3://runs/healthy", str(TRIALS / "healthy")) == here.out,
                               "%s: %s" % (command, there))
        tables = []
        for number, place in enumerate(("s3://runs/healthy", TRIALS / "healthy")):
            table = self.room / ("stats%d.csv" % number)
            done = self.run("stats", place, "-o", table, ranks=self.several, **env)
            self.checks.expect(done.code == 0, "stats: %s" % done)
            tables.append(table.read_bytes() if table.exists() else number)
        self.checks.expect(tables[0] == tables[1], "stats of the bucket and of the directory differ")
        done = self.run("check", "--trial", "s3://runs/healthy", **env)
        self.checks.expect(done.code == 0 and "SaturatedActivation" in done.err, "check: %s" % done)
        if not self.options.no_pack:
            packed = self.room / "packed.h5"
            done = self.run("pack", "s3://runs/healthy", "-o", packed, "--verify", ranks=self.several, **env)
            self.checks.expect(done.code == 0 and "verified" in done.out, "pack: %s" % done)
            self.checks.expect(self.body(packed)[1] == self.body(TRIALS / "healthy")[1], "the report of the packed trial is another one")

    def check_packing(self):
        """Packing reads each piece of a large object once: nobody has to read of it to know its size."""
        with Server() as server:
            server.put_tree("runs", "healthy/", TRIALS / "healthy")
            server.put("runs", "healthy/notes.bin", Hole(20 << 20, {5: b"five"}))
            packed = self.room / "large.h5"
            done = self.run("pack", "s3://runs/healthy", "-o", packed, **s3.environment(server.port, server.key, server.secret))
            gets = [path for _, path, _ in server.requests if path.endswith("/notes.bin")]
            self.checks.expect(done.code == 0 and len(gets) == 3, "%d GETs of 3 pieces: %s" % (len(gets), done))
            packed.unlink(missing_ok=True)

    def check_output(self):
        here = self.room / "out"
        argv = ["run", "ddp=s3://runs/ddp", "--reports", "json,text,csv,html", "--out"]
        wanted, done = self.run(*argv, here), self.run(*argv, "s3://odd/a report+", ranks=self.several)
        keys = self.client.keys("odd", "a report+/")
        self.checks.expect(wanted.code == done.code == 0 and sorted(keys) == sorted("a report+/" + p.name for p in here.iterdir()),
                           "a report: %s %s" % (keys, done))
        same = [body_of(self.client.get("odd", "a report+/report.json")) == body_of(here),
                self.client.get("odd", "a report+/findings.csv") == (here / "findings.csv").read_bytes()]
        self.checks.expect(all(same), "the report in S3 is another one: %s" % same)

    def check_patterns(self):
        out = self.room / "compare"
        done = self.run("compare", "s3://runs/d*", "--out", out, ranks=self.several)
        names = [t["name"] for t in json.loads((out / "report.json").read_text())["trials"]] if done.code in (0, 1) else []
        self.checks.expect(names == ["ddp", "dead_relu"], "compare with a pattern: %s %s" % (names, done))
        listed = self.room / "trials"
        listed.write_text("# two\ns3://runs/he?lthy\nother=s3://runs/[d]dp/\n")
        done = self.run("run", "--trials-from", listed, "--out", out)
        names = [t["name"] for t in json.loads((out / "report.json").read_text())["trials"]] if done.code == 0 else []
        self.checks.expect(names == ["healthy", "other"], "--trials-from: %s %s" % (names, done))
        done = self.run("compare", "s3://runs/none*", "--out", out)
        self.checks.expect(done.code == 2 and "matches no prefix" in done.err, "a pattern that matches nothing: %s" % done)

    def check_keys(self):
        """Prefixes with everything in them, and one that another trial's name begins with."""
        tree = TRIALS / "linreg_nan"
        wanted = self.body(tree)[1]
        for prefix in (ODD, "trial/1", "trial/17"):
            self.client.put_tree("odd", prefix + "/", tree)
            done, body = self.body("s3://odd/" + prefix)
            self.checks.expect(body == wanted, "%s: %s" % (prefix, done))
        self.client.put_tree("whole", "", tree)  # the empty prefix
        for place in ("s3://whole", "s3://whole/"):
            done, body = self.body(place)
            self.checks.expect(body == wanted, "%s: %s" % (place, done))
        self.client.put("odd", "trial/1/", b"")  # as consoles make directories
        self.client.put("odd", "trial/1/index/", b"")
        done, body = self.body("s3://odd/trial/1")
        self.checks.expect(body == wanted, "directories of a console: %s" % done)

    # ---- what is not ----

    def refused(self, words, place, code=2, **env):
        self.expect_refusal(place, self.run("ls", place, **env), words, code)

    def check_refusals(self):
        self.refused(["s3://runs/dd", "no object lies there"], "s3://runs/dd")
        self.refused(["s3://missing-bucket/x", "no such bucket", "NoSuchBucket"], "s3://missing-bucket/x")
        self.refused(["no!", "not the name of a bucket"], "s3://no!/x")
        done = self.run("watch", "s3://runs/healthy", "--out", self.room / "watched")
        self.checks.expect(done.code == 0 and "requests an hour" in done.err and body_of(self.room / "watched"), "watch: %s" % done)
        self.refused(["check key and secret", "AWS_ACCESS_KEY_ID"], "s3://runs/ddp", AWS_SECRET_ACCESS_KEY="wrong")
        followed = self.run("ls", "s3://runs/ddp", AWS_REGION="eu-north-1")  # the server says which it is
        self.checks.expect(followed.code == 0 and not followed.err, "another region: %s" % followed)
        nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        self.refused(["no credentials for S3", "AWS_ACCESS_KEY_ID", "default", "AWS_WEB_IDENTITY_TOKEN_FILE",
                      "AWS_CONTAINER_CREDENTIALS", "AWS_EC2_METADATA_DISABLED", "--s3-unsigned"], "s3://runs/ddp", **nobody)
        self.refused(["cannot connect", "check the endpoint"], "s3://runs/ddp", AWS_ENDPOINT_URL="http://127.0.0.1:1", AWS_MAX_ATTEMPTS="2")
        self.refused(["speak https"], "s3://runs/ddp", AWS_ENDPOINT_URL=self.env["AWS_ENDPOINT_URL"].replace("http:", "https:"),
                     AWS_MAX_ATTEMPTS="2")
        self.refused(["http:// or https://"], "s3://runs/ddp", AWS_ENDPOINT_URL="ftp://127.0.0.1")
        self.refused(["AWS_MAX_ATTEMPTS"], "s3://runs/ddp", AWS_MAX_ATTEMPTS="many")
        # An address for documentation, which no request goes to: the build refuses it in tests.
        self.refused(["not a loopback address"], "s3://runs/ddp", AWS_ENDPOINT_URL="http://192.0.2.1")

    def check_likeness(self):
        """The tests' own server answers as this one does: what is tested with that one is true of real ones."""
        with Server() as other:
            other.put_tree("runs", "ddp/", TRIALS / "ddp")
            key = sorted(other.buckets["runs"])[5]
            size = len(other.buckets["runs"][key][0])
            for name, bucket, key, query, headers in (
                    ("a range", "runs", key, None, {"Range": "bytes=3-7"}), ("over the end", "runs", key, None, {"Range": "bytes=3-8388607"}),
                    ("behind the end", "runs", key, None, {"Range": "bytes=%d-" % size + str(size + 9)}),
                    ("another one", "runs", key, None, {"If-Match": '"0123"'}), ("no key", "runs", "none", None, {}), ("no bucket", "nobody", "x", None, {})):
                here, there = (client.ask("GET", bucket, key, query, headers=headers) for client in (self.client, other.client))
                code = [re.findall(b"<Code>(.*)</Code>", answer[2]) for answer in (here, there)]
                same = here[0] == there[0] and (here[2] == there[2] if here[0] < 300 else here[0] == 416 or code[0] == code[1])
                ranges = [answer[1].get("Content-Range") for answer in (here, there)]
                self.checks.expect(same and (here[0] != 206 or ranges[0] == ranges[1]), "%s: %s and %s" % (name, here, there))
            pages = [client.expect("GET", "runs", query={"list-type": "2", "prefix": "ddp/", "delimiter": "/", "encoding-type": "url"})[1]
                     for client in (self.client, other.client)]
            words = [set(re.findall(rb"<(?:Key|Prefix)>(ddp/[^<]+)<|<Size>(\d+)<|<ETag>([^<]*)<", page.replace(b"&quot;", b'"')))
                     for page in pages]
            self.checks.expect(words[0] == words[1] and len(words[0]) > 3, "listings: %s and %s" % tuple(words))

    def check_damage(self):
        """An object that is missing is a problem of the report, and the rest goes on."""
        tree = self.room / "damaged"
        shutil.copytree(TRIALS / "healthy", tree)
        lost = sorted(tree.glob("events/*/*"))[3]
        lost.unlink()
        self.client.put_tree("odd", "damaged/", tree)
        here, there = self.body(tree), self.body("s3://odd/damaged", self.several)
        self.checks.expect(here[0].code == there[0].code == 3 and here[1] == there[1], "a missing object: %s" % there[0])

    def all(self):
        if self.options.server == "s3rver" and not s3.S3rver.program.exists():
            print("did not run: %s is not there; tests/run installs it: npm install --prefix build-s3rver s3rver@3.7.1" % s3.S3rver.program)
            sys.exit(77)
        self.several = min(2, self.ranks[-1])
        with s3.SERVERS[self.options.server]() as server:
            self.client, self.env = server.client, {**s3.environment(server.port, server.key, server.secret), **s3.PATIENT}
            self.check_all()

    def check_all(self):
        for bucket in ("runs", "odd", "whole"):
            self.client.make_bucket(bucket)
        for name in ("ddp", "healthy", "reductions", "dead_relu"):
            self.client.put_tree("runs", name + "/", TRIALS / name)
        self.check_reports()
        self.check_output()
        self.check_patterns()
        self.check_damage()
        if self.options.server == "swift":  # the other server takes every signature, and what is no matter of servers is asked once
            self.check_likeness()
            self.check_commands()
            if not self.options.no_pack:
                self.check_packing()
            self.check_keys()
            self.check_refusals()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite, "--no-pack", server=("swift", "s3rver"))
