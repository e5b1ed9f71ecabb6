"""s3.py - what tests of trials in S3 share: a client of their own, the real server of tests/support/s3-testbed, and the environment
in which assay finds it and nothing else. Every address is loopback."""
import concurrent.futures
import datetime
import hashlib
import hmac
import http.client
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
EMPTY = hashlib.sha256(b"").hexdigest()
PATIENCE = 120  # seconds for a server that has to come up, or that a busy machine makes late
ATTEMPTS = 5  # to start a server: another process may take a free port before the server does
PORTS = 8  # from the one that a server gets: Swift's storage servers take the next ones


def can_bind(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            s.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def free_port():
    """The first of PORTS free ports. Those that the system gives to connections are of no use: thousands of them are held for a minute after
    the connections of other tests have ended, and no server can bind them. Slurm's testbed takes ports from 20000 on."""
    while True:
        port = random.randrange(10240, 20000 - PORTS)
        if all(can_bind(port + i) for i in range(PORTS)):
            return port


def escape(text):
    return urllib.parse.quote(text, safe="-._~")


def unescape(xml):
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&")):
        xml = xml.replace(entity, character)
    return xml


class Client:
    """Signs and sends requests; one connection a thread is not kept, as nothing is measured here."""

    marked = False

    def __init__(self, port, key, secret, region="us-east-1"):
        self.port, self.key, self.secret, self.region = port, key, secret, region

    def sign(self, method, path, query, payload, now):
        day, host = now[:8], "127.0.0.1:%d" % self.port
        headers = "host:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n" % (host, payload, now)
        names = "host;x-amz-content-sha256;x-amz-date"
        canonical = "\n".join((method, path, query, headers, names, payload))
        scope = "%s/%s/s3/aws4_request" % (day, self.region)
        text = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (now, scope, hashlib.sha256(canonical.encode()).hexdigest())
        key = ("AWS4" + self.secret).encode()
        for part in (day, self.region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        return "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (self.key, scope, names, signature)

    def send(self, method, bucket, key="", query=None, body=b"", headers=None, payload=None):
        path = "/" + bucket + ("/" + "/".join(escape(part) for part in key.split("/")) if key else "")
        text = "&".join("%s=%s" % (escape(k), escape(v)) for k, v in sorted((query or {}).items()))
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        payload = payload or (hashlib.sha256(body).hexdigest() if body else EMPTY)
        signed = {"x-amz-content-sha256": payload, "x-amz-date": now,
                  "Authorization": self.sign(method, path, text, payload, now), **(headers or {})}
        if body:
            signed.setdefault("Content-Type", "application/octet-stream")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path + ("?" + text if text else ""), body or None, signed)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def ask(self, *arguments, **named):
        """The answer to send(). A server on a busy machine may ask for time, or break off: that is not what a test is about, so it is asked
        again for PATIENCE seconds."""
        began, wait = time.monotonic(), 0.1
        while True:
            over = time.monotonic() - began > PATIENCE
            try:
                answer = self.send(*arguments, **named)
                if over or answer[0] not in (429, 500, 502, 503, 504):
                    return answer
            except (OSError, http.client.HTTPException):
                if over:
                    raise
            time.sleep(wait)
            wait = min(2 * wait, 5)

    def expect(self, *arguments, done=(), **named):
        """Headers and body of an answer of 2xx, or of one in `done`: an earlier attempt did it."""
        status, headers, body = self.ask(*arguments, **named)
        if status // 100 != 2 and status not in done:
            raise RuntimeError("%s: HTTP %d: %s" % (arguments[:3], status, body[:300]))
        return headers, body

    def make_bucket(self, bucket):
        self.expect("PUT", bucket, done=(409,))

    def put(self, bucket, key, body, headers=None):
        self.expect("PUT", bucket, key, body=body, headers=headers)

    def delete(self, bucket, key):
        self.expect("DELETE", bucket, key, done=(404,))

    def get(self, bucket, key):
        return self.expect("GET", bucket, key)[1]

    def keys(self, bucket, prefix=""):
        found, token = [], None
        while True:
            query = {"list-type": "2", "prefix": prefix, **({"continuation-token": token} if token else {})}
            text = self.expect("GET", bucket, query=query)[1].decode()
            found += [unescape(key) for key in re.findall(r"<Key>([^<]*)</Key>", text)]
            token = re.search(r"<NextContinuationToken>([^<]+)<", text)
            token = token and unescape(token.group(1))
            if not token:
                return found

    def put_tree(self, bucket, prefix, directory, threads=8):
        """Every file of the directory, below the prefix; with `marked` an empty object for each directory, as consoles make them."""
        files = [p for p in sorted(Path(directory).rglob("*")) if p.is_file() or (self.marked and p.is_dir())]

        def put(path):
            name = prefix + path.relative_to(directory).as_posix()
            self.put(bucket, name + "/" if path.is_dir() else name, b"" if path.is_dir() else path.read_bytes())

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(put, files))
        return len(files)


class Swift:
    """OpenStack Swift's s3api from Debian, in a directory of its own."""
    key = "test:tester"

    def __init__(self, secret="testing"):
        self.secret = secret
        self.directory = tempfile.mkdtemp(prefix="assay-s3-", dir="/var/tmp")  # user xattrs, which a tmpfs may not have
        for attempt in range(ATTEMPTS):
            self.port = free_port()
            started = subprocess.run([str(SUPPORT / "s3-testbed"), "start", self.directory, str(self.port)], capture_output=True,
                                     text=True, env={**os.environ, "S3_SECRET": secret})
            if started.returncode == 0:
                break
            self.stop()
        else:
            raise RuntimeError("s3-testbed: " + started.stdout + started.stderr)
        self.client = Client(self.port, self.key, self.secret)

    def stop(self):
        subprocess.run([str(SUPPORT / "s3-testbed"), "stop", self.directory], capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()


class S3rver:
    """s3rver from npm, which tests/run installs. It looks at no signature, gives no second page of a listing on today's Node, and no
    common prefix that has nothing but prefixes below it: hence the empty objects that mark directories."""
    key = secret = "S3RVER"
    program = Path(os.environ.get("ASSAY_S3RVER") or SUPPORT.parents[1] / "build-s3rver" / "node_modules" / ".bin" / "s3rver")

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="assay-s3-")
        if not any(self.start() for attempt in range(ATTEMPTS)):
            self.stop()
            raise RuntimeError("s3rver does not start: %s" % self.program)
        self.client = Client(self.port, self.key, self.secret)
        self.client.marked = True

    def start(self):
        self.port = free_port()
        self.process = subprocess.Popen([str(self.program), "--directory", self.directory, "--address", "127.0.0.1", "--port",
                                         str(self.port), "--silent"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        began = time.monotonic()
        while self.process.poll() is None and time.monotonic() - began < PATIENCE:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
            time.sleep(0.05)
        return False

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()


for variable in list(os.environ):  # what this machine has set for AWS and for proxies must not reach a test
    if variable.startswith("AWS_") or variable.lower() in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        del os.environ[variable]


# A real server on a busy machine may be late more often than the five times that are the default.
PATIENT = {"AWS_MAX_ATTEMPTS": "30"}


def environment(port=None, key=None, secret=None, **more):
    """What assay's environment has beside that of the test: no home with profiles, no metadata, loopback alone, and what is given."""
    env = {"AWS_EC2_METADATA_DISABLED": "true", "ASSAY_TEST_LOOPBACK": "1", "HOME": "/nonexistent"}
    if port:
        env["AWS_ENDPOINT_URL"] = "http://127.0.0.1:%d" % port
    if key:
        env.update(AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=secret)
    env.update(more)
    return env


SERVERS = {"swift": Swift, "s3rver": S3rver}
