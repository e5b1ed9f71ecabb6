#!/usr/bin/env python3
"""Traces: known answers of each rule on made jobs, the same bytes at any number of ranks; what is damaged, doubled or missing is named. Where
the shared traces lie beside the recorded trials, what another implementation makes of them.

    traces.py --assay PROGRAM --ranks 1 2 3 ...
"""
import argparse
import gzip
import json
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, mpirun  # noqa: E402
from launch import run as cli  # noqa: E402
from made_traces import Rank, job, write  # noqa: E402
from reports import body_of  # noqa: E402

SHARED = TRIALS.parent / "logs" / "traces"
REAL = (TRIALS.parent / "logs" / "real", TRIALS.parent / "traces")
RULES = ["LateRank", "SlowRank", "CollectiveSlow", "GpuIdle", "InputBound", "LaunchBound", "ExposedCommunication"]


def is_close(a, b):
    """Figures of expected files have nine digits; one of the simulation is rounded another way in its seventh."""
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a == b
    return abs(a - b) <= 2e-6 * max(abs(a), abs(b)) + (1e-8 if isinstance(a, float) else 0)


def differences(path, wanted, got):
    if isinstance(wanted, dict) and isinstance(got, dict):
        return [d for k in wanted for d in (differences(path + "." + k, wanted[k], got[k]) if k in got else [(path + "." + k, "missing")])]
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        return [d for i, (x, y) in enumerate(zip(wanted, got)) for d in differences("%s[%d]" % (path, i), x, y)]
    return [] if is_close(wanted, got) else [(path, wanted, got)]


class Test:
    def __init__(self, args, work):
        self.args, self.work, self.checks = args, work, Checks()

    def evaluate(self, *trial):
        """The trial's object in report.json, which is the same bytes at any number of ranks."""
        first = None
        for ranks in self.args.ranks:
            out = self.work / ("out_%d" % ranks)
            done = mpirun(ranks, [self.args.assay, "run", *trial, "-o", out])
            if not self.checks.expect((out / "report.json").exists(), "%s, %d ranks: %s" % (trial, ranks, done)):
                return None
            body = body_of((out / "report.json").read_bytes())
            first = first or body
            self.checks.expect(body == first, "%s: another report at %d ranks" % (trial, ranks))
            report = json.loads((out / "report.json").read_text())
            (out / "report.json").unlink()
        return report["trials"][0]

    def findings(self, trial, rule):
        return next(r for r in trial["rules"] if r["rule"] == rule)["findings"]

    def fired(self, trial):
        return {r["rule"]: sorted({f["worker"] for f in r["findings"]}) for r in trial["rules"] if r["findings"]}

    def known_answers(self):
        cases = {"healthy": ({}, {}),
                 "slow": ({"slow": {2: 1.5}}, {"SlowRank": ["worker_2"], "LateRank": ["worker_2"]}),
                 "input": ({"late_input": {1: 3000000}}, {"SlowRank": ["worker_1"], "LateRank": ["worker_1"]}),
                 "pair": ({"slow_pair": (2, 4.0)}, {"CollectiveSlow": ["*"]})}
        for name, (how, wanted) in cases.items():
            trial = self.evaluate(write(self.work / name, job(**how)))
            got = {rule: who for rule, who in self.fired(trial).items() if rule in RULES[:3]}
            self.checks.expect(got == wanted, "%s: %s" % (name, got))
            self.checks.expect(trial["traces"]["clock_ns"] == {"0": 0, "1": 700000, "2": -300000, "3": 2000000}, "%s: clocks" % name)
            what = trial["traces"]["what_if"]
            self.checks.expect(abs(what["simulated_s"] / what["measured_s"] - 1) < 0.001, "%s: simulated %s" % (name, what))
            if name in ("slow", "input"):
                causes = {f["cause"] for f in self.findings(trial, "SlowRank")}
                self.checks.expect(causes == {"compute" if name == "slow" else "input"}, "%s: %s" % (name, causes))
                self.checks.expect(what["saved_by_rank"][0]["worker"] == wanted["LateRank"][0] and what["slowdown"] > 1.15, "%s: %s" % (name, what))

    def page(self):
        """Steps by rank, operators, communication by group; of many ranks a strip is a step."""
        for ranks, row in ((4, "rank 3"), (70, "step 2")):
            trial, out = write(self.work / ("page_%d" % ranks), job(ranks, slow={2: 1.5})), self.work / "page_out"
            mpirun(1, [self.args.assay, "run", trial, "-o", out, "--reports", "text,html"])
            text, html = (out / "report.txt").read_text(), (out / "report.html").read_text()
            for words in ("Own time above the median", "Communication by group", "aten::mm"):
                self.checks.expect(words in text and words in html, "%d ranks: %s is not on the page" % (ranks, words))
            self.checks.expect(">%s<" % row in html, "%d ranks: no strip of %s" % (ranks, row))
            saved = self.evaluate(trial)["traces"]["what_if"]["saved_by_rank"]  # of 70 ranks, 64 are simulated alone
            self.checks.expect(saved[0]["worker"] == "worker_2" and saved[0]["share"] > 0.1 and len(saved) == min(ranks, 8), "%d ranks: %s" % (ranks, saved))

    def same_in_every_form(self):
        """Packed or not, with a head or as a bare list, one file or a directory."""
        ranks = job(slow={2: 1.5})
        bodies = []
        for name, how in (("packed", {}), ("plain", {"packed": False}), ("bare", {"head": False})):
            trial = self.evaluate(write(self.work / ("form_" + name), ranks, **how))
            late = [{k: v for k, v in f.items()} for f in self.findings(trial, "LateRank")]
            bodies.append((self.fired(trial).keys(), len(late), trial["traces"]["step_ns"]))
        self.checks.expect(bodies[0] == bodies[1] == bodies[2], "forms differ: %s" % bodies)
        one = self.work / "form_plain" / "host_rank2.1700000000.pt.trace.json"
        trial = self.evaluate(one)
        self.checks.expect(trial["traces"]["ranks"] == [2] and trial["traces"]["no_file"] == [0, 1, 3], "one file: %s" % trial["traces"]["ranks"])

    def forms_of_programs(self):
        """What programs and releases write in another way: the same verdict, and the same figures."""
        texts = {r.number: r.text() for r in job(slow={2: 1.5})}
        name = "host_rank%d.1700000000.pt.trace.json"
        forms = {
            "comma": (lambda t: t.replace("\n],\n", ",\n],\n"), name),
            "windows": (lambda t: t.replace('"args": {"', '"args": {"Call stack": "C:\\Users\\me\\ux.py", "'), name),
            "quoted times": (lambda t: re.sub(r'"(ts|dur)": ([0-9.]+)', r'"\1": "\2"', t), name),
            "old steps": (lambda t: t.replace('"user_annotation", "name": "ProfilerStep', '"Operator", "name": "ProfilerStep').replace("cpu_op", "Operator"), name),
            "rank": (lambda t: t.replace('"rank":', '"node":'), "trace[rank=%d].json"),
            "worker": (lambda t: t.replace('"rank":', '"node":'), "worker%d.1700000000.pt.trace.json"),
            "stem": (lambda t: t.replace('"rank":', '"node":'), "trace_%d.json")}
        wanted = None
        for form, (change, called) in {"as is": (lambda t: t, name), **forms}.items():
            folder = self.work / ("form " + form)
            folder.mkdir()
            for rank, text in texts.items():
                (folder / (called % rank)).write_text(change(text))
            trial = self.evaluate(folder)
            got = (self.fired(trial), trial["traces"]["what_if"], trial["traces"]["alone"][1:2], len(trial["problems"]))
            wanted = wanted or got
            self.checks.expect(got == wanted, "%s: %s" % (form, [(w, g) for w, g in zip(wanted, got) if w != g]))
        bad = self.work / "no time"
        bad.mkdir()
        (bad / (name % 0)).write_text(texts[0].replace('"dur": 4000.000', '"dur": "4000.0x"'))
        self.checks.expect(self.evaluate(bad)["traces"]["without_time"] == 3, "what is no number is no time")

    def no_rank(self):
        """A trace that does not say whose it is gets an answer alone; several of one process are one; beside others it is named."""
        texts = [r.text().replace('"rank":', '"node":') for r in job(2, slow={0: 1.5})]
        one = self.work / "anything.json"
        one.write_text(texts[0])
        for trial in (self.evaluate(one), self.evaluate("--trial", one)):
            self.checks.expect(trial["traces"]["ranks"] == [0] and trial["traces"]["no_file"] == [] and trial["traces"]["without_group"] == 6, "no rank: %s" % trial["traces"]["ranks"])
            self.checks.expect(["called worker_0" in p["text"] for p in trial["problems"]] == [True], "no rank: %s" % trial["problems"])
        folder = self.work / "no_rank"
        folder.mkdir()
        (folder / "host_9.1700000000.pt.trace.json").write_text(texts[0])
        later = re.sub(r'"ts": (\d+)', lambda m: '"ts": %d' % (int(m.group(1)) + 1000000), texts[0])
        (folder / "host_9.1700000001.pt.trace.json").write_text(re.sub("ProfilerStep#(.)", lambda m: "ProfilerStep#%d" % (int(m.group(1)) + 5), later))
        trial = self.evaluate(folder)["traces"]
        self.checks.expect(trial["ranks"] == [0] and trial["steps"] == [0, 1, 2, 5, 6, 7], "two files of one process: %s" % trial["steps"])
        (folder / "host_10.1700000000.pt.trace.json").write_text(texts[1])
        trial = self.evaluate(folder)
        self.checks.expect(trial["traces"]["ranks"] == [0, 1] and "LateRank" not in self.fired(trial), "two processes: %s" % trial["traces"]["ranks"])
        (folder / "host_rank7.json").write_text(texts[1])
        trial = self.evaluate(folder)
        self.checks.expect(trial["traces"]["ranks"] == [7] and sum("no rank" in p["text"] for p in trial["problems"]) == 3, "beside one with a rank: %s" % trial["problems"])

    def pairs_of_ranks(self):
        """PyTorch says the other side of a send and a receive alone."""
        ranks = [Rank(r, 2) for r in range(2)]
        for number in range(4):
            begin = 1000000 + number * 10000000
            for r in range(2):
                ranks[r].kernel(begin, 4000000)
                ranks[r].collective(begin + 4100000, 1000000, "0", [0, 1], number + 1, ("send", "recv")[r], **({"Dst Rank": 1}, {"Src Rank": 0})[r])
        trial = self.evaluate(write(self.work / "pairs_of_ranks", ranks))["traces"]
        self.checks.expect(trial["operations"]["matched"] == 4, "pairs: %s" % trial["operations"])

    def one_rank(self):
        """Idle time by cause, to the nanosecond."""
        rank = Rank(0, 1)
        rank.step(0, 0, 100000000)
        rank.kernel(1000000, 10000000)
        rank.load(12000000, 20000000)
        rank.kernel(40000000, 10000000)  # 29 ms without anything, 20 of them in the loader
        rank.event("cuda_runtime", "cudaDeviceSynchronize", 45000000, 5100000)
        rank.kernel(60000000, 10000000, "relu", "aten::relu")  # 10 ms after a call that waited
        rank.kernel(75000000, 10000000, "relu", "aten::relu", launch=69000000)  # 5 ms launched before
        alone = self.evaluate(write(self.work / "one", [rank]))["traces"]["alone"][0]
        wanted = {"total_ns": 84000000, "busy_ns": 40000000, "idle": {"input": 20000000, "host": 9000000, "sync": 10000000, "queued": 5000000, "unknown": 0}}
        self.checks.expect(not differences("alone", wanted, alone), "one rank: %s" % differences("alone", wanted, alone))
        self.checks.expect([k["name"] for k in alone["operators"]] == ["aten::mm", "aten::relu"], "operators: %s" % alone["operators"])

    def first_lines(self):
        """Where no rule has findings, or none has data, the first line says where the time went."""
        rank = Rank(0, 1)
        rank.event("cpu_op", "aten::outer", 1000000, 4000000)
        rank.event("cpu_op", "aten::inner", 2000000, 3000000)
        host = write(self.work / "host", [rank])
        rank.kernel(6000000, 9000000)
        rank.kernel(15500000, 500000)
        for trial, wanted in ((host, "nothing was tested: no trace has activity of a GPU; of the time of operators on CPUs 75 % went to aten::inner"),
                              (write(self.work / "device", [rank]), "nothing wrong in 4 rules; the GPU of worker_0 computed for 95 % of the time")):
            done = mpirun(1, [self.args.assay, "run", trial, "-o", self.work / "out_line"])
            self.checks.expect(done.out.startswith(wanted), "the first line: %s" % done.out.split("\n")[0])
            self.checks.expect(done.code == (1 if trial == host else 0), "nothing tested is no pass: %d" % done.code)

    def other_commands(self):
        """Commands that look at tensors and metrics name the one that answers."""
        trial = write(self.work / "others", job(2))
        for words in (("show", trial, "x"), ("show", trial, "--metric", "x"), ("stats", trial, "-o", self.work / "x.csv"),
                      ("stats", trial, "--metrics", "-o", self.work / "x.csv")):
            done = cli([self.args.assay, *words])
            self.checks.expect(done.code == 2 and "`assay run` says where their time went" in done.err, "%s: %s" % (words[0], done.err))
        packed = self.work / "others.h5"
        cli([self.args.assay, "pack", trial, "-o", packed])
        self.checks.expect(self.evaluate(packed)["traces"] == self.evaluate(trial)["traces"], "packed traces are other traces")

    def damage(self):
        """A file that is cut, damaged, doubled or of other steps is named; the others are evaluated without it."""
        folder = write(self.work / "damage", job(6, slow={2: 1.5}))
        path = {r: folder / ("host_rank%d.1700000000.pt.trace.json.gz" % r) for r in range(6)}
        packed = path[5].read_bytes()
        for name, bytes_ in (("cut", packed[:len(packed) // 2]), ("json", gzip.compress(gzip.decompress(packed)[:-200])),
                             ("bad", gzip.compress(gzip.decompress(packed).replace(b'"dur"', b'"dur', 1))), ("empty", b""),
                             *((key, gzip.compress(gzip.decompress(packed).replace(b'"%s"' % key.encode(), b'"%s%c"' % (key[:-1].encode(), ord(key[-1]) ^ 1))))
                               for key in ("ts", "correlation", "Seq", "traceEvents")),
                             ("deep", gzip.compress(b'{"traceEvents": [{"a": ' + b"[" * 100 + b"]" * 100 + b"}]}"))):
            path[5].write_bytes(bytes_)
            trial = self.evaluate(folder)
            traces = trial["traces"]
            self.checks.expect(traces["set_aside"] == [5] and traces["ranks"] == [0, 1, 2, 3, 4], "%s: %s" % (name, traces["set_aside"]))
            self.checks.expect(any(path[5].name in p["text"] for p in trial["problems"]), "%s is not named: %s" % (name, trial["problems"]))
            self.checks.expect(self.fired(trial).get("LateRank") == ["worker_2"], "%s: %s" % (name, self.fired(trial)))
        own = gzip.decompress(packed).replace(b'"user_annotation"', b'"user_annotation", "id": 1', 1).replace(b'"args": {}', b'"args": {"seq": 1}')
        path[5].write_bytes(gzip.compress(own))
        self.checks.expect(self.evaluate(folder)["traces"]["set_aside"] == [], "what a program adds to an annotation is no damage")
        path[5].unlink()
        trial = self.evaluate(folder)
        self.checks.expect(trial["traces"]["no_file"] == [5] and any("rank 5" in p["text"] for p in trial["problems"]), "a lost file is not named")
        (folder / "zz_rank0.json.gz").write_bytes(path[0].read_bytes())
        trial = self.evaluate(folder)
        self.checks.expect(any("another file" in p["text"] for p in trial["problems"]), "a doubled file: %s" % trial["problems"])

    def exchanged(self):
        """Files in each other's place are known by what they say themselves, and named; a rank within a node says nothing of that."""
        folder = write(self.work / "exchanged", job(4, slow={2: 1.5}))
        one, two = (folder / ("host_rank%d.1700000000.pt.trace.json.gz" % r) for r in (1, 2))
        kept = one.read_bytes()
        one.write_bytes(two.read_bytes())
        two.write_bytes(kept)
        trial = self.evaluate(folder)
        named = {p["file"]: p["text"] for p in trial["problems"]}
        self.checks.expect(self.fired(trial).get("LateRank") == ["worker_2"] and set(named) == {one.name, two.name} and "rank 2, its name rank 1" in named[one.name],
                           "exchanged files: %s %s" % (self.fired(trial), trial["problems"]))
        local = self.work / "local"
        local.mkdir()
        for path in folder.iterdir():
            (local / path.name.replace("host_rank", "host_local_rank")).write_bytes(path.read_bytes())
        self.checks.expect(self.evaluate(local)["problems"] == [], "ranks within a node were held against those of the job")

    def compare(self, before, after):
        """The answer and the figures of two trials, the same at any number of ranks."""
        first = None
        for ranks in self.args.ranks:
            out = self.work / "out_compare"
            done = mpirun(ranks, [self.args.assay, "compare", before, after, "-o", out])
            body = body_of((out / "report.json").read_bytes())
            first = first or body
            self.checks.expect(body == first, "%s: another comparison at %d ranks" % (before, ranks))
        return done.out.split("\n")[0], json.loads((out / "report.json").read_text())["comparison"]["traces"]

    def before_after(self):
        """What takes longer after a change, by operators; and traces that have no operator in common."""
        places = {}
        for name, operator, factor, steps in (("before", "aten::mm", 1, 2), ("after", "aten::mm", 3, 4), ("same", "aten::mm", 1, 2), ("other", "aten::conv", 1, 2),
                                              ("loads", "aten::mm", 1, 2)):
            rank, later = Rank(0, 1), 5000000 if name == "loads" else 0
            for step in range(steps):
                begin = step * 50000000
                rank.step(step, begin, 50000000)
                rank.kernel(begin + 1000000, factor * 2000000, "gemm_" + operator, operator)
                if later:
                    rank.load(begin + 4000000, 15000000)
                rank.kernel(begin + 20000000 + later, 1000000, "relu" + operator, "aten::relu" if operator == "aten::mm" else operator)
            places[name] = write(self.work / ("pair_" + name), [rank])
        answer, got = self.compare(places["before"], places["after"])
        wanted = [{"name": "aten::mm", "before_ns": 2000000, "after_ns": 6000000, "difference_ns": 4000000, "before_count": 2, "after_count": 4},
                  {"name": "aten::relu", "before_ns": 1000000, "after_ns": 1000000, "difference_ns": 0, "before_count": 2, "after_count": 4}]
        self.checks.expect(not differences("operators", wanted, got["operators"]) and got["steps"] == [2, 4], "before and after: %s" % got)
        self.checks.expect("aten::mm takes 3 times as long: 6 ms a step instead of 2" in answer, "the answer: %s" % answer)
        answer, _ = self.compare(places["before"], places["same"])
        self.checks.expect(answer.endswith("no operator takes a hundredth of the time more or less."), "the same twice: %s" % answer)
        answer, _ = self.compare(places["before"], places["loads"])
        self.checks.expect("more or less; waiting for input takes 15 ms a step instead of 0; all together " in answer, "time that no operator takes: %s" % answer)
        answer, _ = self.compare(places["before"], places["other"])
        self.checks.expect("no name in common" in answer, "other operators: %s" % answer)
        for expected in sorted(SHARED.glob("*.expected.json")) if SHARED.exists() else []:
            wanted = json.loads(expected.read_text())
            if wanted["schema"] != "assay-traces-compare/1":
                continue
            place = SHARED / expected.name[:-len(".expected.json")]
            _, got = self.compare(place / "before", place / "after")
            found = [d for k, v in wanted.items() if k not in ("schema", "problems") for d in differences(k, v, got[k])]
            self.checks.expect(not found, "%s: %s" % (place.name, found[:3]))

    def shared(self):
        for folder in (SHARED, REAL[0]):
            for expected in sorted(folder.glob("*.expected.json")) if folder.exists() else []:
                wanted = json.loads(expected.read_text())
                name = expected.name[:-len(".expected.json")]
                place = SHARED / name if folder == SHARED else next(iter(REAL[1].glob(name + "*.gz")), None)
                if wanted["schema"] != "assay-traces-expected/1" or not place:
                    continue
                if not wanted["ranks"] and not wanted["set_aside"]:  # it says no rank: an answer alone is more
                    self.checks.expect(len(self.evaluate(place)["traces"]["alone"]) == 1, "%s: no answer" % name)
                    continue
                trial = self.evaluate(place)
                found = [d for k, v in wanted.items() if k not in ("schema", "rules", "problems") for d in differences(k, v, trial["traces"][k])]
                for rule in trial["rules"]:
                    if rule["rule"] in RULES:
                        found += differences(rule["rule"], wanted["rules"][rule["rule"]], rule)
                self.checks.expect(not found, "%s: %s" % (name, found[:3]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        test = Test(args, Path(work))
        for part in (test.known_answers, test.page, test.same_in_every_form, test.forms_of_programs, test.no_rank, test.pairs_of_ranks, test.one_rank, test.first_lines, test.other_commands, test.damage, test.exchanged, test.before_after, test.shared):
            part()
        test.checks.done()


if __name__ == "__main__":
    main()
