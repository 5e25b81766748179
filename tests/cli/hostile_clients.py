"""Attacks on an HTTP server of this machine by clients that flood, stall, lie or vanish; each is bounded in bytes and time. A case opens connections,
sends what it may, and gives back those that stay open. Used by hostile_clients_test.py."""
import contextlib
import gzip
import json
import socket
import struct
import time

NO_END = {str(i): -100 for i in range(279 - 23, 279)}  # tokens of the built-in tokenizer that end a response
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
        sent, total = 0, self.flood if total is None else total
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
    """`total` bytes of pieces behind a head; None: as many as the other side takes."""
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
    yield "a chunk extension of 1 MB", lambda: flood(target, chunked + b"2;x=" + b"x" * (1 << 20) + b"\r\n{}\r\n0\r\n\r\n", b"", 0)
    yield "a path of 1 MB", lambda: flood(target, b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", 0)
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
    yield "an unread permission to go on", lambda: crowd(target.head(Content_Length=1000, Expect="100-continue"))
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

    def slam(text, how_many):
        for _ in range(how_many):
            wire = target.connect()
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError): wire.sendall(text)
            wire.close()  # by a reset
        return []
    yield "connections that are reset", lambda: slam(target.head(Content_Length=10) + b"{", target.crowd)
    yield "thousands of connections", lambda: slam(b"", target.flood >> 14)

    def pipeline():
        wire = target.connect()
        wire.settimeout(30)
        wire.sendall(target.head("/health", "GET") * 1000)
        wire.shutdown(socket.SHUT_WR)
        heard = b"".join(iter(lambda: wire.recv(65536), b""))
        assert heard.count(b"HTTP/1.1 ") == 1000, f"{heard.count(b'HTTP/1.1 ')} answers to 1000 requests"
        return [wire]
    yield "a thousand requests in one piece", pipeline


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
        "codings that are none": target.head(Transfer_Encoding="gzip, chunked") + b"2\r\n{}\r\n0\r\n\r\n",
        "a length behind a space": target.head().replace(b"\r\n\r\n", b"\r\nContent-Length : 500\r\n\r\n") + body,
        "a folded header": target.head().replace(b"\r\n\r\n", b"\r\nTransfer-Encoding:\r\n chunked\r\n\r\n") + b"2\r\n{}\r\n0\r\n\r\n",
        "trailers that are lengths": target.head(Transfer_Encoding="chunked") + b"2\r\n{}\r\n0\r\nContent-Length: 500\r\nHost: evil\r\n\r\n",
        "a whole URL": b"GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "two hosts": b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        **{method: target.head("/health", method) for method in ("HEAD", "OPTIONS", "TRACE", "CONNECT", "DELETE", "get")},
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
    yield "biases times n", many(dict(prompt=[1], n=1024, max_tokens=1, logit_bias={str(i): 1 for i in range(200)}))
    yield "a text of 7 MB", many(dict(prompt="ab " * 2_300_000, max_tokens=1), count=1)
    yield "an echo times n", many(dict(prompt="x" * 30_000, n=1024, max_tokens=1, echo=True))

    def is_refused(wire):
        """Whether its end or an error came, as then nothing more does; it stays unread."""
        wire.setblocking(False)
        try:
            return wire.recv(10, socket.MSG_PEEK) in (b"", b"HTTP/1.1 4", b"HTTP/1.1 5")
        except BlockingIOError:
            return False
        except OSError:
            return True

    def held(body, count=1, seconds=3, **more):
        """Connections whose requests take long, and whose answers nobody reads."""
        def hold():
            wires = [target.connect() for _ in range(count)]
            text = json.dumps(dict(max_tokens=30_000, logit_bias=NO_END) | body).encode()
            for wire in wires:
                with contextlib.suppress(OSError): wire.sendall(target.head(Content_Length=len(text), **more) + text + b"GET")
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline and not all(map(is_refused, wires)): time.sleep(0.1)
            return wires
        return hold
    yield "all places for one request", held(dict(prompt=[1], n=1024))
    yield "all places for five requests", held(dict(prompt=[[i] for i in range(16)], n=64), count=5)
    yield "all places for long prompts", held(dict(prompt=[[i] * 30_000 for i in range(16)], n=64))
    yield "long prompts of four clients", held(dict(prompt=[7] * 30_000), count=4)
    yield "scores of long prompts", held(dict(prompt=[1] * 20_000, max_tokens=1, echo=True, logprobs=3, n=4))
    yield "fields that say nothing", held(dict(prompt=[1], user="x" * 7_900_000), count=6)
    yield "texts by the hundred", held(dict(prompt=["y" * 30_000] * 200), count=3)
    yield "unread streams", held(dict(prompt=[1], n=64, stream=True, logprobs=0, return_token_ids=True), count=10, seconds=10)
    yield "unread large answers", held(dict(prompt=["z" * 30_000], n=16, max_tokens=1, echo=True), count=60, seconds=5)


FAMILIES = (bodies, heads, stalls, lies, requests)
