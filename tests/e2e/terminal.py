#!/usr/bin/env python3
"""What somebody at a terminal meets: a pager, short help, --quiet, defaults in a file, and what Ctrl-C says.

    terminal.py --assay PROGRAM
"""
import argparse
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, TRIALS, Checks  # noqa: E402

DDP = str(TRIALS / "ddp")


class Terminal:
    """Runs assay with its standard output on a terminal, or on a pipe."""

    def __init__(self, assay, where):
        self.assay, self.where = assay, where

    def environment(self, **more):
        env = {name: value for name, value in os.environ.items() if name not in ("ASSAY_PAGER", "PAGER", "LESS", "COLUMNS", "XDG_CONFIG_HOME")}
        return {**env, "HOME": str(self.where), "TERM": "xterm", "NO_COLOR": "1", **more}

    def on_terminal(self, *words, errors=False, **more):
        """(exit code, what the terminal got), with `errors` those, too."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([self.assay, *words], stdout=theirs, stderr=theirs if errors else subprocess.PIPE, env=self.environment(**more), cwd=self.where)
        os.close(theirs)
        got = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the last one who had it open has gone
                break
            if not piece:
                break
            got += piece
        os.close(ours)
        if not errors:
            process.stderr.close()
        return process.wait(), got.decode().replace("\r\n", "\n")

    def piped(self, *words, **more):
        done = subprocess.run([self.assay, *words], capture_output=True, text=True, env=self.environment(**more), cwd=self.where)
        return done.returncode, done.stdout, done.stderr


def pager(place, checks):
    mark = "sed 's/^/| /'"
    plain = place.piped("rules", ASSAY_PAGER=mark)[1]
    checks.expect(plain and "| " not in plain.splitlines()[0], "a pipe has no pager: %.80s" % plain)
    for words in (("rules",), ("ls", DDP), ("check",), ("--help",), ("run", "--help"), ("show", DDP, "CrossEntropyLoss_output_0")):
        code, shown = place.on_terminal(*words, ASSAY_PAGER=mark)
        lines = shown.splitlines()
        checks.expect(code == 0 and lines and all(line.startswith("| ") for line in lines), "%s through a pager: %d %.200s" % (words, code, shown))
        _, bare = place.on_terminal(*words, ASSAY_PAGER="")
        checks.expect(bare.splitlines() == [line[2:] for line in lines], "%s: a pager changes nothing of it" % (words,))
    checks.expect(place.on_terminal("rules", PAGER=mark)[1].startswith("| "), "PAGER is asked")
    checks.expect(not place.on_terminal("rules", ASSAY_PAGER="cat", PAGER=mark)[1].startswith("| "), "ASSAY_PAGER goes first, and cat is none")
    code, shown = place.on_terminal("rules", ASSAY_PAGER="echo \"[$LESS]\"; head -n 1 >/dev/null")
    checks.expect(code == 0 and "[FRX]" in shown, "a pager that is quit early: %d %s" % (code, shown))
    for nothing in ("no-such-pager", "/no/such/pager -R"):
        code, shown = place.on_terminal("rules", PAGER=nothing)
        checks.expect(code == 0 and shown == place.on_terminal("rules", ASSAY_PAGER="")[1], "PAGER=%s: %d %.200s" % (nothing, code, shown))
    code, shown = place.on_terminal("rules", errors=True, ASSAY_PAGER="no-such-pager")
    checks.expect('ASSAY_PAGER: "no-such-pager": there is no such program' in shown, "a pager that is not there: %.200s" % shown)
    code, shown = place.on_terminal("rules", ASSAY_PAGER="false; exit 3")
    checks.expect(code == 0, "a pager that fails is none of our failures: %d" % code)
    code, shown = place.on_terminal("ls", "nothing-there", ASSAY_PAGER=mark)
    checks.expect(code == 2, "the exit code is that of the command: %d" % code)
    code, shown = place.on_terminal("rules", errors=True, ASSAY_PAGER="cat; sleep 4")
    checks.expect(code == 0 and "working for" not in shown, "a pager that stays has the terminal for itself: %r" % shown[-200:])
    code, shown = place.on_terminal("run", DDP, "--out", "paged", ASSAY_PAGER=mark)
    checks.expect(code == 0 and "| " not in shown.splitlines()[0], "a run is not held by a pager: %d %.200s" % (code, shown))


def help_and_quiet(place, checks):
    _, whole, _ = place.piped("run", "--help")
    _, brief, _ = place.piped("run", "-h")
    checks.expect(len(brief.splitlines()) < len(whole.splitlines()) and "help run` says more" in brief, "-h is shorter: %s" % brief[-200:])
    names = [line.split()[0] for line in whole.splitlines() if line.startswith("  --")]
    checks.expect(names == [line.split()[0] for line in brief.splitlines() if line.startswith("  --")], "-h names every option")
    checks.expect(place.piped("help", "run")[1] == whole, "assay help run is --help")
    for command in ("run", "watch", "compare", "hang", "history", "ls", "show", "stats", "topology", "verify", "seal", "rules", "check", "pack",
                    "unpack", "pilot", "notify", "completion"):
        lines = [line.split()[0] for line in place.piped(command, "--help")[1].splitlines() if line.startswith("  --")]
        checks.expect(lines.count("--quiet") == lines.count("--color") == 1, "%s has --quiet and --color once: %s" % (command, lines))
    trial = str(TRIALS / "ddp_partial")
    checks.expect(place.piped("ls", "-q", trial) == (*place.piped("ls", trial)[:2], ""), "-q of a command that prints warnings")
    code, out, _ = place.piped("show", DDP, "CrossEntropyLoss_output_0", "--csv", "--steps", "10:40")
    steps = {line.split(",")[1] for line in out.splitlines()[1:]}
    everything = place.piped("show", DDP, "CrossEntropyLoss_output_0", "--csv")[1].splitlines()
    checks.expect(code == 0 and steps and [line for line in everything[1:] if line.split(",")[1] in ("10", "20", "30")] == out.splitlines()[1:],
                  "show --steps: %s" % steps)
    checks.expect(place.piped("show", DDP, "CrossEntropyLoss_output_0", "--steps", "1000000:")[0] == 2, "no steps there")


def defaults(place, checks):
    folder = place.where / ".config" / "assay"
    folder.mkdir(parents=True)
    config = folder / "config"

    def say(text):
        config.write_text(text)

    say("# mine\n\nrun.max-findings = 1\nformat = json,markdown\ncolor=never\n  rules.json\nwatch.quiet = true\r\n")
    code, _, err = place.piped("run", str(TRIALS / "ddp_partial"), "--out", "with")
    names = {p.name for p in (place.where / "with").glob("[!.]*")}
    checks.expect(code == 0 and names == {"report.json", "report.md"}, "formats of the file: %d %s %s" % (code, names, err))
    rules = json.loads((place.where / "with" / "report.json").read_text())["trials"][0]["rules"]
    kept = [(len(rule["findings"]), rule["findings_total"]) for rule in rules if rule.get("findings_total")]
    checks.expect(kept and all(few == 1 for few, _ in kept) and max(kept)[1] > 1, "max-findings of the file: %s" % kept)
    checks.expect(place.piped("rules")[1].lstrip()[:1] in "[{", "a switch stands alone")
    code, _, err = place.piped("run", DDP, "--out", "over", "--reports", "text")
    checks.expect(code == 0 and [p.name for p in (place.where / "over").glob("[!.]*")] == ["report.txt"], "the command line counts more: %d %s" % (code, err))
    other = place.where / "other"
    other.write_text("rules.json = false\n")
    checks.expect(place.piped("rules", ASSAY_CONFIG=str(other))[1].lstrip()[:1] not in "[{", "ASSAY_CONFIG names another file")
    checks.expect(place.piped("rules", ASSAY_CONFIG="")[1].lstrip()[:1] not in "[{", "an empty ASSAY_CONFIG: none")
    code, _, err = place.piped("rules", ASSAY_CONFIG=str(place.where / "no-such"))
    checks.expect(code == 2 and "no-such" in err, "a file that is named has to be there: %d %s" % (code, err))
    xdg = place.where / "xdg" / "assay"
    xdg.mkdir(parents=True)
    (xdg / "config").write_text("nonsense = 1\n")
    code, _, err = place.piped("rules", XDG_CONFIG_HOME=str(xdg.parent))
    checks.expect(code == 2 and "no command has an option" in err and "%s:1: " % (xdg / "config") in err and "nonsense" in err, err)
    for text, line, words in (("run.memry = 2G\n", 1, ("memry", "did you mean \"memory\"?")), ("colour = always\n", 1, ("colour", "did you mean \"color\"?")), ("\nrnu.memory = 2G", 2, ("rnu",)), ("[run]\nquiet\n", 1, ("no sections", "run.reports = ")), ("run.memory = lots\n", 1, ("memory", "expected")),
                              ("run.trial = x\n", 1, ("trial", "command line")), ("run.quiet = perhaps\n", 1, ("true or false",)), ("run.memory\n", 1, ("memory",))):
        say(text)
        code, _, err = place.piped("run", DDP, "--out", "wrong")
        checks.expect(code == 2 and ":%d: " % line in err and all(word in err for word in words), "%r: %d %s" % (text, code, err))
    say("run.memory = 2G\nstats.memory = lots\n")
    checks.expect(place.piped("rules")[0] == 0, "what is said of other commands is not looked at")
    config.unlink()


def interrupted(place, checks):
    """Ctrl-C: the process listens before it is sent, however slow the machine is. What was begun is gone, with one line."""
    listens = {True: signal.SIGUSR1, False: signal.SIGINT}
    for words, code, said, left in (((), -signal.SIGINT, "no report was written; with --checkpoint", None),
                                    (("--checkpoint", "saved"), 75, "run again with --resume", "saved")):
        process = subprocess.Popen([place.assay, "run", DDP, "--out", "stopped", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=place.environment(ASSAY_FAULT="slow:3000"), cwd=place.where)
        status = Path("/proc/%d/status" % process.pid)
        while process.poll() is None:
            caught = next(int(line.split()[1], 16) for line in status.read_text().splitlines() if line.startswith("SigCgt"))
            if caught & 1 << (listens[bool(words)] - 1) and (place.where / "stopped").is_dir():
                time.sleep(0.2)
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        checks.expect(process.returncode == code and said in err, "%s: %s %s" % (words, process.returncode, err))
        checks.expect(left is None or (place.where / left).is_file(), "%s is there" % left)
        checks.expect(not list((place.where / "stopped").glob("report.*")), "no report")
        checks.expect(bool(words) or not (place.where / "stopped").exists(), "%s: a directory without a report" % (words,))
    big = place.where / "big"
    shutil.copytree(DDP, big)
    with open(big / "rest.bin", "wb") as file:
        file.truncate(192 << 20)
    before = {p for p in place.where.iterdir()}
    for words, sign, fault in ((("run", DDP), "assay-report/ddp", "slow:5000"), (("verify", DDP), None, "slow:5000"),
                               (("stats", DDP, "--out", "table.csv"), None, "slow:5000"), (("pack", big, "--out", "file.h5"), "file.h5.part", "")):
        if words[0] == "pack" and LAUNCHER == "none":
            continue
        for _ in range(5):  # one that was quicker than the signal is asked again
            process = subprocess.Popen([place.assay, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=place.environment(ASSAY_FAULT=fault), cwd=place.where)
            while process.poll() is None and sign and not (place.where / sign).exists():
                time.sleep(0.001)
            time.sleep(0.01 if sign else 1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
            if process.returncode == -signal.SIGINT:
                break
            (place.where / "file.h5").unlink(missing_ok=True)
        left = {p for p in place.where.iterdir()} - before
        checks.expect(process.returncode == -signal.SIGINT and err.count("assay: interrupted: ") == 1 and not left, "%s: %s %s, left %s" % (
            words, process.returncode, err, left))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay, checks = parser.parse_args().assay, Checks()
    for check in (pager, help_and_quiet, defaults, interrupted):
        with tempfile.TemporaryDirectory() as where:
            check(Terminal(assay, Path(where)), checks)
    checks.done()


if __name__ == "__main__":
    main()
