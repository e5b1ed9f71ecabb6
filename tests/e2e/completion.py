#!/usr/bin/env python3
"""Completion in real shells: what bash, zsh and fish offer behind a part of a command line.

    completion.py --assay PROGRAM
"""
import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, run  # noqa: E402
from made import Made  # noqa: E402

# bash as it calls a completion function: words as it breaks them, at blanks, = and :
BASH = r'''
eval "$(assay completion bash)"
COMP_LINE=$1; COMP_POINT=${#COMP_LINE}
spaced=${COMP_LINE//=/ = }; spaced=${spaced//:/ : }
read -ra COMP_WORDS <<<"$spaced"
[[ $COMP_LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_assay
printf '%s\n' "${COMPREPLY[@]}"
'''
# zsh calls the function with `words` and CURRENT; compadd works in the line editor only, so that a function stands for it
ZSH = r'''
compadd() { while [[ $1 != -a ]]; do shift; done; print -rl -- ${(P)2} }
_files() { print -r -- :files }
compdef() { : }
eval "$(assay completion zsh)"
words=("${(@s: :)1}"); CURRENT=${#words}
_assay
'''
FISH = 'assay completion fish | source; complete -C "$argv[1]"'


def offered(shell, program, line, cwd):
    """The words that the shell offers, without what stands in front of the last one."""
    argv = {"bash": ["bash", "-c", BASH, "bash", line], "zsh": ["zsh", "-fc", ZSH, "zsh", line],
            "fish": ["fish", "--no-config", "-c", FISH, line]}[shell]
    done = run(argv, env={"PATH": "%s:%s" % (Path(program).resolve().parent, os.environ["PATH"])}, cwd=cwd, timeout=60)
    return {text.split("\t")[0] for text in done.out.splitlines() if text}, done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay = parser.parse_args().assay
    checks = Checks()
    where = Path(tempfile.mkdtemp(prefix="assay-completion-"))
    (where / "ddp").symlink_to(TRIALS / "ddp")
    Made(where / "biting").step(0, "TRAIN", 0, {"$(touch X)'": 1.0, "a line\nmore": 2.0, "b:0": 3.0}).end()
    cases = (
        ("assay ru", {"run", "rules"}), ("assay sh", {"show"}), ("assay help comp", {"compare", "completion"}),
        ("assay run --fail", {"--fail-on"}), ("assay run --fail-on w", {"warning"}),
        ("assay rules DeadRe", {"DeadRelu"}), ("assay rules DeadRelu threshold_l", {"threshold_layer"}),
        ("assay show ddp ConvNet_fc1.", {"ConvNet_fc1.bias", "ConvNet_fc1.weight"}),
        ("assay show ddp --collection los", {"losses"}), ("assay show ddp x --worker worker_", {"worker_%d" % i for i in range(4)}),
        ("assay completion f", {"fish"}), ("assay run --color a", {"auto", "always"}),
        ("assay nonsense ", set()))
    for shell in ("bash", "zsh", "fish"):
        if not checks.expect(shutil.which(shell), "%s is not installed" % shell):
            continue
        for line, expected in cases:
            found, done = offered(shell, assay, line, where)
            checks.expect(found == expected, "%s: \"%s\" offers %s, expected %s: %s" % (shell, line, found, expected, done))
        found, done = offered(shell, assay, "assay ls d", where)
        checks.expect(shell == "bash" or found, "%s: no files are offered: %s" % (shell, done))
    found, done = offered("bash", assay, "assay run --fail-on=w", where)
    checks.expect(found == {"warning"}, "bash: --fail-on=w offers %s" % found)
    found, done = offered("bash", assay, "assay show biting ", where)  # quoted, and a name that takes two lines left out
    checks.expect(found == {r"\$\(touch\ X\)\'", "b:0"}, "bash: names that bite: %s" % found)
    found, done = offered("bash", assay, "assay show biting b:", where)  # bash has broken the word at the colon
    checks.expect(found == {"b:0"} or found == {"0"}, "bash: a name with a colon: %s" % found)
    done = run([assay, "completion", "tcsh"])
    checks.expect(done.code == 2 and "unknown shell" in done.err, "an unknown shell: %s" % done)
    shutil.rmtree(where)
    checks.done()


if __name__ == "__main__":
    main()
