"""make_wheel.py - the build backend of `pip wheel .`: puts the Python files and the built libraries into a wheel.

The libraries come from ASSAY_BUILD, a build directory (default: build), where `cmake --build` made them. They need Debian's cJSON,
PCRE2, zlib, libzstd and libcurl where the wheel is used, as assay does, so the wheel is for the kind of system it was made on. numpy and
pandas are extras: a wheel that required them could not be made, or installed, without network.
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
LIBRARIES = {"assay/libassay.so.0": "src/recording", "libassay_hook.so": "src/hook"}  # where in the wheel: where in the build


def _version():
    return re.search(r"project\(assay VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def _metadata():
    lines = ["Metadata-Version: 2.1", "Name: assay", "Version: " + _version(), "License: Apache-2.0", "Requires-Python: >=3.8",
             "Summary: Reads and records trainings for assay, which finds out what went wrong in them"]
    for extra in ("numpy", "pandas"):
        lines += ["Provides-Extra: " + extra, 'Requires-Dist: %s; extra == "%s"' % (extra, extra)]
    return "\n".join(lines) + "\n"


def _library(name):
    build = ROOT / os.environ.get("ASSAY_BUILD", "build")
    path = build / LIBRARIES[name] / Path(name).name
    if not path.exists():
        raise SystemExit("%s is not there: build assay first (cmake -B build && cmake --build build), or set ASSAY_BUILD" % path)
    return path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook that pip calls (PEP 517): writes the wheel and returns its name."""
    tag = "py3-none-linux_" + platform.machine()
    info = "assay-%s.dist-info/" % _version()
    files = {name: (HERE / name).read_bytes() for name in ("assay_hook.py", "assay_hook_config.py", "assay_hook_topology.py")}
    for package in "assay", "assay_recording":
        files.update({"%s/%s" % (package, path.name): path.read_bytes() for path in sorted((HERE / package).glob("*.py"))})
    files.update({name: _library(name).read_bytes() for name in LIBRARIES})
    files[info + "METADATA"] = _metadata().encode()
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode()
    files[info + "LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record += "%s,sha256=%s,%d\n" % (name, digest, len(data))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    made = "assay-%s-%s.whl" % (_version(), tag)
    with zipfile.ZipFile(os.path.join(wheel_directory, made), "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            wheel.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return made
