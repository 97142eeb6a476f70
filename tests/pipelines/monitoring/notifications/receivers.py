"""A web server and a mail server that take notices, or refuse as they are told."""

import base64
import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler


class Taken(BaseHTTPRequestHandler):
    """A web server that keeps what is posted, and answers as it is told."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.server.posted.append((self.path, json.loads(self.rfile.read(length))))
        status = self.server.answers.pop(0) if self.server.answers else 200
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def do_GET(self):
        self.server.posted.append((self.path, None))

    def log_message(self, *_):
        pass


class MailSink(socketserver.StreamRequestHandler):
    """A mail server that takes everything; it knows one user and no TLS."""

    def handle(self):
        self._say("220 here")
        self.server.talk.append(lines := [])
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            lines.append(line)
            verb = line.split(" ")[0].upper()
            if verb == "EHLO":
                self._say("250-here\r\n250 AUTH PLAIN")
            elif verb == "AUTH":
                self._say("235 in" if self._is_known(line) else "535 no such user")
            elif verb == "DATA":
                self._say("354 go on")
                self._take_message()
                self._say("250 taken")
            elif verb == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 yes")

    def _is_known(self, line):
        asked = base64.b64decode(line.split(" ")[2]).decode().split("\0")[1:]
        return asked == ["me", "s3cret"]

    def _take_message(self):
        message = []
        while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
            message.append(line)
        self.server.mail.append("\n".join(message))

    def _say(self, line):
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def served(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
