"""s3_proxy.py - a proxy on loopback in front of a server of the S3 protocol, which does to answers what networks and servers do.

    with Proxy(server.port, decide) as proxy: ... proxy.port, proxy.requests, proxy.times (when each came)

`decide(number, method, path)` is asked for each request, from 1, and returns None (pass on) or one of
    ("status", code, headers, body)   an answer of its own
    "cut"                             half of the body, then the connection breaks
    "stall"                           half of the body, then nothing
    "reset"                           no answer at all
    a function                        called before the request is passed on
`delay` seconds are added to each answer. Host and signature are passed on as they are.
"""
import http.client
import http.server
import socketserver
import threading
import time

SLOW_DOWN = ("status", 503, {}, b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>too many</Message></Error>")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *unused):
        pass

    def answer(self, status, headers, body, size=None):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("connection", "keep-alive", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def upstream(self, body):
        local = self.server.local
        for attempt in range(2):
            if not getattr(local, "connection", None):
                local.connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
            try:
                local.connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() != "connection":
                        local.connection.putheader(name, value)
                local.connection.endheaders(body or None)
                reply = local.connection.getresponse()
                return reply.status, reply.getheaders(), reply.read()
            except (OSError, http.client.HTTPException):
                local.connection.close()
                local.connection = None
                if attempt:
                    raise
        return None

    def serve(self):
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        number = proxy.note(self.command, self.path, dict(self.headers))
        what = proxy.decide(number, self.command, self.path) if proxy.decide else None
        if proxy.delay:
            time.sleep(proxy.delay)
        if what == "reset":
            self.close_connection = True
            return
        if isinstance(what, tuple):
            self.answer(what[1], list(what[2].items()), what[3])
            return
        if callable(what):
            what()
        status, headers, content = self.upstream(body)
        if what in ("cut", "stall"):
            self.close_connection = True
            self.answer(status, headers, content[:len(content) // 2], len(content))
            if what == "stall":
                proxy.stopped.wait(120)
            return
        self.answer(status, headers, content)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = serve


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass  # a client that has gone is what some of these tests are about


class Proxy:
    def __init__(self, target, decide=None, delay=0):
        self.decide, self.delay, self.stopped = decide, delay, threading.Event()
        self.lock, self.requests, self.times = threading.Lock(), [], []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.proxy, self.server.target, self.server.local = self, target, threading.local()
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def note(self, method, path, headers):
        with self.lock:
            self.requests.append((method, path, headers))
            self.times.append(time.monotonic())
            return len(self.requests)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()
