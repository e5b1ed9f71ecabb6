#!/usr/bin/env python3
"""Licence, metadata and recipes for packages agree with the source: licence, version, options, files. Spack, EasyBuild,
Apptainer and Docker are not tried here, so their files are checked for syntax and against this tree only.

    recipes.py --version VERSION --assay PROGRAM
"""
import argparse
import ast
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks  # noqa: E402

RECIPES = ROOT / "cmake" / "packages"
SECTIONS = {"files", "post", "runscript", "test", "labels"}


def papers(checks, version):
    debian = Path("/usr/share/common-licenses/Apache-2.0")
    checks.expect((ROOT / "LICENSE").read_bytes() == debian.read_bytes(), "LICENSE is not the Apache License 2.0")
    readme = (ROOT / "README.md").read_text()
    for name in ("LICENSE", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "docs/versioning.md"):
        checks.expect((ROOT / name).exists() and "](%s)" % name in readme, "README.md does not link to %s" % name)
    cited = dict(re.findall(r"^([a-z-]+): *\"?([^\"\n]+)\"?$", (ROOT / "CITATION.cff").read_text(), re.M))
    checks.expect(cited.get("version") == version and cited.get("license") == "Apache-2.0", "CITATION.cff: %s" % cited)

    text = (ROOT / "docs" / "versioning.md").read_text()
    source = "\n".join(p.read_text(errors="replace") for p in sorted((ROOT / "src").rglob("*.c")))
    for schema in re.findall(r"`(assay-\w+/\d+)`", text):
        checks.expect(schema in source or schema == "assay-report/2", "docs/versioning.md names %s, the source does not" % schema)
    for schema in set(re.findall(r'\\?"(assay-[a-z]+/\d+)\\?"', source)):
        checks.expect("`%s`" % schema in text, "docs/versioning.md does not name %s" % schema)
    for folder, library in (("hook", "libassay_hook"), ("recording", "libassay")):
        soname = re.search(r"SOVERSION (\d+)", (ROOT / "src" / folder / "CMakeLists.txt").read_text())[1]
        checks.expect("%s.so.%s`" % (library, soname) in text, "docs/versioning.md has another SONAME than %s" % soname)


def options_of(text):
    return set(re.findall(r"ASSAY_WITH_\w+|ASSAY_BUILD_\w+", text))


def spack(checks, version, options):
    path = RECIPES / "spack" / "package.py"
    text = path.read_text()
    tree = ast.parse(text, str(path))
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    checks.expect(classes == ["Assay"] and {"version", "variant", "depends_on", "license"} <= calls, "spack: %s, %s" % (classes, calls))
    checks.expect('version("%s")' % version in text, "spack: no version %s" % version)
    checks.expect(options_of(text) and options_of(text) <= options, "spack: unknown options %s" % (options_of(text) - options))


def easybuild(checks, version, options):
    path = next((RECIPES / "easybuild").glob("*.eb"))
    told = {"SHLIB_EXT": "so"}
    exec(compile(path.read_text(), str(path), "exec"), told)  # an .eb file is Python without imports
    chain = told["toolchain"]
    checks.expect(path.name == "assay-%s-%s-%s.eb" % (told["version"], chain["name"], chain["version"]), "easybuild: %s" % path.name)
    checks.expect(told["version"] == version, "easybuild: version %s" % told["version"])
    given = options_of(told["configopts"])
    checks.expect(given and given <= options, "easybuild: unknown options %s" % (given - options))


def apptainer(checks, version, options):
    text = (RECIPES / "apptainer" / "assay.def").read_text()
    sections = re.findall(r"^%(\w+)", text, re.M)
    checks.expect(set(sections) == SECTIONS, "apptainer: sections %s" % sections)
    copied = re.search(r"^%files\n(.*?)\n\n", text, re.M | re.S)[1].split("\n")
    for line in copied:
        words = line.split()
        checks.expect(len(words) == 2 and (ROOT / words[0]).exists(), "apptainer: %r is not a file and its place" % line)
    checks.expect("Version %s\n" % version in text and options_of(text) <= options, "apptainer: version or options")
    wanted = re.findall(r"install -y --no-install-recommends ([^\n\"]+)$", text, re.M)[-1].split()
    missing = [name for name in wanted if subprocess.run(["dpkg-query", "-W", name], capture_output=True).returncode]
    checks.expect(len(wanted) > 4 and not missing, "apptainer: packages %s are not what assay is built with" % missing)


def packages_of(libraries):
    """The packages that libraries of this system are in."""
    told = subprocess.run(["dpkg-query", "-S", *{str(Path(library).resolve()) for library in libraries}], capture_output=True, text=True).stdout
    return {line.split(":")[0] for line in told.splitlines()}


def with_dependencies(packages):
    """The packages, and what they depend on, as far as it is installed."""
    all_of, left = set(), list(packages)
    while left:
        name = left.pop()
        if name not in all_of:
            all_of.add(name)
            told = subprocess.run(["dpkg-query", "-W", "-f=${Depends}, ${Pre-Depends}", name], capture_output=True, text=True).stdout
            left += re.findall(r"(?:^|[,|]) *([a-z0-9][a-z0-9+.-]+)", told)
    return all_of


def docker(checks, version, options):
    """Lines of the Dockerfile: what is copied is there, it builds with the packages of jobs/packages, and what is installed to run it
    has all libraries that the program needs."""
    path = RECIPES / "docker" / "Dockerfile"
    steps = [line.split(maxsplit=1) for line in path.read_text().splitlines() if line and not line.startswith("#")]
    words = [step[0] for step in steps]
    checks.expect(set(words) <= {"FROM", "COPY", "RUN", "LABEL", "USER", "WORKDIR", "ENTRYPOINT", "CMD"} and words.count("FROM") == 2,
                  "docker: %s" % words)
    for sources in [step[1].split()[:-1] for step in steps if step[0] == "COPY" and not step[1].startswith("--from")]:
        checks.expect(all((ROOT / source).exists() for source in sources), "docker: not all there: %s" % sources)
    copied = {source for step in steps if step[0] == "COPY" for source in step[1].split()[:-1]}
    other = re.search(r"^%files\n(.*?)\n\n", (RECIPES / "apptainer" / "assay.def").read_text(), re.M | re.S)[1].split("\n")
    checks.expect({line.split()[0] for line in other} <= copied, "docker and apptainer copy the same")
    text = path.read_text()
    checks.expect('image.version="%s"' % version in text and options_of(text) <= options, "docker: version or options")
    wanted = re.findall(r"install -y --no-install-recommends ([^\n\"&]+) &&", text)[-1].split()
    missing = [name for name in wanted if subprocess.run(["dpkg-query", "-W", name], capture_output=True).returncode]
    checks.expect(len(wanted) > 4 and not missing, "docker: packages %s are not what assay is built with" % missing)
    checks.expect('. /src/jobs/packages &&' in text and '"${build_packages[@]}"' in text, "docker: it does not build with the packages of jobs/packages")
    needed = packages_of(re.findall(r"=> (/\S+)", subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout))
    lacks = needed - with_dependencies(wanted)
    checks.expect(needed and not lacks, "docker: %s is not installed for the program" % sorted(lacks))


def releases(checks, version):
    """The page about releases names every file that has the version."""
    page = (ROOT / "docs" / "releasing.md").read_text()
    named = set(re.findall(r"^\| `([^`]+)` \|", page, re.M))
    tracked = subprocess.run(["git", "-C", ROOT, "grep", "-lF", version, "--", ":!docs", ":!tests", ":!bench", ":!src", ":!include"], capture_output=True, text=True)
    if tracked.returncode == 0:  # of a clone
        found = {name for name in tracked.stdout.split() if re.search(r"(?<![\d.])%s(?![\d.])" % re.escape(version), (ROOT / name).read_text())}
        checks.expect(found <= named, "docs/releasing.md does not name %s" % sorted(found - named))
    for name in named:
        checks.expect(version in (ROOT / name).read_text(), "docs/releasing.md: %s does not have the version" % name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--assay", required=True)
    global PROGRAM
    version, PROGRAM = parser.parse_args().version, parser.parse_args().assay
    checks = Checks()
    options = set(re.findall(r"^(?:option|optional_library)\((ASSAY_\w+)", (ROOT / "CMakeLists.txt").read_text(), re.M))
    papers(checks, version)
    releases(checks, version)
    for recipe in (spack, easybuild, apptainer, docker):
        recipe(checks, version, options)
    checks.done()


if __name__ == "__main__":
    main()
