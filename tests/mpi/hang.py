#!/usr/bin/env python3
"""assay hang on dumps that this test writes: the culprits, and the same report at any number of ranks.

    hang.py --assay PROGRAM --ranks 1 2 3 ...
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import dumps  # noqa: E402
from launch import ROOT, Checks, mpirun  # noqa: E402
from reports import body_of  # noqa: E402

SHARED = ROOT.parent / "shared" / "logs" / "flight"


def culprits(report):
    rules = {r["name"]: r for t in json.loads((report / "report.json").read_text())["trials"] for r in t["rules"]}
    return [(f["test"], f["worker"], int(f["value"])) for f in rules["HangCulprit"]["findings"]]


def other_names(ranks):
    """Odd ranks count their groups otherwise: pair 3 is called 103 there."""
    for rank in ranks:
        if rank.number % 2:
            rank.groups = [g if g.name == "0" else dumps.Group(str(100 + int(g.name)), g.description, g.ranks) for g in rank.groups]
            for entry in rank.entries:
                name, description = entry["process_group"]
                entry["process_group"] = (name if name == "0" else str(100 + int(name)), description)
    return ranks


def ranks_in_lists(ranks):
    for rank in ranks:
        plain = rank.dump

        def listed(plain=plain):
            dump = plain()
            for group in dump["pg_config"].values():
                group["ranks"] = json.loads(group["ranks"])
            return dump
        rank.dump = listed
    return ranks


def left_the_program(number=5):
    """A rank goes to a barrier of all while the others go on: those of its pair and its four wait for it, and hosts that run ahead show that
    they call something else of all."""
    world = dumps.Group("0", "default_pg", list(range(8)))
    pairs = [dumps.Group(str(1 + r // 2), "TENSOR_MODEL_PARALLEL_GROUP", [r, r + 1]) for r in range(0, 8, 2)]
    fours = [dumps.Group(str(5 + r), "DATA_PARALLEL_GROUP", list(range(r, 8, 2))) for r in range(2)]
    ranks = []
    for r in range(8):
        rank = dumps.Rank(r, [world] + pairs + fours)
        for group in (pairs[r // 2], fours[r % 2], world):
            rank.call(group, "all_reduce")
        if r == number:
            rank.call(world, "barrier", state="scheduled")
        elif r == number ^ 1:
            rank.call(pairs[r // 2], "all_reduce", state="scheduled")
        else:
            rank.call(pairs[r // 2], "all_reduce")
            rank.call(fours[r % 2], "all_reduce", state="scheduled")
            rank.call(world, "all_reduce", state="scheduled")
        ranks.append(rank)
    return ranks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    args, _ = parser.parse_known_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)

        def hang(trial, ranks):
            out = place / f"out-{ranks}"
            return mpirun(ranks, [args.assay, "hang", trial, "--out", out, "--quiet"]), out

        cases = {"stuck": dumps.stuck(stopped=(5,)), "gone": [r for r in dumps.stuck(stopped=(2,)) if r.number != 2],
                 "well": dumps.stuck(stopped=()), "left": left_the_program()}
        for rank in cases["well"]:
            for entry in rank.entries:
                entry["state"] = "completed"
        wanted = {"stuck": [("behind", "worker_5", 7)], "gone": [("absent", "worker_2", 7)], "well": [],
                  "left": [("deadlock", "worker_5", 0)]}
        for name, ranks in cases.items():
            for form in ("pickle", "json"):
                trial = place / f"{name}-{form}"
                dumps.write(trial, ranks, form)
                first = None
                for number in args.ranks:
                    done, out = hang(trial, number)
                    found = culprits(out)
                    checks.expect(found == wanted[name], f"{trial.name}: {found} instead of {wanted[name]}: {done.err}")
                    first = first or body_of(out)
                    checks.expect(body_of(out) == first, f"{trial.name}: other bytes on {number} ranks")
                problems = [p["text"] for p in json.loads((out / "report.json").read_text())["trials"][0]["problems"]]
                checks.expect([p.startswith("rank 2 left no dump") for p in problems] == [True] * (name == "gone"),
                              f"{trial.name}: who left no dump is named: {problems}")
        few = place / "few"
        dumps.write(few, dumps.stuck(stopped=())[:1])
        for trial in (few, few / "_dump_0"):
            said = hang(trial, 1)[0].out
            checks.expect("only 1 of 8 ranks left a dump" in said and "hold up" not in said, f"{trial}: few dumps: {said}")
        dumps.write(few, dumps.stuck(stopped=(1,))[:2])
        said = hang(few, 1)[0].out
        checks.expect("rank 1 has not called" in said.split("\n")[0], f"who has a dump says more than who has none: {said}")
        everybody = dumps.stuck(stopped=(), ranks=300)
        for rank in everybody[1:9]:  # the others of nine stand at an operation of all, and rank 1 has not called it
            rank.entries[-1]["state"] = "scheduled"
        del everybody[1].entries[-1]
        dumps.write(place / "most", everybody[:9])
        said, out = hang(place / "most", 1)
        first, rule = said.out.split("\n")[0], (out / "report.json").read_text()
        checks.expect("only 9 of 300 ranks left a dump" in first and "rank 1 has not called" in first, f"most have no dump: {first}")
        checks.expect(len(culprits(out)) == 292 and len(rule) < 600000, f"ranks of one operation are listed once: {len(rule)} bytes")
        both = mpirun(1, [args.assay, "hang", place / "stuck-pickle" / "_dump_0", place / "stuck-pickle" / "_dump_1", "--quiet"])
        checks.expect(both.code == 2 and "give the directory" in both.err, f"dumps of one job, each alone: {both.err}")
        for how, change in (("called differently", other_names), ("in lists", ranks_in_lists)):
            for form in ("pickle", "json"):
                trial = place / f"{how}-{form}"
                dumps.write(trial, change(dumps.stuck(stopped=(5,))), form)
                first = None
                for number in args.ranks:
                    done, out = hang(trial, number)
                    checks.expect(culprits(out) == wanted["stuck"], f"groups {how}: {culprits(out)}: {done.err}")
                    first = first or body_of(out)
                    checks.expect(body_of(out) == first, f"groups {how}: other bytes on {number} ranks")
        page = place / "page"
        mpirun(1, [args.assay, "hang", place / "stuck-pickle", "--out", page, "--reports", "text,html", "--quiet"])
        text, html = (page / "report.txt").read_text(), (page / "report.html").read_text()
        checks.expect("Who waits\n" in text and "rank 4  rank 5" in text, "who waits for whom: %s" % text)
        checks.expect("Ranks by groups" in html and "pairs-plot" in html, "the picture of the page")
        damaged = place / "stuck-pickle"
        data = (damaged / "_dump_3").read_bytes()
        (damaged / "_dump_3").write_bytes(data[:len(data) // 2])
        done, out = hang(damaged, args.ranks[-1])
        problems = json.loads((out / "report.json").read_text())["trials"][0]["problems"]
        checks.expect(done.code == 3 and any("_dump_3" in p["text"] and "offset" in p["text"] for p in problems),
                      f"a dump that is cut is named: {done.code} {problems}")
        exchanged = place / "stuck-json"
        for name, put in (("_dump_1", "aside"), ("_dump_2", "_dump_1"), ("aside", "_dump_2")):  # of two groups: those of one say nothing
            (exchanged / name).rename(exchanged / put)
        done, out = hang(exchanged, args.ranks[-1])
        problems = [p["text"] for p in json.loads((out / "report.json").read_text())["trials"][0]["problems"]]
        checks.expect(done.code == 3 and [p.split(":")[0] for p in problems] == ["_dump_1", "_dump_2"] and "another rank's" in problems[0],
                      f"dumps in each other's place: {done.code} {problems}")
        for expected in sorted(SHARED.glob("*.expected.json")) if SHARED.is_dir() else []:
            name = expected.name[:-len(".expected.json")]
            rule = json.loads(expected.read_text())["rules"]["HangCulprit"]
            done, out = hang(SHARED / name, args.ranks[-1])
            want = [(f["test"], f["worker"], f["waiting"]) for f in rule["findings"]]
            checks.expect(culprits(out) == want, f"{name}: {culprits(out)} instead of {want}")
    checks.done()


if __name__ == "__main__":
    main()
