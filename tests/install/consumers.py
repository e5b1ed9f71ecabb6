#!/usr/bin/env python3
"""Installs a build under a temporary prefix and uses it as others would.

    consumers.py --cmake PROGRAM --build DIR --cc COMPILER
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, mpirun, run  # noqa: E402

HERE = Path(__file__).resolve().parent
# What the program offers to rules: all of these headers, hook.h belongs to the recording library.
RULE_HEADERS = ["rule.h", "status.h", "steps.h", "pack.h", "tensor.h"]


def declared_functions(header):
    """Names of the functions a header declares; those it defines itself (static inline) left out."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.M | re.S)
    names = re.findall(r"^(?!static|typedef)[a-z][\w \*]*?\b(assay_\w+)\([^;{]*\)[^;{]*;", text, flags=re.M)
    return set(names)


def dynamic_symbols(binary):
    listing = subprocess.run(["nm", "-D", "--defined-only", binary], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listing.splitlines()}


def needed_symbols(binary):
    listing = subprocess.run(["nm", "-D", "--undefined-only", binary], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listing.splitlines() if line.split()[-1].startswith("assay_")}


def pkg_config(env, *words):
    return subprocess.run(["pkg-config", *words, "assay"], env=env, check=True, capture_output=True, text=True).stdout.split()


def reading_library(checks, args, prefix, env, trial, by_cmake):
    """libassay: it exports what its header declares, by a version; it needs no MPI; what is linked with it starts and reads."""
    library = next(prefix.glob("lib/**/libassay.so"))
    symbols = dynamic_symbols(library) - {"ASSAY_0"}
    checks.expect(all(name.endswith("@@ASSAY_0") for name in symbols), "libassay has symbols without a version: %s" % sorted(symbols))
    declared = set().union(*(declared_functions(prefix / "include/assay" / name) for name in ("trial.h", "steps.h", "tensor.h")))
    exported = {name.partition("@")[0] for name in symbols}
    checks.expect(exported == declared | {"assay_status_text"}, "libassay: declared or exported: %s" % sorted(exported ^ declared))
    needed = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    checks.expect(not re.search(r"NEEDED.*(mpi|hdf5|python)", needed), "libassay needs %s" % needed)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libassay"], env=env, check=True, capture_output=True, text=True)
    made = run([args.cc, "-Wall", "-Werror", "-o", by_cmake / "read-too", HERE / "consumer" / "read.c", *flags.stdout.split()])
    checks.expect(made.code == 0, "pkg-config libassay: %s" % made)
    alone = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for program in ("read", "read-too"):
        done = run([by_cmake / program, trial], env=alone)
        checks.expect(done.code == 0 and done.out == "1 workers, 2 steps\nnet.weight step 0 GLOBAL: 10\nnet.weight step 1 GLOBAL: 10\n",
                      "%s: %s" % (program, done))


def documents(checks, prefix):
    """Everything that man pages and documents name is installed beside them."""
    doc, man = prefix / "share/doc/assay", prefix / "share/man/man1"
    named = {name.replace("\\", "") for page in man.glob("*.1") for name in re.findall(r"docs/[\w\\-]+\.md", page.read_text())}
    checks.expect(len(named) > 5, "man pages name %s" % sorted(named))
    for name in sorted(named):
        checks.expect((doc / name).exists(), "a man page names %s, which is not installed" % name)
    for page in sorted((doc / "docs").glob("*.md")):
        for link in re.findall(r"\]\(((?:\.\./)?(?:jobs|slurm|rules|bench)/[^)#]*|[\w-]+\.md)", page.read_text()):
            checks.expect((page.parent / link).exists(), "%s links to %s, which is not installed" % (page.name, link))
    checks.expect(os.access(prefix / "share/assay/slurm/submit", os.X_OK), "slurm/submit cannot be run")
    checks.expect((prefix / "share/assay/jobs/examples/train_mpi.c").exists(), "the examples are not installed")


def module(checks, prefix):
    """The environment module, by Debian's Environment Modules: it finds its own prefix."""
    script = ". /usr/share/modules/init/sh && module use %s && module load assay && assay --version && echo $ASSAY_ROOT && " \
             "pkg-config --modversion assay-hook && module unload assay && ! command -v assay" % (prefix / "share/modulefiles")
    loaded = run(["sh", "-c", script], env={"PATH": "/usr/bin:/bin", "HOME": str(prefix)})
    checks.expect(loaded.code == 0 and str(prefix) in loaded.out.splitlines(), "module load assay: %s" % loaded)


def uninstall(checks, args, prefix):
    """The target uninstall leaves nothing of assay, and what others have put there."""
    installed = run([args.cmake, "--install", args.build, "--prefix", prefix])
    if not checks.expect(installed.code == 0, "cmake --install: %s" % installed):
        return
    (prefix / "share/assay/jobs/mine.json").write_text("{}")
    gone = run([args.cmake, "--build", args.build, "--target", "uninstall"])
    left = sorted(str(p.relative_to(prefix)) for p in prefix.rglob("*") if p.is_symlink() or not p.is_dir())
    checks.expect(gone.code == 0 and left == ["share/assay/jobs/mine.json"], "uninstall left %s: %s" % (left, gone))
    folders = [str(p.relative_to(prefix)) for p in prefix.rglob("assay") if p.is_dir()]
    checks.expect(folders == ["share/assay"], "uninstall left the folders %s" % folders)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--cmake", "--build", "--cc"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder) / "prefix"
        installed = run([args.cmake, "--install", args.build, "--prefix", prefix])
        if not checks.expect(installed.code == 0, "cmake --install: %s" % installed):
            checks.done()
        program = prefix / "bin" / "assay"
        have = dynamic_symbols(program)
        for header in RULE_HEADERS:
            functions = declared_functions(prefix / "include" / "assay" / header)
            checks.expect(functions, "no function found in %s" % header)
            checks.expect(functions <= have, "%s: the program does not export %s" % (header, sorted(functions - have)))

        build = Path(folder) / "by-cmake"
        made = run([args.cmake, "-S", HERE / "consumer", "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=%s" % prefix,
                    "-DCMAKE_C_COMPILER=%s" % args.cc])
        made = run([args.cmake, "--build", build]) if made.code == 0 else made
        if checks.expect(made.code == 0, "find_package: %s" % made):
            needed = needed_symbols(build / "liblong_name.so")
            checks.expect(needed and needed <= have, "the rule needs %s" % sorted(needed - have))

            trial = Path(folder) / "trial"
            checks.expect(run([build / "record", trial]).code == 0, "the recording program")
            listed = run([program, "ls", trial])
            checks.expect(listed.code == 0 and "net.weight" in listed.out, "assay ls of what it recorded: %s" % listed)

        pc = next(prefix.glob("lib/**/assay.pc"))
        env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent))
        made = run([args.cc, "-shared", "-fPIC", "-Wall", "-Werror", *pkg_config(env, "--cflags"), "-o",
                    Path(folder) / "long_name.so", HERE / "consumer" / "long_name.c"])
        checks.expect(made.code == 0, "pkg-config: %s" % made)
        hook_flags = subprocess.run(["pkg-config", "--cflags", "--libs", "assay-hook"], env=env, check=True,
                                    capture_output=True, text=True).stdout.split()
        made = run([args.cc, "-o", Path(folder) / "record", HERE / "consumer" / "record.c", *hook_flags])
        checks.expect(made.code == 0, "pkg-config assay-hook: %s" % made)
        alone = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        started = run([Path(folder) / "record", Path(folder) / "by-pkg-config"], env=alone)
        checks.expect(started.code == 0, "what pkg-config assay-hook links does not start: %s" % started)

        reading_library(checks, args, prefix, env, trial, build)

        job = Path(pkg_config(env, "--variable=jobsdir")[0]) / "image-classifier.json"
        checks.expect(pkg_config(env, "--variable=rulesdir"), "pkg-config: no rulesdir")
        done = mpirun(1, [program, "run", job, "--trial", TRIALS / "healthy", "--out", Path(folder) / "report"])
        checks.expect(done.code == 0, "the installed assay: %s" % done)
        documents(checks, prefix)
        module(checks, prefix)
        uninstall(checks, args, Path(folder) / "gone")
    checks.done()


if __name__ == "__main__":
    main()
