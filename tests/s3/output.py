#!/usr/bin/env python3
"""Reports that go to S3: every form, byte for byte what a directory gets, report.json last; what cannot be written is one message and
exit code 4, found out before the run where it can be; and the log of actions, which is kept beside them.

    output.py --assay PROGRAM --ranks 1 3 ... [--no-hdf5]
"""
import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from launch import TRIALS  # noqa: E402
from reports import body_of  # noqa: E402
from s3_server import Server  # noqa: E402
from s3_suite import launch  # noqa: E402

DENIED = ("status", 403, {}, b"<Error><Code>AccessDenied</Code></Error>")
FORMS = "json,text,csv,junit,markdown,tensorboard,html"


class Suite(s3_suite.Suite):
    def run(self, server, *argv, ranks=1, **more):
        env = {**s3.environment(server.port, server.key, server.secret), "TMPDIR": str(self.room), **more}
        return launch(ranks, [self.assay, *argv], env)

    def files(self, server, prefix):
        """Those of a report, without the list of them."""
        return {key[len(prefix):]: content for key, (content, _) in server.buckets["out"].items() if key.startswith(prefix) and not key.endswith(".assay-files")}

    def check_forms(self):
        here, forms = self.room / "here", FORMS + ("" if self.options.no_hdf5 else ",hdf5")
        for ranks in self.ranks:
            with Server() as server:
                server.buckets["out"] = {}
                shutil.rmtree(here, ignore_errors=True)
                argv = ["run", TRIALS / "ddp", "--reports", forms, "--out"]
                wanted, done = self.run(server, *argv, here, ranks=ranks), self.run(server, *argv, "s3://out/a b/+", ranks=ranks)
                files = self.files(server, "a b/+/")
                names = {p.relative_to(here).as_posix(): p for p in here.rglob("[!.]*") if p.is_file()}
                self.checks.expect(done.code == wanted.code == 0 and set(files) == set(names), "%s: %s" % (sorted(files), done))
                for name, path in names.items():  # report.json and report.html tell how they were started, results.h5 too
                    there, same = files.get(name, b""), path.read_bytes()
                    if name == "report.json":
                        there, same = body_of(there), body_of(same)
                    if name == "report.txt":  # whose last line tells how long it took
                        there, same = there.rpartition(b"\nRead ")[0], same.rpartition(b"\nRead ")[0]
                    self.checks.expect(there and (there == same or name in ("report.html", "results.h5")), "%s differs" % name)
                puts = [path for method, path, _ in server.requests if method == "PUT"]
                self.checks.expect(puts and puts[-1] == "/out/a%20b/%2B/report.json" and puts[-2].endswith("/.assay-files") and len(puts) == len(names) + 1, "put in order: %s" % puts)
                self.checks.expect(not server.uploads and not list(self.room.glob("assay-report-*")), "something is left behind")

    def check_commands(self):
        with Server() as server:
            server.buckets["out"] = {}
            for name in ("healthy", "ddp"):
                server.put_tree("runs", name + "/", TRIALS / name)
            done = self.run(server, "compare", "s3://runs/*", "--out", "s3://out/compared", ranks=self.ranks[-1])
            self.checks.expect(done.code == 0 and set(self.files(server, "compared/")) == {"report.json", "report.txt"}, "compare: %s" % done)
            done = self.run(server, "watch", "s3://runs/healthy", "--out", "s3://out")
            self.checks.expect(done.code == 0 and "report.json" in self.files(server, ""), "watch, no prefix: %s" % done)
            job = self.room / "job.json"
            job.write_text(json.dumps({"trials": ["s3://runs/ddp"], "rules": [{"rule": "ExplodingTensor"}], "output": {"directory": "s3://out/job"}}))
            done = self.run(server, "run", job, "--dry-run")
            self.checks.expect(done.code == 0 and not self.files(server, "job/"), "a dry run: %s" % done)
            done = self.run(server, "run", job)
            self.checks.expect(done.code == 0 and "report.json" in self.files(server, "job/"), "the job's directory: %s" % done)

    def check_replacing(self):
        """As in a directory: a report of the same trials is replaced; another one, and what no report left there, only where that is wished."""
        with Server() as server:
            server.buckets["out"] = {}
            ddp, nan = TRIALS / "ddp", TRIALS / "linreg_nan"
            run = lambda trial, *more, **env: self.run(server, "run", trial, "--out", "s3://out/r", *more, **{"ASSAY_OVERWRITE": "", **env})  # noqa: E731
            for ranks in (1, self.ranks[-1]):
                done = self.run(server, "run", ddp, "--out", "s3://out/r", ranks=ranks, ASSAY_OVERWRITE="")
                self.checks.expect(done.code == 0 and "replaced" not in done.err, "the same trial: %s" % done)
            before = dict(self.files(server, "r/"))
            for argv in (["run", nan], ["compare", nan, TRIALS / "healthy"]):
                self.refused("another trial", server, ["s3://out/r: has the report of another trial", str(ddp), "--overwrite"], *argv, "--out", "s3://out/r", code=2, ASSAY_OVERWRITE="")
            self.checks.expect(self.files(server, "r/") == before, "a report that was refused is changed")
            for done in (run(nan, "--overwrite"), run(ddp, ASSAY_OVERWRITE="1")):
                self.checks.expect(done.code == 0, "--overwrite: %s" % done)
            self.checks.expect(run(ddp).code == 0, "what was written over is of another trial still")
            server.put("out", "mine/report.json", b"{}")
            self.refused("a file of somebody", server, ["s3://out/mine/report.json: no report of assay"], "run", nan, "--out", "s3://out/mine", code=2, ASSAY_OVERWRITE="")
            server.put("out", "mine/.assay-files", b"something")
            self.refused("a list of somebody", server, ["s3://out/mine/report.json: no report of assay"], "run", nan, "--out", "s3://out/mine", code=2, ASSAY_OVERWRITE="")
            server.decide = lambda n, method, path: DENIED if method == "GET" else None
            done = run(nan)
            self.checks.expect(done.code == 0 and "it could not be looked at" in done.err, "write, and not read: %s" % done)
            server.decide = lambda n, method, path: DENIED if method == "PUT" and ".assay-files" in path else None
            self.refused("the list", server, ["s3://out/x/.assay-files"], "run", nan, "--out", "s3://out/x")
            self.checks.expect("x/report.json" not in server.buckets["out"], "report.json without its list")

    def refused(self, what, server, words, *argv, code=4, **more):
        self.expect_refusal(what, self.run(server, *argv, **more), words, code)

    def check_failures(self):
        """Before the run where the server tells; a server that only refuses the files is believed then."""
        trial = TRIALS / "linreg_nan"
        with Server() as server:
            server.buckets["out"] = {}
            self.refused("no such bucket", server, ["s3://none/r", "no such bucket"], "run", trial, "--out", "s3://none/r")
            self.refused("no bucket", server, ["not the name of a bucket"], "run", trial, "--out", "s3://", code=2)
            for argv in (["run", trial, "--checkpoint"], ["run", trial, "--learn"], ["stats", trial, "-o"], ["pack", trial, "-o"]):
                self.refused(argv[-1], server, ["s3://out/x", "not in S3"], *argv, "s3://out/x", code=2)
            server.decide = lambda n, method, path: DENIED if method in ("PUT", "POST") else None
            self.refused("denied", server, ["s3://out/r/report.json", "s3:PutObject"], "run", trial, "--out", "s3://out/r")
            self.checks.expect(len(server.requests) == 2, "not found out before the run: %s" % server.requests)
            self.refused("nobody", server, ["no credentials"], "run", trial, "--out", "s3://out/r", AWS_ACCESS_KEY_ID="",
                         AWS_SECRET_ACCESS_KEY="")
            self.check_each_file(server, trial)
            server.decide = lambda n, method, path: ("status", 501, {}, b"") if method == "POST" else None
            done = self.run(server, "run", trial, "--out", "s3://out/r2")
            self.checks.expect(done.code == 0 and "report.json" in self.files(server, "r2/"), "no uploads in parts: %s" % done)
            self.refused("ASSAY_FAULT", server, ["ASSAY_FAULT"], "run", trial, "--out", "s3://out/r3", "--quiet", ASSAY_FAULT="write:1")

    def check_each_file(self, server, trial):
        """Each file of each form is refused once: the others are written, report.json is not, and results.h5 not behind another one."""
        forms = FORMS + ("" if self.options.no_hdf5 else ",hdf5")
        server.decide = None
        self.run(server, "run", trial, "--out", "s3://out/all", "--reports", forms)
        names = sorted(self.files(server, "all/"))
        self.checks.expect(len(names) >= len(forms.split(",")), "files: %s" % names)
        for number, name in enumerate(names):
            server.decide = lambda n, method, path: DENIED if method == "PUT" and s3.unescape(path).endswith("/%d/" % number + name) else None
            done = self.run(server, "run", trial, "--out", "s3://out/%d" % number, "--reports", forms)
            files, wanted = set(self.files(server, "%d/" % number)), set(names) - {name, "report.json"}
            self.checks.expect(done.code == 4 and "s3://out/%d/%s" % (number, name) in done.err and wanted - {"results.h5"} <= files <= wanted,
                               "%s refused: %s %s" % (name, sorted(files), done))

    def check_history(self):
        """Of reports in S3, history says what it says of the same in a directory; what cannot be read is named, and the rest counts."""
        here = self.room / "nights"
        for night, status in enumerate(("NoIssuesFound", "IssuesFound", "IssuesFound")):
            report = {"schema": "assay-report/1", "trials": [{"name": "a", "rules": [{"name": "spike", "rule": "spike", "status": status,
                                                                                      "severity": "error"}]}]}
            (here / ("n %d" % night)).mkdir(parents=True)
            (here / ("n %d" % night) / "report.json").write_text(json.dumps({**report, "run": {"date": "2026-11-%dT02:10:00Z" % (16 + night)}}))
        undated = here / "n 0" / "report.json"
        with Server() as server:
            server.put_tree("out", "nights/", here)
            wanted = self.run(server, "history", *sorted(here.iterdir()))
            self.checks.expect(wanted.code == 0 and wanted.out.startswith("spike since 2026-11-17"), "in a directory: %s" % wanted)
            for places in (["s3://out/nights/*"], ["s3://out/nights/n 2/", "s3://out/nights/n 1", "s3://out/nights/n 0/report.json"]):
                done = self.run(server, "history", *places)
                self.checks.expect(done.code == 0 and done.out.replace("s3://out/nights", str(here)) == wanted.out, "%s: %s" % (places, done))
            undated.write_text(undated.read_text().replace("date", "none"))
            server.put("out", "top/n.json", undated.read_bytes())  # its time is that of the listing
            done = self.run(server, "history", "s3://out/top/n*.json", "--json")
            self.checks.expect(done.code == 0 and "2026-11-20T10:00:00" in done.out, "a report without a date: %s" % done)
            server.put("out", "nights/other/report.txt", b"no report")
            done = self.run(server, "history", "s3://out/nights/*")
            self.checks.expect(done.code == 3 and "s3://out/nights/other/report.json: there is no such report" in done.err, "no report.json: %s" % done)
            for place, words in (("s3://out/x*", "nothing matches"), ("s3://out/*/n 1", "only the last part"), ("s3://none/r", "no such report"),
                                 ("s3://", "not the name of a bucket")):
                done = self.run(server, "history", place)
                self.checks.expect(done.code == 2 and words in done.err, "%s: %s" % (place, done))
            for place, words in (("s3://out/nights/n 1", "not a report"), ("s3://out", "not a report"), ("s3://out/nights/none.json", "s3://out/nights: "),
                                 ("s3://a-key:a-secret/x@out/report.json", "s3://***@out/report.json: a place in S3 is")):
                self.refused(place, server, [words], "show", place, code=2)
            self.run(server, "run", TRIALS / "linreg_nan", "--out", "s3://out/shown")
            done = self.run(server, "show", "s3://out/shown/report.json")
            self.checks.expect(done.code == 0 and "ExplodingTensor" in done.out, "show a report: %s" % done)

    def check_actions(self):
        """The log lies beside the report: what was done once is not done again, and a log that cannot be kept stops actions."""
        sent = self.room / "sent"
        tool = self.room / "sendmail"
        tool.write_text("#!/bin/sh\ncat >/dev/null\necho x >>'%s'\n" % sent)
        tool.chmod(0o755)
        job = self.room / "acting.json"
        job.write_text(json.dumps({"trials": [str(TRIALS / "linreg_nan")], "rules": [{"rule": "ExplodingTensor"}], "actions": [
            {"mail": {"to": "a@localhost", "sendmail": str(tool)}}, {"mail": {"to": "b@localhost", "sendmail": str(tool)}, "on": "end"}]}))
        with Server() as server:
            server.buckets["out"] = {}
            for attempt in range(2):
                done = self.run(server, "run", job, "--out", "s3://out/r", ranks=self.ranks[attempt % len(self.ranks)])
                lines = self.files(server, "r/").get("actions.log", b"").decode().splitlines()
                results = [json.loads(line)["result"] for line in lines]
                self.checks.expect(done.code in (0, 1) and results == ["trying", "done"] * 2 and sent.read_text().count("x") == 2,
                                   "run %d: %s: %s" % (attempt, results, done))
                self.checks.expect(attempt == 0 or "not repeated" in done.err, "said nothing of it: %s" % done)
            server.decide = lambda n, method, path: DENIED if "actions.log" in path and method == "PUT" else None
            done = self.run(server, "run", job, "--out", "s3://out/other")
            self.checks.expect(done.code in (0, 1) and "actions.log" in done.err and sent.read_text().count("x") == 2,
                               "a log that cannot be kept: %s" % done)

    def all(self):
        self.check_forms()
        self.check_commands()
        self.check_replacing()
        self.check_failures()
        self.check_history()
        self.check_actions()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite, "--no-hdf5")
