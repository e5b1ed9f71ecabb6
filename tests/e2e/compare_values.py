#!/usr/bin/env python3
"""Compares what `assay ls` and `assay show` say of a trial with the expected values (<trial>.values.json), every row.

    compare_values.py --assay PROGRAM [--folder DIR] [TRIAL]...       default: every trial of DIR with expected values

Workers, steps by mode, collections and their members, incomplete steps, and for each tensor, step and worker dtype, shape,
counts, statistics, strings and saved reductions. Counts are equal, numbers within a relative 1e-9. A sum whose terms cancel
has no such precision, in whichever order it is taken: sum and mean may also differ by 1e-15 of the sum, or mean, of
magnitudes, a few roundings. Ends with 1 on any difference and with 2 when there was nothing to compare.
"""
import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS  # noqa: E402

SHOWN = 20  # differences printed
RELATIVE = 1e-9
ROUNDING = 1e-15
MAGNITUDE = {"sum": "l1", "mean": "abs_mean"}


def same(expected, found):
    """Numbers may be the texts "nan", "inf" and "-inf"."""
    if isinstance(expected, str) or isinstance(found, str) or expected is None or found is None:
        return expected == found
    if isinstance(expected, int) and isinstance(found, int):
        return expected == found
    a, b = float(expected), float(found)
    return a == b or abs(a - b) <= RELATIVE * max(abs(a), abs(b)) or (math.isnan(a) and math.isnan(b))


class Comparison:
    def __init__(self, name):
        self.name, self.compared, self.differences = name, 0, []

    def check(self, where, expected, found, equal=None):
        self.compared += 1
        if not (equal or (lambda a, b: a == b))(expected, found):
            self.differences.append("%s: %s: expected %s, found %s" % (
                self.name, where, json.dumps(expected)[:300], json.dumps(found)[:300]))

    def row(self, where, expected, found):
        for key, value in expected.items():
            if key == "reductions":
                self.check(where + " reductions", sorted(value), sorted(found.get(key, {})))
                for kind in value:
                    self.check("%s %s" % (where, kind), value[kind], found.get(key, {}).get(kind), same)
            elif key in ("dtype", "shape", "strings", "worker", "mode"):
                self.check("%s %s" % (where, key), value, found.get(key))
            elif key in MAGNITUDE:
                terms = expected[MAGNITUDE[key]]
                slack = 0 if isinstance(terms, str) else ROUNDING * terms
                self.check("%s %s" % (where, key), value, found.get(key),
                           lambda a, b: same(a, b) or (slack > 0 and not isinstance(b, str) and abs(a - b) <= slack))
            elif key != "step":
                self.check("%s %s" % (where, key), value, found.get(key), same)
        if "reductions" not in expected:
            self.check(where + " reductions", None, found.get("reductions"))


def ask(assay, *arguments):
    done = subprocess.run([assay, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit("assay %s: exit %d: %s" % (" ".join(map(str, arguments)), done.returncode, done.stderr.decode()))
    return json.loads(done.stdout)


def compare_listing(c, expected, listing):
    c.check("workers", expected["workers"], listing["workers"])
    steps = {"GLOBAL": [s["step"] for s in listing["steps"]]}
    for step in listing["steps"]:
        if step["mode"] != "GLOBAL":
            steps.setdefault(step["mode"], []).append(step["mode_step"])
    c.check("modes", sorted(expected["steps"]), sorted(steps))
    for mode in expected["steps"]:
        c.check("steps of " + mode, expected["steps"][mode], steps.get(mode))
    c.check("incomplete steps", expected["incomplete_steps"], [s["step"] for s in listing["incomplete"]])
    collections = {x["name"]: sorted(x["tensors"]) for x in listing["collections"]}
    c.check("collections", sorted(expected["collections"]), sorted(collections))
    for name, members in expected["collections"].items():
        c.check("collection " + name, sorted(members), collections.get(name))
    c.check("problems", 0, listing["problems_total"])
    c.check("tensors", sorted(expected["tensors"]), [t["name"] for t in listing["tensors"]])
    for tensor in listing["tensors"]:
        first = expected["tensors"].get(tensor["name"], [{}])[0]
        if "dtype" in first:
            c.check("listed dtype of " + tensor["name"], first["dtype"], tensor["dtype"])
            c.check("listed shape of " + tensor["name"], first["shape"], tensor["shape"])


def compare_rows(c, expected, shown):
    rows = {}
    for row in shown:
        key = (row["tensor"], row["mode"], row["mode_step"], row["worker"])
        c.check("row %s occurs once" % (key,), False, key in rows)
        rows[key] = row
    keys = {(name, row["mode"], row["step"], row["worker"]): row
            for name, list_ in expected["tensors"].items() for row in list_}
    c.check("number of rows", len(keys), len(rows))
    for key, row in keys.items():
        if key in rows:
            c.row("%s %s %d %s" % key, row, rows[key])
        else:
            c.check("row %s %s %d %s" % key, "a row", None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--folder", type=Path, default=TRIALS)
    parser.add_argument("trials", nargs="*")
    args = parser.parse_args()
    names = args.trials or sorted(p.name[:-len(".values.json")] for p in args.folder.glob("*.values.json"))
    failed = compared = 0
    for name in names:
        c = Comparison(name)
        expected = json.loads((args.folder / (name + ".values.json")).read_text())
        compare_listing(c, expected, ask(args.assay, "ls", args.folder / name, "--json"))
        compare_rows(c, expected, ask(args.assay, "show", args.folder / name, "--regex", ".*", "--json")["rows"])
        print("%-12s %7d values compared, %d differ" % (name, c.compared, len(c.differences)))
        print("".join("  %s\n" % d for d in c.differences[:SHOWN]), end="")
        failed += len(c.differences)
        compared += c.compared if expected["tensors"] else 0
    if not compared:
        print("nothing was compared")
        sys.exit(2)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
