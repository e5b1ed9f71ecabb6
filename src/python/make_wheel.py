"""make_wheel.py - the build backend of `pip wheel .`: puts the Python files and the built libraries into a wheel.

With ASSAY_SMDEBUG=1 it is the wheel assay_smdebug instead: the package smdebug, which is the reference's names for what the first one has.

The libraries come from ASSAY_BUILD, a build directory (default: build), where `cmake --build` made them. They need Debian's libraries
where the wheel is used, as assay does: its metadata lists them (Requires-External), and its tag claims no manylinux. numpy and pandas are
extras: a wheel that required them could not be made, or installed, without network.
"""
import base64
import hashlib
import os
import platform
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GLIBC = "2.36"  # of Debian 12
EXTERNAL = ("libcjson.so.1", "libpcre2-8.so.0", "libz.so.1", "libzstd.so.1", "libcurl.so.4", "libsqlite3.so.0")
LIBRARIES = {"assay/libassay.so.0": "src/recording", "libassay_hook.so": "src/hook"}  # where in the wheel: where in the build


def _version():
    return re.search(r"project\(assay VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def _metadata():
    lines = ["Metadata-Version: 2.1", "Name: assay", "Version: " + _version(), "License: Apache-2.0", "Requires-Python: >=3.8",
             "Summary: Reads and records trainings for assay, which finds out what went wrong in them"]
    lines += ["Requires-External: " + library for library in EXTERNAL + ("libc.so.6 (>=%s)" % GLIBC,)]
    for extra in ("numpy", "pandas"):
        lines += ["Provides-Extra: " + extra, 'Requires-Dist: %s; extra == "%s"' % (extra, extra)]
    return "\n".join(lines) + "\n"


def _metadata_of_names():
    return "\n".join(["Metadata-Version: 2.1", "Name: assay-smdebug", "Version: " + _version(), "License: Apache-2.0", "Requires-Python: >=3.8",
                      "Summary: The package smdebug by assay: scripts written for it run unchanged", "Requires-Dist: assay", "Obsoletes-Dist: smdebug"]) + "\n"


def _library(name):
    build = ROOT / os.environ.get("ASSAY_BUILD", "build")
    path = build / LIBRARIES[name] / Path(name).name
    if not path.exists():
        raise SystemExit("%s is not there: build assay first (cmake -B build && cmake --build build), or set ASSAY_BUILD" % path)
    return path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook that pip calls (PEP 517): writes the wheel and returns its name."""
    names = os.environ.get("ASSAY_SMDEBUG", "0") not in ("", "0")
    name, tag = ("assay_smdebug", "py3-none-any") if names else ("assay", "py3-none-linux_" + platform.machine())
    info = "%s-%s.dist-info/" % (name, _version())
    files = {}
    for package in ("smdebug",) if names else ("assay", "assay_recording"):
        files.update({path.relative_to(HERE).as_posix(): path.read_bytes() for path in sorted((HERE / package).rglob("*.py"))})
    if not names:
        files.update({file: (HERE / file).read_bytes() for file in ("assay_hook.py", "assay_hook_config.py", "assay_hook_topology.py")})
        files.update({file: _library(file).read_bytes() for file in LIBRARIES})
    files[info + "METADATA"] = (_metadata_of_names() if names else _metadata()).encode()
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: %s\nTag: %s\n" % (str(names).lower(), tag)).encode()
    files[info + "LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = ""
    for file, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record += "%s,sha256=%s,%d\n" % (file, digest, len(data))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    made = "%s-%s-%s.whl" % (name, _version(), tag)
    with zipfile.ZipFile(os.path.join(wheel_directory, made), "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, data in files.items():
            wheel.writestr(zipfile.ZipInfo(file, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return made
