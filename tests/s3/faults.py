#!/usr/bin/env python3
"""Trials in S3 while servers and networks fail: the same report through every fault that passes, one clear message for those that do
not, objects that change under way named, and no more requests than docs/s3.md says.

    faults.py --assay PROGRAM --ranks 1 3 ...
"""
import email.utils
import json
import shutil
import sys
import threading
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from launch import ROOT, TRIALS  # noqa: E402
from reports import body_of, report_of  # noqa: E402
from s3_proxy import SLOW_DOWN, Proxy  # noqa: E402
from s3_server import Hole, Server, in_place  # noqa: E402
from s3_suite import launch  # noqa: E402
from s3_watch import Watched  # noqa: E402

STALL = 2  # seconds; the 30 of the default are in large.py
BUSY = ("status", 429, {"Retry-After": "1"}, b"")


def key_of(path):
    return urllib.parse.unquote(path.split("?")[0])


def is_list(path):
    return "list-type=2" in path


def is_first(path):
    """The first page of a whole trial."""
    return path.endswith("prefix=t%2F") and "continuation-token" not in path


class Suite(s3_suite.Suite):
    def run(self, proxy, trial="healthy", ranks=1, command="run", **more):
        env = s3.environment(proxy.port, self.server.key, self.server.secret, **more)
        out = self.room / "report"
        shutil.rmtree(out, ignore_errors=True)
        argv = [self.assay, command, "s3://runs/" + trial] + (["--out", out] if command == "run" else [])
        return launch(ranks, argv, env), body_of(out)

    def same(self, what, make):
        """The report is the one without the fault, and the fault did happen. `make` gives what decides of one run's requests."""
        for ranks in self.ranks[-1:]:
            hits, decide = [], make()

            def counted(number, method, path):
                action = decide(number, method, path)
                if action:
                    hits.append(path)
                return action

            with Proxy(self.server.port, counted) as proxy:
                done, body = self.run(proxy, ranks=ranks)
                self.checks.expect(done.code == 0 and body == self.wanted and hits,
                                   "%s at %d ranks, %d times: %s" % (what, ranks, len(hits), done))

    def check_passing(self):
        def once(action, wanted=lambda path: True):
            """Each path fails the first time that it is asked for."""
            def make():
                seen = set()

                def decide(number, method, path):
                    if path in seen or not wanted(path):
                        return None
                    seen.add(path)
                    return action
                return decide
            return make

        self.same("503 once for each object", once(SLOW_DOWN))
        self.same("bodies cut once", once("cut"))
        self.same("connections reset now and then", lambda: lambda n, m, p: "reset" if n % 7 == 3 else None)
        self.same("429 with Retry-After", lambda: lambda n, m, p: BUSY if n == 5 else None)
        self.same("pages of listings cut", once("cut", is_list))

    def begin_mixed(self):
        """Of all answers 2 % are 503, 1 % are broken off and 1 % stall; meanwhile the other tests go on."""
        ended = {}

        def decide(number, method, path):
            return {0: SLOW_DOWN, 37: SLOW_DOWN, 11: "cut", 23: "stall"}.get(number % 100)

        def run(ranks):
            out = self.room / ("mixed%d" % ranks)
            with Server(decide) as server:
                server.put_tree("runs", "ddp/", TRIALS / "ddp")
                env = s3.environment(server.port, server.key, server.secret, ASSAY_S3_STALL=str(STALL), **s3.PATIENT)
                done = launch(ranks, [self.assay, "run", "s3://runs/ddp", "--out", out], env)
                ended[ranks] = done, body_of(out), len(server.requests)
                if ranks == 1:
                    server.decide = None
                    done = launch(1, [self.assay, "run", "s3://runs/ddp", "--out", out], env)
                    ended[0] = done, body_of(out), 100

        threads = [threading.Thread(target=run, args=(ranks,)) for ranks in self.ranks]
        for thread in threads:
            thread.start()
        return threads, ended

    def end_mixed(self, threads, ended):
        for thread in threads:
            thread.join()
        wanted = ended.pop(0)[1]
        for ranks, (done, body, requests) in ended.items():
            self.checks.expect(done.code == 0 and wanted and body == wanted and requests >= 100,
                               "2 %% 503, 1 %% cut, 1 %% stalled at %d ranks, %d requests: %s" % (ranks, requests, done))
            self.checks.expect(done.seconds >= STALL, "stalls at %d ranks took %.0f s" % (ranks, done.seconds))

    def check_lasting(self):
        for what, action, attempts, words in (("503", SLOW_DOWN, 5, ["SlowDown", "HTTP 503"]), ("resets", "reset", 2, ["the connection broke"])):
            with Proxy(self.server.port, lambda n, m, p: action) as proxy:
                done, _ = self.run(proxy, **({} if attempts == 5 else {"AWS_MAX_ATTEMPTS": str(attempts)}))
                self.expect_refusal("nothing but " + what, done, words)
                self.checks.expect(len(proxy.requests) == attempts, "%d attempts" % len(proxy.requests))
                took = proxy.times[-1] - proxy.times[0]  # at most 3 s of waiting
                self.checks.expect(took < 60, "it took %.0f s to give up" % took)
        # One object alone: a problem of the report.
        event = [None]

        def one(number, method, path):
            if not is_list(path) and "/events/" in key_of(path):
                event[0] = event[0] or path
            return SLOW_DOWN if event[0] == path else None

        with Proxy(self.server.port, one) as proxy:
            done, _ = self.run(proxy, AWS_MAX_ATTEMPTS="2")
            texts = [p["text"] for p in report_of(self.room / "report")["trials"][0]["problems"]] if done.code == 3 else []
            self.checks.expect(any("SlowDown" in text and key_of(event[0])[len("/runs/healthy/"):] in text for text in texts),
                               "an object that is never given: %s %s" % (texts, done))

    def check_refused(self):
        """What the server says of clocks, of expired keys and of a listing that is no listing."""
        skewed = ("status", 403, {"Date": "Fri, 24 May 2013 00:00:00 GMT"},
                  b"<Error><Code>RequestTimeTooSkewed</Code><Message>x</Message></Error>")
        page = b"<?xml version='1.0'?><ListBucketResult><IsTruncated>true</IsTruncated>"
        cases = [("clock", skewed, 2, ["clock is", "s ahead of the server's", "RequestTimeTooSkewed"]),
                 ("a clock like ours", ("status", 403, {"Date": email.utils.formatdate(usegmt=True)}, skewed[3]), 2, ["clock differs"]),
                 ("expired", ("status", 400, {}, b"<Error><Code>ExpiredToken</Code></Error>"), 2, ["AWS_ACCESS_KEY_ID", "have expired"]),
                 ("a portal", ("status", 302, {"Location": "http://127.0.0.1:1/"}, b""), 2, ["redirect", "endpoint"]),
                 ("a proxy", ("status", 407, {}, b""), 2, ["proxy wants a name"]),
                 ("denied", ("status", 403, {}, b"<Error><Code>AccessDenied</Code></Error>"), 2, ["access denied", "s3:ListBucket"]),
                 ("half a page", ("status", 200, {}, page), 2, ["not a page of a listing"]),
                 ("the same page", ("status", 200, {}, page + b"<NextContinuationToken>t</NextContinuationToken></ListBucketResult>"),
                  2, ["same page"]),
                 ("a page for people", ("status", 200, {}, b"<html>hello</html>"), 2, ["not a page of a listing"]),
                 ("redirect", ("status", 301, {}, b"<Error><Code>PermanentRedirect</Code></Error>"), 2, ["AWS_REGION"])]
        for what, action, code, words in cases:
            with Proxy(self.server.port, lambda n, m, p: action) as proxy:
                done, _ = self.run(proxy, command="ls")
                self.expect_refusal(what, done, words, code)

    def check_unlisted(self):
        """Each listing of a trial is refused or cut off once, the others are not: then nobody knows what the trial has, and it is not
        evaluated without it. A directory that is looked into for one step's index is that step's loss."""
        denied = ("status", 403, {}, b"<Error><Code>AccessDenied</Code></Error>"), "access denied"
        cut = ("status", 200, {}, b"<ListBucketResult><Contents><Key>t/x"), "listing"
        for action, word in (denied, cut):
            self.check_unlisted_by(action, word)

    def check_unlisted_by(self, action, word):
        for name, tree in (("healthy", TRIALS / "healthy"), *((n, ROOT / "tests" / "data" / "formats" / n) for n in ("npy", "checkpoint"))):
            with Server() as server:
                server.put_tree("runs", "t/", tree)
                server.most_keys = min(3, len(server.buckets["runs"]) // 11)  # ten pages do not hold the trial: its directories are listed
                lists = []

                def refuse_one(unused, method, path):
                    lists.append(path)
                    return action if is_list(path) and sum(is_list(p) for p in lists) == number else None

                server.decide, number, codes = refuse_one, 0, []
                for number in range(100):  # 0: none
                    lists.clear()
                    done = launch(1, [self.assay, "run", "s3://runs/t", "--out", self.room / "report"],
                                  s3.environment(server.port, server.key, server.secret))
                    if number > sum(map(is_list, lists)):
                        break
                    codes.append(done.code)
                    refused = [path for path in lists if is_list(path)][number - 1] if number else ""
                    if number == 0 or "topology.json%2F" in refused or ("delimiter" not in refused and not is_first(refused)):
                        # no directory; or they are listed then
                        self.checks.expect(done.code < 2, "%s: %s: %s" % (name, refused, done))
                    elif done.code == 2:
                        self.expect_refusal("%s: %s" % (name, refused), done, ["s3://runs/t", "cannot list", word])
                    else:
                        self.checks.expect(done.code == 3 and word in done.out.replace("\n    ", " "), "%s: %s: %s" % (name, refused, done))
                self.checks.expect(2 in codes and codes[0] < 2, "%s: %s" % (name, codes))

    def check_watched(self):
        """A look whose listing is refused counts as no look, and is said once."""
        with Server() as server:
            server.put_tree("runs", "t/", TRIALS / "healthy")
            refused = []

            def refuse_twice(unused, method, path):
                if not is_list(path) or "t%2Fcollections%2F" not in path or len(refused) == 2:
                    return None
                refused.append(path)
                return "status", 403, {}, b"<Error><Code>AccessDenied</Code></Error>"

            server.decide = refuse_twice
            done = launch(1, [self.assay, "watch", "s3://runs/t", "--out", self.room / "watched"],
                          s3.environment(server.port, server.key, server.secret))
            self.checks.expect(done.code == 0 and len(refused) == 2 and done.err.count("it is tried again") == 1 and "collections/" in done.err,
                               "watch, refused %d times: %s" % (len(refused), done))

    def check_changed(self):
        """An index file that becomes another one between listing and reading, at any number of ranks."""
        client, tree = self.server.client, TRIALS / "healthy"
        index = sorted(p.relative_to(tree).as_posix() for p in tree.glob("index/*/*"))[4]
        for ranks in self.ranks:
            client.put("runs", "healthy/" + index, (tree / index).read_bytes())
            changed = []

            def change(number, method, path):
                if not is_list(path) and key_of(path).endswith(index) and not changed:
                    changed.append(path)
                    return lambda: client.put("runs", "healthy/" + index, (tree / index).read_bytes() + b" ")
                return None

            with Proxy(self.server.port, change) as proxy:
                done, _ = self.run(proxy, ranks=ranks)
                texts = [p["text"] for p in report_of(self.room / "report")["trials"][0]["problems"]] if done.code == 3 else []
                self.checks.expect(any(index in text and "changed while it was read" in text for text in texts),
                                   "an index file that changes, %d ranks: %s %s" % (ranks, texts, done))
        client.put("runs", "healthy/" + index, (tree / index).read_bytes())

    def check_exchanged(self):
        """Objects that are others than those that were listed, of the same size: all are named, also where one rank lists and another reads."""
        with Server() as server:
            server.put_tree("runs", "t/", ROOT / "tests" / "data" / "formats" / "npy")
            wanted = sorted(key for key in server.buckets["runs"] if key.endswith("weight.npy"))

            def exchange(number, unused, path):
                key = key_of(path).removeprefix("/runs/")
                return in_place(server.buckets["runs"][key][0], "another", server.requests[number - 1][2].get("Range")) if key in wanted else None

            server.decide = exchange
            for ranks in self.ranks:
                done = launch(ranks, [self.assay, "run", "s3://runs/t", "--out", self.room / "exchanged"],
                              s3.environment(server.port, server.key, server.secret))
                problems = report_of(self.room / "exchanged")["trials"][0]["problems"] if done.code == 3 else []
                named = sorted("t/" + p["file"] for p in problems if "changed while it was read" in p["text"])
                self.checks.expect(named == wanted, "%d ranks: %s exchanged, %s named: %s" % (ranks, wanted, named, done))

    @staticmethod
    def read_twice(report, ranks):
        """How many objects may be: a step at the border between two ranks is read by both, as the second one looks back to it, and so is
        one that moved to another rank, which looks back as well, after the first one had asked for it."""
        moved = report_of(report)["run"]["steps_moved"] if (report / "report.json").exists() else 0
        return 3 * (ranks - 1) + 3 * moved

    def check_requests(self):
        """One GET an object, no HEAD, one listing of a trial that a page holds; connections are kept."""
        files = {"/runs/healthy/" + p.relative_to(TRIALS / "healthy").as_posix() for p in (TRIALS / "healthy").rglob("*") if p.is_file()}
        for ranks in self.ranks:
            with Proxy(self.server.port) as proxy:
                done, body = self.run(proxy, ranks=ranks)
                self.checks.expect(body == self.wanted, "through the proxy: %s" % done)
                gets = [key_of(path) for method, path, _ in proxy.requests if method == "GET" and not is_list(path)]
                data = [key for key in gets if "/events/" in key or "/index/" in key]
                self.checks.expect(set(data) <= files and len(data) - len(set(data)) <= self.read_twice(self.room / "report", ranks),
                                   "%d GETs of %d objects at %d ranks" % (len(data), len(set(data)), ranks))
                self.checks.expect(all(method == "GET" for method, _, _ in proxy.requests), "something else than GET was sent")
                lists = sum(is_list(path) for _, path, _ in proxy.requests)
                self.checks.expect(lists <= 3, "%d listings" % lists)
                run = report_of(self.room / "report")["run"].get("s3", {})
                self.checks.expect(run.get("gets") == len(gets) and run.get("lists") == lists and run.get("repeated") == 0,
                                   "the report's figures %s, %d GETs, %d listings" % (run, len(gets), lists))

    def check_listings(self):
        """Commands that ask for the size of each file do not list each step's directory for it."""
        with Server() as server:
            server.put_steps("runs", "t/", 60).end()
            for command in ("ls", "verify"):
                before = len(server.requests)
                done = launch(1, [self.assay, command, "s3://runs/t"], s3.environment(server.port, server.key, server.secret))
                lists = sum(is_list(path) for _, path, _ in server.requests[before:])
                self.checks.expect(done.code == 0 and lists <= 30, "%s: %d listings: %s" % (command, lists, done))

    def check_opening(self):
        """A directory is listed once, by one rank for all: the root and each step that is a directory."""
        tree = ROOT / "tests/data/formats/checkpoint"
        with Server() as server:
            for name in ("step-10.safetensors", "step-20"):
                for path in [tree / name] if (tree / name).is_file() else sorted((tree / name).rglob("*")):
                    server.put("runs", "t/" + path.relative_to(tree).as_posix(), path.read_bytes())
            for ranks in self.ranks:
                before = len(server.requests)
                done = launch(ranks, [self.assay, "run", "s3://runs/t", "--out", self.room / "opening", "--allow-no-data"],
                              s3.environment(server.port, server.key, server.secret))
                lists = [path for _, path, _ in server.requests[before:] if is_list(path)]
                self.checks.expect(done.code in (0, 1) and len(lists) <= 3, "%d ranks: %s: %s" % (ranks, lists, done))

    def check_way_back(self):
        """Where a directory cannot be listed with all below it, as a later page is refused or as it is too large, each is listed alone."""
        def is_deep(path):
            return is_list(path) and "delimiter" not in path and not path.endswith("prefix=t%2F")  # the root's, which is few pages or none

        with Server() as server:
            server.put_steps("runs", "t/", 110).end()
            env = s3.environment(server.port, server.key, server.secret)
            for command in ("ls", "verify"):
                argv, refused = [self.assay, command, "s3://runs/t"], []
                wanted = launch(1, argv, env)

                def refuse(number, method, path):
                    if not is_deep(path) or "continuation-token" not in path:
                        return None
                    refused.append(path)
                    return ("status", 403, {}, b"<Error><Code>AccessDenied</Code></Error>")

                server.most_keys, server.decide = 5, refuse  # 30 pages are given up
                done = launch(1, argv, env)
                server.most_keys, server.decide = 1000, None
                self.checks.expect(done.code == wanted.code == 0 and done.out == wanted.out and not done.err and len(refused) == 1,
                                   "%s with late pages refused %d times: %s" % (command, len(refused), done))
            argv = [self.assay, "verify", "s3://runs/t", "--memory", "64MB"]
            server.put("runs", "t/events/zz/k", b"")
            wanted = launch(1, argv, env)
            for number in range(18000):  # more than half of what a listing may take
                server.put("runs", "t/events/zz/%s%d" % ("k" * 900, number), b"")
            before = len(server.requests)
            done = launch(1, argv, env)
            deep = [path for _, path, _ in server.requests[before:] if is_deep(path)]
            first = [path for path in deep if "continuation-token" not in path]
            self.checks.expect(done.code == wanted.code == 0 and done.out == wanted.out and len(first) == 1 and len(deep) > 1,
                               "%d pages of %d whole listings: %s" % (len(deep), len(first), done))

    def check_show(self):
        """Rows that are asked for ahead hold no more than the 64 MiB that there are: of each file a piece comes, not just its tensor."""
        far = 9 << 20
        with Server() as server:
            trial, put = server.put_steps("runs", "t/", 0), server.put

            def spread(bucket, key, data):
                """The second of the two tensors lies far behind the first."""
                if "/events/" in key:
                    cut = int.from_bytes(data[:8], "little") + 16
                    data = Hole(far + len(data) - cut, {0: data[:cut], far: data[cut:]})
                elif "/index/" in key:
                    data = json.loads(data)
                    data["tensor_payload"][1]["start_idx"] = far
                    data = json.dumps(data).encode()
                put(bucket, key, data)

            server.put = spread
            for step in range(20):
                server.put_step(trial, step)
            trial.end()
            held, full, passed = set(), threading.Event(), threading.Event()

            def hold(number, method, path):
                if not passed.is_set() and "/events/" in path and not is_list(path):
                    held.add(number)
                    if len(held) >= 8:
                        full.set()
                    full.wait(30)
                    passed.wait(0.5)
                    passed.set()

            server.decide = hold
            done = launch(1, [self.assay, "show", "s3://runs/t", "loss", "--json"], s3.environment(server.port, server.key, server.secret))
            self.checks.expect(done.code == 0 and done.out.count('"tensor": "loss"') == 20 and len(held) == 8,
                               "%d pieces of 8 MiB under way: %s" % (len(held), done))

    def check_many(self):
        """Of more objects than are asked for ahead: one GET each, and as many under way as there may be. Answers wait until so many
        requests are there, and a little for one more, which must not come."""
        with Server() as server:
            server.put_steps("runs", "t/", 400).end()
            for ranks in self.ranks:
                held, full, passed = set(), threading.Event(), threading.Event()

                def hold(number, method, path):
                    if passed.is_set() or ("/events/" not in path and "/index/" not in path):
                        return None
                    held.add(number)
                    if len(held) >= 32:
                        full.set()
                    full.wait(30)
                    passed.wait(0.3)
                    passed.set()
                    return None

                before, server.decide = len(server.requests), hold
                done = launch(ranks, [self.assay, "run", "s3://runs/t", "--out", self.room / "many"],
                              s3.environment(server.port, server.key, server.secret))
                data = [path for _, path, _ in server.requests[before:] if "/events/" in path or "/index/" in path]
                self.checks.expect(done.code == 0 and len(set(data)) == 800 and len(data) <= 800 + self.read_twice(self.room / "many", ranks),
                                   "%d GETs of %d objects at %d ranks: %s" % (len(data), len(set(data)), ranks, done))
                self.checks.expect(32 <= len(held) <= 32 * ranks, "%d requests under way at %d ranks" % (len(held), ranks))

    def all(self):
        with Server() as self.server:
            self.check_all()

    def check_all(self):
        self.server.client.make_bucket("runs")
        self.server.client.put_tree("runs", "healthy/", TRIALS / "healthy")
        with Proxy(self.server.port) as proxy:
            done, self.wanted = self.run(proxy)
            self.checks.expect(done.code == 0 and self.wanted, "without a fault: %s" % done)
        mixed, watched = self.begin_mixed(), Watched(self.assay, self.room, self.checks)
        watched.start()
        self.check_requests()
        self.check_listings()
        self.check_opening()
        self.check_way_back()
        self.check_show()
        self.check_many()
        self.check_passing()
        self.check_lasting()
        self.check_refused()
        self.check_unlisted()
        self.check_watched()
        self.check_changed()
        self.check_exchanged()
        self.end_mixed(*mixed)
        watched.join()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite)
