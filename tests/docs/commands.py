#!/usr/bin/env python3
"""The documents name what there is: the index has every page, and every command line of assay that a page shows has a command and
options that the program has. What is to be recorded is said for each rule, and the file of options is read as it is shown.

    commands.py --assay PROGRAM
"""
import argparse
import json
import re
import shlex
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from launch import Checks, run  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "slurm").glob("*.md")), *sorted((ROOT / "jobs").rglob("*.md"))]
ENDS = {"|", "||", "&&", ";", ">", ">>", "2>", "2>&1", "&", "<", "]", "[", "(", ")", "then", "do"}


def commands_of(text):
    """The words behind `assay` of each command in a text: of blocks without the name of another language, and of text between backquotes."""
    for fence, language, block in re.findall(r"^(```+)(\w*)\n(.*?)^\1$", text, re.M | re.S):
        if language in ("", "sh", "bash", "console"):
            for line in re.sub(r"\\\n", " ", block).splitlines():
                if re.match(r"(\$ |[A-Z_]+=\S* |mpirun .*|srun .*)*assay [a-z-]", line):
                    yield from words_of(line)
    for line in re.findall(r"`([^`\n]+)`", re.sub(r"^(```+).*?^\1$", "", text, flags=re.M | re.S)):
        if re.match(r"(mpirun .*|srun .*)?assay [a-z-]", line):
            yield from words_of(line)


def words_of(line):
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        words = list(lexer)
    except ValueError:  # an apostrophe of English
        words = line.split()
    while "assay" in words:
        words = words[words.index("assay") + 1:]
        end = next((i for i, word in enumerate(words) if word in ENDS or word == "assay"), len(words))
        yield words[:end]


def options_of(assay, command):
    return set(re.findall(r"^  --([a-z0-9-]+)", run([assay, command, "--help"]).out, re.M))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay, checks = parser.parse_args().assay, Checks()
    index = (ROOT / "docs" / "README.md").read_text()
    for page in sorted((ROOT / "docs").glob("*.md")):
        times = index.count("](%s)" % page.name)
        checks.expect(times == 1 or page.name == "README.md", "docs/README.md has %s %d times" % (page.name, times))
    checks.expect([part for part in re.findall(r"^## (.*)$", index, re.M)] == ["Use", "Record", "Extend", "Inside"], "the four parts of the index")
    there = re.findall(r"^  (\w+) +\S", run([assay, "--help"]).out.split("Commands:")[1].split("\n\n")[0], re.M)
    options, seen = {command: options_of(assay, command) | {"help"} for command in there}, 0
    for page in PAGES:
        for words in commands_of(page.read_text()):
            if not words or words[0].isupper() or words[0] in ("help", "--version", "--help", "version"):
                continue
            seen += 1
            name = page.relative_to(ROOT)
            if not checks.expect(words[0] in options, "%s: `assay %s`: there is no such command" % (name, " ".join(words))):
                continue
            given = {word[2:].partition("=")[0] for word in words[1:] if re.match(r"--[a-z]", word)}
            checks.expect(given <= options[words[0]], "%s: `assay %s`: it has no --%s" % (name, " ".join(words), ", --".join(sorted(given - options[words[0]]))))
    table = (ROOT / "docs" / "what-to-record.md").read_text().split("## What it costs")[0]
    rules = [rule["name"] for rule in json.loads(run([assay, "rules", "--json"]).out) if rule["kind"] == "rule"]
    for name in rules:
        checks.expect(len(re.findall(r"\b%s\b" % name, table)) == 1, "docs/what-to-record.md does not have %s once" % name)
    checks.expect(len(rules) > 60, "%d rules" % len(rules))
    with tempfile.TemporaryDirectory() as where:
        file = Path(where) / "config"
        file.write_text((ROOT / "docs" / "configuration.md").read_text().split("```")[1])
        for command in there:
            done = run([assay, command], env={"ASSAY_CONFIG": str(file)}, cwd=where)
            checks.expect(str(file) not in done.err, "docs/configuration.md: %s" % done)
        file.write_text(file.read_text() + "run.nope = 1\n")
        done = run([assay, "ls", "nowhere"], env={"ASSAY_CONFIG": str(file)}, cwd=where)
        checks.expect(done.code == 2 and "run has no option" in done.err, "a line that nobody understands: %s" % done)
    checks.expect(seen > 150, "%d commands were found" % seen)
    checks.done()


if __name__ == "__main__":
    main()
