"""The rows of `assay why --format csv` against what --json says of the same job."""
import csv
import io
import json

from launch import run


def rows_of(answer):
    """The rows of --format csv as JSON has them: the timeline, its events in full."""
    for entry in answer["timeline"]:
        link = answer["chain"][entry["event"]] if "event" in entry else None
        of = link or entry
        cell = {key: "" if of.get(key) is None else ";".join(map(str, of[key])) if isinstance(of[key], list) else str(of[key])
                for key in ("class", "certainty", "ranks", "nodes", "step", "time", "signature", "file", "entry", "count", "text") if key in of}
        cell["line"] = str(of["line"]) if of["line"] else ""
        cell["role"] = {"cause": "end" if of.get("certainty") == "unknown" else "cause"}.get(of["role"], of["role"]) if link else "fault" if of["wrong"] else "before"
        yield cell


def table(checks, assay, directory, done):
    """The same as rows: nothing but the names where no failure was found, and the exit code of the other forms."""
    rows, answer = run([assay, "why", directory, "--format", "csv", "--quiet"]), json.loads(done.out)
    told, wanted = list(csv.DictReader(io.StringIO(rows.out))), list(rows_of(answer))
    checks.expect(rows.out.startswith("source,role,class,certainty,ranks,nodes,step,time,signature,file,line,entry,count,text\n") and rows.code == done.code, "rows: %s" % rows)
    checks.expect(len(told) == len(wanted) and bool(told) == (answer["cause"] is not None), "%d rows, %d in JSON: %s" % (len(told), len(wanted), rows))
    for row, of in zip(told, wanted):
        checks.expect({key: row[key] for key in of if key != "text" or row["source"] != "dumps"} == {key: of[key] for key in of if key != "text" or row["source"] != "dumps"},
                      "%s in JSON is %s" % (row, of))
