"""alike.py - trainings that are alike but for their seeds, and faulty ones among them: bands let the good ones pass and none of the
faulty, a comparison names the odd ones, and which settings go with them.

Usage: alike.py WORK_DIR ASSAY        (with PyTorch; bench/accuracy measures the same on more kinds of trainings)
"""
import json
import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "bench" / "accuracy")]
import bands_trainings  # noqa: E402
from launch import Checks, mpirun, run  # noqa: E402

WORK, ASSAY = Path(sys.argv[1]), sys.argv[2]
RANKS = (1, 3, 7)
KIND = "mlp-small-batch"
JOB = '{"aggregations": [{"kind": "loss_curve", "name": "loss"}]}'


def record():
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    (WORK / "job.json").write_text(JOB)
    for seed in range(24):
        bands_trainings.train(KIND, str(WORK / ("good-%02d" % seed)), seed)
    for seed, fault in enumerate(bands_trainings.FAULTS):
        bands_trainings.train(KIND, str(WORK / fault), 100 + seed, fault)


def body_of(folder):
    return (folder / "report.json").read_text().split('\n "run":')[0]


def compare(checks, trials, *options, code=0):
    """The report of a comparison, which is the same at any number of ranks."""
    bodies = set()
    for ranks in RANKS:
        out = WORK / ("out-%d" % ranks)
        shutil.rmtree(out, ignore_errors=True)
        done = mpirun(ranks, [ASSAY, "compare", *trials, "--job", WORK / "job.json", "--out", out, "--reports",
                              "json,text,markdown,html", *options])
        checks.expect(done.code == code, "%s at %d ranks: %s" % (options, ranks, done))
        bodies.add(body_of(out))
    checks.expect(len(bodies) == 1, "%s: the report differs between ranks" % (options,))
    return json.loads((out / "report.json").read_text()), done


def check_bands(checks, good):
    for ranks in RANKS:
        done = mpirun(ranks, [ASSAY, "compare", *good[:12], "--learn", WORK / ("bands-%d" % ranks), "--job", WORK / "job.json",
                              "--out", WORK / "learned", "--quiet"])
        checks.expect(done.code == 0, "learning at %d ranks: %s" % (ranks, done))
    learned = {(WORK / ("bands-%d" % ranks)).read_bytes() for ranks in RANKS}
    checks.expect(len(learned) == 1, "the bands differ between ranks")
    faulty = [WORK / fault for fault in bands_trainings.FAULTS]
    report, _ = compare(checks, good[12:] + faulty, "--against", WORK / "bands-1", "--fail-on", "warning", code=1)
    outside = {t["name"]: t for t in report["bands"]["trials"]}
    failing = [t.name for t in good[12:] if outside[t.name]["outside"]]
    checks.expect(len(failing) <= 1, "good runs outside of the bands: %s" % {n: outside[n]["first"][:2] for n in failing})
    for fault in bands_trainings.FAULTS:
        checks.expect(outside[fault]["outside"] > 0, "%s passes: %s" % (fault, outside[fault]["score"]))
    kinds = {f: {d["kind"] for d in outside[f]["first"]} for f in ("frozen", "half")}
    checks.expect({"still", "missing"} <= kinds["frozen"] and "short" in kinds["half"], "%s" % kinds)
    still = {d["tensor"] for d in outside["frozen"]["first"] if d["kind"] == "still"}
    checks.expect(still == {"Mlp_fc2.weight", "Mlp_fc2.bias"}, "what never changes: %s" % still)
    done = run([ASSAY, "compare", *good[12:], "--against", WORK / "bands-1", "--noise", "factor=4", "--fail-on", "warning",
                "--job", WORK / "job.json", "--out", WORK / "out"])
    checks.expect(done.code == 0, "four times what good runs do: %s" % done)


def check_odd(checks, good):
    report, _ = compare(checks, good)
    checks.expect(len(report["comparison"]["odd"]) <= 1, "odd among healthy ones: %s" % report["comparison"]["odd"])
    report, done = compare(checks, good[:10] + [WORK / "rate", WORK / "frozen"])
    comparison, answer = report["comparison"], report["comparison"]["answer"]
    odd = {o["trial"]: o["reasons"] for o in comparison["odd"]}
    checks.expect(set(odd) == {"rate", "frozen"} and answer.startswith("2 of 12 are unlike the others: rate ("), answer)
    checks.expect(odd["frozen"][:2] == ["Mlp_fc2.* never updated", "gradient/Mlp_fc2.* missing"], "%s" % odd)
    checks.expect("lr 0.2 where others have 0.02" in answer, answer)
    settings = {s["name"]: s for s in comparison["settings"]}
    checks.expect(settings["config.lr"]["goes_with_the_odd"] and settings["config.lr"]["values"][10] == "0.2" and
                  not settings["config.seed"]["goes_with_the_odd"] and comparison["settings"][0]["name"] == "config.lr",
                  "settings: %s" % comparison["settings"])
    text, page = (WORK / "out-7" / "report.txt").read_text(), (WORK / "out-7" / "report.html").read_text()
    checks.expect(" ".join(text.split()).startswith(answer) and (WORK / "out-7" / "report.md").read_text().replace("\\", "").startswith("## " + answer),
                  "text and Markdown begin with the answer")
    checks.expect(bool(re.search(r'<main[^>]*><h1>[^<]*</h1>\s*<p class="verdict[^>]*><strong>2 of 12 are unlike', page)) and page.count('class="band"') == 4, "the page")
    shown = set(re.findall(r'<h3><span class="name">([\w-]+)', page.split('<section id="trials">')[1].split("</section>")[0]))
    checks.expect(shown == {"rate", "frozen"}, "the page shows single trials: %s" % shown)
    checks.expect("\nrate\n----" in text and "\ngood-00\n----" not in text and
                  all("not reported here: 10 (--all shows them)" in form for form in (text, page)),
                  "single reports of the odd ones alone")
    done = run([ASSAY, "compare", *good[:10], WORK / "rate", "--all", "--job", WORK / "job.json", "--out", WORK / "out"])
    checks.expect(done.code == 0 and "\ngood-00\n" in done.out and "not reported here" not in done.out, "--all: %s" % done)
    parted = [t["tensors"] for t in comparison["trials"][1:]]
    checks.expect(all(not [p for p in t["first"] if p["tensor"] == "Mlp_fc1.weight"] and t["different_from_start"] > 5
                      for t in parted), "other seeds do not part")
    done = run([ASSAY, "compare", *good[:3], "--job", WORK / "job.json", "--out", WORK / "out"])
    checks.expect(re.match(r"nothing wrong in 3 trials[^\n]*\.\n3 trials are too few to say which is unlike the others", done.out) and
                  "\ngood-00\n----" in done.out, "three trials: %s" % done)


def main():
    checks = Checks()
    record()
    good = sorted(WORK.glob("good-*"))
    check_bands(checks, good)
    check_odd(checks, good)
    checks.done()


if __name__ == "__main__":
    main()
