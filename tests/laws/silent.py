#!/usr/bin/env python3
"""No damage passes in silence but those that silent.txt lists with a reason: an exam of files of every kind.

    silent.py --assay PROGRAM --shim LIBRARY [--long] [--only NAME...] [--list FILE]

A subject is a sound series of checkpoints in one layout, a recording, arrays, logs, dumps, traces, profiler data, sealed checkpoints,
reports, or what a job left. To a file and a directory of each kind in it happens each of DAMAGES. Each command that judges the subject has to
tell: with another exit code than 0, or with a line that names the file, what it is called now, or its directory. What it does not tell is
  same     what it says is, byte for byte, what it says of the sound one
  changed  what it says is something else, and names nothing
  milder   it names it and ends with 0, and where the same path is hidden it does not: what cannot be found is gone
and stands in silent.txt, a line each: SUBJECT | COMMAND | DAMAGE | PATH | WHY, the first four regular expressions that match as a whole. With --long,
each line has to be needed: one that nothing matches is a failure as well. Without it, a part of the damages is done, always the same.
--list writes what is silent, and which line says why.
"""
import argparse
import concurrent.futures
import errno
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import checkpoint_layouts  # noqa: E402
import logs  # noqa: E402
from launch import ROOT, TRIALS, Checks, run  # noqa: E402
from left_behind import KEYS, PLAIN, job  # noqa: E402

TABLE = Path(__file__).with_name("silent.txt")
SHARE = 24  # without --long, one of so many damages is done
STEPS = (100, 200, 300)
HARMLESS = {"future", "fault-stat-ENOENT", "fault-stat-EACCES", "fault-stat-EIO"}  # what could be read all the same has not to be told
DIGITS = re.compile(r"\d+")


class Silent:
    """silent.txt: what may pass in silence, and why."""

    def __init__(self):
        self.lines, self.used = [], Counter()
        for at, line in enumerate(TABLE.read_text().splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                fields = [field.strip() for field in line.split(" | ")]
                if len(fields) != 5 or not fields[4]:
                    raise SystemExit("%s:%d: it has to be SUBJECT | COMMAND | DAMAGE | PATH | WHY" % (TABLE, at))
                self.lines.append((at, [re.compile(field) for field in fields[:4]], fields[4]))

    def why(self, *what):
        """The number of the first line that has it; None: nothing says why."""
        for at, patterns, _ in self.lines:
            if all(pattern.fullmatch(word) for pattern, word in zip(patterns, what)):
                self.used[at] += 1
                return at
        return None


def kind(path):
    """What tells files of one kind from others: the path without its numbers, and the last hexadecimal of a name made at random."""
    return DIGITS.sub("#", str(path))


def flipped(data, at, bit=1):
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


def remove(path):
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def alike(a, b):
    """Do two files, or two directories, have the same bytes?"""
    if a.is_dir() or b.is_dir():
        names = [{p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()} for root in (a, b)]
        return names[0] == names[1]
    return a.read_bytes() == b.read_bytes()


def exchange(a, b):
    aside = a.with_name("aside-of-an-exchange")
    a.rename(aside)
    b.rename(a)
    aside.rename(b)


def bind(path):
    """A socket; its directory is named by a descriptor, for a path may be longer than such an address."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("/proc/self/fd/%d/%s" % (folder, path.name))
    finally:
        os.close(folder)


def is_gone(what):
    """Is nothing left of the path under its name?"""
    return what.startswith("renamed-") or what in ("emptied", "zeros", "loop", "dangling", "socket", "pipe", "device", "directory-instead", "file-instead")


def faults():
    """A look at the path fails, for each call and error."""
    for call in ("stat", "open", "both"):
        for error in ("ENOENT", "EACCES", "EIO"):
            yield "fault-%s-%s" % (call, error), "%s %d" % (call, getattr(errno, error))
    yield "fault-read-EIO", "read %d" % errno.EIO


def damages(root, relative, peers):
    """Of each damage to a path its name, what does it, what the path's name or a new one is (which a command may name), and the fault."""
    path, name = root / relative, relative.name
    yield "hidden", lambda: remove(path), (), None
    for what, fault in faults():
        yield what, None, (), "%s %s" % (fault, path)
    stem, _, ending = name.partition(".") if not name.startswith(".") else (name, "", "")
    renamed = {"bak": name + ".bak", "space": name + " ", "case": name.swapcase(), "twin": name.replace("e", "e\u0301", 1).replace("o", "\u043e", 1),
               "dot": "." + name, "number": DIGITS.sub(lambda m: str(int(m.group()) + 4000), name, count=1) if DIGITS.search(name) else name,
               "tail": name[:-1] + chr(ord(name[-1]) ^ 1)}
    for how, other in renamed.items():
        if other not in (name, ".", "..") and "/" not in other and not (root / relative.parent / other).exists():
            yield "renamed-" + how, lambda other=other: path.rename(path.with_name(other)), (other,), None
    copies = {"copy": "%s-copy%s" % (stem, "." + ending if ending else ""), "copy-case": name.swapcase(), "copy-space": name + " ", "copy-number": renamed["number"], "copy-bak": name + ".bak"}
    copy = lambda other: (shutil.copytree if path.is_dir() else shutil.copy2)(path, path.with_name(other))
    for how, other in copies.items():
        if other != name and not (root / relative.parent / other).exists():
            yield how, lambda other=other: copy(other), (other,), None
    for at, peer in enumerate(peers):
        if alike(path, root / peer):
            continue  # then nothing is another
        how = ("other" if len(peers) == 1 else "near", "far")[at]
        yield "exchanged-" + how, lambda peer=peer: exchange(path, root / peer), (peer.name,), None
        yield "became-" + how, lambda peer=peer: (remove(path), (shutil.copytree if (root / peer).is_dir() else shutil.copy2)(root / peer, path)), (peer.name,), None
        yield "linked-" + how, lambda peer=peer: (remove(path), path.symlink_to(os.path.relpath(root / peer, path.parent))), (peer.name,), None
    yield "loop", lambda: (remove(path), path.symlink_to(name)), (), None
    yield "dangling", lambda: (remove(path), path.symlink_to("nowhere")), (), None
    yield "future", lambda: os.utime(path, (4e9, 4e9)), (), None
    yield "socket", lambda: (remove(path), bind(path)), (), None
    yield "pipe", lambda: (remove(path), os.mkfifo(path)), (), None
    yield "device", lambda: (remove(path), path.symlink_to("/dev/zero")), (), None
    if path.is_dir():
        yield "file-instead", lambda: (remove(path), path.write_text("x")), (), None
        yield "emptied", lambda: (remove(path), path.mkdir()), (), None
        yield "stranger-file", lambda: (path / "stranger.qqq").write_text("x"), ("stranger.qqq",), None
        yield "stranger-folder", lambda: ((path / "stranger").mkdir(), (path / "stranger" / "f.qqq").write_text("x")), ("stranger",), None
        return
    data = path.read_bytes()
    change = lambda new: lambda: path.write_bytes(new)
    yield "directory-instead", lambda: (remove(path), path.mkdir()), (), None
    yield "emptied", change(b""), (), None
    yield "cut-1", change(data[:-1]), (), None
    yield "cut-half", change(data[:len(data) // 2]), (), None
    yield "more-zero", change(data + bytes(512)), (), None
    yield "more-text", change(data + b"\n{"), (), None
    yield "twice", change(data + data), (), None
    yield "zeros", change(bytes(len(data))), (), None
    hole = len(data) // 2
    yield "hole", change(data[:hole // 2] + bytes(hole) + data[hole // 2 + hole:]), (), None
    yield "zeros-behind", change(data[:hole] + bytes(len(data) - hole)), (), None
    for part, at in (("first", 0), ("head", len(data) // 16), ("quarter", len(data) // 4), ("middle", hole), ("late", len(data) * 7 // 8), ("last", len(data) - 1)):
        if data:
            yield "flip-" + part, change(flipped(data, at)), (), None
    seen, known = set(), KEYS.get(path.suffix, rb'"([A-Za-z_]+)" ?:' if data[:1] == b"{" else None)
    for found in re.finditer(known, data.partition(b"\n")[0] if path.suffix == ".csv" else data) if known else ():
        if found.group(1) not in seen:
            seen.add(found.group(1))
            yield "key-" + found.group(1).decode(), change(flipped(data, (found.start(1) + found.end(1)) // 2)), (), None


class Subject:
    def __init__(self, args, place, name, source, commands, chosen):
        self.args, self.name, self.source, self.judges, self.chosen = args, name, source, commands, chosen
        self.place, self.trial, self.out = place, place / "trial", place / "out"
        self.restore()
        self.sound = {command: self.say(command) for command in commands}

    def restore(self):
        shutil.rmtree(self.trial, True)
        shutil.copytree(self.source, self.trial, symlinks=True)

    def argv(self, command):
        trial, source = self.trial, self.source
        return {"verify": ["verify", trial], "run": ["run", trial, "--out", self.out, "--reports", "json", *(["--fail-on", "warning"] if "resume" in self.judges else [])], "compare": ["compare", "--tensors", trial, source],
                "runs": ["compare", "a=%s" % trial, "b=%s" % source, "--out", self.out, "--reports", "json"],
                "hang": ["hang", trial, "--out", self.out, "--reports", "json"], "why": ["why", trial], "topology": ["topology", trial],
                "history": ["history", trial / "night-1", trial / "night-2", "--all"], "show": ["show", trial / "night-2"],
                "watch": ["watch", trial, "--out", self.out, "--reports", "json", "--every", "0.2", "--idle", "0.4"],
                "ls": ["ls", trial], "stats": ["stats", trial, "--metrics"], "seal": ["seal", trial],
                "resume": ["verify", trial, "--last"]}[command]

    def say(self, command, env=None):
        """The exit code, the lines that were said, and the problems of the report."""
        shutil.rmtree(self.out, True)
        self.out.mkdir()
        done = run([self.args.assay, *self.argv(command), "--quiet"] if command not in ("topology", "seal") else [self.args.assay, *self.argv(command)], env=env, timeout=60)
        if done.hung or done.code is None or not 0 <= done.code <= 7:
            return -1, ["%s" % done], []
        lines = (done.out + "\n" + done.err).splitlines()
        report, problems = self.out / "report.json", []
        if report.is_file():
            for trial in json.loads(report.read_text())["trials"]:
                problems += ["%s: %s: %s" % (p["kind"], p["file"], p["text"]) for p in trial["problems"]]
        return done.code, [line for line in lines if not re.search(r"^Read .* in |seconds|processor", line)], problems

    def verdict(self, command, what, names, env):
        """What a command says of the damaged trial: None where it tells."""
        code, lines, problems = self.say(command, env)
        sound_code, sound_lines, sound_problems = self.sound[command]
        if code < 0:
            return "crash"
        if what == "hidden":
            self.hidden[command] = code
        if code != sound_code and code != 0:
            return None
        if code == 0 and self.hidden[command] != 0 and is_gone(what):
            return "milder"
        if Counter(problems) - Counter(sound_problems):
            return None
        if lines == sound_lines and problems == sound_problems and code == sound_code:
            return None if what in HARMLESS else "same"
        new = "\n".join((Counter(lines) - Counter(sound_lines)).keys())
        return None if any(name in new for name in names) else "changed"

    def paths(self):
        """The last of each kind of path, and two others that may be exchanged with it: one beside it, and one in another directory."""
        kinds = {}
        for path in sorted(self.trial.rglob("*")):
            kinds.setdefault(kind(path.relative_to(self.trial)), []).append(path.relative_to(self.trial))
        for of_kind in kinds.values():
            last = of_kind[-1]
            near = [p for p in of_kind[:-1] if p.parent == last.parent][-1:]
            far = [p for p in of_kind[:-1] if p.parent != last.parent and p.name == last.name][-1:]
            yield last, near + far or [p for p in self.beside(last)][:1]

    def beside(self, path):
        """What is of the same ending, or of the same number of pieces, in its directory."""
        for other in sorted(self.trial.rglob("*")):
            relative = other.relative_to(self.trial)
            if relative != path and relative.parent == path.parent and relative.suffix == path.suffix and other.is_dir() == (self.trial / path).is_dir():
                yield relative

    def examine(self, checks, silent, out):
        for path, peers in list(self.paths()):
            self.hidden = Counter()  # the exit code of each command where the path is hidden, which is done first
            asked = [d for d in damages(self.trial, path, peers) if self.chosen("%s %s %s" % (self.name, path, d[0]))]
            first = [d for d in damages(self.trial, path, peers) if d[0] == "hidden"] if asked and asked[0][0] != "hidden" else []
            for what, change, names, fault in first + asked:
                if change:
                    change()
                env = {"LD_PRELOAD": self.args.shim, "FAIL_PATHS": fault} if fault else None
                told = [path.name, *names, path.stem if len(path.stem) > 3 else path.name, *[part for part in path.parts[:-1] if len(part) > 2]]
                for command in self.judges:
                    verdict = self.verdict(command, what, told, env)
                    if verdict:
                        why = silent.why(self.name, command, what, str(path)) if verdict != "crash" else None
                        out.append((self.name, command, what, str(path), verdict, why))
                        checks.expect(why, "%s, %s of %s: %s says %s, and nothing says why it may" % (self.name, what, path, command, verdict))
                    else:
                        checks.expect(True, "")
                if change:
                    self.restore()


def megatron(root, step, values):
    """Megatron-LM's older directories, of two tensor-parallel ranks."""
    import torch
    for rank in range(2):
        checkpoint_layouts.put(root / ("iter_%07d" % step) / ("mp_rank_%02d" % rank) / "model_optim_rng.pt", {
            "iteration": step, "checkpoint_version": 3.0, "args": None, "model": {k: torch.from_numpy(v[:len(v) // 2] + rank) for k, v in values.items() if len(v) > 1}})
    (root / "latest_checkpointed_iteration.txt").write_text(str(step))


def pipeline(root, step, values):
    """DeepSpeed's pipelines: a file for each layer."""
    folder = root / ("global_step%d" % step)
    tensor = {k: v for k, v in checkpoint_layouts.as_torch(values).items()}
    for layer in range(1, 4):
        checkpoint_layouts.put(folder / ("layer_%02d-model_00-model_states.pt" % layer), {"fc.weight": tensor["layers.1.fc.weight"] + layer})
    checkpoint_layouts.put(folder / "mp_rank_00_model_states.pt", {"module": None, "param_shapes": [], "global_steps": step, "dp_world_size": 1, "mp_world_size": 1})
    (root / "latest").write_text(folder.name)


def subjects(args, place):
    """Of each its name, what is copied, and the commands that judge it."""
    layouts = dict(checkpoint_layouts.LAYOUTS, megatron=megatron, pipeline=pipeline)
    for name, save in layouts.items():
        root = place / "source" / name
        for step in STEPS:
            save(root, step, checkpoint_layouts.tensors(step))
        yield name, root, ["verify", "resume", "run", "compare"]
    sealed = place / "source" / "sealed"
    for step in STEPS:
        checkpoint_layouts.LAYOUTS["hugging_face"](sealed, step, checkpoint_layouts.tensors(step))
    run([args.assay, "seal", sealed])
    yield "sealed", sealed, ["verify", "resume"]
    for kind_of_log, make in logs.KINDS.items():
        root = place / "source" / ("log-" + kind_of_log)
        make(root, logs.curve(6))
        yield "log-" + kind_of_log, root, ["run", "runs"]
    data = ROOT / "tests" / "data"
    yield "recording", data / "formats" / "smdebug", ["run", "compare", "verify"]
    yield "ddp", TRIALS / "ddp", ["run", "compare"]
    yield "xgboost", TRIALS / "xgboost", ["run"]
    yield "arrays", data / "formats" / "npy", ["run", "compare", "verify"]
    yield "profiler", data / "events" / "profiler", ["run"]
    yield "traces", data / "events" / "traces", ["run"]
    yield "flight", data / "events" / "flight", ["hang", "run", "topology"]
    job(place / "source" / "job")
    yield "job", place / "source" / "job", ["why"]
    for name in ("night-1", "night-2"):
        run([args.assay, "run", PLAIN, "--out", place / "source" / "reports" / name, "--reports", "json", "--quiet"])
    yield "reports", place / "source" / "reports", ["history", "show"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--list")
    args = parser.parse_args()
    silent, found, damaged = Silent(), [], Counter()

    def chosen(what):
        if not args.long and zlib.crc32(what.encode()) % SHARE:
            return False
        damaged[what] += 1
        return True

    def examine(one):
        name, source, commands = one
        checks, out, own = Checks(), [], place / "at" / name
        own.mkdir(parents=True)
        Subject(args, own, name, source, commands, chosen).examine(checks, silent, out)
        return checks, out
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        place = Path(os.path.realpath(folder))
        for done, out in pool.map(examine, [s for s in subjects(args, place) if not args.only or s[0] in args.only]):
            checks.passed += done.passed
            checks.failed += done.failed
            found += out
    if args.long and not args.only:
        for at, patterns, _ in silent.lines:
            checks.expect(silent.used[at], "%s:%d: nothing is silent that it speaks of: %s" % (TABLE.name, at, " | ".join(p.pattern for p in patterns)))
    if args.list:
        Path(args.list).write_text("".join("%s | %s | %s | %s | %s | %s\n" % line for line in found))
    print("%d damages, %d answers, %d silent answers of %d damages" % (len(damaged), checks.passed + checks.failed, len(found), len({f[:1] + f[2:4] for f in found})))
    checks.done()


if __name__ == "__main__":
    main()
