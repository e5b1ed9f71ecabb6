#!/usr/bin/env python3
"""docs/developing.md is true: its map names every folder of src, its journeys and checklists name files that there are, a format's
members are those of the table; and who follows "Add a rule", "Add a report form", "Add a report section" and "Add a format" to the letter gets all four.

    developing.py names
    developing.py follow --cmake PROGRAM --cc COMPILER --build DIR

`follow` does in a copy of the tree what sentences of these forms say above a block of code:
    Create `FILE`...:                       the file, with the block in it
    In `FILE`, below `LINE`, add:           the block below the line of that text
    Copy `FILE` to `FILE`, ...:             the file as it is
    Copy `PATH` to `PATH`... write NAME for `WORD`:   a file with that word replaced, or a folder with that in the names of its files
    ... and `FILE` beside it                what the copy includes
Then the copy is built by its own CMake files. Objects that none of this touches are taken from DIR, a build of the same sources: a compiler
launcher copies them.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks, run  # noqa: E402
from made import Made  # noqa: E402

PAGE = ROOT / "docs" / "developing.md"
COPIED = ("CMakeLists.txt", "cmake", "include", "jobs", "src", "rules", "docs", "tests")
STEP = re.compile(r"^\d+\. (?:Create `([^`]+)`[^\n]*|In `([^`]+)`, below `([^`]+)`, add):\n\n```\w*\n(.*?)^```$", re.M | re.S)
PLAIN = re.compile(r"^\d+\. Copy `(tests/docs/\w+\.c)` to `([^`]+)`", re.M)
COPY = re.compile(r"^\d+\. Copy `([^`]+)` to `([^`]+)`(?:, and `([^`]+)` beside it)?.*?write NAME\s+for\s+`(\w+)`", re.M | re.S)
NAME = "tally"  # of the format that is added


def section(title):
    return re.search(r"^## %s\n(.*?)(?=^## |\Z)" % re.escape(title), PAGE.read_text(), re.M | re.S).group(1)


def check_names(checks):
    folders = {"src/%s/" % p.name for p in (ROOT / "src").iterdir() if p.is_dir()}
    mapped = set(re.findall(r"^\| `(src/\w+/)` \| \S", section("Map of src"), re.M))
    checks.expect(mapped == folders, "the map of src: %s" % sorted(mapped ^ folders))
    made = {created or "" for created, _, _, _ in STEP.findall(PAGE.read_text())} | {to for _, to in PLAIN.findall(PAGE.read_text())}
    named = set(re.findall(r"(?<![\w/])(?:src|include|rules|tests|docs)/[\w./-]*\w", PAGE.read_text()))
    for name in sorted(named - made):
        if "NAME" not in name:
            checks.expect((ROOT / name).exists(), "there is no %s" % name)
    table = re.search(r"typedef struct assay_trial_format \{(.*?)^\} assay_trial_format;", (ROOT / "src/trial/trial_format.h").read_text(),
                      re.M | re.S).group(1)
    members = set(re.findall(r"\(\*(\w+)\)\(", table)) | set(re.findall(r"(\w+);", table))
    told = set(re.findall(r"^\d+\. `(\w+)` ", section("Add a format"), re.M))
    checks.expect(len(told) >= 4 and told <= members, "not members of a format: %s" % sorted(told - members))
    check_formats(checks)
    for term in ("trial", "step", "mode step", "worker", "rule", "datapoint", "finding", "chunk", "use", "partial", "combine",
                 "reference cache", "lookahead", "deferred", "demand"):
        rows = re.findall(r"^\| %s \| (.*) \|$" % term, (ROOT / "docs" / "glossary.md").read_text(), re.M)
        checks.expect(len(rows) == 1 and rows[0].endswith("."), "the glossary has %d sentences on %s" % (len(rows), term))


def check_formats(checks):
    """Every format has what the checklist names, under its own name; those of the tests have their table and their trial."""
    steps = section("Add a format")
    named = [p for p in re.findall(r"`((?:src|tests)/[\w./*-]*NAME[\w./*-]*)`", steps)]
    checks.expect(len(named) >= 3, "the checklist names %s" % named)
    listed = re.findall(r"^X\((\w+)\)", (ROOT / "src/format/formats.def").read_text(), re.M)
    events = re.findall(r"^X\((\w+)\)", (ROOT / "src/format/event_formats.def").read_text(), re.M)
    for name in events:
        page = {"flight": "hang"}.get(name, name)  # a page is called after what it answers
        checks.expect((ROOT / "docs" / (page + ".md")).exists(), "format of events %s: there is no docs/%s.md" % (name, page))
        for path in ("src/format/%s/*.c", "tests/data/events/%s", "tests/fuzz/fuzz_%s_*.c"):
            checks.expect(list(ROOT.glob(path % name)), "format of events %s: there is no %s" % (name, path % name))
    checks.expect(len(listed) >= 2 and not set(listed + events) ^ {p.parent.name for p in (ROOT / "src/format").glob("*/*.c")
                                                           if p.parent.name not in ("tfrecord", "npy_record", "joblog")}, "formats in the list: %s" % listed)
    table = re.search(r"typedef struct assay_trial_format \{(.*?)^\} assay_trial_format;", (ROOT / "src/trial/trial_format.h").read_text(),
                      re.M | re.S).group(1)
    # A member whose comment says what NULL means may be missing.
    calls = {name for comment, name in re.findall(r"((?:/\*(?:(?!\*/).)*\*/)?)\s*[\w ]+\*?\(\*(\w+)\)\(", table, re.S) if "NULL:" not in comment}
    for name in listed:
        for path in named:
            checks.expect(list(ROOT.glob(path.replace("NAME", name).rstrip("/"))), "format %s: there is no %s" % (name, path))
        for folder, what in (("tests/fuzz/*.c", "fuzz target"), ("docs/*.md", "page")):
            found = [p for p in ROOT.glob(folder) if re.search(r"format/%s/|\b%s\b" % (name, name), p.read_text())]
            checks.expect(found, "format %s has no %s" % (name, what))
    for name in sorted(set(listed) | set(re.findall(r"^X\((\w+)\)", (ROOT / "tests/formats/formats.def").read_text(), re.M))):
        sources = list((ROOT / "src/format" / name).glob("*.c")) or [ROOT / "tests/formats" / (name + ".c")]
        text = "".join(p.read_text() for p in sources)
        table = re.search(r"^const assay_trial_format assay_format_%s = \{(.*?)^\};" % name, text, re.M | re.S)
        checks.expect(table and set(re.findall(r"\.(\w+) =", table.group(1))) >= calls, "the table of %s" % name)
        checks.expect((ROOT / "tests/data/formats" / name).is_dir(), "format %s has no small trial" % name)


def copy(tree, origin, to, beside, word):
    """A file or a folder of small files, with the format's name for the word."""
    origin, to = tree / origin, tree / to.replace("NAME", NAME)
    if origin.is_file():
        to.parent.mkdir()
        to.write_text(origin.read_text().replace(word, NAME))
    else:
        to.mkdir()
        for path in origin.iterdir():
            shutil.copy(path, to / path.name.replace(word, NAME))
    if beside:
        shutil.copy(tree / beside, to.parent)


def follow(tree):
    """Does what the four checklists say; how many steps of each were done."""
    counts = []
    for title in ("Add a rule", "Add a report form", "Add a report section", "Add a format"):
        text = section(title)
        steps, plain = STEP.findall(text), PLAIN.findall(text)
        copies = [] if plain else COPY.findall(text)
        counts.append(len(steps) + len(plain) + len(copies))
        for origin, to in plain:
            shutil.copy(tree / origin, tree / to)
        for created, changed, below, block in steps:
            path = tree / (created or changed)
            if created:
                path.write_text(block)
                continue
            lines = path.read_text().splitlines(keepends=True)
            at = [i for i, line in enumerate(lines) if below in line]
            if len(at) != 1:
                sys.exit("%s: %d lines with %s" % (changed, len(at), below))
            path.write_text("".join(lines[:at[0] + 1]) + block.replace("NAME", NAME) + "".join(lines[at[0] + 1:]))
        for one in copies:
            copy(tree, *one)
    return counts


def check_format(checks, tree, build, folder):
    """The laws hold for the added format, and the commands know it."""
    laws = run([build / "tests" / "unit" / "test_format_laws"])
    checks.expect(laws.code == 0, "the laws of formats: %s" % laws)
    trial, assay = tree / "tests" / "data" / "formats" / NAME, build / "src" / "assay"
    job, other = folder / "format.json", shutil.copytree(trial, folder / "other")
    job.write_text(json.dumps({"rules": [{"rule": "LossNotDecreasing", "parameters": {"tensor_regex": "^train/loss"}}]}))
    for argv in (["ls", trial], ["show", trial, "train/loss"], ["stats", trial, "--out", folder / "stats.csv"],
                 ["compare", trial, other, "--job", job, "--out", folder / "compared"],
                 ["watch", job, "--trial", trial, "--every", "0.1", "--out", folder / "watched"],
                 ["run", job, "--trial", trial, "--out", folder / "ran"]):
        done = run([assay, *argv], timeout=60)
        checks.expect(done.code == 0, "%s: %s" % (argv[0], done))


# Stands in front of the compiler: an object in the list is copied, the others are compiled, without taking time to optimise them.
LAUNCHER = """#!/bin/sh
for word; do
    case $before in
    -o) object=$word ;;
    -MF) dependencies=$word ;;
    esac
    before=$word
done
if grep -qxF -- "$object" %(list)s; then
    echo "$object:" >"$dependencies" && exec cp %(build)s/"$object" "$object"
fi
exec "$@" -O0
"""


def same_objects(tree, build):
    """The objects of the build whose source, and all that it includes, is the same in the copy of the tree and older than the object."""
    same, name, fits, age = [], None, False, 0
    told = run(["ninja", "-C", build, "-t", "deps"])
    for line in told.out.splitlines() if told.code == 0 else ():
        if line.endswith("(VALID)"):
            name, fits = line.split(":")[0], line.startswith(("src/", "rules/"))  # tests are told where the tree is
            age = (build / name).stat().st_mtime if (build / name).exists() else 0
        elif not line and name:
            same += [name] if fits else []
            name = None
        elif fits and name:
            path = Path(os.path.normpath(build / line.strip()))
            if path.is_relative_to(build):
                fits = False  # made by the build: who knows of what
            elif path.is_relative_to(ROOT):
                copied = tree / path.relative_to(ROOT)
                fits = copied.exists() and copied.stat().st_mtime == path.stat().st_mtime < age
    return same


def configure(folder, tree, build, cmake, cc, reuse):
    """As the other build was configured, with the launcher."""
    cache = (reuse / "CMakeCache.txt").read_text()
    options = ["-D%s=%s" % option for option in re.findall(r"^(ASSAY_WITH_\w+|ASSAY_WERROR|CMAKE_BUILD_TYPE):\w+=(.*)$", cache, re.M)]
    objects, launcher = folder / "objects", folder / "launcher"
    same = same_objects(tree, reuse)
    objects.write_text("".join(name + "\n" for name in same))
    launcher.write_text(LAUNCHER % {"list": shlex.quote(str(objects)), "build": shlex.quote(str(reuse))})
    launcher.chmod(0o755)
    print("%d objects are those of %s" % (len(same), reuse))
    return run([cmake, "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_C_COMPILER=" + cc, "-DCMAKE_C_COMPILER_LAUNCHER=%s" % launcher, *options])


def check_follow(checks, cmake, cc, reuse):
    with tempfile.TemporaryDirectory() as folder:
        tree, build = Path(folder) / "tree", Path(folder) / "build"
        tree.mkdir()
        for name in COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tree / name)
        checks.expect(follow(tree) == [3, 2, 2, 3], "the checklists have other steps than this test knows")
        done = configure(Path(folder), tree, build, cmake, cc, reuse)
        done = run([cmake, "--build", build, "--target", "assay", "test_format_laws"], timeout=500) if done.code == 0 else done
        if not checks.expect(done.code == 0, "it does not build: %s" % done):
            return
        trial = Made(Path(folder) / "trial").step(0, "TRAIN", 0, {"x": [1.0, 2.0]}).step(1, "TRAIN", 1, {"x": [1.0, -2.0]}).end()
        job = Path(folder) / "job.json"
        job.write_text(json.dumps({"trials": [str(trial)], "rules": [{"name": "below", "rule": "AnyNegative", "parameters": {
            "tensor_regex": "x"}}]}))
        done = run([build / "src" / "assay", "run", job, "--reports", "json,text,verdicts", "--out", Path(folder) / "out"])
        if not checks.expect(done.code == 0, "it does not run: %s" % done):
            return
        rule = json.loads((Path(folder) / "out" / "report.json").read_text())["trials"][0]["rules"][0]
        checks.expect((rule["status"], rule["datapoints"], rule["steps"]) == ("IssuesFound", 2, [1]), "the rule: %s" % rule)
        text = (Path(folder) / "out" / "verdicts.txt").read_text()
        checks.expect(text == "below 1\n", "the form: %r" % text)
        text = (Path(folder) / "out" / "report.txt").read_text()
        checks.expect(re.search(r"How much each trial has\n-+\ntrial +workers +steps\ntrial +1 +2\n", text), "the section: %s" % text)
        check_format(checks, tree, build, Path(folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("names", "follow"))
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--build", type=Path)
    args = parser.parse_args()
    checks = Checks()
    if args.what == "names":
        check_names(checks)
    else:
        check_follow(checks, args.cmake, args.cc, args.build.resolve())
    checks.done()


if __name__ == "__main__":
    main()
