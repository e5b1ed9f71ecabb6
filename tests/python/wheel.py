"""wheel.py - `pip wheel .` makes a wheel without an index; what pip installs of it reads and records.

Usage: wheel.py BUILD WORK_DIR        (pip; ASSAY_TRIALS)
"""
import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT, BUILD, WORK = Path(__file__).resolve().parents[2], sys.argv[1], Path(sys.argv[2])
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
SCRIPT = """
import assay, assay_hook, assay_recording.auto, numpy
assert assay.__file__.startswith(%(site)r) and assay_hook.__file__.startswith(%(site)r)
hook = assay_hook.Hook(%(out)r, save_all=True)
hook.step()
hook.save_tensor("x", numpy.arange(6.0))
hook.close()
assert assay.open(%(out)r).tensor("x").value(0).sum() == 15
print(len(assay.open(%(trial)r).tensor_names()))
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert done.returncode == 0, "%s: %s" % (command, done.stdout)
    return done.stdout


# What the wheel claims of Python: its files are in the language of that version.
least = re.search(r"Requires-Python: >=(\d+)\.(\d+)", (ROOT / "src" / "python" / "make_wheel.py").read_text())
for source in (ROOT / "src" / "python").rglob("*.py"):
    ast.parse(source.read_text(), str(source), feature_version=(int(least[1]), int(least[2])))

shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ASSAY_L"))}
alone.update(ASSAY_BUILD=BUILD, PYTHONDONTWRITEBYTECODE="1")
run(*PIP, "wheel", "--no-index", "-w", WORK, ".", cwd=ROOT, env=alone)
made = list(WORK.glob("assay-*.whl"))
assert len(made) == 1, made
site = WORK / "site"
run(*PIP, "install", "--no-index", "--target", site, made[0], env=alone)

# What the wheel claims of the system: its libraries need no other ones than its metadata lists, and no newer libc.
external = re.findall(r"^Requires-External: (\S+)(?: \(>=(\S+)\))?$", next(site.glob("assay-*/METADATA")).read_text(), re.M)
needed, versions = set(), {(0,)}
for library in (path for path in site.rglob("*.so*") if path.is_file()):
    told = run("objdump", "-p", "-T", library)
    needed.update(re.findall(r"^ *NEEDED +(\S+)$", told, re.M))
    versions.update(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", told))
    assert "RPATH" not in told and "RUNPATH" not in told, library
assert needed - {"libm.so.6"} <= {name for name, _ in external}, (needed, external)
assert max(versions) <= tuple(map(int, dict(external)["libc.so.6"].split("."))), versions

words = {"site": str(site), "out": str(WORK / "trial"), "trial": str(Path(os.environ["ASSAY_TRIALS"]) / "ddp")}
said = run(sys.executable, "-c", SCRIPT % words, env=dict(alone, PYTHONPATH=str(site)), cwd=WORK)
assert said.splitlines()[-1] == "26", said
run(*PIP, "wheel", "--no-index", "--no-deps", "-w", WORK, ".", cwd=ROOT, env=dict(alone, ASSAY_SMDEBUG="1"))
names = list(WORK.glob("assay_smdebug-*.whl"))
run(*PIP, "install", "--no-index", "--no-deps", "--target", site, names[0], env=alone)
said = run(sys.executable, "-c", "import smdebug.pytorch, smdebug, assay_hook; from smdebug.trials import create_trial\n"
           "print(smdebug.pytorch.Hook is assay_hook.Hook, smdebug.__version__, len(create_trial(%r).steps()))" % words["trial"],
           env=dict(alone, PYTHONPATH=str(site)), cwd=WORK)
assert said.startswith("True ") and said.split()[-1] == "12", said
absent = subprocess.run([*PIP, "wheel", "--no-index", "-w", str(WORK), "."], cwd=ROOT, env=dict(alone, ASSAY_BUILD=str(WORK)),
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
assert absent.returncode != 0 and "build assay first" in absent.stdout, absent.stdout
print(made[0].name)
shutil.rmtree(WORK)
