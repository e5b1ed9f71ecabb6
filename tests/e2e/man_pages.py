#!/usr/bin/env python3
"""The man pages name every option that --help names and no other; every command has a page; and quotes that
readers should see are there, though macros take " for the bounds of an argument.

    man_pages.py --assay PROGRAM
"""
import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks, run  # noqa: E402

PAGES = ROOT / "docs" / "man"


def helped(text):
    """{option: what stands for its value} of a --help text; --help itself is everyone's."""
    found = re.findall(r"^  --([a-z-]+)(?: (\S+))?(?:  |$)", text, re.M)
    return {name: value for name, value in found if name != "help"}


def documented(page):
    options = {}
    for line in page.split(".SH OPTIONS")[-1].split(".SH")[0].splitlines() if ".SH OPTIONS" in page else []:
        match = re.match(r"\.B \\-\\-([a-z\\-]+)(?: \\fI(.*)\\fR)?$", line)
        if match:
            options[match[1].replace("\\-", "-")] = (match[2] or "").replace("\\-", "-")
    options.pop("help", None)
    return options


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay = parser.parse_args().assay
    checks = Checks()
    overview = run([assay, "--help"]).out
    commands = re.findall(r"^  (\w+) +\S", overview.split("Commands:")[1].split("\n\n")[0], re.M)
    checks.expect(len(commands) >= 5, "--help lists the commands: %s" % commands)
    main_page = (PAGES / "assay.1").read_text()
    for command in commands:
        path = PAGES / ("assay-%s.1" % command)
        if not checks.expect(path.exists(), "%s has no page" % command):
            continue
        there, here = helped(run([assay, command, "--help"]).out), documented(path.read_text())
        checks.expect(there == here, "%s: --help has %s, the page has %s" % (command, there, here))
        checks.expect("assay\\-%s" % command in main_page, "assay.1 does not name %s" % command)
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
