"""Attacks on an HTTP server of this machine by clients that flood, stall, lie or vanish; each is bounded in bytes and time. A case opens connections,
sends what it may, and gives back those that stay open. Used by hostile_clients_test.py."""
import contextlib
import gzip
import json
import socket
import struct
import time

STALL = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"


class Target:
    """Where the attacks go. `path` takes bodies, `key` opens it (None: there is none); `flood` bytes are sent where a server should stop reading."""

    def __init__(self, port, path, key=None, flood=160 << 20, crowd=600):
        self.port, self.path, self.key, self.flood, self.crowd = port, path, key, flood, crowd

    def connect(self):
        wire = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        wire.settimeout(3)
        return wire

    def head(self, path=None, method="POST", key="its own", **headers):
        key = self.key if key == "its own" else key
        lines = [f"{method} {path or self.path} HTTP/1.1", "Host: localhost"] + [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if key: lines.append("Authorization: Bearer " + key)
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def pour(self, wire, piece, total=None):
        """Sends pieces until the other side has had enough of them."""
        sent, total = 0, total or self.flood
        with contextlib.suppress(OSError):
            while sent < total:
                wire.sendall(piece)
                sent += len(piece)
        return sent

    def post(self, body, key="its own"):
        """The status of a whole request; None if the connection ended first."""
        wire = self.connect()
        wire.settimeout(30)
        with contextlib.closing(wire), contextlib.suppress(OSError):
            wire.sendall(self.head(key=key, Content_Length=len(body)) + body)
            line = wire.recv(64).split()
            return int(line[1]) if len(line) > 1 else None


def bodies(target):
    """Large bodies, announced, in chunks or compressed, with and without the key, to any path."""
    block, packed = b"x" * (1 << 20), gzip.compress(b"x" * (64 << 20))
    chunk = f"{len(block):x}\r\n".encode() + block + b"\r\n"
    for path in (target.path, "/nope", "/health", "/"):
        for key in {target.key, "wrong", None}:
            for method in ("POST", "PUT"):
                yield f"{method} {path}, key {key}: a body of 3 GB", lambda p=path, k=key, m=method: flood(target, target.head(p, m, k, Content_Length=3 << 30), block)
                yield f"{method} {path}, key {key}: endless chunks", lambda p=path, k=key, m=method: flood(target, target.head(p, m, k, Transfer_Encoding="chunked"), chunk)
            yield f"{path}, key {key}: gzip", lambda p=path, k=key: flood(target, target.head(p, "POST", k, Content_Encoding="gzip", Content_Length=len(packed)), packed, len(packed))


def flood(target, head, piece, total=None):
    wire = target.connect()
    with contextlib.suppress(OSError):
        wire.sendall(head)
        target.pour(wire, piece, total)
    return [wire]


def heads(target):
    """Heads and frames that never end."""
    chunked = target.head(Transfer_Encoding="chunked")
    yield "endless header lines", lambda: flood(target, STALL, b"X-Line: 1\r\n" * 10000)
    yield "one endless header", lambda: flood(target, STALL + b"X-Line: ", b"x" * (1 << 20))
    yield "an endless request line", lambda: flood(target, b"GET /", b"x" * (1 << 20))
    yield "an endless method", lambda: flood(target, b"", b"x" * (1 << 20))
    yield "endless empty lines", lambda: flood(target, b"", b"\r\n" * (1 << 19))
    yield "an endless chunk size", lambda: flood(target, chunked, b"0" * (1 << 20))
    yield "an endless chunk extension", lambda: flood(target, chunked + b"5;", b"x" * (1 << 20))
    yield "endless trailers", lambda: flood(target, chunked + b"0\r\n", b"X-Line: 1\r\n" * 10000)
    yield "endless small requests", lambda: flood(target, b"", target.head("/health", "GET") * 1000, 2 << 20)
    yield "random bytes", lambda: flood(target, b"", bytes(range(256)) * 4096, 8 << 20)


def stalls(target):
    """Crowds that hold connections: silent, a byte at a time, in the middle of a head or of a body."""
    def crowd(text):
        wires = []
        for _ in range(target.crowd):
            with contextlib.suppress(OSError):
                wire = target.connect()
                wire.sendall(text)
                wires.append(wire)
        return wires
    yield "silent connections", lambda: crowd(b"")
    yield "heads that stop", lambda: crowd(STALL)
    yield "one byte", lambda: crowd(b"P")
    yield "bodies that stop", lambda: crowd(target.head(Content_Length=1000) + b"{")
    yield "large bodies that stop", lambda: crowd(target.head(Content_Length=4 << 20) + b"x" * 200_000)
    yield "chunks that stop", lambda: crowd(target.head(Transfer_Encoding="chunked") + b"ff\r\nx")
    yield "unread answers", lambda: crowd(target.head("/health", "GET") * 20)

    def trickle():
        wires = crowd(STALL)
        for _ in range(4):
            time.sleep(0.5)
            for wire in wires:
                with contextlib.suppress(OSError):
                    wire.sendall(b"X: 1\r\n")
        return wires
    yield "a header line now and then", trickle

    def slam():
        for _ in range(target.crowd):
            wire = target.connect()
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.sendall(target.head(Content_Length=10) + b"{")
            wire.close()  # by a reset
        return []
    yield "connections that are reset", slam


def lies(target):
    """Frames that contradict themselves."""
    body = b'{"prompt": "x", "max_tokens": 1}'
    for name, text in {
        "a negative length": target.head(Content_Length=-5) + body,
        "a length that is no number": target.head(Content_Length="ten") + body,
        "a length beyond 64 bits": target.head(Content_Length=10**30) + body,
        "two lengths": target.head(Content_Length=5, content_length=500) + body,
        "a length and chunks": target.head(Content_Length=5, Transfer_Encoding="chunked") + b"5\r\n{}\r\n0\r\n\r\n",
        "chunks of a negative size": target.head(Transfer_Encoding="chunked") + b"-5\r\nx\r\n",
        "chunks of a huge size": target.head(Transfer_Encoding="chunked") + b"ffffffffffffffff\r\nx\r\n",
        "a chunk without its end": target.head(Transfer_Encoding="chunked") + b"2\r\n{}xxxx\r\n0\r\n\r\n",
        "HTTP 9": b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
        "no version": b"GET /health\r\n\r\n",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        "a header without a colon": b"GET /health HTTP/1.1\r\nHost localhost\r\n\r\n",
        "NUL in a header": b"GET /health HTTP/1.1\r\nHost: local\0host\r\n\r\n",
        "NUL in a path": b"GET /%00/../health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "an upgrade": b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    }.items():
        def lie(text=text):
            wire = target.connect()
            with contextlib.suppress(OSError):
                wire.sendall(text)
                wire.shutdown(socket.SHUT_WR)
                while wire.recv(65536): pass
            return [wire]
        yield name, lie


def requests(target):
    """Bodies that ask for more than they are."""
    def many(body, count=4, kinds=(200, 400, 401, 403, 404, 413, 429, 503, None)):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        def send():
            for _ in range(count):
                status = target.post(text)
                assert status in kinds, f"{status} where one of {kinds} is due"
            return []
        return send
    yield "objects by the million", many(b'{"prompt": [' + b'{"":0},' * 1_000_000 + b"0]}")
    yield "lists by the million", many(b'{"prompt": [' + b"[]," * 2_000_000 + b"0]}")
    yield "members by the million", many(b"{" + b'"a":0,' * 1_000_000 + b'"prompt":0}')
    yield "depth", many(b"[" * 4_000_000)
    yield "prompts times n", many(dict(prompt=[[1] * 30000] * 16, n=1024, max_tokens=1, seed=1))
    yield "stop strings times n", many(dict(prompt=[1], n=1024, max_tokens=1, stop=["x" * 450_000] * 16))
    yield "biases times n", many(dict(prompt=[1], n=64, max_tokens=1, logit_bias={str(i): 1 for i in range(200)}))
    yield "a text of 7 MB", many(dict(prompt="ab " * 2_300_000, max_tokens=1), count=1)


def all_cases(target):
    for family in (bodies, heads, stalls, lies, requests):
        yield from family(target)
