#!/usr/bin/env python3
"""The list of docs/loading.md is the one that the program has (src/verify/allowed.c), name by name.

    loading.py [--write]
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE, PAGE = ROOT / "src/verify/allowed.c", ROOT / "docs/loading.md"
BEGIN, END = "<!-- list: tests/docs/loading.py --write -->\n", "<!-- end of the list -->\n"


def texts_of(source, table):
    """The texts between the braces of a table, those that stand side by side as one."""
    body = re.search(r"%s\[\] = \{\n(.*?)\n\};" % table, source, re.S).group(1)
    body = re.sub(r'"\s*\n\s*"', "", body)
    body = re.sub(r'",\s*\n\s*"', '", "', body) if "{" in body else body
    return [re.findall(r'"([^"]*)"', line) for line in body.split("\n") if '"' in line]


def words(text):
    return " ".join("`%s`" % word for word in text.split())


def list_of(source):
    """A row for each list of names, with all modules that have it: numpy has moved some of its modules and kept the old names."""
    modules = {}
    for module, names in texts_of(source, "ALLOWED"):
        modules.setdefault(names, []).append(module)
    out = ["| module | names |", "|---|---|"]
    out += ["| %s | %s |" % (", ".join("`%s`" % name for name in those), words(names)) for names, those in modules.items()]
    out += ["", "Classes of: " + ", ".join("`%s`" % name.rstrip(".") for (name,) in texts_of(source, "CLASSES_OF")) + "."]
    return "\n".join(out) + "\n"


def main():
    page, wanted = PAGE.read_text(), list_of(CODE.read_text())
    before, _, rest = page.partition(BEGIN)
    said, _, after = rest.partition(END)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(before + BEGIN + wanted + END + after)
        return 0
    if said != wanted:
        print("docs/loading.md has another list than src/verify/allowed.c: tests/docs/loading.py --write")
    return said != wanted


if __name__ == "__main__":
    sys.exit(main())
