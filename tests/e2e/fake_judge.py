"""A judge's server that speaks OpenAI's protocol and has faults on demand. Its verdict is a rule that tests compute as well."""
import contextlib
import http.server
import json
import socket
import struct
import threading
import time

# What the tests ask: the parts are found again whatever the response holds.
TEMPLATE = "question {question}\nreference {reference}\nresponse\n{response}"


def rule(response):
    """In 0..1, by tenths."""
    return len(response.encode()) % 11 / 10


def completion(text, end="stop"):
    return json.dumps(dict(id="x", object="chat.completion", choices=[dict(index=0, message=dict(role="assistant", content=text), finish_reason=end)],
                           usage=dict(prompt_tokens=10, completion_tokens=2, total_tokens=12)))


class FakeJudge:
    """`fault(number)` names what goes wrong with the request of that number (from 1), or nothing; see Handler.answer.
    `tls`: an ssl.SSLContext with a certificate."""

    def __init__(self, fault=lambda number: None, tls=None):
        self.fault, self.lock, self.ending = fault, threading.Lock(), threading.Event()
        self.times, self.headers, self.bodies, self.running, self.most_running = [], [], [], 0, 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            log_message = lambda *_: None

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.begun(self, body) as number:
                    self.answer(outer.fault(number), body)

            def answer(self, fault, body):
                response = body["messages"][0]["content"].split("\nresponse\n", 1)[1]
                right = completion(f"Score: {round(rule(response) * 10)}")
                if fault == "late":
                    time.sleep(0.3)
                elif fault == "hang":
                    outer.ending.wait()
                elif fault == "close":  # a reset, in the middle of the answer
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
                    self.close_connection = True
                    return
                status, text = {"500": (500, "oops"), "503": (503, "<html>busy</html>"), "429": (429, json.dumps(dict(error=dict(message="slow down")))),
                                "html": (200, "<html>welcome</html>"), "cut": (200, right[:40]), "error": (200, json.dumps(dict(error="overloaded"))),
                                "null": (200, completion(None, "length")), "riddle": (200, completion("Who knows?")),
                                "large": (200, " " * (9 << 20) + right), "echo": (200, completion(f"Score: 5, says {self.headers['Authorization']}")),
                                **{code: (int(code), json.dumps(dict(error=dict(message="passing")))) for code in ("302", "401", "403", "404", "410")},
                               "key": (401, json.dumps(dict(error=dict(message=f"wrong key: {self.headers['Authorization']}"))))}.get(fault, (200, right))
                self.send_response(status)
                if fault == "429":
                    self.send_header("Retry-After", "1")
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, *_):  # a client that went away
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs=dict(poll_interval=0.05))

    @contextlib.contextmanager
    def begun(self, handler, body):
        with self.lock:
            self.times.append(time.monotonic())
            self.headers.append(handler.headers)
            self.bodies.append(dict(body, path=handler.path))
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            number = len(self.times)
        try:
            yield number
        finally:
            with self.lock:
                self.running -= 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
