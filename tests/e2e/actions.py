#!/usr/bin/env python3
"""The actions of a job against real servers and a real mail program: what arrives, how often, what is tried again, what is
remembered; and that no secret leaves by any way but the request itself.

    actions.py --assay PROGRAM [--no-curl] [--launch] [WHAT...]

WHAT: forms, attempts, ...; all when none is given. With --launch every run is started by mpirun, which leak checkers need.
"""
import argparse
import json
import os
import re
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, TRIALS, Checks, environment, mpirun, run  # noqa: E402
from reports import digest_of  # noqa: E402
from webhook import DROP, HANG, INTERIM, Authority, Webhook  # noqa: E402

RULES = [{"name": "vanishing", "rule": "VanishingGradient"},
         {"name": "frozen", "rule": "UnchangedTensor", "parameters": {"collection_names": "weights"}, "severity": "error"},
         {"name": "exploding", "rule": "ExplodingTensor", "severity": "info"}]  # finds nothing in this trial
FOUND = ["vanishing", "frozen"]
SECRET = "Sup3rSecretT0ken"


class Bench:
    """One job after the other in a directory of its own."""

    def __init__(self, assay, checks, directory, launch=False):
        self.assay, self.checks, self.directory, self.launch, self.count = assay, checks, directory, launch, 0

    def job(self, actions, rules=RULES, trials=("dead_relu",)):
        self.count += 1
        path = self.directory / ("job%d.json" % self.count)
        path.write_text(json.dumps({"trials": [str(TRIALS / t) for t in trials], "rules": rules, "actions": actions,
                                    "output": {"directory": str(self.directory / ("report%d" % self.count))}}))
        return path

    def run(self, job, *options, env=None, ranks=1):
        env = dict({"no_proxy": "127.0.0.1"}, **(env or {}))
        argv = [self.assay, "run", job, "--progress", "0", *options]
        return mpirun(ranks, argv, env) if ranks > 1 or self.launch else run(argv, env)

    def report(self):
        return self.directory / ("report%d" % self.count)

    def log(self):
        """The lines of the last job's log that are complete."""
        path = self.report() / "actions.log"
        return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []

    def results(self):
        return [line["result"] for line in self.log()]

    def expect(self, condition, what):
        return self.checks.expect(condition, what)


def notify(url, **more):
    return {"notify": dict({"url": url, "backoff": 0.01}, **more)}


def test_digest_of_several_trials(b):
    """The comparison belongs to the report, so also to the digest that a message tells."""
    with Webhook() as hook:
        done = b.run(b.job([dict(notify(hook.url("/end")), on="end")], trials=("dead_relu", "healthy")), "--digest")
    b.expect(done.code == 0, "two trials: %s" % done)
    told = json.loads(hook.requests[0].body)["digest"]
    b.expect(digest_of(done.out) == told, "the report's digest is %s, told was %s" % (digest_of(done.out), told))


def check_card(b, message, size):
    """A message as workflows of Microsoft Teams take it: one adaptive card, whose schema knows no other members and values than these, in 28 KB."""
    attachment = message["attachments"][0]
    card = attachment["content"]
    b.expect(set(message) == {"type", "attachments"} and message["type"] == "message" and len(message["attachments"]) == 1 and size <= 28000, "%s" % message)
    b.expect(attachment == {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}, "%s" % attachment)
    b.expect(set(card) == {"type", "$schema", "version", "body"} and card["type"] == "AdaptiveCard" and card["version"] == "1.4" and
             card["$schema"] == "http://adaptivecards.io/schemas/adaptive-card.json" and card["body"], "%s" % card)
    for block in card["body"]:
        b.expect(set(block) == {"type", "spacing", "inlines"} and block["type"] == "RichTextBlock" and block["spacing"].lower() == "none", "%s" % block)
        for run in block["inlines"]:
            b.expect(set(run) == {"type", "weight", "text"} and run["type"] == "TextRun" and run["weight"].lower() in ("default", "lighter", "bolder"), "%s" % run)
            b.expect(isinstance(run["text"], str) and run["text"] and "\n" not in run["text"], "%s" % run)


def test_forms(b):
    styles = ("json", "slack", "sns", "teams")
    with Webhook() as hook:
        actions = [notify(hook.url("/" + style), style=style) for style in styles]
        actions += [dict(notify(hook.url("/error")), severity="error"), dict(notify(hook.url("/named")), rules=["vanishing"]),
                    dict(notify(hook.url("/end"), headers={"X-Team": "vision", "content-type": "application/json"}), on="end")]
        done = b.run(b.job(actions), "--fail-on", "error")
    b.expect(done.code == 1, "the exit code is the report's own: %s" % done)
    at = {}
    for request in hook.requests:
        at.setdefault(request.path, []).append(request)
    counts = {path: len(requests) for path, requests in at.items()}
    b.expect(counts == {"/json": 2, "/slack": 2, "/sns": 2, "/teams": 2, "/error": 1, "/named": 1, "/end": 1}, "requests: %s" % counts)
    report = json.loads((b.report() / "report.json").read_text())["trials"][0]
    for request, name in zip(at["/json"], FOUND):
        body, rule = json.loads(request.body), next(r for r in report["rules"] if r["name"] == name)
        b.expect(body["schema"] == "assay-message/1" and body["event"] == "finding", "schema: %s" % body)
        b.expect(body["rule"] == {"name": name, "rule": rule["rule"], "severity": rule["severity"]}, "rule: %s" % body)
        b.expect(body["first"] == rule["first"] and body["findings_total"] == rule["findings_total"], "findings: %s" % body)
        b.expect(request.headers["Content-Type"].startswith("application/json"), "type: %s" % request.headers)
    b.expect(json.loads(at["/error"][0].body)["rule"]["name"] == "frozen", "the least severity")
    b.expect(json.loads(at["/named"][0].body)["rule"]["name"] == "vanishing", "rules by name")
    slack = json.loads(at["/slack"][0].body)
    b.expect(list(slack) == ["text"] and slack["text"].startswith("*assay: vanishing in trial dead_relu*\n"), "slack: %s" % slack)
    sns = json.loads(at["/sns"][0].body)
    b.expect(list(sns) == ["Subject", "Message"] and len(sns["Subject"]) <= 100 and sns["Subject"].isascii(), "sns: %s" % sns)
    for request in at["/teams"]:
        check_card(b, json.loads(request.body), len(request.body))
    runs = [block["inlines"][0]["text"] for block in json.loads(at["/teams"][0].body)["attachments"][0]["content"]["body"]]
    b.expect(runs == [sns["Subject"], *sns["Message"].rstrip("\n").replace("\n\n", "\n \n").split("\n")], "teams: %s" % runs)
    end = json.loads(at["/end"][0].body)
    b.expect(end["exit_code"] == 1 and end["counts"]["IssuesFound"] == 2, "end: %s" % end)
    b.expect(at["/end"][0].headers["X-Team"] == "vision", "a header: %s" % at["/end"][0].headers)
    b.expect(at["/end"][0].headers.get_all("Content-Type") == ["application/json"], "instead of ours: %s" % at["/end"][0].headers)
    b.expect([r["name"] for r in end["rules"]] == FOUND, "end: %s" % end)
    b.expect(digest_of(b.run(b.directory / "job1.json", "--digest", "--no-actions").out) == end["digest"], "digest: %s" % end)


def test_test_messages(b):
    """Each address gets one message, whatever it waits for; what fails is named, and the rest goes on."""
    with Webhook([200]) as hook, Webhook([404]) as refuses:
        job = b.job([dict(notify(hook.url("/slack?key=" + SECRET), style="slack"), severity="error"),
                     dict(notify(refuses.url("/")), on="end"), notify({"env": "ASSAY_NOT_SET"}),
                     dict(notify(hook.url("/end")), on="end"), {"cancel": {"job": "1"}}])
        done = run([b.assay, "notify", "--test", job], {"no_proxy": "127.0.0.1"})
        words = [line.split()[0] for line in done.out.splitlines()]
        b.expect(done.code == 4 and words == ["delivered", "failed", "failed", "delivered"], "test messages: %s" % done)
        b.expect("2 of 4" in done.err and "ASSAY_NOT_SET" in done.out and "404" in done.out, "what failed: %s" % done)
        b.expect(SECRET not in done.out + done.err, "a query is shown: %s" % done)
        paths = [request.path.split("?")[0] for request in hook.requests]
        b.expect(paths == ["/slack", "/end"], "requests: %s" % paths)
        told = [json.loads(line) for line in run([b.assay, "notify", "--test", job, "--json"], {"no_proxy": "127.0.0.1"}).out.splitlines()]
        b.expect([line["result"] for line in told] == words and [line["error"] is None for line in told] == [True, False, False, True], "as JSON: %s" % told)
        b.expect([line["target"] for line in told] == [re.split(": |$", line.split(maxsplit=1)[1])[0] for line in done.out.splitlines()]
                 and SECRET not in str(told), "as JSON and as lines: %s, %s" % (told, done))
        body = json.loads(hook.requests[1].body)
        b.expect(body["event"] == "test" and body["schema"] == "assay-message/1", "message: %s" % body)
        b.expect(not b.report().exists(), "a test leaves something behind")
        done = run([b.assay, "notify", "--test", b.job([notify(hook.url("/"))])], {"no_proxy": "127.0.0.1"})
        b.expect(done.code == 0 and done.err == "", "all delivered: %s" % done)
    done = run([b.assay, "notify", "--test", b.job([])])
    b.expect(done.code == 2 and "sends no message" in done.err, "no message: %s" % done)
    done = run([b.assay, "notify", b.job([])])
    b.expect(done.code == 2 and "--test" in done.err, "without --test: %s" % done)


def test_attempts(b):
    only = {"rules": ["vanishing"]}
    cases = [  # answers, keys, attempts, the log's results
        ([500, 503, 200], {"retries": 3}, 3, ["trying", "attempt failed", "attempt failed", "done"]),
        ([500], {"retries": 2}, 3, ["trying"] + 3 * ["attempt failed"] + ["failed"]),
        ([(429, {"Retry-After": "1"}), 200], {"retries": 1}, 2, ["trying", "attempt failed", "done"]),
        ([404], {"retries": 3}, 1, ["trying", "attempt failed", "failed"]),
        ([(302, {"Location": "/elsewhere"})], {"retries": 3}, 1, ["trying", "attempt failed", "failed"]),
        ([HANG], {"retries": 3, "timeout": 0.5}, 1, ["trying", "unknown"]),
        ([DROP], {"retries": 3}, 1, ["trying", "unknown"]),
        ([INTERIM], {"retries": 3, "timeout": 0.5}, 1, ["trying", "unknown"]),
    ]
    for answers, keys, attempts, results in cases:
        with Webhook(answers) as hook:
            done = b.run(b.job([dict(notify(hook.url("/x?key=" + SECRET), **keys), **only)]))
            b.expect(hook.requests[0].path.endswith(SECRET) and SECRET not in str(b.log()) + done.out + done.err, "a query is shown")
            b.expect(len(hook.requests) == attempts, "%s: %d requests" % (answers, len(hook.requests)))
            b.expect(b.results() == results, "%s: %s" % (answers, b.log()))
            b.expect(done.code == 0 and (b.report() / "report.json").exists(), "%s: the report stands: %s" % (answers, done))
            b.expect(("action failed" in done.err) == (results[-1] != "done"), "%s: %s" % (answers, done.err))
            if "Retry-After" in str(answers) and len(hook.requests) == 2:
                b.expect(hook.requests[1].when - hook.requests[0].when >= 1, "Retry-After is honoured")
            if results[-1] == "unknown":  # perhaps it arrived: not sent again
                b.run(b.directory / ("job%d.json" % b.count))
                b.expect(len(hook.requests) == 1, "%s: sent again" % answers)
    with Webhook() as hook:  # nobody listens there any more afterwards
        closed = hook.url("/")
    done = b.run(b.job([dict(notify(closed, retries=1), **only)]))
    b.expect(done.code == 0 and b.results() == ["trying", "attempt failed", "attempt failed", "failed"], "refused: %s" % b.log())
    b.expect(re.search(r"1 of 1 actions failed; \S+/actions.log says why", done.err), "refused: %s" % done.err)


def test_certificates(b):
    directory = b.directory / "tls"
    directory.mkdir()
    authority = Authority(directory)
    (directory / "other").mkdir()
    other = Authority(directory / "other")
    right = authority.certificate("IP:127.0.0.1")
    cases = [(right, authority.ca, None), (right, None, "certificate is refused"), (right, other.ca, "certificate is refused"),
             (authority.certificate("DNS:other.example"), authority.ca, "certificate is refused"),
             (authority.certificate("IP:127.0.0.1", -1), authority.ca, "expired"),
             (right, directory / "missing.pem", "cannot be used")]
    for certificate, ca, said in cases:
        with Webhook(certificate=certificate) as hook:
            more = {"ca_file": str(ca)} if ca else {}
            done = b.run(b.job([dict(notify(hook.url("/tls"), retries=2, **more), rules=["vanishing"])]))
        b.expect(len(hook.requests) == (0 if said else 1), "%s, %s: %d requests" % (certificate[0], ca, len(hook.requests)))
        results = ["trying", "attempt failed", "failed"] if said else ["trying", "done"]
        b.expect(b.results() == results, "%s: %s" % (said, b.log()))
        b.expect(not said or said in done.err, "%s: %s" % (said, done.err))


def everything(directory):
    return b"".join(p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file())


def test_secrets(b):
    secret = b.directory / "token"
    secret.write_text("Bearer %s\n" % SECRET)
    secret.chmod(0o600)
    ranks = 1 if LAUNCHER == "none" else 3
    for answers in ([200], [500], [HANG]):
        with Webhook(answers) as hook:
            env = {"HOOK_URL": hook.url("/services/%s/x?key=%s" % (SECRET, SECRET))}
            action = notify({"env": "HOOK_URL"}, style="slack", retries=1, timeout=1,
                            headers={"Authorization": {"file": str(secret)}})
            job = b.job([action, dict(action, on="end")])
            done = b.run(job, "--reports", "json,text,csv,html", "--checkpoint", b.report().with_suffix(".checkpoint"),
                         "--checkpoint-every", "0.000001", "--log", "all", env=env, ranks=ranks)
            shown = b.run(job, "--show-actions", "--out", str(b.directory / "shown"), env=env)
            planned = b.run(job, "--dry-run", env=env)
            checked = run([b.assay, "check", job], env)
        came = hook.requests and hook.requests[0].headers["Authorization"] == "Bearer " + SECRET
        b.expect(came and SECRET in hook.requests[0].path, "the secrets arrive: %s" % done)
        written = everything(b.report()) + everything(b.directory / "shown")
        said = "".join(d.out + d.err for d in (done, shown, planned, checked))
        b.expect(SECRET.encode() not in written and SECRET not in said, "%s: a secret leaked" % answers)
        b.expect(b"env:HOOK_URL" in written and "127.0.0.1" not in planned.out, "the target is named: %s" % planned)
    for mode, reason in ((0o640, "open to other users"), (0o604, "open to other users"), (0o620, "open to other users")):
        secret.chmod(mode)
        done = b.run(job, env=env)
        b.expect(done.code == 2 and reason in done.err, "%o: %s" % (mode, done))
        b.expect("actions[0].notify.headers.Authorization" in done.err, "the place: %s" % done)
        b.expect(SECRET not in done.err, "a secret leaked")
    secret.chmod(0o600)
    done = b.run(job)
    b.expect(done.code == 2 and "HOOK_URL is not set" in done.err, "no variable: %s" % done)


def test_stopped(b):
    """A run that stops at a checkpoint does nothing yet; the one that goes on does it once."""
    with Webhook() as hook:
        env = {"HOOK_URL": hook.url("/" + SECRET), "no_proxy": "127.0.0.1"}
        job, checkpoint = b.job([dict(notify({"env": "HOOK_URL"}), rules=["vanishing"])]), b.directory / "stopped.checkpoint"
        argv = [b.assay, "run", job, "--checkpoint", checkpoint, "--resume"]
        process = subprocess.Popen(argv, env=environment(dict(env, ASSAY_FAULT="slow:60000")), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        for line in process.stderr:
            if b"starting from the beginning" in line:
                process.send_signal(signal.SIGUSR1)
        process.wait()
        b.expect(process.returncode == 75 and not hook.requests, "stopped: %s, %s" % (process.returncode, hook.requests))
        b.expect(SECRET.encode() not in checkpoint.read_bytes(), "a secret leaked into the checkpoint")
        done = run(argv, env)
        b.expect(done.code == 0 and len(hook.requests) == 1, "gone on: %s" % done)


def test_once(b):
    with Webhook([200, 500, 200]) as hook:
        job = b.job([notify(hook.url("/once"), retries=0), dict(notify(hook.url("/end")), on="end")])
        first, second, third = b.run(job), b.run(job, ranks=1 if LAUNCHER == "none" else 2), b.run(job)
        paths = [r.path for r in hook.requests]
        b.expect(paths == ["/once", "/once", "/end", "/once"], "once: %s" % paths)
        b.expect("1 of 3 actions failed" in first.err and "2 actions were done by an earlier run" in second.err, second.err)
        b.expect("3 actions were done by an earlier run" in third.err, third.err)
        log = b.report() / "actions.log"  # the last line is cut, as by a crash of the machine: it counts as not written
        whole = log.read_bytes()
        log.write_bytes(whole + whole.splitlines(True)[0][:40])
        b.run(job)
        b.expect(len(hook.requests) == 4, "a cut line does no harm")
        other = b.run(job, "--out", str(b.directory / "elsewhere"))
        b.expect(len(hook.requests) == 7 and other.code == 0, "another directory is another memory")
        (b.report() / "actions.log").unlink()
        b.expect(b.run(job, "--show-actions").err.count("would do: json") == 3, "--show-actions shows")
        b.expect(b.run(job, "--no-actions").err == "", "--no-actions is silent")
        planned = b.run(job, "--dry-run")
        b.expect(planned.out.count("\naction ") == 2 and planned.code == 0, "--dry-run lists: %s" % planned)
        b.expect(len(hook.requests) == 7 and not log.exists(), "and nothing of these was done")
    with Webhook([HANG, 200]) as hook:  # killed between the attempt and the answer: nobody knows, and it is not sent again
        job = b.job([dict(notify(hook.url("/killed"), timeout=100), rules=["vanishing"])])
        process = subprocess.Popen([b.assay, "run", job], env=environment({"no_proxy": "127.0.0.1"}),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        b.expect(hook.wait(1), "the request came")
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = b.run(job)
        b.expect(len(hook.requests) == 1 and b.results() == ["trying"] and "earlier run" in done.err, "killed: %s" % b.log())


def test_watch(b):
    with Webhook() as hook:
        job = b.job([notify(hook.url("/seen")), dict(notify(hook.url("/end")), on="end")])
        watched = run([b.assay, "watch", job, "--idle", "0.2", "--every", "0.1"], {"no_proxy": "127.0.0.1"})
        b.expect([r.path for r in hook.requests] == ["/seen", "/seen", "/end"] and watched.code == 0, "watch: %s" % watched)
        done = b.run(job)
        b.expect(len(hook.requests) == 3 and "3 actions were done by an earlier run" in done.err, "run after watch: %s" % done)
    with Webhook([HANG]) as hook:  # a signal that comes when the report is under way anyway: no loss, and no attempt more
        job = b.job([notify(hook.url("/late"), timeout=1)])
        process = subprocess.Popen([b.assay, "watch", job], env=environment({"no_proxy": "127.0.0.1"}), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        b.expect(hook.wait(1), "the request came")
        process.send_signal(signal.SIGTERM)  # scancel's, and what slurm/launch.sh makes of its own
        process.send_signal(signal.SIGUSR1)
        b.expect(process.wait(60) == 0, "a late signal: %s" % process.returncode)
        b.expect(b.results() == ["trying", "unknown"] * 2, "a late signal: %s" % b.log())


def test_limits(b):
    rules = [dict(RULES[0], name="rule %d" % i) for i in range(8)]
    with Webhook() as hook:
        done = b.run(b.job([dict(notify(hook.url("/few")), limit=3)], rules))
        b.expect(len(hook.requests) == 3 and "its limit of 3 is reached" in done.err, "limit: %s" % done)
    with Webhook([500]) as hook:  # a target that is down does not hold up the end of the run for long
        b.run(b.job([notify(hook.url("/down"), retries=2)], rules))
        b.expect(len(hook.requests) == 5, "3 attempts, then 1, then 1, then none: %d" % len(hook.requests))
        b.expect(b.results().count("failed") == 8, "all are in the log: %s" % b.results())
    job = b.job([dict(notify("http://127.0.0.1:9/"), rules=["vanishing"])])
    (b.report() / "actions.log").mkdir(parents=True)
    done = b.run(job)
    b.expect(done.code == 0 and "action not done" in done.err, "without a log nothing is done: %s" % done)


class Mailbox(socketserver.ThreadingTCPServer):
    """A mail server that takes what it is given: (sender, recipients, text) each."""
    allow_reuse_address = daemon_threads = True

    def __init__(self):
        self.mails = []
        super().__init__(("127.0.0.1", 0), Conversation)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class Conversation(socketserver.StreamRequestHandler):
    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def handle(self):
        sender, recipients = None, []
        self.say("220 test")
        for raw in self.rfile:
            line = raw.decode().strip()
            verb = line[:4].upper()
            if verb == "MAIL":
                sender = line.split("<")[1].split(">")[0]
            elif verb == "RCPT":
                recipients.append(line.split("<")[1].split(">")[0])
            elif verb == "DATA":
                self.say("354 go on")
                text = []
                while (part := self.rfile.readline()) not in (b".\r\n", b""):
                    text.append(part.decode().rstrip("\r\n"))
                self.server.mails.append((sender, recipients, text))
            elif verb == "QUIT":
                self.say("221 bye")
                return
            self.say("250 yes")


def test_mail(b):
    to = ["ops@example.org", "second@example.org"]
    with Mailbox() as box:
        rc = b.directory / ".msmtprc"
        rc.write_text("account default\nhost 127.0.0.1\nport %d\nfrom x@example.org\nauth off\ntls off\n" % box.server_address[1])
        rc.chmod(0o600)
        mail = {"mail": {"to": to, "from": "assay@example.org", "sendmail": "/usr/bin/msmtp"}}
        rules = [dict(RULES[0], name="caf\u00e9\nBcc: victim@example.org")]
        done = b.run(b.job([mail], rules), env={"HOME": str(b.directory)})
        box.shutdown()
    if b.expect(len(box.mails) == 1 and done.code == 0, "a mail: %s, %s" % (box.mails, done)):
        sender, recipients, text = box.mails[0]
        head, body = text[:text.index("")], text[text.index("") + 1:]
        b.expect(sender == "assay@example.org" and recipients == to, "envelope: %s %s" % (sender, recipients))
        b.expect("From: assay@example.org" in head and not [h for h in head if h.lower().startswith("bcc")], "head: %s" % head)
        b.expect(len([h for h in head if h.startswith("Date: ")]) == 1, "head: %s" % head)
        b.expect(any(h.startswith("Subject: =?UTF-8?B?") for h in head), "head: %s" % head)
        b.expect("84 findings in 96 tests" in "\n".join(body), "body: %s" % body)
    program = b.directory / "sendmail"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$0.arguments"\ncat >"$0.input"\nexit 75\n')
    program.chmod(0o755)
    done = b.run(b.job([{"mail": {"to": to[0], "sendmail": str(program)}, "rules": ["vanishing"]}]))
    b.expect((b.directory / "sendmail.arguments").read_text().split() == ["-i", "--", to[0]], "arguments")
    b.expect("exit status 75" in done.err and b.results() == ["trying", "attempt failed", "failed"], "its failure: %s" % done)


def test_listed(b):
    """`assay check` prints what the actions come to."""
    submit = {"script": "again.sbatch", "options": ["--time=60"], "args": ["a b"], "environment": {"LR": SECRET}}
    done = run([b.assay, "check", b.job([{"mail": {"to": "a@example.org"}, "on": "end"}, {"cancel": {}}, {"cancel": {"job": 17}},
                                         {"submit": submit, "rules": ["vanishing"], "severity": "error", "limit": 3}])])
    found = {"on": "finding", "severity": "info", "rules": None, "limit": 100}
    expected = [{"action": "mail a@example.org", "on": "end"}, dict(found, action="cancel", job={"env": "TRAIN_JOB_ID"}),
                dict(found, action="cancel", job="17"),
                {"action": "submit again.sbatch", "options": ["--time=60"], "args": ["a b"], "environment": ["LR"],
                 "on": "finding", "severity": "error", "rules": ["vanishing"], "limit": 3}]
    b.expect(done.code == 0 and json.loads(done.out)["actions"] == expected, "check: %s" % done)
    b.expect(SECRET not in done.out, "what a script is told is printed")


def test_refusals(b):
    hook = {"notify": {"url": "https://h/"}}
    cases = [({"notfy": {}}, "actions[0]: unknown key \"notfy\""), ({}, "actions[0]: expected one of"),
             (dict(hook, mail={"to": "a"}), "not several"), (dict(hook, rules=["nobody"]), "no rule called \"nobody\""),
             (dict(hook, on="start"), "known: finding or end"), (dict(hook, on="end", severity="error"), "leave it out"),
             (dict(hook, severity="fatal"), "info, warning or error"), (dict(hook, limit=0), "\"limit\""),
             ({"notify": {"url": "https://h/", "insecure": True}}, "actions[0].notify: unknown key \"insecure\""),
             ({"cancel": {"job": "all"}}, "actions[0].cancel.job: expected a Slurm job id"),
             ({"submit": {}}, "\"script\" is missing"),
             ({"submit": {"script": "s", "options": ["x"]}}, "an option of sbatch"),
             ({"submit": {"script": "s", "environment": {"A B": "c"}}}, "name of a variable"),
             ({"submit": {"script": "s", "environment": {"ASSAY_RULE": "c"}}}, "set by assay")]
    for action, said in cases:
        done = run([b.assay, "check", b.job([action])])
        b.expect(done.code == 2 and said in done.err, "%s: %s" % (action, done))
    done = b.run(b.job([{"cancel": {}}]))
    b.expect(done.code == 2 and "TRAIN_JOB_ID is not set" in done.err, "the default job: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--no-curl", action="store_true")
    parser.add_argument("--launch", action="store_true")
    parser.add_argument("what", nargs="*")
    arguments = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        b = Bench(arguments.assay, checks, Path(directory), arguments.launch)
        if arguments.no_curl:
            done = b.run(b.job([notify("https://h/")]))
            b.expect(done.code == 2 and "ASSAY_WITH_CURL" in done.err, "without libcurl: %s" % done)
            test_mail(b)
        else:
            tests = {"forms": test_forms, "test": test_test_messages, "digest": test_digest_of_several_trials, "attempts": test_attempts, "certificates": test_certificates, "secrets": test_secrets,
                     "stopped": test_stopped, "once": test_once, "watch": test_watch, "limits": test_limits, "mail": test_mail,
                     "refusals": test_refusals, "listed": test_listed}
            for what in arguments.what or tests:
                tests[what](b)
    checks.done()


if __name__ == "__main__":
    os.umask(0o022)
    main()
