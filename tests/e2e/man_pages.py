#!/usr/bin/env python3
"""The options in the man pages are those of --help, word by word; every command has a page; and quotes that
readers should see are there, though macros take " for the bounds of an argument.

    man_pages.py --assay PROGRAM [--write]

The tables of options in src/cli are the one place where options are described: --write brings the pages up to date.
"""
import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks, run  # noqa: E402

PAGES = ROOT / "docs" / "man"
TABLE = ROOT / "docs" / "configuration.md"

BLOCK = re.compile(r"^\.SH OPTIONS\n(.*?)(?=^\.SH )", re.M | re.S)  # the options of a page


ROWS = re.compile(r"(?<=\n\n)\| option \|.*?(?=\n\n|\Z)", re.S)  # the table of options that commands share


def roff(text):
    """Text as it stands in a page: a line never begins with a point or a quote, which would be a request."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + plain if plain[:1] in (".", "'") else plain


def options_of(assay, command):
    """The OPTIONS of a command as they stand in its page, from --help on a terminal that breaks no line."""
    lines = run([assay, command, "--help"], env={"COLUMNS": "1000"}).out.split("Options:\n")[1].splitlines()
    out, help_text = [], ""
    for line in lines + ["  --"]:
        begins = re.match(r"  --([a-z0-9-]*)(?: (\S+))?(?:  +(.*))?$", line)
        if not begins:
            help_text += " " + line.strip()
            continue
        if out:
            out.append(roff(help_text.strip()))
        if begins[1]:
            out += [".TP", ".B " + roff("--" + begins[1]) + (" \\fI%s\\fR" % roff(begins[2]) if begins[2] else "")]
        help_text = begins[3] or ""
    return "".join(line + "\n" for line in out)


def shared_of(assay, commands):
    """The options that six commands or more have, and which those are."""
    takers, values = {}, {}
    for command in commands:
        for name, value in re.findall(r"^  --([a-z0-9-]+)(?: (\S+))?(?:  |$)", run([assay, command, "--help"], env={"COLUMNS": "1000"}).out, re.M):
            takers.setdefault(name, []).append(command)
            values.setdefault(name, []).append(value)
    lines = ["| option | commands |", "|---|---|"]
    for name in sorted(name for name in takers if len(takers[name]) > 5):
        missing = sorted(set(commands) - set(takers[name]))
        of = "all" if not missing else "all but " + ", ".join(missing) if len(missing) < 6 else ", ".join(sorted(takers[name]))
        value = sorted(set(values[name]) - {""})
        lines.append("| `--%s%s` | %s |" % (name, " " + value[0] if len(value) == 1 else "", of))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    assay, checks = args.assay, Checks()
    overview = run([assay, "--help"]).out
    commands = re.findall(r"^  (\w+) +\S", overview.split("Commands:")[1].split("\n\n")[0], re.M)
    checks.expect(len(commands) >= 5, "--help lists the commands: %s" % commands)
    main_page = (PAGES / "assay.1").read_text()
    for command in commands:
        path = PAGES / ("assay-%s.1" % command)
        if not checks.expect(path.exists(), "%s has no page" % command):
            continue
        page, options = path.read_text(), options_of(assay, command)
        if args.write and BLOCK.search(page):
            page = BLOCK.sub(lambda found: ".SH OPTIONS\n" + options, page)
            path.write_text(page)
        found = BLOCK.search(page)
        checks.expect(found and found[1] == options, "%s: not the options of --help: man_pages.py --write" % path.name)
        checks.expect("assay\\-%s" % command in main_page, "assay.1 does not name %s" % command)
    shared, text = shared_of(assay, commands), TABLE.read_text()
    if args.write:
        text = ROWS.sub(lambda found: shared, text)
        TABLE.write_text(text.rstrip("\n") + "\n")
    found = ROWS.search(text)
    checks.expect(found and found[0].strip() == shared, "%s: not the options of --help: man_pages.py --write" % TABLE.name)
    pages = {p.name for p in PAGES.glob("assay-*.1")}
    checks.expect(pages == {"assay-%s.1" % c for c in commands}, "pages without a command: %s" % pages)
    for page in sorted(PAGES.glob("*.1")):
        lost = re.findall(r'^\.(?:[BI]|[BIR]{2}) .*".*$', page.read_text(), re.M)
        checks.expect(not lost, "%s: \\(dq prints a quote, \" does not: %s" % (page.name, lost))
    for code in ("0", "1", "2", "3", "4", "75"):
        checks.expect(re.search(r"\b%s " % code, overview) and "\n.B %s\n" % code in main_page, "exit code %s" % code)
    checks.done()


if __name__ == "__main__":
    main()
