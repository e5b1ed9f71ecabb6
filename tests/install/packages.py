#!/usr/bin/env python3
"""Makes the Debian packages and RPMs and tries them: what is in them, what lintian says, whether their dependencies can be met, and
whether program, library and headers work where they are unpacked.

    packages.py --cpack PROGRAM --build DIR --cc COMPILER --version VERSION
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, run  # noqa: E402

HERE = Path(__file__).resolve().parent
LONG = 400  # seconds that cpack may take beside other work
PARTS = {"assay": ["usr/bin/assay", "usr/lib/assay/rules", "usr/share/assay/jobs/built-in.json", "usr/share/assay/slurm/launch.sh", "usr/share/assay/schema/job.schema.json",
                   "usr/share/doc/assay/docs/pilot.md", "usr/share/man/man1/assay-run.1.gz"],
         "libassay-hook0": ["usr/lib/libassay_hook.so.0", "usr/share/assay/python/assay_hook.py",
                            "usr/share/assay/python/assay_recording/auto.py"],
         "libassay0": ["usr/lib/libassay.so.0", "usr/share/assay/python/assay/trial.py"],
         "python3-assay-smdebug": ["usr/lib/python3/dist-packages/smdebug/__init__.py", "usr/lib/python3/dist-packages/assay.pth"],
         "libassay-dev": ["usr/include/assay/rule.h", "usr/lib/libassay_hook.so", "usr/lib/pkgconfig/assay-hook.pc", "usr/lib/libassay.so",
                          "usr/lib/pkgconfig/libassay.pc", "usr/include/assay/trial.h",
                          "usr/lib/cmake/assay/assay-config.cmake"]}


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], check=True, capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser()
    for name in ("--cpack", "--build", "--cc", "--version"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        made = run([args.cpack, "-G", "DEB", "-B", folder / "made", "--config", Path(args.build) / "CPackConfig.cmake"], cwd=folder, timeout=LONG)
        packages = {field(p, "Package"): p for p in sorted((folder / "made").glob("*.deb"))}
        if not checks.expect(made.code == 0 and set(packages) == set(PARTS), "cpack made %s: %s" % (sorted(packages), made)):
            checks.done()

        root = folder / "root"
        for package in packages.values():
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        for name, package in packages.items():
            checks.expect(field(package, "Version") == args.version + "-1", "%s has version %s" % (name, field(package, "Version")))
            for part in PARTS[name] + ["usr/share/doc/%s/copyright" % name]:
                checks.expect((root / part).exists(), "%s lacks %s" % (name, part))
        checks.expect("libc6" in field(packages["libassay-hook0"], "Depends"), "libassay-hook0 depends on no library")
        checks.expect("openmpi" not in field(packages["libassay-hook0"], "Depends"), "libassay-hook0 depends on MPI")
        checks.expect("openmpi" not in field(packages["libassay0"], "Depends"), "libassay0 depends on MPI")
        said = run(["lintian", "--allow-root", "--fail-on", "error", *packages.values()])
        checks.expect(said.code == 0, "lintian: %s" % said)
        planned = run(["apt-get", "install", "--simulate", "--no-install-recommends", *packages.values()])
        checks.expect(planned.code == 0 and "Inst assay " in planned.out, "apt-get cannot install them: %s" % planned)

        program = root / "usr" / "bin" / "assay"
        checks.expect(run([program, "--version"]).out.startswith("assay %s\n" % args.version), "the packaged assay tells its version")
        said = run([sys.executable, "-c", "import assay; print(len(assay.open(%r).tensor_names()))" % str(TRIALS / "ddp")],
                   env=dict(os.environ, PYTHONPATH=str(root / "usr/share/assay/python"), PYTHONDONTWRITEBYTECODE="1"))
        checks.expect(said.out == "26\n", "the packaged Python: %s" % said)
        said = run([sys.executable, "-c", "from smdebug.trials import create_trial; print(len(create_trial(%r).tensor_names()))" % str(TRIALS / "ddp")],
                   env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=":".join(
                       str(root / "usr" / part) for part in ("lib/python3/dist-packages", "share/assay/python"))))
        checks.expect(said.out == "26\n", "the packaged names of the reference: %s" % said)
        done = run([program, "run", TRIALS / "healthy", "--out", folder / "report"])
        checks.expect(done.code == 0, "the packaged assay: %s" % done)
        env = dict(os.environ, PKG_CONFIG_PATH=str(root / "usr/lib/pkgconfig"))
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "assay-hook"], env=env, check=True, capture_output=True,
                               text=True).stdout.split()
        built = run([args.cc, "-o", folder / "record", HERE / "consumer" / "record.c", *flags])
        checks.expect(built.code == 0, "a training against the packages: %s" % built)
        checks.expect(run([folder / "record", folder / "trial"]).code == 0, "it does not start")
        listed = run([program, "ls", folder / "trial"])
        checks.expect(listed.code == 0 and "net.weight" in listed.out, "the packaged assay reads what it recorded: %s" % listed)
    rpms(checks, args)
    checks.done()


def rpms(checks, args):
    """The same packages as RPM: installed by rpm into a directory with a database of its own, they are the same files, and they work."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        made = run([args.cpack, "-G", "RPM", "-B", folder / "made", "--config", Path(args.build) / "CPackConfig.cmake"], cwd=folder, timeout=LONG)
        packages = sorted((folder / "made").glob("*.rpm"))
        asked = run(["rpm", "--nosignature", "-qp", "--qf", "%{NAME} %{VERSION} %{LICENSE} %{SUMMARY}\\n", *packages])
        told = {line.split()[0]: line.split(maxsplit=3)[1:] for line in asked.out.splitlines()}
        if not checks.expect(made.code == 0 and set(told) == set(PARTS), "cpack made %s: %s" % (sorted(told), made)):
            return
        for name, (version, licence, summary) in told.items():
            checks.expect(version == args.version and licence == "Apache-2.0" and len(summary) > 10, "%s: %s %s %s" % (name, version, licence, summary))
        files = {}
        for package, name in zip(packages, [line.split()[0] for line in asked.out.splitlines()]):
            files[name] = run(["rpm", "--nosignature", "-qpl", package]).out.splitlines()
            for part in PARTS[name]:
                wanted = "/" + part
                checks.expect(wanted in files[name], "%s.rpm lacks %s" % (name, part))
            shared = [path for path in files[name] if path in ("/usr", "/usr/bin", "/usr/lib", "/usr/include", "/usr/share/man/man1", "/usr/share/doc")]
            checks.expect(not shared, "%s.rpm owns folders of the system: %s" % (name, shared))
        hook = run(["rpm", "--nosignature", "-qp", "--requires", "--provides", next(p for p in packages if p.name.startswith("libassay-hook0"))]).out
        checks.expect("libassay_hook.so.0" in hook and "libc.so.6" in hook and "libmpi" not in hook, "what the library needs and has: %s" % hook)
        if os.geteuid() != 0:
            print("not root: the RPMs were looked at, and not installed")
            return
        root = folder / "root"
        root.mkdir()
        put = run(["rpm", "--root", root, "--nosignature", "--nodeps", "--noscripts", "-i", *packages])
        checks.expect(put.code == 0, "rpm -i: %s" % put)
        program = root / "usr" / "bin" / "assay"
        checks.expect(run([program, "--version"]).out.startswith("assay %s\n" % args.version), "the assay of the RPM tells its version")
        said = run([sys.executable, "-c", "import assay; print(len(assay.open(%r).tensor_names()))" % str(TRIALS / "ddp")],
                   env=dict(os.environ, PYTHONPATH=str(root / "usr/share/assay/python"), PYTHONDONTWRITEBYTECODE="1"))
        checks.expect(said.out == "26\n", "Python of the RPM: %s" % said)


if __name__ == "__main__":
    main()
