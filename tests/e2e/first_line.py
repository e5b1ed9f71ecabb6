#!/usr/bin/env python3
"""The first line of a report names the cause: faults of bench/accuracy/zoo at three save intervals, some of them at every number
of ranks. Verdicts on one training at several intervals do not contradict each other: a healthy one is healthy at all of them, and what is certain
of a fault at one is not another cause, nor a time that does not meet that one's, where another interval is certain as well. To see less, or to be
less sure, is no contradiction; the widest interval may leave a fault unseen.

    first_line.py --assay PROGRAM --ranks 1 3 7
"""
import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "accuracy" / "zoo"), str(ROOT / "tests" / "support"), str(ROOT / "bench" / "accuracy")]
import causes  # noqa: E402
import causes_fifteenth  # noqa: E402
import causes_fifth  # noqa: E402
import causes_more  # noqa: E402
import causes_seventh  # noqa: E402
import causes_thirteenth  # noqa: E402
import healthy  # noqa: E402
import torch  # noqa: E402
from launch import Checks, mpirun  # noqa: E402

INTERVALS = (1, 10, 100)
FAULTY = ("cause_inputs_zero", "cause_same_data_in_another_order", "cause_softmax_twice", "cause_worker_killed",
          "cause_evaluation_labels_shifted", "cause_decay_too_large", "cause_one_layer_of_one_worker", "cause_nan_in_an_evaluation",
          "more_labels_of_one_class", "more_one_worker_stops_updating", "more_clipped_to_nothing",
          "fifth_one_batch_reshuffled", "fifth_evaluation_rows_seen", "fifth_underflow_grows", "seventh_codes_of_a_smaller_table",
          "seventh_two_classes_weigh_nothing", "seventh_middle_of_three_frozen", "thirteenth_log_probability_detached",
          "fifteenth_bit_of_a_gradient_flipped", "fifteenth_shares_among_the_batch", "fifteenth_targets_of_other_rows",
          "fifteenth_half_of_the_things_never_learn", "fifteenth_mean_teacher_never_follows", "fifteenth_clipped_by_a_millionth")
HEALTHY = ("zoo_graph", "zoo_counts", "zoo_adapters", "zoo_fifth_whole_set_each_step", "zoo_fifth_a_worker_leaves", "zoo_seventh_easy_ones_first",
           "zoo_seventh_targets_network_copied", "zoo_fifteenth_two_rows_a_batch", "zoo_fifteenth_sparse_tables")
AT_100 = ("cause_inputs_zero", "cause_softmax_twice", "more_clipped_to_nothing", "fifth_underflow_grows", "seventh_two_classes_weigh_nothing",
          "seventh_middle_of_three_frozen", "fifteenth_mean_teacher_never_follows", "fifteenth_clipped_by_a_millionth", "zoo_graph", "zoo_fifth_a_worker_leaves", "zoo_seventh_easy_ones_first")
AT_ALL_RANKS = ("cause_softmax_twice", "cause_one_layer_of_one_worker")
SOUND = r"^(nothing wrong in \d+ rules|\d+ rules passed on \d+ of \d+ TRAIN steps)"


def certain_cause(report):
    """Name, mode and range of steps of the first cause, if that is certain; else None."""
    causes_said = report["trials"][0].get("causes")
    if not causes_said or causes_said[0]["certainty"] != "certain":
        return None
    began = causes_said[0].get("began") or {}
    return causes_said[0]["cause"], began.get("mode"), began.get("from"), began.get("to")


def contradict(a, b):
    if a is None or b is None:
        return False
    if a[0] != b[0]:
        return True
    known = a[1] == b[1] and None not in a[2:] + b[2:]
    return known and (a[3] < b[2] or b[3] < a[2])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks = Checks()
    torch.set_num_threads(1)
    known = dict(healthy.TRAININGS)
    for faults in (causes, causes_more, causes_fifth, causes_seventh, causes_thirteenth, causes_fifteenth):
        known.update(faults.TRAININGS)
    for a, b, wrong in ((None, ("x", "TRAIN", 5, 5), False), (("y", "TRAIN", 5, 5), ("x", "TRAIN", 5, 5), True),
                        (("x", "TRAIN", 5, 5), ("x", "TRAIN", 1, 10), False), (("x", "TRAIN", 11, 20), ("x", "TRAIN", 5, 5), True)):
        checks.expect(contradict(a, b) == contradict(b, a) == wrong, "contradict(%s, %s)" % (a, b))
    certain = {}
    with tempfile.TemporaryDirectory() as made:
        for interval in INTERVALS:
            os.environ["ASSAY_ZOO_INTERVAL"] = str(interval)
            for name in FAULTY + HEALTHY:
                trial, out = Path(made) / ("%s-%d" % (name, interval)), Path(made) / "out"
                known[name](str(trial), 1)
                bodies = []
                for ranks in args.ranks if interval == INTERVALS[1] and name in AT_ALL_RANKS else args.ranks[:1]:
                    done = mpirun(ranks, [args.assay, "run", trial, "--out", out, "--quiet"])
                    checks.expect(done.code in (0, 3), "%s, %d ranks: %s" % (name, ranks, done))
                    bodies.append((out / "report.json").read_text().split('\n "run":')[0])
                checks.expect(all(b == bodies[0] for b in bodies), "%s: the report differs between rank counts" % name)
                report = json.loads((out / "report.json").read_text())
                said, known_now = report["verdict"], certain_cause(report)
                for other, before in certain.get(name, ()):
                    checks.expect(not contradict(known_now, before), "%s: certain every %d: %s; every %d: %s" % (name, other, before, interval, known_now))
                certain.setdefault(name, []).append((interval, known_now))
                sound = bool(re.search(SOUND, said))
                if name in FAULTY and interval == INTERVALS[-1] and name not in AT_100:
                    continue
                right = sound if name in HEALTHY else re.search(causes.CAUSES[name].says, said) and not sound
                checks.expect(right or (sound and interval == INTERVALS[-1]), "%s every %d: %s" % (name, interval, said))
    checks.done()


if __name__ == "__main__":
    main()
