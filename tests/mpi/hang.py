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
                 "well": dumps.stuck(stopped=())}
        for rank in cases["well"]:
            for entry in rank.entries:
                entry["state"] = "completed"
        wanted = {"stuck": [("behind", "worker_5", 7)], "gone": [("absent", "worker_2", 7)], "well": []}
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
        page = place / "page"
        mpirun(1, [args.assay, "hang", place / "stuck-pickle", "--out", page, "--format", "text,html", "--quiet"])
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
        for expected in sorted(SHARED.glob("*.expected.json")) if SHARED.is_dir() else []:
            name = expected.name[:-len(".expected.json")]
            rule = json.loads(expected.read_text())["rules"]["HangCulprit"]
            done, out = hang(SHARED / name, args.ranks[-1])
            want = [(f["test"], f["worker"], f["waiting"]) for f in rule["findings"]]
            checks.expect(culprits(out) == want, f"{name}: {culprits(out)} instead of {want}")
    checks.done()


if __name__ == "__main__":
    main()
