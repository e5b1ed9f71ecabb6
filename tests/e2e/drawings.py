#!/usr/bin/env python3
"""What is drawn on a terminal: sparklines, bars and shaded matrices say what the figures say, fit the terminal's width, are made
of blocks where the locale says UTF-8 and of ASCII elsewhere, and have colours only where they are wanted. Nothing is drawn
into a pipe.

    drawings.py --assay PROGRAM
"""
import argparse
import json
import math
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, on_terminal, run  # noqa: E402
from made import Made, figures_of  # noqa: E402

import numpy  # noqa: E402

UTF8, ASCII = {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "LANG": "de_DE.UTF-8"}
LEVELS = {True: "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588", False: "_.-=+*#@"}
SHADES = {True: " \u2591\u2592\u2593\u2588", False: " .+*#"}
CROSS = {True: "\u00d7", False: "x"}
WIDTHS = (40, 60, 100, 163)
LOSS = "CrossEntropyLoss_output_0"
JOB = {"aggregations": [
    {"kind": "loss_curve"},
    {"name": "labels", "kind": "class_counts", "labels_regex": "CrossEntropyLoss_input_1"},
    {"name": "cm", "kind": "confusion", "labels": "CrossEntropyLoss_input_1", "predictions": "CrossEntropyLoss_input_0"}]}


def sparkline(values, columns, utf8):
    finite = [v for v in values if math.isfinite(v)]
    least, most = min(finite), max(finite)
    shown, out = min(columns, len(values)), ""
    for c in range(shown):
        part = values[c * len(values) // shown:(c + 1) * len(values) // shown]
        if not all(map(math.isfinite, part)):
            out += CROSS[utf8]
        else:
            place = [(v / 2 - least / 2) / (most / 2 - least / 2) if most > least else 0.5 for v in part]
            out += LEVELS[utf8][min(7, int(sum(place) / len(place) * 8))]
    return out


def bar(share, columns, utf8):
    if not share:
        return ""
    eighths = max(1, int(share * columns * 8 + 0.5))
    if not utf8:
        return "#" * (eighths // 8) or "."
    return "\u2588" * (eighths // 8) + (chr(0x2590 - eighths % 8) if eighths % 8 else "")


def plain(text):
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def series(assay, trial, tensor):
    """{(mode, worker): [mean at each step]}"""
    found = {}
    for row in json.loads(run([assay, "show", trial, tensor, "--json"]).out)["rows"]:
        found.setdefault((row["mode"], row["worker"]), []).append(float(row["mean"]))
    return found


def take_table(drawn, piped):
    """Are the words of the table, whose rows are folded where the terminal is narrow, those of the piped one? And the lines behind it."""
    words, lines = piped.split(), drawn.splitlines()
    count = next((i for i in range(len(lines)) if " ".join(lines[:i]).split() == words), None)
    return count is not None, [line for line in lines[count or 0:] if line]


def check_sparklines(assay, checks):
    trial = TRIALS / "ddp"
    wanted = series(assay, trial, LOSS)
    piped = run([assay, "show", trial, LOSS]).out
    for columns in WIDTHS:
        for env in (UTF8, ASCII):
            utf8 = env is UTF8
            done = on_terminal([assay, "show", trial, LOSS], columns, env)
            table, lines = take_table(done.out, piped)
            checks.expect(done.code == 0 and table and (columns < 100 or done.out.startswith(piped)),
                          "show at %d columns: %s" % (columns, done))
            checks.expect(len(lines) == len(wanted) and all(len(line) <= columns for line in lines),
                          "show at %d columns: %s" % (columns, lines))
            for (mode, worker), line in zip(sorted(wanted, key=lambda k: (k[0] != "TRAIN", k[1])), lines):
                label, drawn, rest = re.match(r"    (.*?)  (\S+) +(\S.*)$", line).groups()
                values = wanted[mode, worker]
                if columns >= 60:
                    checks.expect(label.strip() == "mean %s %s" % (mode, worker), "label %r at %d" % (label, columns))
                    checks.expect(rest.startswith("%.4g .. %.4g" % (min(values), max(values))), "figures %r" % rest)
                should = sparkline(values, len(drawn), utf8)
                checks.expect(drawn == should, "%s %s at %d columns: %r is not %r" % (mode, worker, columns, drawn, should))
                checks.expect(columns < 100 or len(drawn) == len(values), "%d of %d values at %d columns" %
                              (len(drawn), len(values), columns))


def check_equal_workers(assay, checks, folder):
    """Workers with the same figures are one line; numbers that are not finite are crosses; no value at all is no line."""
    made = Made(folder / "equal", 4)
    for step in range(6):
        value = [float(step), -1e308, 1e308, numpy.nan, -numpy.inf, 3.0][step]
        made.step(step, "TRAIN", step, {"worker_%d" % w: {
            "a": numpy.array([float(step) if w == 2 else value]), "empty": numpy.zeros(0),
            "text": ["x"]} for w in range(4)})
    trial = made.end()
    done = on_terminal([assay, "show", trial, "a"], 100, UTF8)
    lines = [line for line in done.out.splitlines() if line.startswith("    mean")]
    cross = "\x1b[35m\u00d7\x1b[0m"
    should = "    mean TRAIN worker_0-1, worker_3  \u2585\u2581\u2588%s%s\u2585" % (cross, cross)
    checks.expect(len(lines) == 2 and lines[0].startswith(should) and lines[1].startswith("    mean TRAIN worker_2"),
                  "equal workers: %s" % done)
    for tensor in ("empty", "text"):
        done = on_terminal([assay, "show", trial, tensor], 100, UTF8)
        checks.expect(done.code == 0 and done.out == run([assay, "show", trial, tensor]).out, "%s: %s" % (tensor, done))


def write_report(assay, folder):
    job = folder / "job.json"
    job.write_text(json.dumps(dict(JOB, trials=[str(TRIALS / "healthy")])))
    run([assay, "run", job, "--out", folder / "out"])
    return folder / "out" / "report.json"


def check_report(assay, checks, folder):
    path = write_report(assay, folder)
    loss, counts, confusion = json.loads(path.read_text())["trials"][0]["aggregations"]
    classes, matrix = counts["classes"], confusion["matrix"]
    most = max(classes.values())
    for columns in WIDTHS:
        for env in (UTF8, ASCII):
            utf8 = env is UTF8
            done = on_terminal([assay, "show", path], columns, env)
            lines = plain(done.out).splitlines()
            checks.expect(done.code == 0 and all(len(line) <= columns for line in lines), "report at %d: %s" % (columns, done))
            curve = next(line for line in lines if line.startswith("    TRAIN"))
            drawn = re.search(r"\S  +(\S+)  ", curve[4 + min(columns // 3, 40) - 1:] if columns < 100 else curve).group(1)
            checks.expect(drawn == sparkline(loss["losses"][0]["values"], len(drawn), utf8), "loss at %d: %r" % (columns, curve))
            room = columns - 4 - 5 - 2 - 7 - 2 - 7 - 2
            for name, count in classes.items():
                drawn = bar(count / most, room, utf8)
                should = "    %5s  %7d  %5.1f %%  %s" % (name, count, 100 * count / counts["samples"], drawn)
                checks.expect(should in lines, "class %s at %d: no line %r" % (name, columns, should))
            for label, row in enumerate(matrix):
                cells = [2 * SHADES[utf8][min(4, 1 + int(n / sum(row) * 4)) if n else 0] for n in row]
                should = ("    %d " % label + "".join(cells)).rstrip()
                checks.expect(should in lines, "matrix at %d: no line %r" % (columns, should))
            worst = max((n, -i, -k) for i, row in enumerate(matrix) for k, n in enumerate(row) if i != k)
            checks.expect("    %d taken for %d: %d of %d" % (-worst[1], -worst[2], worst[0], sum(matrix[-worst[1]])) in lines,
                          "most confused pair at %d" % columns)
    piped = run([assay, "show", path]).out
    checks.expect(piped.isascii() and "\x1b" not in piped and "label \\ predicted" in piped, "piped: %s" % piped)
    return path


def check_strips(assay, checks, folder):
    """Each rule's findings over the steps of the training."""
    made = Made(folder / "strips")
    for step in range(0, 101, 5):
        made.step(step, "TRAIN" if step else "EVAL", step, {"a": numpy.array([0.0 if step in (0, 50, 100) else 1.0])})
    job = folder / "strips.json"
    job.write_text(json.dumps({"trials": [str(made.end())], "rules": [
        {"rule": "AllZero", "name": "zero at three", "parameters": {"tensor_regex": "a"}}, {"rule": "ExplodingTensor"},
        {"rule": "AllZero", "name": "<\x1b[2Jnone", "parameters": {"tensor_regex": "b"}}]}))
    run([assay, "run", job, "--out", folder / "strips-out"])
    path = folder / "strips-out" / "report.json"
    for columns in (40, 61, 100):
        done = on_terminal([assay, "show", path], columns, ASCII)
        out = plain(done.out)
        strip = re.search(r"^ {4}zero.*?  ([.#]+)$", out, re.M)
        checks.expect(strip and all(len(line) <= columns for line in out.splitlines()), "strips at %d: %s" % (columns, done))
        marks = strip[1] if strip else ""
        checks.expect([i for i, c in enumerate(marks) if c == "#"] == [0, len(marks) // 2, len(marks) - 1] and len(marks) > 4,
                      "strip at %d: %r" % (columns, marks))
        checks.expect("NoIssuesFound" in out and "NoData" in out and "Findings from step 0 to 100" in out, "strips: %s" % done)
    coloured = run([assay, "show", path, "--color", "always"]).out
    checks.expect(re.search("\x1b\\[33mIssuesFound\x1b", coloured) and re.search("\x1b\\[34mNoIssuesFound\x1b", coloured), "statuses: %s" % coloured)
    piped = run([assay, "show", path]).out
    checks.expect(re.search(r"^ +zero at three +IssuesFound +3 +0$", piped, re.M) and
                  re.search(r"<\\x1b\[2Jnone +NoData", piped), piped)


def check_many_classes(assay, checks, folder):
    """A matrix that is wider than the terminal is drawn with several classes a cell."""
    labels = numpy.arange(150, dtype="int64")
    made = Made(folder / "many").step(0, "TRAIN", 0, {"CrossEntropyLoss_input_1": labels, "CrossEntropyLoss_input_0": labels})
    job = folder / "many.json"
    job.write_text(json.dumps(dict(JOB, trials=[str(made.end())])))
    run([assay, "run", job, "--out", folder / "many-out"])
    for columns, cells in ((60, 50), (100, 75), (200, 150)):
        out = plain(on_terminal([assay, "show", folder / "many-out" / "report.json"], columns, ASCII).out)
        rows = re.findall(r"^ {4} *(\d+) ( *)#$", out, re.M)
        checks.expect([len(blanks) for _, blanks in rows] == list(range(cells)), "%d columns: %s" % (columns, out))
        checks.expect(all(len(line) <= columns for line in out.splitlines()), "%d columns: %s" % (columns, out))


def check_styles(assay, checks, path):
    """Colours, widths and --draw."""
    def shown(*more, columns=80, **env):
        done = on_terminal([assay, "show", path, *more], columns, dict(UTF8, **env))
        checks.expect(done.code == 0, "%s %s: %s" % (more, env, done))
        return done.out

    usual, piped = shown(), run([assay, "show", path]).out
    checks.expect("\x1b[34m" in usual and "\x1b[33m" in usual, "no colours: %s" % usual)
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}):
        checks.expect(shown(**env) == plain(usual), "%s: colours or another drawing" % env)
    checks.expect(shown(NO_COLOR="") == usual, "an empty NO_COLOR counts")
    checks.expect(shown(columns=163, COLUMNS="80") == usual, "COLUMNS is not looked at")
    checks.expect(shown(columns=0) == usual, "a terminal without a width is not taken for 80 columns")
    checks.expect(shown("--draw", "never") == piped, "--draw never draws")
    for env in ({"LC_ALL": None, "LC_CTYPE": None, "LANG": "en_US.utf8"}, {"LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"}):
        checks.expect(shown(**env) == usual, "%s: no blocks" % env)
    for env in ({"LC_ALL": None, "LC_CTYPE": None, "LANG": None}, {"LC_ALL": "", "LC_CTYPE": "C", "LANG": "C.UTF-8"}):
        checks.expect(shown(**env).isascii(), "%s: blocks" % env)
    always = run([assay, "show", path, "--draw", "always"], env={"COLUMNS": "80"})
    checks.expect(always.out == plain(usual), "--draw always into a pipe: %s" % always)
    launched = on_terminal([assay, "show", path], 80, dict(UTF8, OMPI_COMM_WORLD_RANK="0"))
    checks.expect(launched.out == piped, "draws below a launcher: %s" % launched)


def check_run(assay, checks, folder):
    """The report of a run is drawn on a terminal; the file is not."""
    done = on_terminal([assay, "run", folder / "job.json", "--out", folder / "drawn", "--quiet"], 100, UTF8)
    checks.expect(done.code == 0 and "\u2588" in done.out and "most confused" in done.out, "run on a terminal: %s" % done)
    text = (folder / "drawn" / "report.txt").read_text()
    checks.expect(text.isascii() and "label \\ predicted" in text, "report.txt is drawn: %s" % text)


def check_verdict(assay, checks, folder):
    """The verdict is broken between words on a narrow terminal, and one line of the file."""
    done = on_terminal([assay, "run", TRIALS / "linreg_nan", "--out", folder / "verdict", "--quiet"], 60, UTF8)
    first = (folder / "verdict" / "report.txt").read_text().split("\n", 1)[0]
    lead = plain(done.out).replace("\r", "").split("\n\n", 1)[0].split("\n")
    checks.expect(len(first) > 60 and " ".join(lead) == first and max(map(len, lead)) <= 60, "the verdict on 60 columns: %s, not %s" % (lead, first))


def check_widths(assay, checks, folder):
    """Tables and paragraphs of a report are as wide as the terminal; the file does not depend on it."""
    job = folder / "wide.json"
    job.write_text(json.dumps({"rules": [{"rule": "DeadRelu"}, {"rule": "VanishingGradient", "severity": "error"}]}))
    command, texts, widest = [assay, "run", job, "--trial", TRIALS / "dead_relu", "--out", folder / "wide", "--quiet"], set(), {}
    for columns in (None, 80, 100, 160):
        done = on_terminal(command, columns, ASCII) if columns else run(command)
        lines = [len(line) for line in plain(done.out).splitlines() if "To see it: " not in line]
        widest[columns] = max(lines, default=0)
        checks.expect(done.code == 0 and 0 < widest[columns] <= (columns or 100), "a line of %d at %s columns: %s" %
                      (widest[columns], columns, done))
        texts.add(re.sub(r" in [\d.]+ s\.\n", "", (folder / "wide" / "report.txt").read_text()))
    checks.expect(len(texts) == 1, "report.txt depends on the terminal")
    checks.expect(widest[80] < widest[100] == widest[None], "widths: %s" % widest)
    piped = run([assay, "ls", TRIALS / "dead_relu"]).out
    for columns in (60, 100):
        done = on_terminal([assay, "ls", TRIALS / "dead_relu"], columns, ASCII)
        checks.expect(max(map(len, done.out.splitlines())) <= columns and (done.out == piped) == (columns == 100),
                      "ls at %d columns: %s" % (columns, done))


def check_bad_reports(assay, checks, folder):
    for text, why in (("{}", "not a report.json"), ("{\"schema\": \"assay-report/1\"}", "has no \"trials\""), ("[1", "line 1"),
                      ("", "line 1")):
        path = folder / "bad.json"
        path.write_text(text)
        done = run([assay, "show", path])
        checks.expect(done.code == 2 and why in done.err and str(path) in done.err and not done.out, "%r: %s" % (text, done))
    for operands, why in (([folder / "none.json"], "none.json"), ([TRIALS / "ddp"], "TENSOR"),
                          ([folder / "bad.json", "--csv"], "TENSOR")):
        done = run([assay, "show", *operands])
        checks.expect(done.code == 2 and why in done.err, "%s: %s" % (operands, done))
    odd = {"schema": "assay-report/1", "trials": [{"name": "t", "rules": [], "aggregations": [dict({"name": "n", "kind": "k"}, **one) for one in [
        {"name": "a\x1b[2J", "kind": "x"}, {"classes": {"\u202e": "many", "b": -1}}, {"matrix": [[]], "per_class": []},
        {"matrix": [[1, 2], 3, {"x": 1}], "per_class": [1]}, {"losses": [1, {"values": 1}, {"tensor": "t", "values": []},
                                                                {"tensor": "u", "mode": "m", "values": ["nan", {}, "inf"]}]}]]}]}
    path.write_text(json.dumps(odd))
    for draw in ("always", "never"):
        done = run([assay, "show", path, "--draw", draw], env=UTF8)
        checks.expect(done.code == 0 and "\x1b" not in done.out and "\u202e" not in done.out, "an odd report: %s" % done)


def numbers_of(page, caption):
    """{(line, x): y} of the charts of that name on the page."""
    found = re.findall(r"<figcaption>%s</figcaption>.*?<tbody>(.*?)</tbody>" % re.escape(caption), page, re.S)
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for body in found for row in body.split("</tr>") if "<td" in row]
    return {(line, float(x)): float(y) for line, x, y in rows}


def check_beside_loss(assay, checks, folder):
    """On the page stand learning rates and norms that were recorded, and where no norm was that of all gradients."""
    random = numpy.random.default_rng(3)
    for name, also in (("computed", {}), ("logged", {"scalar/grad_norm": 1}), ("statistics", {})):
        trial, norms = Made(folder / name, collections={"losses": "Loss", "gradients": "^gradient"}), {}
        for i in range(6):
            gradients = {"gradient/%s.weight" % layer: random.normal(size=(4, 3)).astype("f4") for layer in "ab"}
            norms[float(10 * i)] = math.sqrt(sum(float((g.astype("f8") ** 2).sum()) for g in gradients.values()))
            if i == 3:  # a step that not all gradients have
                del gradients["gradient/b.weight"], norms[30.0]
            if name == "statistics":  # as the automatic hook records gradients
                gradients = {saved: figure for key, value in gradients.items() for saved, figure in figures_of(key, value).items()}
            logged = {key: numpy.float64(value * (i + 1)) for key, value in also.items()}
            trial.step(10 * i, "TRAIN", 10 * i, {"Loss_output_0": numpy.float32(2 - 0.1 * i), "scalar/lr": numpy.float64(0.1 / (i + 1)),
                                                 "already": numpy.float64(7), **gradients, **logged})
        trial.end()
        done = run([assay, "run", folder / name, "--reports", "html", "-o", folder / (name + "-page")])
        checks.expect(done.code == 0, "%s" % done)
        page = (folder / (name + "-page") / "report.html").read_text()
        rates, shown = numbers_of(page, "Learning rate"), numbers_of(page, "Norm of the gradients")
        checks.expect(set(rates) == {("scalar/lr", 10.0 * i) for i in range(6)} and
                      all(math.isclose(y, 0.1 / (x / 10 + 1), rel_tol=1e-5) for (_, x), y in rates.items()), "%s: learning rate: %s" % (name, rates))
        wanted = {("scalar/grad_norm", 10.0 * i): i + 1 for i in range(6)} if also else {("all gradients", x): y for x, y in norms.items()}
        checks.expect(set(shown) == set(wanted) and all(math.isclose(shown[k], wanted[k], rel_tol=1e-5) for k in wanted), "%s: norms: %s" % (name, shown))


def check_elements(assay, checks, folder):
    """Under a tensor of a finding stands how its elements are distributed, over all workers and at most 24 steps."""
    random, steps, saved = numpy.random.default_rng(4), range(0, 300, 10), {}
    trial = Made(folder / "elements", 2)
    for i in steps:
        saved[i] = [random.normal(size=(16, 8)).astype("f4") * (1 + i) * (numpy.arange(128).reshape(16, 8) % 3 > 0) for _ in range(2)]
        names = ["a.weight", "smdebug/reductions/mean/a.weight" if i == 290 else "a.weight"]  # of one worker no value at the last step
        trial.step(i, "TRAIN", i, {"worker_%d" % w: {names[w]: saved[i][w] if names[w] == "a.weight" else numpy.float32(1), "few": numpy.zeros(4, "f4")}
                                   for w in range(2)})
        saved[i] = saved[i][:names.count("a.weight")]
    trial.end()
    job = folder / "elements.json"
    job.write_text(json.dumps({"rules": [{"rule": "AllZero", "parameters": {"tensor_regex": ".", "threshold": 30}}]}))
    run([assay, "run", job, folder / "elements", "--reports", "html", "-o", folder / "elements-page"])
    page = (folder / "elements-page" / "report.html").read_text()
    shown = numbers_of(page, "Quantiles")
    checks.expect(page.count("<figcaption>Histograms</figcaption>") == 1 and " at 24 steps" in page and ("least", 290.0) in shown, "%s" % shown)
    for (line, step), value in shown.items():
        wanted = {"least": numpy.min, "median": numpy.median, "most": numpy.max}[line](saved[step])
        checks.expect(math.isclose(value, wanted, rel_tol=1e-4, abs_tol=1e-6), "%s at %d: %s, not %s" % (line, step, value, wanted))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay = parser.parse_args().assay
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_sparklines(assay, checks)
        check_equal_workers(assay, checks, folder)
        path = check_report(assay, checks, folder)
        check_strips(assay, checks, folder)
        check_many_classes(assay, checks, folder)
        check_styles(assay, checks, path)
        check_run(assay, checks, folder)
        check_verdict(assay, checks, folder)
        check_widths(assay, checks, folder)
        check_bad_reports(assay, checks, folder)
        check_beside_loss(assay, checks, folder)
        check_elements(assay, checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
