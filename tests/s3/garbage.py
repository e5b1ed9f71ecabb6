#!/usr/bin/env python3
"""Servers that answer garbage to who reads trials from S3: what is no HTTP, no XML, no listing or not the bytes that were asked for,
what never ends, what leads elsewhere. Each is one clear message, or a problem of the one object that it was about; nothing hangs, memory
is kept, nothing secret comes out, and nobody is asked but the endpoint.

    garbage.py --assay PROGRAM --ranks 1 [--no-peak]
"""
import gzip
import itertools
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from launch import TRIALS, run  # noqa: E402
from reports import report_of  # noqa: E402
from s3_server import Server  # noqa: E402

TRIAL = TRIALS / "linreg_nan"
SECRET, TOKEN = "planted/secret+of+this+test", "planted-token-of-this-test"
CHANGED = "changed while it was read"
PAGE = b"<?xml version='1.0'?><ListBucketResult><IsTruncated>%s</IsTruncated>%s</ListBucketResult>"


def page(inside=b"", more=False):
    return PAGE % (b"true" if more else b"false", inside)


def entry(key, size=b"1"):
    return b"<Contents><Key>" + key + b"</Key><Size>" + size + b"</Size></Contents>"


def ok(body, headers=None, code=200):
    return ("status", code, headers or {}, body)


def raw(*pieces, endless=None):
    """Bytes as they go over the wire; `endless` is repeated until the other side closes."""
    return lambda: ("raw", itertools.chain(pieces, itertools.repeat(endless) if endless else ()))


def always(answer):
    return lambda: answer


class Suite(s3_suite.Suite):
    def start(self, server, *argv, **more):
        env = s3.environment(server.port, "a-key", SECRET, AWS_SESSION_TOKEN=TOKEN, AWS_MAX_ATTEMPTS="2", **more)
        done = run([self.assay, *argv], env, timeout=100)
        if self.options.no_peak:  # with sanitizers, any memory is little
            done.err = "".join(line for line in done.err.splitlines(True) if "is little for this trial" not in line)
        said = done.out + done.err
        self.checks.expect(SECRET not in said and TOKEN not in said and not done.hung, "a secret came out, or it hung: %s" % done)
        self.checks.expect("\x1b" not in said, "control characters came through: %r" % said)
        return done

    # ---- instead of a listing ----

    def listings(self, other):
        there = {"Location": "http://127.0.0.1:%d/runs?list-type=2" % other.port}
        pages = (ok(page(b"<NextContinuationToken>%d</NextContinuationToken>" % n, True)) for n in itertools.count())
        wide = (ok(page(b"<NextContinuationToken>%d</NextContinuationToken>" % n
                        + b"".join(entry(b"t/%d-%d" % (n, i) + b"x" * 900) for i in range(1000)), True)) for n in itertools.count())
        again = (ok(page(b"<NextContinuationToken>%d</NextContinuationToken>" % n
                         + b"".join(entry(b"t/%d" % i + b"x" * 900) for i in range(1000)), True)) for n in itertools.count())
        head = b"HTTP/1.1 200 OK\r\n"
        none = ["not a page of a listing"]
        return [
            ("nothing", always(ok(b"")), none),
            ("HTML", always(ok(b"<!DOCTYPE html><html><body>Welcome</body></html>")), none),
            ("HTML for people with a code", always(ok(b"<html>" + b"x" * 100000, code=404)), ["no such bucket"]),
            ("other XML", always(ok(b"<?xml version='1.0'?><ListAllMyBucketsResult/>")), none),
            ("XML that is cut", always(ok(page(entry(b"t/a"))[:-30])), none),
            ("entities", always(ok(b"<!DOCTYPE a [<!ENTITY b 'cc'>]>" + page())), none),
            ("deep XML", always(ok(b"<ListBucketResult>" + b"<a>" * 100000)), none),
            ("a size that is none", always(ok(page(entry(b"t/a", b"-7")))), none),
            ("a size beyond all", always(ok(page(entry(b"t/a", b"99999999999999999999")))), none),
            ("a key with NUL", always(ok(page(entry(b"t/a&#0;b")))), none),
            ("a key outside the prefix", always(ok(page(entry(b"other/secret")))), none),
            ("binary", always(ok(bytes(range(256)) * 40)), none),
            ("gzip that nobody asked for", always(ok(gzip.compress(page(entry(b"t/a"))), {"Content-Encoding": "gzip"})), none),
            ("the same token", always(ok(page(entry(b"t/a") + b"<NextContinuationToken>t</NextContinuationToken>", True))), ["same page"]),
            ("empty pages without end", lambda: next(pages), ["without any key"]),
            ("keys without end", lambda: next(wide), ["no end", "--memory"]),
            ("the same keys without end", lambda: next(again), ["same page", "again and again"]),
            ("no HTTP", raw(b"SSH-2.0-OpenSSH_9.2\r\n"), ["not HTTP"]),
            ("HTTP that is none", raw(b"HTTP/1.1 \r\n\r\n"), []),
            ("a length that is none", raw(head + b"Content-Length: many\r\n\r\nabc"), []),
            ("a body shorter than its length", raw(head + b"Content-Length: 5000\r\n\r\n" + page()), ["the connection broke"]),
            ("a body longer than its length", raw(head + b"Content-Length: 20\r\n\r\n" + page()), none),
            ("chunks that are none", raw(head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"), []),
            ("a header without end", raw(head + b"X: ", endless=b"y" * 60000), ["no memory for the answer's head"]),
            ("headers without end", raw(head, endless=b"X-Y: " + b"z" * 900 + b"\r\n"), ["head is too long"]),
            ("interim answers without end", raw(endless=b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 100), ["head is too long"]),
            ("a body without end", raw(head + b"\r\n", endless=b"<a/>" * 16000), ["too long"]),
            ("chunks without end", raw(head + b"Transfer-Encoding: chunked\r\n\r\n", endless=b"400\r\n" + b"x" * 1024 + b"\r\n"), ["too long"]),
            ("a refusal without end", raw(b"HTTP/1.1 403 Forbidden\r\n\r\n", endless=b"<Error>" * 9000), ["too long"]),
            ("a redirect", always(ok(b"", there, 302)), ["HTTP 302"]),
            ("a redirect with the method", always(ok(b"", there, 307)), ["AWS_REGION"]),
            ("a redirect for ever", always(ok(b"", there, 308)), ["HTTP 308"]),
            ("a region that is a host", always(ok(b"<Error><Code>PermanentRedirect</Code><Region>127.0.0.1:%d/x</Region></Error>" % other.port,
                                                  {}, 301)), ["AWS_REGION"]),
            ("a text that echoes the token", always(ok(b"<Error><Code>Odd</Code><Message>%s \x1b[31m</Message></Error>" % TOKEN.encode(),
                                                       code=400)), ["Odd", "***"]),
        ]

    def check_listings(self):
        with Server() as other, Server() as server:
            for what, answer, words in self.listings(other):
                server.decide = lambda number, method, path: answer()
                done = self.start(server, "run", "s3://runs/t", "--out", self.room / "none", "--memory", "128M")
                self.expect_refusal(what, done, ["s3://runs/t", *words])
            self.checks.expect(not other.requests, "a redirect was followed: %s" % other.requests)

    def check_keys(self):
        """Keys that are no names: passed over, and said; the trial is read."""
        with Server() as server:
            server.put_tree("runs", "t/", TRIAL)
            for key in ("../../../etc/passwd", "..", "index/../x", "./y", "/absolute", "//z", "a\nb"):
                server.put("runs", "t/" + key, b"x")
            done = self.start(server, "run", "s3://runs/t", "--out", self.room / "keys")
            self.checks.expect(done.code == 0 and "lead out of it" in done.err, "odd keys: %s" % done)
            packed, unpacked = self.room / "deep" / "er" / "t.h5", self.room / "deep" / "er" / "out"
            packed.parent.mkdir(parents=True)
            done = self.start(server, "pack", "s3://runs/t", "-o", packed)
            if packed.exists():
                done = self.start(server, "unpack", packed, "-o", unpacked)
            outside = [path for path in self.room.rglob("passwd")] + [path for path in self.room.rglob("x")]
            self.checks.expect(not outside, "written outside: %s: %s" % (outside, done))

    # ---- instead of an object ----

    def objects(self, content, etag):
        size, head = len(content), b"HTTP/1.1 206 Partial Content\r\n"
        said = {"ETag": '"%s"' % etag, "Content-Range": "bytes 0-%d/%d" % (size - 1, size)}
        line = b"Content-Range: bytes 0-%d/%d\r\nETag: \"%s\"\r\n" % (size - 1, size, etag.encode())
        changed, other = CHANGED, "another range than was asked for"
        return [
            ("another ETag", ok(content, {**said, "ETag": '"0123"'}, 206), changed),
            ("no ETag, another size", ok(content[:-1], {"Content-Range": "bytes 0-%d/%d" % (size - 2, size - 1)}, 206), changed),
            ("a page for people", ok(b"<html>Welcome</html>"), changed),
            ("nothing", ok(b"", {"ETag": '"%s"' % etag}), changed),
            ("nothing, and no range", ok(b"", said, 206), other),
            ("another range", ok(content, {**said, "Content-Range": "bytes 5-%d/%d" % (size + 4, size + 9)}, 206), other),
            ("a range beyond all", ok(content, {**said, "Content-Range": "bytes 0-18446744073709551615/18446744073709551615"}, 206), other),
            ("a range that is none", ok(content, {**said, "Content-Range": "bytes x-y/z"}, 206), "does not say which range"),
            ("no range", ok(content, {"ETag": said["ETag"]}, 206), "does not say which range"),
            ("half of it", ok(content[:size // 2], said, 206), other),
            ("more than all of it", ok(content + b"x" * 100, said, 206), other),
            ("gzip on the way", ok(gzip.compress(content), {**said, "Content-Encoding": "gzip"}, 206), other),
            ("nothing at that place", ok(b"", {"Content-Range": "bytes */7"}, 416), changed),
            ("a redirect", ok(b"", {"Location": "http://127.0.0.1:1/"}, 302), "HTTP 302"),
            ("a body that breaks off", raw(head + line + b"Content-Length: %d\r\n\r\n" % size + content[:50]), "the connection broke"),
            ("a body without end", raw(head + line + b"\r\n", endless=b"z" * 60000), "whole object instead"),
            ("headers without end", raw(head + line, endless=b"X: " + b"z" * 900 + b"\r\n"), "head is too long"),
        ]

    def check_objects(self):
        """Of one index file, or of an event file, which no listing told anything of: the rest of the trial is read, and the report
        names the object."""
        with Server() as server:
            server.put_tree("runs", "t/", TRIAL)
            for top in ("index", "events"):
                key = sorted(key for key in server.buckets["runs"] if key.startswith("t/" + top))[1]
                for what, answer, words in self.objects(*server.buckets["runs"][key]):
                    if top == "events" and words == CHANGED:
                        continue
                    server.decide = lambda n, method, path: ((answer() if callable(answer) else answer)
                                                             if path.split("?")[0] == "/runs/" + key else None)
                    done = self.start(server, "run", "s3://runs/t", "--out", self.room / "objects", "--memory", "128M")
                    problems = report_of(self.room / "objects")["trials"][0]["problems"] if done.code == 3 else []
                    self.checks.expect(any(words in p["text"] and key[2:] in p["text"] for p in problems),
                                       "%s, %s (%s): %s %s" % (key, what, words, problems, done))

    # ---- instead of credentials ----

    def check_givers(self):
        """An endpoint of metadata that does the same to who asks it for keys."""
        with Server() as other, Server() as server:
            head = b"HTTP/1.1 200 OK\r\n"
            there = {"Location": "http://127.0.0.1:%d/container" % other.port}
            for what, answer in (("HTML", always(ok(b"<html>Welcome</html>"))), ("a redirect", always(ok(b"", there, 302))),
                                 ("half of it", always(ok(b'{"AccessKeyId": "a", "SecretAcc'))), ("deep JSON", always(ok(b"[" * 100000))),
                                 ("numbers", always(ok(b'{"AccessKeyId": 1, "SecretAccessKey": 2}'))),
                                 ("a body without end", raw(head + b"\r\n", endless=b" " * 60000)),
                                 ("headers without end", raw(head, endless=b"X: " + b"z" * 900 + b"\r\n"))):
                server.decide = lambda number, method, path: answer()
                env = s3.environment(server.port, AWS_CONTAINER_CREDENTIALS_FULL_URI="http://127.0.0.1:%d/container" % server.port,
                                     AWS_CONTAINER_AUTHORIZATION_TOKEN=TOKEN)
                done = run([self.assay, "ls", "s3://runs/t"], env, timeout=100)
                self.expect_refusal(what, done, ["container"])
                self.checks.expect(TOKEN not in done.err and not done.hung, "a secret came out, or it hung: %s" % done)
            self.checks.expect(not other.requests, "a redirect was followed: %s" % other.requests)

    def all(self):
        self.check_listings()
        self.check_keys()
        self.check_objects()
        self.check_givers()
        if self.options.no_peak:  # a program with sanitizers takes what it takes
            return
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.checks.expect(peak < 300 << 10, "a process took %d KiB of memory" % peak)


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite, "--no-peak")
