"""Rules in Python that break in every way; each at the step that its parameter says, so that others come before and behind it."""
import os
import sys
import time

import assay


class Broken(assay.Rule):
    def __init__(self, base_trial, at=-1):
        super().__init__(base_trial)
        self.at = at

    def invoke_at_step(self, step):
        if step >= self.at:
            return self.break_down(step)


class Raises(Broken):
    def break_down(self, step):
        return 1 / 0


class RaisesDeep(Broken):
    """Through more places than a message has room for."""

    def break_down(self, step):
        return self.begin_what_goes_wrong_far_below(self.base_trial, step, "the first of many arguments", "the last one")

    def begin_what_goes_wrong_far_below(self, trial, step, *arguments):
        return self.go_on_with_what_goes_wrong_below(trial, step, "the first of many arguments", "the last one")

    def go_on_with_what_goes_wrong_below(self, trial, step, *arguments):
        return self.end_with_what_goes_wrong(trial, step, "the first of many arguments", "the last one of them")

    def end_with_what_goes_wrong(self, trial, step, *arguments):
        return {}["a key that is not there"]


class RaisesInInit(Broken):
    def __init__(self, base_trial):
        raise KeyError("nothing of the kind")


class Exits(Broken):
    def break_down(self, step):
        sys.exit(3)


class ExitsAtOnce(Broken):
    def break_down(self, step):
        os._exit(7)


class Crashes(Broken):
    def break_down(self, step):
        os.kill(os.getpid(), 11)


class Hangs(Broken):
    def break_down(self, step):
        while True:
            time.sleep(100)


class ClosesAll(Broken):
    def break_down(self, step):
        os.closerange(0, 64)


class WritesGarbage(Broken):
    def break_down(self, step):
        os.write(3, b"garbage" * 100)


class Prints(Broken):
    """On every channel that may be printed on, and more than fits in a pipe; that harms nobody."""

    def break_down(self, step):
        if not sys.stdout.closed:
            print("printed by a rule\n" * 5000)
            os.write(1, b"\0\1\2\n")
            sys.stdout.close()


class Forks(Broken):
    """The copy goes on as if it were the process itself."""

    def break_down(self, step):
        os.fork()
        return False


class FindsTooMuch(Broken):
    def break_down(self, step):
        while True:
            yield assay.Finding(note="x" * 100000)


class FindsNothingReal(Broken):
    def break_down(self, step):
        return assay.Finding("no such tensor")


class Recurses(Broken):
    def break_down(self, step):
        return self.break_down(step)


class NoFinding(Broken):
    def break_down(self, step):
        return ["fires"]


class ChangesItself(assay.Rule):
    def at_step(self, view):
        self.last = view.step


class DeadRelu(assay.Rule):
    def invoke_at_step(self, step):
        return False


class Nothing(assay.Rule):
    pass


class NoRule:
    pass
