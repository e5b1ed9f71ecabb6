#!/usr/bin/env python3
"""What servers of the S3 protocol do differently, and stores have in them: other encodings of listings, pages of any size and order, tokens
and ETags of any form, objects that mark directories, keys that differ in case alone, empty objects. The report is that of the directory.

    differences.py --assay PROGRAM --ranks 1 3 ...
"""
import base64
import os
import random
import re
import shutil
import sys
from pathlib import Path
from xml.sax.saxutils import escape, unescape

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from launch import TRIALS  # noqa: E402
from reports import body_of  # noqa: E402
from s3_server import Server  # noqa: E402
from s3_suite import launch  # noqa: E402

TRIAL = TRIALS / "linreg_nan"
PREFIX = "runs of May+June/=\u00e9/t"  # a blank, a plus, a letter of two bytes
ITEM = re.compile("<(?:Contents|CommonPrefixes)>.*?</(?:Contents|CommonPrefixes)>")


class Other(Server):
    """`change` gets a page as text and gives another one; `most` keys in it; tokens are opaque and last for one page."""

    def __init__(self, change=None, most=1000, encodes=True):
        super().__init__()
        self.change, self.most, self.encodes, self.tokens = change, most, encodes, {}

    def page(self, bucket, words):
        words = {**words, "max-keys": str(min(self.most, int(words.get("max-keys", 1000))))}
        if "continuation-token" in words:
            words["continuation-token"] = self.tokens.pop(words["continuation-token"])
        if not self.encodes:
            words.pop("encoding-type", None)
        text = super().page(bucket, words).decode()

        def hide(found):
            token = "+/=&<" + base64.b64encode(os.urandom(9)).decode()
            self.tokens[token] = unescape(found.group(1))
            return "<NextContinuationToken>%s</NextContinuationToken>" % escape(token)

        text = re.sub("<NextContinuationToken>(.*?)</NextContinuationToken>", hide, text)
        return (self.change(text) if self.change else text).encode()


def in_any_order(text):
    """As directory buckets list."""
    items = ITEM.findall(text)
    random.Random(len(text)).shuffle(items)
    return ITEM.sub(lambda found: items.pop(), text)


def with_references(text):
    return re.sub("[^\0-\x7f]", lambda found: "&#x%X;" % ord(found.group()), text)


WAYS = [
    ("XML as it is", {"encodes": False}),
    ("characters by their numbers", {"encodes": False, "change": with_references}),
    ("'+' for a blank", {"change": lambda text: text.replace("%20", "+")}),
    ("seven keys a page", {"most": 7}),
    ("one key a page", {"most": 1}),
    ("in any order", {"change": in_any_order, "most": 5}),
    ("ETags without quotes", {"change": lambda text: text.replace("&quot;", "")}),
    ("no ETags, no times", {"change": lambda text: re.sub("<(ETag|LastModified)>.*?</\\1>", "", text)}),
    ("a namespace of XML", {"change": lambda text: text.replace("<ListBucketResult>", "<ListBucketResult xmlns='http://doc/2006-03-01/'>")}),
]


class Suite(s3_suite.Suite):
    def body(self, server, place, ranks=1, code=0):
        out = self.room / "report"
        shutil.rmtree(out, ignore_errors=True)
        done = launch(ranks, [self.assay, "run", "T=%s" % place, "--out", out], s3.environment(server.port, server.key, server.secret))
        self.checks.expect(done.code == code, "%s: %s" % (place, done))
        body = body_of(out)
        return body and body.replace(b"'" + str(place).encode() + b"'", b"PATH").replace(str(place).encode(), b"PATH")

    def same(self, what, server, wanted, ranks=1, code=0):
        body = self.body(server, "s3://b/" + PREFIX, ranks, code)
        self.checks.expect(body and body == wanted, "%s at %d ranks: another report" % (what, ranks))

    def check_ways(self):
        with Server() as server:
            wanted = self.body(server, TRIAL)
        for number, (what, how) in enumerate(WAYS):
            with Other(**how) as server:
                server.put_tree("b", PREFIX + "/", TRIAL)
                self.same(what, server, wanted, self.ranks[number % len(self.ranks)])
        with Server() as server:  # as of uploads in parts
            server.put_tree("b", PREFIX + "/", TRIAL)
            for key, (content, etag) in server.buckets["b"].items():
                server.buckets["b"][key] = content, etag + "-3"
            self.same("ETags of uploads in parts", server, wanted)
            matches = [headers["If-Match"] for _, _, headers in server.requests if "If-Match" in headers]
            self.checks.expect(all(match.endswith('-3"') for match in matches), "If-Match: %s" % matches[:3])

    def check_marks(self):
        """Objects that mark directories, with a '/' at the end and without; keys that differ in case; other trials beside."""
        with Server() as server:
            wanted = self.body(server, TRIAL)
            server.put_tree("b", PREFIX + "/", TRIAL)
            folders = {p.relative_to(TRIAL).as_posix() for p in TRIAL.rglob("*") if p.is_dir()}
            for folder in folders:
                server.put("b", "%s/%s/" % (PREFIX, folder), b"")
                server.put("b", "%s/%s" % (PREFIX, folder), b"")
                server.put("b", "%s/%s/x" % (PREFIX, folder.upper()), b"no file of the trial")
            server.put("b", PREFIX + "/", b"")
            server.put("b", PREFIX, b"")
            server.put_tree("b", PREFIX.upper() + "/", TRIALS / "healthy")
            server.put_tree("b", PREFIX + "2/", TRIALS / "healthy")
            for ranks in self.ranks:
                self.same("marks of directories", server, wanted, ranks)

    def check_empty(self):
        """An empty index file and an empty event file are what they are in a directory."""
        for number, top in enumerate(("index", "events")):
            tree = self.room / ("empty-" + top)
            shutil.copytree(TRIAL, tree)
            sorted(p for p in (tree / top).rglob("*") if p.is_file())[1].write_bytes(b"")
            with Server() as server:
                server.put_tree("b", PREFIX + "/", tree)
                self.same("an empty file of " + top, server, self.body(server, tree, code=3), self.ranks[number % len(self.ranks)], 3)

    def all(self):
        self.check_ways()
        self.check_marks()
        self.check_empty()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite)
