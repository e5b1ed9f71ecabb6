"""notebooks.py - the notebooks of jobs/notebooks run from the first cell to the last, by nbclient where it is installed, else as scripts.

Usage: notebooks.py ASSAY WORK_DIR        (ASSAY_TRIALS; pandas)
"""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ASSAY, WORK, TRIALS = sys.argv[1], Path(sys.argv[2]), Path(os.environ["ASSAY_TRIALS"])
NOTEBOOKS = Path(__file__).resolve().parents[2] / "jobs" / "notebooks"


def by_nbclient(path):
    """The texts that the cells have shown."""
    import nbformat
    from nbclient import NotebookClient
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(WORK)}}).execute()
    return "".join(str(output) for cell in notebook.cells for output in cell.get("outputs", ()))


def as_script(path):
    """The last expression of each cell is what it shows."""
    import ast
    space, shown = {"__name__": "__main__"}, io.StringIO()
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(shown):
            exec(compile(tree, path.name, "exec"), space)
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), space) if last else None
        shown.write(value._repr_html_() if hasattr(value, "_repr_html_") else str(value))
    return shown.getvalue()


def runs(path):
    ways = [as_script]
    with contextlib.suppress(ImportError):
        import ipykernel  # noqa: F401
        import nbclient  # noqa: F401
        ways.append(by_nbclient)
    return [way(path) for way in ways]


shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
subprocess.run([ASSAY, "run", TRIALS / "flip", TRIALS / "linreg_nan", "--out", WORK / "report", "--quiet"], check=False, stdout=subprocess.DEVNULL)
os.environ.update(REPORT=str(WORK / "report"), OUT=str(WORK))
os.environ.setdefault("IPYTHONDIR", str(WORK / "ipython"))
wanted = {"trial.ipynb": (TRIALS / "flip", ["flip", "ExplodingTensor", "<svg", "comparison of 2 trials"]),
          "profiler.ipynb": (TRIALS.parent / "events" / "profiler", ["duration_mean_us", "utilization_mean", "merged_timeline.json"])}
assert {path.name for path in NOTEBOOKS.glob("*.ipynb")} == set(wanted)
for name, (trial, texts) in wanted.items():
    os.environ["TRIAL"] = str(trial)
    cells = json.loads((NOTEBOOKS / name).read_text())["cells"]
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells), "%s is stored with what it showed" % name
    for shown in runs(NOTEBOOKS / name):
        for text in texts:
            assert text in shown, (name, text, shown[-2000:])
shutil.rmtree(WORK)
