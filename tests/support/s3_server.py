"""s3_server.py - a small server of the S3 protocol in the test's own process: objects in memory, or as large as a test
says. It is fast; whether signatures are right is tested against a real server, OpenStack Swift.

    with Server() as server: server.client.make_bucket("b"); server.put("b", "key", b"...")
    server.port, server.requests        [(method, path with query, headers)] in the order in which they came

    decide(number, method, path)        what becomes of a request, as in s3_proxy.py; None: an answer; ("raw", pieces): these bytes
                                        and the end of the connection
    tls=(certificate, key)              https
    signed=True                         requests without an Authorization header are refused with 403
    users={key: secret}, tokens={...}   signatures are looked at: key, secret, digest of the body, and a session token of these (None: none)
    hosts=True                          the first word of the Host header is the bucket: virtual hosts
"""
import bisect
import email.utils
import hashlib
import hmac
import http.server
import socketserver
import ssl
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape as xml_escape

import s3
from made import Made

HEAD = "<?xml version='1.0' encoding='UTF-8'?>\n"
WHEN = "2026-11-20T10:00:00.000Z"


def escape_key(text):
    return urllib.parse.quote(text, safe="/-._~")


class Hole:
    """An object of so many bytes, of which those that differ from zero are `parts`: {offset: bytes}."""

    zeros = memoryview(bytes(8 << 20))

    def __init__(self, size, parts):
        self.size, self.parts = size, parts

    def __len__(self):
        return self.size

    def __getitem__(self, cut):
        if cut.stop - cut.start <= len(self.zeros) and not any(at < cut.stop and cut.start < at + len(part) for at, part in self.parts.items()):
            return self.zeros[:cut.stop - cut.start]
        out = bytearray(cut.stop - cut.start)
        for at, part in self.parts.items():
            first, last = max(at, cut.start), min(at + len(part), cut.stop)
            if first < last:
                out[first - cut.start:last - cut.start] = part[first - at:last - at]
        return bytes(out)


def in_place(data, etag, asked):
    """For `decide`: an answer with these bytes in the place of an object's, whatever If-Match says; `asked`: the range, or None."""
    first, last = (int(n) for n in asked.removeprefix("bytes=").split("-")) if asked else (0, len(data) - 1)
    last = min(last, len(data) - 1)
    if last < first:
        return "status", 416, {"Content-Range": "bytes */%d" % len(data)}, b""
    return "status", 206, {"Content-Range": "bytes %d-%d/%d" % (first, last, len(data)), "ETag": '"%s"' % etag}, data[first:last + 1]


def refused_signature(method, target, headers, body, users, tokens):
    """Why a request is refused, as a code of S3's; None: its signature, of version 4, is right. Header names are in lower case."""
    path, _, query = target.partition("?")
    try:
        scope, names, given = (word.split("=", 1)[1] for word in headers["authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(", "))
        key, day, region, service, end = scope.rsplit("/", 4)
        signed = names.split(";")
        canonical = "\n".join([method, path, "&".join(sorted(query.split("&"))), *("%s:%s" % (n, headers[n].strip()) for n in signed), "",
                               names, headers["x-amz-content-sha256"]])
    except (KeyError, ValueError, IndexError):
        return "AccessDenied"
    if key not in users:
        return "InvalidAccessKeyId"
    if headers.get("x-amz-security-token") not in tokens:
        return "InvalidToken"
    text = "\n".join(("AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join((day, region, service, end)),
                      hashlib.sha256(canonical.encode()).hexdigest()))
    sign = ("AWS4" + users[key]).encode()
    for part in (day, region, service, end, text):
        sign = hmac.new(sign, part.encode(), hashlib.sha256).digest()
    whole = {"host", "x-amz-date", "x-amz-content-sha256", *({"x-amz-security-token"} & set(headers))} <= set(signed)
    digest = headers["x-amz-content-sha256"] in ("UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest())
    return None if whole and digest and sign.hex() == given else "SignatureDoesNotMatch"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *unused):
        pass

    def answer(self, status, body=b"", headers=(), cut=False):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if "Date" not in dict(headers):
            self.send_header("Date", email.utils.formatdate(usegmt=True))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:len(body) // 2] if cut else body)
        self.wfile.flush()

    def refuse(self, status, code, **more):
        inner = "".join("<%s>%s</%s>" % (name, xml_escape(text), name) for name, text in more.items())
        self.answer(status, (HEAD + "<Error><Code>%s</Code><Message>no</Message>%s</Error>" % (code, inner)).encode())

    def serve(self):
        owner = self.server.owner
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        number = owner.note(self.command, self.path, dict(self.headers))
        what = owner.decide(number, self.command, self.path) if owner.decide else None
        if owner.delay:
            time.sleep(owner.delay)
        if what == "reset":
            self.close_connection = True
            return None
        if isinstance(what, tuple) and what[0] == "raw":
            self.close_connection = True
            for piece in what[1]:  # until it ends, or the other side goes
                self.wfile.write(piece)
            return self.wfile.flush()
        if isinstance(what, tuple):
            return self.answer(what[1], what[3], list(what[2].items()))
        if callable(what):
            what()
        if what in ("cut", "stall"):
            self.close_connection = True
        if owner.signed and "Authorization" not in self.headers:
            return self.refuse(403, "AccessDenied")
        if owner.users is not None:
            why = refused_signature(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body, owner.users, owner.tokens)
            if why:
                return self.refuse(403, why)
        path, _, query = self.path.partition("?")
        words = {name: value[0] for name, value in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
        if owner.hosts:
            bucket, key = self.headers["Host"].split(".")[0], urllib.parse.unquote(path[1:])
        else:
            bucket, _, key = path[1:].partition("/")
            bucket, key = urllib.parse.unquote(bucket), urllib.parse.unquote(key)
        if bucket not in owner.buckets and not (self.command == "PUT" and not key):
            return self.refuse(404, "NoSuchBucket")
        result = getattr(self, "do_it_" + self.command)(bucket, key, words, body, what in ("cut", "stall"))
        if what == "stall":
            owner.stopped.wait(120)
        return result

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = serve

    def do_it_GET(self, bucket, key, words, unused, cut):
        owner = self.server.owner
        if not key:
            return self.answer(200, owner.page(bucket, words), [("Content-Type", "application/xml")], cut)
        found = owner.buckets[bucket].get(key)
        if found is None:
            return self.refuse(404, "NoSuchKey")
        content, etag = found
        wanted = self.headers.get("If-Match")
        if wanted and wanted.strip('"') != etag:
            return self.refuse(412, "PreconditionFailed")
        size, asked = len(content), self.headers.get("Range")
        if not asked:
            return self.answer(200, content[0:size], [("ETag", '"%s"' % etag)], cut)
        first, last = (int(n) for n in asked.removeprefix("bytes=").split("-"))
        if first >= size:
            return self.answer(416, b"", [("Content-Range", "bytes */%d" % size), ("ETag", '"%s"' % etag)])
        last = min(last, size - 1)
        return self.answer(206, content[first:last + 1], [("Content-Range", "bytes %d-%d/%d" % (first, last, size)),
                                                           ("ETag", '"%s"' % etag)], cut)

    def do_it_PUT(self, bucket, key, unused, body, cut):
        owner = self.server.owner
        if not key:
            owner.buckets.setdefault(bucket, {})
        else:
            owner.put(bucket, key, body)
        return self.answer(200)

    def do_it_POST(self, bucket, key, words, unused, cut):
        if "uploads" not in words:
            return self.refuse(501, "NotImplemented")
        self.server.owner.uploads.add(key)
        return self.answer(200, (HEAD + "<InitiateMultipartUploadResult><Bucket>%s</Bucket><UploadId>%s</UploadId>"
                                 "</InitiateMultipartUploadResult>" % (bucket, xml_escape(key))).encode())

    def do_it_DELETE(self, bucket, key, words, unused, cut):
        self.server.owner.uploads.discard(words.get("uploadId"))
        return self.answer(204)


class Listener(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass  # a client that has gone, or trusts no certificate of ours


class Server:
    key, secret = "a-key", "a-secret"

    def __init__(self, decide=None, tls=None, signed=False, hosts=False, delay=0, users=None, tokens=(None,)):
        self.decide, self.signed, self.hosts, self.delay = decide, signed, hosts, delay
        self.users, self.tokens = users, tokens
        self.buckets, self.sorted, self.uploads, self.requests = {}, {}, set(), []
        self.times = []  # when each came
        self.most_keys = 1000  # of a page
        self.lock, self.stopped = threading.Lock(), threading.Event()
        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.listener.owner = self
        self.port = self.listener.server_address[1]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.listener.socket = context.wrap_socket(self.listener.socket, server_side=True, do_handshake_on_connect=False)
        self.client = s3.Client(self.port, self.key, self.secret)
        threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def note(self, method, path, headers):
        with self.lock:
            self.requests.append((method, path, headers))
            self.times.append((time.perf_counter(), path))
            return len(self.requests)

    def put(self, bucket, key, content):
        etag = hashlib.md5(content if isinstance(content, bytes) else repr(content.size).encode()).hexdigest()
        with self.lock:
            self.buckets.setdefault(bucket, {})[key] = (content, etag)
            self.sorted.pop(bucket, None)

    def put_tree(self, bucket, prefix, directory):
        for path in directory.rglob("*"):
            if path.is_file():
                self.put(bucket, prefix + path.relative_to(directory).as_posix(), path.read_bytes())

    def put_steps(self, bucket, prefix, steps, workers=1):
        """A trial of so many steps: two small tensors each. Returns it; it has not ended."""
        server = self

        class Into(Made):
            def put(self, name, data):
                server.put(bucket, prefix + name, data)

        trial = Into("", workers, collections={"losses": "loss"})
        for step in range(steps):
            self.put_step(trial, step)
        return trial

    @staticmethod
    def put_step(trial, step):
        for worker in trial.workers:
            trial.step(step, "TRAIN", step, {worker: {"loss": 1 / (step + 1), "weight": [0.5, -0.5]}})

    def page(self, bucket, words):
        """A page of ListObjectsV2. The token is the last key, or common prefix, of the page before."""
        with self.lock:
            if bucket not in self.sorted:
                self.sorted[bucket] = sorted(self.buckets[bucket])
            keys = self.sorted[bucket]
        prefix, delimiter, most = words.get("prefix", ""), words.get("delimiter"), min(self.most_keys, int(words.get("max-keys", 1000)))
        escape = escape_key if words.get("encoding-type") == "url" else xml_escape
        out, count, last = [], 0, words.get("continuation-token", words.get("start-after", ""))
        at = max(bisect.bisect_left(keys, prefix), bisect.bisect_right(keys, last) if last else 0)
        if last and delimiter and last.endswith(delimiter):
            at = bisect.bisect_left(keys, last[:-1] + chr(ord(last[-1]) + 1), at)
        more = False
        while at < len(keys) and keys[at].startswith(prefix):
            if count == most:
                more = True
                break
            end = keys[at].find(delimiter, len(prefix)) if delimiter else -1
            count += 1
            if end >= 0:
                last = keys[at][:end + 1]
                out.append("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % escape(last))
                at = bisect.bisect_left(keys, last[:-1] + chr(ord(last[-1]) + 1), at)
            else:
                last = keys[at]
                content, etag = self.buckets[bucket][last]
                out.append("<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>&quot;%s&quot;</ETag><Size>%d</Size></Contents>"
                           % (escape(last), WHEN, etag, len(content)))
                at += 1
        token = "<NextContinuationToken>%s</NextContinuationToken>" % xml_escape(last) if more else ""
        encoding = "<EncodingType>url</EncodingType>" if escape is escape_key else ""
        return (HEAD + "<ListBucketResult><Name>%s</Name>%s<IsTruncated>%s</IsTruncated>%s%s</ListBucketResult>"
                % (bucket, encoding, "true" if more else "false", token, "".join(out))).encode()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stopped.set()
        self.listener.shutdown()
        self.listener.server_close()
