"""webhook.py - a real HTTP or HTTPS server on this machine that answers as told, and an authority that signs its certificates.

    with Webhook([500, (429, {"Retry-After": "1"}), 200]) as hook:     # the last answer goes on for ever
        hook.url("/path"), hook.requests[i].path, .headers, .body, .when
"""
import http.server
import ssl
import subprocess
import threading
import time

HANG = "hang"  # takes the request and never answers
INTERIM = "interim"  # takes the request, says 102, and nothing more
DROP = "drop"  # takes the request and closes the connection


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body, self.when = path, headers, body, time.monotonic()


class Webhook:
    def __init__(self, answers=(200,), certificate=None):
        self.answers, self.requests = list(answers), []
        self.arrived, self.closing = threading.Condition(), threading.Event()
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with hook.arrived:
                    answer = hook.answers[min(len(hook.requests), len(hook.answers) - 1)]
                    hook.requests.append(Request(self.path, self.headers, body.decode()))
                    hook.arrived.notify_all()
                if answer == INTERIM:
                    self.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n")
                    self.wfile.flush()
                if answer in (HANG, INTERIM):
                    hook.closing.wait(120)
                if answer in (HANG, DROP, INTERIM):
                    self.close_connection = True
                    return
                code, headers = answer if isinstance(answer, tuple) else (answer, {})
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)  # an echo: what a careless server does with secrets

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):  # refused handshakes are part of the tests
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def url(self, path="/"):
        return "%s://127.0.0.1:%d%s" % (self.scheme, self.server.server_address[1], path)

    def wait(self, count, seconds=60):
        """True once so many requests have come."""
        with self.arrived:
            return self.arrived.wait_for(lambda: len(self.requests) >= count, seconds)


class Authority:
    """Makes certificates with the openssl command in a directory."""

    def __init__(self, directory):
        self.directory = directory
        self.ca = directory / "ca.pem"
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
                      "-subj", "/CN=authority of the tests")
        self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj",
                      "/CN=server")

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.directory, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)

    def certificate(self, name, days=2):
        """(certificate, key) for "IP:127.0.0.1" or "DNS:host"; one with -1 days has expired."""
        stem = "%s%d" % (name.replace(":", "-"), days)
        (self.directory / (stem + ".cnf")).write_text("subjectAltName=%s\n" % name)
        self._openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                      str(days), "-extfile", stem + ".cnf", "-out", stem + ".pem")
        return self.directory / (stem + ".pem"), self.directory / "server.key"
