#!/usr/bin/env python3
"""check-tree.py - the rules about the source tree that a compiler does not check. Prints each breach; exit 1 if there is one.

Includes point down the list of modules only; foreign libraries are met where docs/design.md says; files stay short; functions
that write without a bound are not used; test scripts import each other's code from tests/support only; files that documents and
comments name are there; nothing names a path of somebody's machine.
"""
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = {  # each may include those before it; docs/developing.md has this table (check-tree.py --write)
    "base": "Status and errors, buffers, the arena, JSON, tables that pack structs and read settings, growing arrays, search, paths, regular expressions, files, logging, CRC-32C.",
    "http": "HTTP for all of assay, the one place that meets libcurl: requests, a pool of kept connections, retries.",
    "s3": "Objects of stores that speak the S3 protocol: credentials, signatures, listings, ranges.",
    "parallel": "The communicator, the reduction over ranks, progress, and how a run is interrupted.",
    "tensor": "Dtypes, the one-pass statistics, and the measures that rules can ask for.",
    "tfrecord": "Frames and protobuf fields of TensorBoard's event files.",
    "store": "Where the bytes of a trial lie: a directory, a bucket in S3, a packed HDF5 file.",
    "container": "Bytes in bytes, without a trial: zip, deflate, Zstandard, lines, CSV, JSON as a stream, LevelDB logs, pickle, the heads of safetensors and NumPy files.",
    "mesh": "Meshes of workers: which worker has which piece of a tensor, as a file says it.",
    "trial": "What a trial is: catalog, index, records, and the tables that a format fills in.",
    "topology": "Finds the meshes of a trial, and puts pieces of tensors together.",
    "format": "What the bytes of a trial mean: a folder for each format.",
    "source": "Opens a whole trial in one process.",
    "recording": "A trial opened by one process, for `assay ls`, `assay show` and libassay ([libassay.md](libassay.md)).",
    "hook": "The recording library, which a training program links; it stands by itself.",
    "diff": "Compares two trials tensor by tensor, element by element.",
    "timeline": "Collects events in time: what ranks read of event files becomes one timeline.",
    "trace": "Where the time of a training went: Kineto traces of its ranks, each alone and side by side.",
    "hang": "Who hung: what dumps of flight recorders of all ranks come to.",
    "rule": "The registry of rules, their parameters and needs, findings, expressions, modules of one's own.",
    "job": "Parses a job file into trials, rules and aggregations.",
    "engine": "Runs a job: `source/` lists trials and reads their index, `plan/` deals the work out, `map/` measures records and calls rules, `reduce/` combines what they found.",
    "watch": "Evaluates trials again while they grow.",
    "hdf5": "Writes HDF5 files by all ranks together.",
    "pack": "Packs a trial into one HDF5 file, and unpacks it.",
    "diagnosis": "What explains the findings of a trial: a table of causes ([causes/](causes/README.md)).",
    "report": "The report model, comparisons and bands, and one file for each form of the report.",
    "verify": "Judges checkpoints: whole, sane, safe to load, and which one to resume from.",
    "why": "Why a job ended: outputs of its ranks, dumps, checkpoints and records become one answer.",
    "action": "Messages, mail and Slurm calls after a run, and the log of what was done.",
    "pilot": "Relaunches a training until it comes out clean.",
    "cli": "One file a command; the only `main()`.",
}
ORDER_OF_MODULES = list(MODULES)
MAP = re.compile(r"(## Map of src\n.*?\n\|---\|---\|\n)(.*?)(?=\n\n)", re.S)
FOLDERS = {"store": ["hdf5", ""],
           "format": ["tfrecord", "npy_record", "smdebug", "npy", "profiler", "traces", "flight", "joblog", "checkpoint", "metrics", ""],
           "engine": ["source", "plan", "reduce", "map", ""],
           "report": ["text", "document", "", "model", "history", "compare", "sections", "html", "results", "forms"]}  # within a module, in the same way
ORDER = {  # a folder whose files include only headers of files before them
    "engine/map": ["tensor_result", "reference_cache", "map_source", "step_work", "file_pool", "record_work", "reference", "measures", "record", "lookahead", "step_reader", "split_step", "step_map", "repeats", "mapper"],
}
BARRED = {"diff": {"hook"}, "rule": {"hook"}, "hook": {"store", "container", "mesh", "trial", "topology", "format", "source", "recording"}}  # the recording library stands by itself
FOREIGN = {  # header: the files that may include it
    "mpi.h": r"src/parallel/comm_mpi\.[ch]",
    "cJSON.h": r"src/base/\w+\.[ch]",
    "pcre2.h": r"src/base/regex\.c",
    "sqlite3.h": r"src/format/metrics/mlflow_db\.c",
    "curl/curl.h": r"src/http/curl_\w+\.[ch]",
    "zlib.h": r"src/report/html/png\.c|src/store/hdf5/dataset\.c|tests/formats/blocks_decode\.c|"
              r"src/container/(inflate|leveldb|unpacked)\.c|tests/unit/container/test_lines\.c|bench/tokens\.c",
    "zstd.h": r"src/container/unzstd\.c",
    "hdf5.h": r"src/hdf5/hdf5_(file|reason)\.c",
}
PRIVATE = re.compile(r'"[^"]*(\b(index|events|collections)/|training_job_end|_collections\b|(tensor|shape)_payload)')
PRIVATE_TO = r"src/format/\w+/.*|src/hook/.*|src/tfrecord/recorded\.h"  # what a format calls its files is its own; the recording library writes them
BANNED = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|ctime|asctime|alloca|atoi|atol|atof)\s*\(")
PLACES = ["*", ".ci/*"] + [d + "/**/*" for d in ("include", "src", "rules", "jobs", "slurm", "tests", "bench", "docs", "cmake")]
MOST_LINES = 800  # the length at which to ask whether a file has two subjects
breaches = []


def breach(path, line, text):
    breaches.append("%s:%d: %s" % (path, line, text))


def check_include(path, number, name):
    module = re.match(r"src/(\w+)/(?:(\w+)/)?", path)
    target = re.match(r"(\w+)/(?:(\w+)/)?", name)
    base = name.removeprefix("cjson/")
    if base in FOREIGN and not re.fullmatch(FOREIGN[base], path):
        breach(path, number, "%s is not to be included here" % name)
    if name.startswith("format/") and not path.startswith(("src/format/", "tests/")):
        breach(path, number, "formats are known inside src/format only: ask the catalog, the index, the reader")
    own = re.match(r"(src/format/(?!tfrecord|npy_record)\w+)/", "src/" + name)
    if own and path.startswith("src/") and not path.startswith(own.group(1) + "/"):
        breach(path, number, "%s is known in its own folder only" % name)
    if path.startswith("rules/") and path != "rules/builtin.c" and target and target.group(1) in MODULES:
        breach(path, number, "built-in rules include <assay/...> only, not %s" % name)
    if module and target and target.group(1) in MODULES:
        here, there = module.group(1), target.group(1)
        if ORDER_OF_MODULES.index(there) > ORDER_OF_MODULES.index(here) or there in BARRED.get(here, ()):
            breach(path, number, "src/%s may not include %s" % (here, name))
        if here == there and here in FOLDERS:
            below, above = (FOLDERS[here].index(match.group(2) or "") for match in (target, module))
            if below > above:
                breach(path, number, "%s may not include %s" % (module.group(0), name))


def check_pages(path, number, line):
    """A page that a comment names is in the tree."""
    for name in re.findall(r"(?<![%\w./-])[\w./-]*\w\.md\b", line):
        if name != "report.md" and not any(place.joinpath(name).exists() for place in (ROOT, ROOT / "docs", (ROOT / path).parent)):
            breach(path, number, "%s is not in the tree" % name)


def check_names(path, number, line, there):
    """A source file that a comment names is in the tree; a file's first line has its own name."""
    if not re.match(r"\s*(/\*| \*)|.*/\*", line):
        return
    head = re.match(r"/\* ([\w-]+\.[ch]) - ", line)
    if number == 1 and head and head.group(1) != Path(path).name:
        breach(path, number, "the file has another name")
    comment = line[line.find("/*"):] if "/*" in line else line
    for name in re.findall(r"(?<![\w./-])(?:[\w-]+/)*([\w-]+\.[ch])\b", comment):
        if path.startswith(("src/", "include/", "rules/")) and name not in there and name not in FOREIGN:
            breach(path, number, "%s is not in the tree" % name)


def check_document(path, number, line):
    """A file that a document names or links to is in the tree. docs/developing.md names files to be made; a test follows it."""
    line = line.replace("\\-", "-")
    named = re.findall(r"(?<![\w./-])((?:src|include|rules|tests|bench|jobs|slurm|cmake|docs|\.ci)/[\w./-]*\.\w+)", line)
    linked = re.findall(r"\]\(([^)#:]+)", line)
    for name in named + linked:
        if "NAME" not in name and not any(place.joinpath(name).exists() for place in (ROOT, (ROOT / path).parent)):
            breach(path, number, "%s is not in the tree" % name)


def check_order(path, number, name):
    folder, here = path.removeprefix("src/").rpartition("/")[::2]
    there, target = name.rpartition("/")[::2]
    if folder != there or folder not in ORDER:
        return
    here, target = here.rsplit(".", 1)[0], target.rsplit(".", 1)[0]
    if here not in ORDER[folder] or target not in ORDER[folder]:
        breach(path, number, "src/%s has a file that is not in ORDER" % folder)
    elif ORDER[folder].index(target) > ORDER[folder].index(here):
        breach(path, number, "%s may not include %s.h: it comes later" % (here, target))


types = {}  # that headers define: where


def check_types(path, text):
    """Two types never share a name: whoever reads it would have to know which of two headers is meant."""
    for found in re.finditer(r"^\} (\w+);$", text, re.M):
        other = types.setdefault(found.group(1), path)
        if other != path:
            breach(path, text.count("\n", 0, found.start()) + 1, "%s defines another type called %s" % (other, found.group(1)))


def check_source(path, text, there):
    """jobs/examples are programs of users: only the size of them is looked at."""
    if path.startswith("jobs/"):
        return
    if path.endswith(".h") and path.startswith(("include/", "src/", "rules/")):
        check_types(path, text)
    for number, line in enumerate(text.splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*[<"]([^">]+)', line)
        if include:
            check_include(path, number, include.group(1))
            check_order(path, number, include.group(1))
        check_pages(path, number, line)
        check_names(path, number, line, there)
        if re.search(r"\b(curl_|CURL)\w", line) and not path.startswith("src/http/"):
            breach(path, number, "libcurl is met in src/http alone")
        if path.startswith(("src/", "rules/")) and not include and PRIVATE.search(line) and not re.fullmatch(PRIVATE_TO, path):
            breach(path, number, "what a format calls its files is known in its own folder only")
        if BANNED.search(line) and not path.startswith("tests/"):
            breach(path, number, "%s has no bound or no error: not used here" % BANNED.search(line).group(1))
        if re.search(r"\bMPI_COMM_WORLD\b", line) and path != "src/parallel/comm_mpi.c" and not re.match(r"\s*(/?\*|//)", line):
            breach(path, number, "MPI_COMM_WORLD is named in src/parallel/comm_mpi.c only")


def check_script(path, text, scripts):
    """What two test scripts share is in tests/support: a script that imports another one runs with its folder, or not at all."""
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for name in names:
            if name.split(".")[0] in scripts:
                breach(path, node.lineno, "imports the test script %s.py: what is shared belongs in tests/support" % name)


def check_map(write):
    """The map of src in docs/developing.md is the table of modules."""
    page = ROOT / "docs" / "developing.md"
    rows = ["| `src/%s/` | %s |" % module for module in MODULES.items()]
    rows.append("| `src/python/` | The Python package over libassay, the recording library's Python file, and what makes a wheel of them. |")
    text = MAP.sub(lambda found: found.group(1) + "\n".join(rows), page.read_text(), count=1)
    if write:
        page.write_text(text)
    elif text != page.read_text():
        breach("docs/developing.md", 1, "its map of src is not the one of .ci/check-tree.py: run .ci/check-tree.py --write")


def check_fuzz():
    """Each target has a number of executions; the table of threats names no target and no other test that is not there."""
    targets = {p.stem.removeprefix("fuzz_") for p in (ROOT / "tests" / "fuzz").glob("fuzz_*.c")}
    counted = set(re.findall(r"`(\w+)` \d", (ROOT / "bench" / "fuzz.md").read_text()))
    named = set(re.findall(r"`fuzz\.(\w+\*?)`", (ROOT / "SECURITY.md").read_text()))
    for name in sorted(targets - counted):
        breach("bench/fuzz.md", 1, "no executions of %s: run tests/fuzz/executions --write %s" % (name, name))
    for name in sorted(n for n in named if not any(re.fullmatch(n.replace("*", ".*"), t) for t in targets)):
        breach("SECURITY.md", 1, "there is no fuzz.%s" % name)
    for kind, name in sorted(set(re.findall(r"`(e2e|hook|laws|mpi|python|s3|slurm|torture|unit)\.([\w.*-]+)`", (ROOT / "SECURITY.md").read_text()))):
        made = (ROOT / "tests" / kind / "CMakeLists.txt").read_text()
        folder, _, last = name.rpartition(".")
        there = any((ROOT / "tests" / kind / folder).rglob(last + ".c")) if kind == "unit" else re.search(r"\b%s\b" % re.escape(name.split(".")[0]), made)
        if not there:
            breach("SECURITY.md", 1, "there is no test %s.%s" % (kind, name))


def main():
    sources = 0
    check_fuzz()
    check_map("--write" in sys.argv[1:])
    there = {p.name for top in ("include", "src", "rules") for p in ROOT.glob(top + "/**/*.[ch]")}
    scripts = {p.stem for p in ROOT.glob("tests/**/*.py")} - {p.stem for p in ROOT.glob("tests/support/*.py")}
    for path in sorted(p.relative_to(ROOT).as_posix() for top in PLACES for p in ROOT.glob(top) if p.is_file()):
        if path.startswith("tests/data/") or "/__pycache__/" in path or path == ".git":  # a linked work tree's .git is a file
            continue
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue  # seeds of the fuzz targets
        if re.search(r"\.([ch]|inc)$", path):
            check_source(path, text, there)
            sources += 1
        if path.startswith("tests/") and path.endswith(".py"):
            check_script(path, text, scripts)
        lines = text.splitlines()
        if re.search(r"\.([ch]|inc|py)$", path) and len(lines) > MOST_LINES:
            breach(path, len(lines), "more than %d lines" % MOST_LINES)
        for number, line in enumerate(lines, 1):
            if re.search(r"\.(md|1)$", path) and path != "docs/developing.md":
                check_document(path, number, line)
            if re.search(r"(^|[^\w./$}])/(home|root|work|farm)/\w", line):
                breach(path, number, "a path of somebody's machine")
    print("\n".join(breaches))
    print("%d source files, %d breaches" % (sources, len(breaches)))
    sys.exit(1 if breaches or not sources else 0)


if __name__ == "__main__":
    main()
