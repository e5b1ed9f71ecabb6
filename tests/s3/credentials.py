#!/usr/bin/env python3
"""Credentials of trials in S3: every link of the chain with a real file, process or server on loopback, in its order; keys that expire
in the middle of a run; and nothing secret in what assay writes or hands on.

    credentials.py --assay PROGRAM --ranks 1 3 ...
"""
import datetime
import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from launch import ROOT, TRIALS  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402
from s3_proxy import Proxy  # noqa: E402
from s3_server import Server  # noqa: E402
from s3_suite import launch  # noqa: E402

KEY = "A:KEY"
SECRET = "planted/secret+" + os.urandom(8).hex()  # of the server's user
TOKEN = "planted-token-" + os.urandom(8).hex()
EXPIRED = ("status", 400, {}, b"<Error><Code>ExpiredToken</Code><Message>it has expired</Message></Error>")


def in_seconds(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


# A rule that writes the environment of its process to a file, and finds nothing.
LOOKER = r"""
#include <assay/rule.h>
#include <stdio.h>
#include <stdlib.h>
extern char **environ;
static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    const assay_slot slot = {.flags = ASSAY_SLOT_NO_STRINGS};
    char path[4096];
    snprintf(path, sizeof path, "%s/rule.environment", getenv("LOOKER_WRITES"));
    FILE *file = fopen(path, "a");
    for (char **entry = environ; file && *entry; entry++)
        fprintf(file, "%s\n", *entry);
    if (file)
        fclose(file);
    (void)given;
    (void)data;
    return assay_need_slot(need, &slot, err) < 0 ? ASSAY_EPARAM : ASSAY_OK;
}
static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)rule; (void)state; (void)view; (void)err;
    return ASSAY_OK;
}
static const assay_rule_ops looker = {.abi = ASSAY_RULE_ABI, .size = sizeof(assay_rule_ops), .name = "Looker", .summary = "Looks.",
                                      .advice = "None.", .setup = setup, .map = map, ASSAY_COMMON_STATE};
assay_rule_module_fn assay_rule_module_v1;
const assay_rule_ops *const *assay_rule_module_v1(void)
{
    static const assay_rule_ops *const table[] = {&looker, NULL};
    return table;
}
"""


class Giver(http.server.BaseHTTPRequestHandler):
    """The answers of an instance's metadata, a container's agent and STS."""

    def log_message(self, *unused):
        pass

    def answer(self, code, text):
        self.send_response_only(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def keys(self, token="Token"):
        self.server.given.append(self.path)
        return json.dumps({"Code": "Success", "AccessKeyId": KEY, "SecretAccessKey": SECRET, token: TOKEN,
                           "Expiration": in_seconds(self.server.lasts)})

    def do_PUT(self):
        if self.path == "/latest/api/token" and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
            return self.answer(200, "a-metadata-token")
        return self.answer(400, "")

    def do_GET(self):
        roles = "/latest/meta-data/iam/security-credentials/"
        if self.path.startswith(roles):
            if self.headers.get("X-aws-ec2-metadata-token") != "a-metadata-token":
                return self.answer(401, "")
            return self.answer(200, self.keys() if self.path == roles + "a-role" else "a-role\n")
        if self.path == "/container?x=1":
            right = self.headers.get("Authorization") == "Basic of-the-container"
            return self.answer(200 if right else 403, self.keys() if right else "{}")
        return self.answer(404, "")

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        wanted = {"Action": ["AssumeRoleWithWebIdentity"], "RoleArn": ["arn:aws:iam::1:role/x y"], "WebIdentityToken": ["an+identity/="],
                  "RoleSessionName": ["assay"], "Version": ["2011-06-15"]}
        if form.get("WebIdentityToken") == ["an-old-one"]:
            return self.answer(400, "<ErrorResponse><Error><Code>ExpiredTokenException</Code><Message>Token expired: current date/time must "
                               "be before the expiration</Message></Error></ErrorResponse>")
        if self.path != "/sts" or form != wanted:
            return self.answer(400, "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>no, not %s</Message></Error>"
                               "</ErrorResponse>" % form.get("WebIdentityToken"))
        keys = json.loads(self.keys())
        return self.answer(200, "<AssumeRoleWithWebIdentityResponse xmlns='x'><AssumeRoleWithWebIdentityResult><Credentials>"
                           "<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken>"
                           "<Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
                           "</AssumeRoleWithWebIdentityResponse>" % (keys["AccessKeyId"], SECRET, TOKEN, keys["Expiration"]))


class Suite(s3_suite.Suite):
    def __init__(self, options):
        super().__init__(options)
        self.giver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Giver)
        self.giver.daemon_threads, self.giver.given, self.giver.lasts = True, [], 3600
        threading.Thread(target=self.giver.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.giver.server_address[1]
        self.said = ""

    def env(self, **more):
        return {**s3.environment(self.server.port), **s3.PATIENT, "HOME": str(self.room), **more}

    def ls(self, **more):
        done = launch(1, [self.assay, "ls", "s3://runs/small"], self.env(**more))
        self.said += done.out + done.err
        return done

    def works(self, what, **more):
        done = self.ls(**more)
        self.checks.expect(done.code == 0 and not done.err, "%s: %s" % (what, done))
        return done

    def refused(self, what, words, **more):
        self.expect_refusal(what, self.ls(**more), words)

    # ---- the links ----

    def check_environment(self):
        self.works("the environment", AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET)
        self.works("with a token", AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_SESSION_TOKEN=TOKEN)
        self.refused("a wrong secret", ["check key and secret", "AWS_ACCESS_KEY_ID"], AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY="wrong")
        self.refused("a wrong token", ["check key and secret", "InvalidToken"], AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET,
                     AWS_SESSION_TOKEN="wrong")
        for what, more in (("access key", {"AWS_ACCESS_KEY_ID": KEY + "\r"}), ("secret key", {"AWS_SECRET_ACCESS_KEY": SECRET + "\n"}),
                           ("session token", {"AWS_SESSION_TOKEN": TOKEN + "\r\nX-Other: 1"})):
            count = len(self.server.requests)
            self.refused("a line end in it", [what, "line end", "AWS_ACCESS_KEY_ID"],
                         **{"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, **more})
            self.checks.expect(len(self.server.requests) == count, "a request went out with a line end in the %s" % what)
        self.refused("half of it", ["AWS_ACCESS_KEY_ID is set", "AWS_SECRET_ACCESS_KEY is not"], AWS_ACCESS_KEY_ID="a")

    def check_profiles(self):
        keys = "aws_access_key_id = %s\naws_secret_access_key = %s\n" % (KEY, SECRET)
        wrong = "aws_access_key_id = nobody\naws_secret_access_key = wrong\n"
        given = self.file("given", "[default]\n%s[other]\n%saws_session_token = %s\n" % (wrong, keys, TOKEN))
        self.works("a profile of a file", AWS_SHARED_CREDENTIALS_FILE=given, AWS_PROFILE="other")
        self.refused("the default profile", ["check key and secret", "default"], AWS_SHARED_CREDENTIALS_FILE=given)
        self.refused("a profile that is not there", ["\"none\"", given], AWS_SHARED_CREDENTIALS_FILE=given, AWS_PROFILE="none")
        self.file(".aws/credentials", "[default]\n" + keys)
        self.works("~/.aws/credentials")
        self.works("the environment goes first", AWS_SHARED_CREDENTIALS_FILE=given, AWS_ACCESS_KEY_ID=KEY,
                   AWS_SECRET_ACCESS_KEY=SECRET)
        (self.room / ".aws/credentials").unlink()
        config = self.file("config", "[profile c]\n%sregion = us-east-1\nendpoint_url = %s\ns3 =\n  addressing_style = path\n"
                           % (keys, self.env()["AWS_ENDPOINT_URL"]))
        env = self.env(AWS_CONFIG_FILE=config, AWS_PROFILE="c")
        del env["AWS_ENDPOINT_URL"]
        done = launch(1, [self.assay, "ls", "s3://runs/t"], env)
        self.checks.expect(done.code == 0, "keys, region, endpoint and style of a config file: %s" % done)
        for key in ("role_arn = x\nsource_profile = y", "sso_session = x"):
            config = self.file("config", "[default]\n%s\n" % key)
            self.refused(key, [key.split()[0], "credential_process"], AWS_CONFIG_FILE=config)

    def check_process(self):
        answer = json.dumps({"Version": 1, "AccessKeyId": KEY, "SecretAccessKey": SECRET, "SessionToken": TOKEN})
        self.file("answer.json", answer)
        config = self.file("config", "[default]\ncredential_process = cat '%s/answer.json'\n" % self.room)
        self.works("a process", AWS_CONFIG_FILE=config)
        self.refused("one that fails", ["credential_process", "ended with 3"],
                     AWS_CONFIG_FILE=self.file("config", "[default]\ncredential_process = exit 3\n"))
        self.refused("one that says nothing of use", ["credential_process"],
                     AWS_CONFIG_FILE=self.file("config", "[default]\ncredential_process = echo '{\"Version\": 1}'\n"))

    def check_identity(self):
        token = self.file("identity", "an+identity/=\n")
        env = {"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::1:role/x y", "AWS_ENDPOINT_URL_STS": self.url + "/sts"}
        self.works("web identity", **env)
        self.refused("another role", ["STS", "InvalidIdentityToken", "***"], **{**env, "AWS_ROLE_ARN": "other"})  # which repeats it
        self.refused("a token that has expired", ["STS", "ExpiredTokenException", "before the expiration"],
                     **{**env, "AWS_WEB_IDENTITY_TOKEN_FILE": self.file("old", "an-old-one")})
        self.refused("no token", ["/nowhere"], **{**env, "AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere"})

    def check_container(self):
        env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": self.url + "/container?x=1"}
        self.works("a container", AWS_CONTAINER_AUTHORIZATION_TOKEN="Basic of-the-container", **env)
        self.works("its token in a file", AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=self.file("container", "Basic of-the-container\n"), **env)
        self.refused("a wrong token", ["container", "HTTP 403"], AWS_CONTAINER_AUTHORIZATION_TOKEN="x", **env)
        self.refused("a host in the clear", ["over https"], AWS_CONTAINER_CREDENTIALS_FULL_URI="http://192.0.2.1/")

    def check_instance(self):
        self.works("an instance", AWS_EC2_METADATA_DISABLED="", AWS_EC2_METADATA_SERVICE_ENDPOINT=self.url + "/")
        self.refused("none there", ["no credentials", "the instance's metadata: cannot connect"], AWS_EC2_METADATA_DISABLED="",
                     AWS_EC2_METADATA_SERVICE_ENDPOINT="http://127.0.0.1:1")

    def check_expiry(self):
        """Keys that the server calls expired in the middle are asked for again, once, by each rank that meets it."""
        instance = {"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.url}
        out = self.room / "report"
        wanted = None
        for ranks in self.ranks:
            before = len(self.giver.given)

            def decide(number, method, path):
                return EXPIRED if number > 12 and len(self.giver.given) == before + 1 else None

            with Proxy(self.server.port, decide if ranks else None) as proxy:
                env = {**self.env(**instance), "AWS_ENDPOINT_URL": "http://127.0.0.1:%d" % proxy.port}
                done = launch(ranks, [self.assay, "run", "s3://runs/t", "--out", out], env)
                asked = len(self.giver.given) - before
                body = body_of(out)
                wanted = wanted or body
                self.checks.expect(done.code == 0 and 2 <= asked <= 1 + ranks and body == wanted,
                                   "expired in the middle, %d ranks, asked %d times: %s" % (ranks, asked, done))
                self.said += done.out + done.err
        self.giver.lasts, before = 200, len(self.giver.given)  # they expire within five minutes: renewed before the first request
        done = self.works("nearly expired", **instance)
        asked = len(self.giver.given) - before  # and again every half minute
        self.checks.expect(2 <= asked <= 2 + done.seconds / 30, "nearly expired: asked %d times in %s" % (asked, done))
        self.giver.lasts = 3600
        with Proxy(self.server.port, lambda n, m, p: EXPIRED) as proxy:
            done = self.ls(**{**instance, "AWS_ENDPOINT_URL": "http://127.0.0.1:%d" % proxy.port})
            self.checks.expect(done.code == 2 and "ExpiredToken" in done.err and len(proxy.requests) == 2, "always expired: %s" % done)

    # ---- what is secret ----

    def check_places(self):
        """A secret that somebody writes into a place is refused at once, whatever else the command has, and nothing repeats it."""
        job, out = self.room / "job.json", self.room / "not-made"
        healthy = TRIALS / "healthy"
        for place, shown in (("s3://%s:%s@runs/t" % (KEY[2:], SECRET), "s3://***@runs/t: "), ("s3://%s@runs/t" % TOKEN, "s3://***@runs/t: "),
                             ("S3://%s:%s@runs/t" % (KEY[2:], SECRET), "S3://***@runs/t: ")):
            job.write_text(json.dumps({"trials": [str(healthy), place], "rules": [{"rule": "ExplodingTensor"}]}))
            for argv in (["ls", place], ["show", place, "loss"], ["compare", healthy, place, "--out", out], ["run", job, "--out", out],
                         ["run", healthy, "--out", place], ["pack", place, "-o", self.room / "t.h5"]):
                done = launch(self.ranks[-1] if argv[0] == "run" else 1, [self.assay, *argv], self.env())
                self.said += done.out + done.err
                self.checks.expect(done.code in (2, 4) and shown in done.err and "without key and secret" in done.err and not out.exists(),
                                   "%s: %s" % (argv, done))

    def check_words(self):
        """The same of every word of the command line, in one line; what has a port is refused by another one that tells how to name
        a server, and what is of an unknown kind makes no directory."""
        healthy, room = TRIALS / "healthy", self.room / "words"
        room.mkdir()
        secret = "%s:%s@b/" % (KEY[2:], SECRET)
        for argv in (["history", "s3://%s*/report.json" % secret], ["run", healthy, "--checkpoint", "s3://%sc" % secret],
                     ["run", healthy, "--learn=s3://%sc" % secret], ["run", healthy, "--topology", "s3://%sc" % secret],
                     ["run", healthy, "--out", "S3://%sc" % secret], ["run", healthy, "--trial", "name=s3://%sc" % secret],
                     ["stats", healthy, "--out", "s3://%sc" % secret], ["pack", healthy, "-o", "s3://%sc" % secret],
                     ["check", "s3://%sjob.json" % secret], ["pilot", "s3://%sstate" % secret], ["pilot", "--status", "s3://%sstate" % secret],
                     ["notify", "--test", "s3://%sjob.json" % secret], ["ls", "s3a://%sx" % secret], ["ls", "https://%sx" % secret],
                     ["nothing", "s3://%sx" % secret]):
            self.refused_word(argv, ["://***@b/", "without key and secret"], room)
        for place in ("s3://localhost:9000/b/t", "s3://arn:aws:s3:eu-west-1:123:accesspoint/x/t", "s3://key:%s/t" % SECRET):
            for argv in (["ls", place], ["run", healthy, "--out", place], ["pack", healthy, "-o", place]):
                self.refused_word(argv, [place[:place.index(":", 5)] + ":...: ", "AWS_ENDPOINT_URL"], room)
        self.refused_word(["run", healthy, "--out", "S3://b/c"], ["S3://b/c: ", "s3://BUCKET/PREFIX"], room)
        self.refused_word(["pack", healthy, "-o", "S3://b/c"], ["S3://b/c: ", "not in S3"], room)
        job = self.file("words.json", json.dumps({"trials": ["s3a://%sx" % secret], "rules": [{"rule": "ExplodingTensor"}]}))
        done = launch(1, [self.assay, "run", job], self.env(), cwd=room)
        self.said += done.out + done.err
        self.checks.expect(done.code != 0 and "s3a://***@b/x: " in done.err, "a place of another kind in a job: %s" % done)
        job = self.file("words.json", json.dumps({"trials": [str(healthy)], "rules": [{"rule": "ExplodingTensor"}],
                                                  "output": {"directory": "S3://%sx" % secret}}))
        done = launch(self.ranks[-1], [self.assay, "run", job], self.env(), cwd=room)
        self.said += done.out + done.err
        self.checks.expect(done.code == 2 and "S3://***@b/x: " in done.err and not any("3:" in p.name for p in room.iterdir()),
                           "a directory of another kind in a job: %s %s" % (sorted(room.iterdir()), done))

    def refused_word(self, argv, words, room):
        ranks = self.ranks[-1] if argv[0] == "run" else 1
        done = launch(ranks, [self.assay, *argv], self.env(), cwd=room)
        self.said += done.out + done.err
        lines = [line for line in done.err.splitlines() if line.startswith("assay:")]  # a launcher may add its own
        self.checks.expect(done.code == 2 and len(lines) == 1 and not done.out and all(word in lines[0] for word in words)
                           and not any(room.iterdir()), "%s: %s" % (argv, done))

    def make_rule(self):
        """A rule in a shared object, whose process is alive while the trial is read: it notes what its environment is."""
        source = self.room / "looker.c"
        source.write_text(LOOKER)
        done = subprocess.run(["cc", "-shared", "-fPIC", "-I", ROOT / "include", "-o", self.room / "looker.so", source], capture_output=True,
                              text=True)
        self.checks.expect(done.returncode == 0, done.stderr)
        return str(self.room / "looker.so")

    def check_secrets(self):
        """The planted secret and token are looked for in all that assay writes, in the command line of every process, and in the
        environment of its children: an action's program and a rule's process."""
        seen, programs = self.room / "seen", self.room / "bin"
        seen.mkdir()
        programs.mkdir()
        tool = programs / "sendmail"
        tool.write_text("#!/bin/sh\ncat >'%s/mail.'$$\nenv >'%s/env.'$$\ncat /proc/[0-9]*/cmdline >'%s/lines.'$$ 2>/dev/null\n"
                        % (seen, seen, seen))
        tool.chmod(0o755)
        job = self.file("job.json", json.dumps({
            "trials": ["s3://runs/t"], "modules": [self.make_rule()], "rules": [{"rule": "ExplodingTensor"}, {"rule": "Looker"}],
            "actions": [{"mail": {"to": "a@localhost", "sendmail": str(tool)}, "on": "end"}]}))
        out, points = self.room / "out", self.room / "points"
        env = self.env(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_SESSION_TOKEN=TOKEN, LOOKER_WRITES=str(seen),
                       AWS_CONTAINER_AUTHORIZATION_TOKEN=TOKEN, PATH="%s:%s" % (programs, os.environ["PATH"]))
        run = [self.assay, "run", job, "--log", "all", "--reports", "json,text,csv,html,markdown,junit"]
        done = launch(self.ranks[-1], [*run, "--out", out], env)
        self.said += done.out + done.err
        files = [p for top in (out, seen) for p in top.rglob("*") if p.is_file()]
        kinds = {p.name.split(".")[0] for p in files}
        self.checks.expect(done.code in (0, 1) and {"env", "lines", "rule", "mail", "report", "actions"} <= kinds,
                           "a run with an action and a rule of its own: %s %s" % (sorted(kinds), done))
        needles = [text.encode() for text in (SECRET, TOKEN, urllib.parse.quote(SECRET, safe=""))]
        for path in files:
            self.checks.expect(not any(needle in path.read_bytes() for needle in needles), "%s holds a secret" % path)
        # A checkpoint is removed when the report is written, and stays when that fails.
        (self.room / "full" / "report.json").mkdir(parents=True)
        done = launch(self.ranks[-1], [*run, "--out", self.room / "full", "--checkpoint", points, "--checkpoint-every", "0.0000001"], env)
        self.said += done.out + done.err
        text = points.read_bytes() if points.exists() else b""
        self.checks.expect(done.code == 4 and text and not any(needle in text for needle in needles), "a checkpoint: %s" % done)
        # Even one that somebody writes into the command line is taken out.
        done = launch(1, [self.assay, "run", "s3://runs/t", "--out", self.room / ("x" + TOKEN)], env)
        report = (self.room / ("x" + TOKEN) / "report.json").read_text() if done.code in (0, 1) else TOKEN
        self.checks.expect(TOKEN not in report and "***" in report, "the report's command holds a secret: %s" % done)
        self.said += done.err
        self.checks.expect(not any(needle.decode() in self.said for needle in needles), "what assay printed holds a secret")

    def all(self):
        with Server(users={KEY: SECRET}, tokens={None, TOKEN}) as self.server:
            self.check_all()

    def check_all(self):
        self.server.put_tree("runs", "t/", TRIALS / "linreg_nan")
        self.server.put_tree("runs", "small/", Made(self.room / "small").step(1, "TRAIN", 1, {"loss": 0.5}).end())
        self.check_environment()
        self.check_profiles()
        self.check_process()
        self.check_identity()
        self.check_container()
        self.check_instance()
        self.check_expiry()
        self.check_places()
        self.check_words()
        self.check_secrets()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite)
