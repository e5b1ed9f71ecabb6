"""library.py - the shared library: it needs neither MPI nor HDF5 nor libcurl, and exports the interface alone.

Usage: library.py LIBRARY        (with binutils)
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = sys.argv[1]


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", LIBRARY))
assert needed and not [n for n in needed if re.search("mpi|hdf5|curl|python", n)], needed
exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()} - {"ASSAY_HOOK_0"}
assert all(name.endswith("@@ASSAY_HOOK_0") for name in exported), "symbols without a version: %s" % exported
exported = {name.partition("@")[0] for name in exported}
declared = set(re.findall(r"\b(assay_hook_\w+)\(", (ROOT / "include" / "assay" / "hook.h").read_text()))
assert len(declared) > 15 and exported == declared | {"assay_status_text"}, exported ^ declared
sys.path.insert(0, str(Path(LIBRARY).parent))
import assay_hook  # noqa: E402
from assay_recording import law_tasks, laws  # noqa: E402
bound = {"assay_hook_" + name for name in [*assay_hook._SIGNATURES, *assay_hook.assay_hook_topology.SIGNATURES, *laws.SIGNATURES, *law_tasks.SIGNATURES]}
assert bound == declared, bound ^ declared
print("%d functions, needs %s" % (len(declared), " ".join(needed)))
