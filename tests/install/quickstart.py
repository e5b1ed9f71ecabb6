"""quickstart.py - jobs/quickstart where something about the machine is not as it is elsewhere: one clear message, or it goes on.

Usage: quickstart.py SOURCES WORK_DIR

Tools of the system are stand-ins here, so nothing is installed and nothing is built; what the real ones do, tests/install/newcomer tries.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES, WORK = Path(sys.argv[1]), Path(sys.argv[2])
TOOLS = ("bash", "sed", "grep", "sort", "wc", "cat", "id", "dirname", "rm", "mkdir", "env", "tr", "echo", "printf", "cp")
BUILD = """#!/bin/sh
echo "cmake $*" >>"$LOG"
case "$1" in
-S) mkdir -p build; echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/CMakeCache.txt; echo >build/build.ninja;;
esac
"""


class Place:
    """A tree with jobs/ in it, and a PATH of its own."""

    def __init__(self, name):
        self.tree, self.tools, self.log = WORK / name / "tree", WORK / name / "bin", WORK / name / "log"
        shutil.copytree(SOURCES / "jobs", self.tree / "jobs")
        self.tools.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            if found:
                (self.tools / tool).symlink_to(found)
        self.tool("cmake", BUILD)
        self.tool("mpirun", '#!/bin/sh\necho "mpirun $*" >>"$LOG"\n')
        self.tool("dpkg-query", "#!/bin/sh\necho installed\n")
        self.tool("apt-get", '#!/bin/sh\necho "apt-get $*" >>"$LOG"\n')
        self.tool("apt-config", "#!/bin/sh\n")
        self.tool("lscpu", "#!/bin/sh\nprintf '# c,s\\n0,0\\n1,0\\n'\n")
        self.tool("nproc", "#!/bin/sh\necho 2\n")

    def tool(self, name, text):
        (self.tools / name).unlink(missing_ok=True)
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def run(self, **more):
        env = {"PATH": str(self.tools), "LOG": str(self.log), "HOME": str(WORK), **more}
        done = subprocess.run([self.tree / "jobs" / "quickstart"], env=env, text=True, capture_output=True)
        return done, self.log.read_text().splitlines() if self.log.exists() else []


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def says_once(done, *words):
    """It fails, and its last lines say why."""
    expect(done.returncode != 0 and all(word in done.stderr for word in words) and len(done.stderr.strip().splitlines()) <= 4, done)


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    place = Place("sound")
    done, log = place.run()
    expect(done.returncode == 0 and not done.stderr, done)
    expect(log[-1].startswith("mpirun -n 2 build/src/assay run "), log)
    built = next(line for line in log if "--build" in line).split()
    expect({"assay", "assay_shared", "assay_hook_shared"} <= set(built), "Python finds its libraries: %s" % built)
    place.run()
    expect(sum(line.startswith("cmake -S") for line in log + place.run()[1]) <= 2, "it is configured once")

    place = Place("no-sys")
    for text in ("#!/bin/sh\nexit 1\n", "#!/bin/sh\n"):
        place.tool("lscpu", text)
        done, log = place.run()
        expect(done.returncode == 0 and "--oversubscribe" in log[-1], (done, log))

    place = Place("moved")
    (place.tree / "build").mkdir()
    (place.tree / "build" / "CMakeCache.txt").write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/somewhere/else\n")
    done, log = place.run()
    says_once(done, "/somewhere/else", "remove it")
    expect(not log, log)

    place = Place("broken")
    place.tool("cmake", "#!/bin/sh\necho cmake says why >&2\nexit 1\n")
    says_once(place.run()[0], "cmake says why", "could not configure")

    place = Place("nobody")
    place.tool("dpkg-query", "#!/bin/sh\nexit 1\n")
    place.tool("id", "#!/bin/sh\necho 1000\n")
    says_once(place.run()[0], "only root can install them", "apt-get install gcc")

    place.tool("sudo", '#!/bin/sh\nexec "$@"\n')
    place.tool("apt-get", '#!/bin/sh\ncase "$1" in install) echo "E: 407 from the proxy" >&2; exit 100;; esac\n')
    done, _ = place.run(http_proxy="http://me:secret@proxy.example:3128")
    says_once(done, "407 from the proxy", "could not install", "through the proxy http://proxy.example:3128")
    expect("secret" not in done.stderr, done)
    done, _ = place.run()
    expect("proxy" not in done.stderr.replace("from the proxy", ""), done)

    place = Place("other")
    (place.tools / "apt-get").unlink()
    says_once(place.run()[0], "not a Debian system", "ASSAY_PACKAGES=skip")
    shutil.rmtree(WORK)


main()
