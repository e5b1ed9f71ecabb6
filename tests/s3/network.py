#!/usr/bin/env python3
"""Ways to a server of trials in S3: certificates, proxies, virtual hosts, regions, requests without a signature. Every server is of
this test and on loopback; names are those that a proxy of this test answers for.

    network.py --assay PROGRAM --ranks 1 3 ...
"""
import hashlib
import json
import shutil
import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from launch import TRIALS  # noqa: E402
from reports import body_of  # noqa: E402
from s3_server import Server  # noqa: E402
from s3_suite import launch  # noqa: E402
from webhook import Authority  # noqa: E402

TRIAL = TRIALS / "linreg_nan"


class Tunnel:
    """A proxy that connects every name to one server: CONNECT for https, and whole URLs for http."""

    def __init__(self, target):
        self.target, self.lines = target, []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(65536)
            if not piece:
                return
            head += piece
        line = head.split(b"\r\n")[0].decode()
        self.lines.append(line)
        server = socket.create_connection(("127.0.0.1", self.target))
        if line.startswith("CONNECT "):
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:  # one request a connection: those behind it would have whole URLs, too
            method, url, version = line.split(" ")
            rest = head[head.index(b"\r\n"):].replace(b"\r\nProxy-Connection: Keep-Alive", b"\r\nConnection: close")
            server.sendall(("%s /%s %s" % (method, url.split("/", 3)[3], version)).encode() + rest)
        for source, to in ((client, server), (server, client)):
            threading.Thread(target=self.copy, args=(source, to), daemon=True).start()

    @staticmethod
    def copy(source, to):
        try:
            while piece := source.recv(65536):
                to.sendall(piece)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()


class Suite(s3_suite.Suite):
    def env(self, endpoint=None, **more):
        env = s3.environment(None, Server.key, Server.secret, HOME=str(self.room), AWS_MAX_ATTEMPTS="2")
        return {**env, **({"AWS_ENDPOINT_URL": endpoint} if endpoint else {}), **more}

    def ls(self, env, *more, trial="s3://runs/t"):
        return launch(1, [self.assay, "ls", trial, *more], env)

    def works(self, what, env, *more, trial="s3://runs/t"):
        done = self.ls(env, *more, trial=trial)
        return self.checks.expect(done.code == 0 and not done.err, "%s: %s" % (what, done))

    def refused(self, what, words, env, *more):
        self.expect_refusal(what, self.ls(env, *more), words)

    # ---- https ----

    def check_certificates(self, authority):
        with Server(tls=authority.certificate("IP:127.0.0.1")) as server:
            server.put_tree("runs", "t/", TRIAL)
            endpoint = "https://127.0.0.1:%d" % server.port
            self.refused("not trusted", ["certificate is refused", "AWS_CA_BUNDLE"], self.env(endpoint))
            self.refused("no such file", ["certificates to trust", "AWS_CA_BUNDLE"], self.env(endpoint, AWS_CA_BUNDLE="/nowhere"))
            before = len(server.requests)
            self.checks.expect(before == 0, "a request went to a server that is not trusted")
            self.works("trusted", self.env(endpoint, AWS_CA_BUNDLE=str(authority.ca)))
            (self.room / "config").write_text("[default]\nca_bundle = %s\n" % authority.ca)
            self.works("ca_bundle", self.env(endpoint, AWS_CONFIG_FILE=str(self.room / "config")))
            payloads = {headers["x-amz-content-sha256"] for _, _, headers in server.requests}
            self.checks.expect(payloads == {"UNSIGNED-PAYLOAD"}, "over https the payload is %s" % payloads)
            done = launch(1, [self.assay, "run", "s3://runs/t", "--out", "s3://runs/out"],
                          self.env(endpoint, AWS_CA_BUNDLE=str(authority.ca)))
            self.checks.expect(done.code == 0 and "out/report.json" in server.buckets["runs"], "a report over https: %s" % done)
            # http to a server that speaks https
            self.refused("http where https is needed", ["does the endpoint speak"], self.env(endpoint.replace("https", "http")))
        with Server(tls=authority.certificate("DNS:other.test")) as server:
            self.refused("another name", ["certificate is refused"], self.env("https://127.0.0.1:%d" % server.port,
                                                                              AWS_CA_BUNDLE=str(authority.ca)))

    def check_payload(self):
        with Server() as server:
            server.put_tree("runs", "t/", TRIAL)
            self.works("http", self.env("http://127.0.0.1:%d" % server.port))
            payloads = {headers["x-amz-content-sha256"] for _, _, headers in server.requests}
            self.checks.expect(payloads == {hashlib.sha256(b"").hexdigest()}, "over http the payload is %s" % payloads)

    # ---- proxies, and names that only they know ----

    def check_proxies(self, authority):
        with Server(tls=authority.certificate("DNS:store.test,DNS:*.store.test")) as server, Tunnel(server.port) as tunnel:
            server.put_tree("runs", "t/", TRIAL)
            env = self.env("https://store.test", AWS_CA_BUNDLE=str(authority.ca))
            self.works("https_proxy", {**env, "https_proxy": tunnel.url})
            self.checks.expect(tunnel.lines and set(tunnel.lines) == {"CONNECT store.test:443 HTTP/1.1"}, "said %s" % tunnel.lines[:3])
            self.works("HTTPS_PROXY", {**env, "HTTPS_PROXY": tunnel.url})
            # Virtual hosts, with the certificate that stands for all buckets.
            server.hosts = True
            (self.room / "virtual").write_text("[default]\ns3 =\n  addressing_style = virtual\n")
            count = len(tunnel.lines)
            self.works("virtual hosts", {**env, "https_proxy": tunnel.url, "AWS_CONFIG_FILE": str(self.room / "virtual")})
            self.checks.expect(set(tunnel.lines[count:]) == {"CONNECT runs.store.test:443 HTTP/1.1"}, "said %s" % tunnel.lines[count:])
            self.checks.expect(server.requests[-1][1].startswith("/t/") or server.requests[-1][1].startswith("/?"), "the bucket is in the path")
        with Server() as server, Tunnel(server.port) as tunnel:
            server.put_tree("runs", "t/", TRIAL)
            self.works("http_proxy", self.env("http://store.test:81", http_proxy=tunnel.url))
            self.checks.expect(tunnel.lines and all(line.startswith("GET http://store.test:81/runs") for line in tunnel.lines),
                               "said %s" % tunnel.lines[:3])
            here, count = "http://127.0.0.1:%d" % server.port, len(tunnel.lines)
            self.works("no_proxy", self.env(here, http_proxy=tunnel.url, no_proxy="localhost,127.0.0.1"))
            self.checks.expect(len(tunnel.lines) == count, "no_proxy was not heeded: %s" % tunnel.lines[count:])
            self.refused("a proxy that is not there", ["cannot connect", "proxy"], self.env("http://store.test", http_proxy="http://127.0.0.1:1"))
            # Names that no resolver asks anybody for, each tried twice.
            long = "x" * 64 + ".test"
            self.refused("a name that is none", ["resolve host", long[:20], "AWS_ENDPOINT_URL"], self.env("http://" + long))
            self.refused("a proxy's name that is none", ["resolve proxy", "proxy variables"], self.env("http://store.test", http_proxy="http://" + long))
            self.refused("requests without end", ["--s3-requests 2000", "1024"], self.env(here), "--s3-requests", "2000")
        with Server(hosts=True) as server:  # names below localhost need no proxy
            server.put_tree("runs", "t/", TRIAL)
            self.works("a virtual host", self.env("http://localhost:%d" % server.port, AWS_CONFIG_FILE=str(self.room / "virtual")))

    # ---- regions ----

    def check_regions(self):
        """A server that names the bucket's region is followed once, and asked there from then on; at any number of ranks."""
        answers = [("400", ("status", 400, {}, b"<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-north-1</Region></Error>")),
                   ("301", ("status", 301, {"x-amz-bucket-region": "eu-north-1"}, b"<Error><Code>PermanentRedirect</Code></Error>")),
                   ("307", ("status", 307, {"x-amz-bucket-region": "eu-north-1"}, b""))]
        for ranks in self.ranks:
            with Server() as server:
                server.put_tree("runs", "t/", TRIAL)
                for what, answer in answers:
                    elsewhere = []

                    def decide(number, method, path):
                        if "/eu-north-1/s3/" in server.requests[number - 1][2].get("Authorization", ""):
                            return None
                        elsewhere.append(path)
                        return answer

                    server.decide = decide
                    out = self.room / "report"
                    shutil.rmtree(out, ignore_errors=True)
                    done = launch(ranks, [self.assay, "run", "s3://runs/t", "--out", out], self.env("http://127.0.0.1:%d" % server.port))
                    self.checks.expect(done.code == 0 and body_of(out) and 1 <= len(elsewhere) <= 8 * ranks,
                                       "%s at %d ranks, %d times: %s" % (what, ranks, len(elsewhere), done))
                server.decide = lambda n, m, p: answers[0][1]
                before = len(server.requests)
                self.refused("another one each time", ["eu-north-1", "AWS_REGION"], self.env("http://127.0.0.1:%d" % server.port))
                self.checks.expect(len(server.requests) - before == 2, "asked %d times" % (len(server.requests) - before))
                server.decide = decide
                before = len(elsewhere)
                self.works("the right one at once", self.env("http://127.0.0.1:%d" % server.port, AWS_DEFAULT_REGION="eu-north-1"))
                self.checks.expect(len(elsewhere) == before, "a region that is right was asked elsewhere")

    # ---- without a signature ----

    def check_unsigned(self):
        with Server() as server:
            server.put_tree("runs", "t/", TRIAL)
            env = self.env("http://127.0.0.1:%d" % server.port, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
            self.refused("no credentials", ["--s3-unsigned", "\"unsigned\": true"], env)
            self.checks.expect(not server.requests, "a request without credentials went out")
            self.works("--s3-unsigned", env, "--s3-unsigned")
            job = self.room / "job.json"
            job.write_text(json.dumps({"trials": ["s3://runs/t*"], "rules": [{"rule": "ExplodingTensor"}], "s3": {"unsigned": True}}))
            done = launch(self.ranks[-1], [self.assay, "run", job, "--out", self.room / "unsigned"], env)
            self.checks.expect(done.code == 0 and body_of(self.room / "unsigned"), "unsigned in the job: %s" % done)
            self.checks.expect(not any("Authorization" in headers for _, _, headers in server.requests), "a request was signed")
            server.signed = True
            self.refused("a bucket that is not public", ["access denied", "no credentials"], env, "--s3-unsigned")
            before = len(server.requests)
            self.works("keys go first", self.env(env["AWS_ENDPOINT_URL"]), "--s3-unsigned")
            self.checks.expect(all("Authorization" in headers for _, _, headers in server.requests[before:]), "keys were not used")

    def all(self):
        authority = Authority(self.room)
        self.check_certificates(authority)
        self.check_payload()
        self.check_proxies(authority)
        self.check_regions()
        self.check_unsigned()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite)
