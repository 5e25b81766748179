"""`roll serve` for tests: started on a free port, asked whole or as a stream."""
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
HI = [dict(role="user", content="hi")]


class Server:
    def __init__(self, binary, folder, *flags, key=None):
        environment = {name: value for name, value in os.environ.items() if name != "ROLL_API_KEY"}
        self.key = key
        self.err = open(folder / "err.txt", "w+")
        self.process = subprocess.Popen([binary, "serve", "--model", "model", "--port", "0", *map(str, flags)], cwd=folder, stdout=subprocess.PIPE, stderr=self.err,
                                        text=True, env=environment | ({"ROLL_API_KEY": key} if key else {}))
        line = self.process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/v1\n", line)
        assert found, (line, self.said())
        self.port = int(found[1])

    def said(self):
        self.err.seek(0)
        return self.err.read()

    def ask(self, path, body=None, headers={}, method=None, timeout=60):
        """The status, and the body as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        key = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        connection.request(method or ("GET" if body is None else "POST"), path, body if body is None or isinstance(body, bytes) else json.dumps(body), key | headers)
        with contextlib.closing(connection):
            answer = connection.getresponse()
            streams = answer.getheader("Content-Type") == "text/event-stream"
            return answer.status, answer.read() if streams else json.loads(answer.read() or b"null")

    def stream(self, path, body, timeout=60):
        """The chunks of a stream, as they come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request("POST", path, json.dumps(body | dict(stream=True)))
        with contextlib.closing(connection):
            answer = connection.getresponse()
            assert answer.status == 200 and answer.getheader("Content-Type") == "text/event-stream", answer.status
            for line in iter(answer.readline, b""):
                if line.startswith(b"data: ") and line != b"data: [DONE]\n":
                    yield json.loads(line[6:])
                elif line == b"data: [DONE]\n":
                    return

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
