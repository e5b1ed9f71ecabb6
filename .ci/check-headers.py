#!/usr/bin/env python3
"""check-headers.py [--cc COMPILER] [--cxx COMPILER] - the rules about headers. Prints each breach; exit 1 if there is one.

Every prototype in a header has a contract: a comment above it, at the end of its line, or above the group of lines that
it is in. Whoever takes a communicator says whether it is collective; where no communicator is in sight, "not
collective" is noise that only a header's first comment may make. The public headers compile alone as C and as C++.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("include", "src", "rules", "tests", "bench")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
HEAD_SAYS = re.compile(r"every (function|call) is collective", re.I)  # a first comment that speaks for all that say nothing else
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wstrict-prototypes", "-Werror", "-fsyntax-only", "-I", str(ROOT / "include")]


class Function:
    """A function that a header declares or defines, and what is said about it."""

    def __init__(self, name, returns, parameters, defined, line, contract, grouped):
        self.name, self.returns, self.parameters, self.defined, self.line = name, returns, parameters, defined, line
        self.contract = contract  # the comments that belong to it
        self.grouped = grouped  # it has one, or its group has


def blank(text):
    """The same text without letters: spaces, but every line stays where it is."""
    return re.sub(r"[^\n]", " ", text)


def code_of(text):
    """The text without comments, preprocessor lines, strings, macros on lines of their own, and what stands in braces
    other than those of extern "C"."""
    code = text
    for gone in (COMMENT, re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M), re.compile(r'extern "C"\s*\{'),
                 re.compile(r'"(?:[^"\\\n]|\\.)*"'), re.compile(r"^[A-Z_]+\(.*\)$", re.M)):
        code = gone.sub(lambda found: blank(found.group(0)), code)
    out, depth = [], 0
    for char in code:
        if char == "}":
            depth -= 1
        out.append(char if depth <= 0 or char == "\n" else " ")
        if char == "{":
            depth += 1
    return "".join(out)


def statements(code):
    """(offset, text, whether it has a body) of each declaration or definition at the top level."""
    at = 0
    for found in re.finditer(r";|\{[ \n]*\}(?![ \n]*\w*[ \n]*;)", code):
        text = code[at:found.start()]
        yield at + len(text) - len(text.lstrip()), text.strip(), found.group(0) != ";"
        at = found.end()


def contract_of(text, start, end):
    """The comments of what stands at text[start:end], and whether it or the group of lines before it has any."""
    line_end = text.find("\n", end)
    behind = COMMENT.search(text, end)
    own = behind.group(0) if behind and behind.start() < line_end else ""
    group = text[:start].rsplit("\n\n", 1)[-1]
    above = [found.group(0) for found in COMMENT.finditer(group) if not group[:found.start()].split("\n")[-1].strip()]
    return (above[-1] if above else "") + own, bool(own or COMMENT.search(group))


def functions_of(text):
    for start, statement, defined in statements(code_of(text)):
        found = re.match(r"(?!typedef\b|struct\s+\w+\s*$)([\w\s\*]*?[\s\*])(\w+)\s*\((.*)\)[^()]*$", statement, re.S)
        if not found or re.match(r"\s*\*", found.group(3)):
            continue
        end = text.find(")", start + len(statement) - 1)
        contract, grouped = contract_of(text, start, end)
        line = text.count("\n", 0, start) + 1
        yield Function(found.group(2), found.group(1), found.group(3), defined, line, contract, grouped)


def carriers_of(texts):
    """The types that hold a communicator: a member of a struct, or what a function makes that is given one."""
    carriers = {"assay_comm"}
    for text in texts:
        for name, body in re.findall(r"struct (\w+) \{(.*?)^\}", COMMENT.sub("", text), re.S | re.M):
            if re.search(r"\bassay_comm\b", body):
                carriers.add(name)
        for function in functions_of(text):
            if re.search(r"\bassay_comm\b", function.parameters):
                carriers.update(re.findall(r"\b(assay_\w+) \*\*\w+", function.parameters))
                carriers.update(re.findall(r"^(assay_\w+) \*$", function.returns))
    return carriers - {"assay_error"}


def check_header(path, text, carriers):
    """Yields (line, breach)."""
    comments = list(COMMENT.finditer(text))
    head = comments[0].group(0) if comments and not text[:comments[0].start()].strip() else ""
    if not head:
        yield 1, "begins without a comment that says what it is for"
    said = HEAD_SAYS.search(" ".join(head.split()))
    for function in functions_of(text):
        if not function.grouped and not function.defined:
            yield function.line, "%s has no contract: a comment that says what it does and how it fails" % function.name
        if re.search(r"\bassay_comm\b", function.parameters) and not said and not re.search("collective", function.contract, re.I):
            yield function.line, "%s takes a communicator: say Collective or Not collective" % function.name
    code = COMMENT.sub("", text)
    some_are = re.search(r"(?<!not )\bcollective\b", re.sub(r"[\s*]+", " ", text[len(head):]), re.I)
    if not some_are and not any(re.search(r"\b%s\b" % name, code) for name in carriers):
        for comment in comments[1:] if head else comments:
            if re.search(r"\bnot\W+collective\b", comment.group(0), re.I):
                line = text.count("\n", 0, comment.start()) + 1
                yield line, "no communicator is in sight: leave out that it is not collective"


def compile_alone(path, command):
    """As another file would: what only includes the header may leave its functions unused."""
    done = subprocess.run([*command, *FLAGS, "-include", path, "/dev/null"], capture_output=True, text=True)
    if done.returncode:
        yield 1, "does not compile alone with %s:\n%s" % (" ".join(command), done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="clang++")
    args = parser.parse_args()
    texts = {p.relative_to(ROOT).as_posix(): p.read_text() for top in PLACES for p in sorted(ROOT.glob(top + "/**/*.h"))}
    carriers = carriers_of(texts.values())
    breaches, functions = [], 0
    for path, text in texts.items():
        found = list(check_header(path, text, carriers))
        if path.startswith("include/"):
            found += compile_alone(ROOT / path, [args.cc, "-std=c11", "-x", "c"])
            found += compile_alone(ROOT / path, [args.cxx, "-std=c++11", "-Wno-strict-prototypes", "-x", "c++"])
        breaches += ["%s:%d: %s" % (path, line, breach) for line, breach in found]
        functions += len(list(functions_of(text)))
    print("\n".join(breaches))
    print("%d headers, %d functions, %d breaches" % (len(texts), functions, len(breaches)))
    sys.exit(1 if breaches or functions < 2 * len(texts) else 0)


if __name__ == "__main__":
    main()
