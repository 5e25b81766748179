"""W&B's file of an offline run, read without its package: LevelDB's log of Record messages (wandb_internal.proto); and a server that takes what
`wandb sync` uploads."""
import gzip
import http.server
import json
import os
import shutil
import struct
import subprocess
import threading
import zlib

BLOCK = 32768
HISTORY, SUMMARY, CONFIG, RUN, EXIT, HEADER = 2, 3, 5, 17, 18, 21


def records(data):
    """The bytes of each record; asserts that all frames are whole and sound."""
    assert data[:7] == b":W&B\xe1\xbe\0", data[:7]
    at, record = 7, None
    while at < len(data):
        if (left := BLOCK - at % BLOCK) < 7:
            assert data[at:at + left] == bytes(left)
            at += left
            continue
        crc, size, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7:at + 7 + size]
        assert len(part) == size <= left - 7 and zlib.crc32(bytes([kind]) + part) == crc, at
        assert (kind in (1, 2)) == (record is None), at  # the first part is empty where a head just fits into its block
        at, record = at + 7 + size, (record or b"") + part
        if kind in (1, 4):
            yield record
            record = None
    assert record is None, "the last record is not whole"


def fields(message):
    """[(field number, value)]: an int of a varint, bytes of the rest."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = message[at], at + 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        else:
            size = {1: lambda: 8, 2: varint, 5: lambda: 4}[key & 7]()
            found.append((key >> 3, message[at:at + size]))
            at += size
    return found


def items(message):
    """{key: value} of the items of a history, summary or configuration."""
    each = [dict(fields(item)) for number, item in fields(message) if number == 1]
    return {item[1].decode(): json.loads(item[16]) for item in each}


def read(file):
    """[(kind, message)], numbered without a gap."""
    all_of = [fields(record) for record in records(file.read_bytes())]
    assert [record[0] for record in all_of] == [(1, n + 1) for n in range(len(all_of))]
    return [record[1] for record in all_of]


def histories(file):
    """[{metric: value}] with "step", as lines of metrics.jsonl, without what W&B adds."""
    lines = []
    for kind, message in read(file):
        if kind == HISTORY:
            values = items(message)
            assert fields(dict(fields(message))[2]) == [(1, values["_step"])] and values["_runtime"] >= 0 and values["_timestamp"] > 1.7e9
            lines.append({"step": values.pop("_step"), **{name: value for name, value in values.items() if name[0] != "_"}})
    return lines


class Server(http.server.BaseHTTPRequestHandler):
    """As much of W&B's as an upload asks for."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_PUT(self):
        self.answer({})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
        if not self.path.endswith("/graphql"):
            self.server.streamed.append(body)
            return self.answer({})
        text, asked, data = body["query"], body["variables"], {}
        if "upsertBucket" in text:
            self.server.runs.append(asked)
            project = dict(id="p", name=asked["project"], entity=dict(id="e", name="me"))
            data["upsertBucket"] = dict(inserted=True, bucket=dict(id="b", name=asked["name"], displayName=asked["displayName"], config="{}",
                                                                   historyLineCount=0, project=project))
        if "createRunFiles" in text:
            url = "http://127.0.0.1:%d/" % self.server.server_address[1]
            data["createRunFiles"] = dict(runID="b", uploadHeaders=[], files=[dict(name=name, uploadUrl=url + name) for name in asked["files"]])
        self.answer(dict(data=data))

    def answer(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT


def program():
    """`wandb` of ROLL_WANDB, or of the PATH."""
    return os.environ.get("ROLL_WANDB") or shutil.which("wandb")


def synced(run_folder, home):
    """What `wandb sync` uploads: the run's facts, its histories, and whether it is complete."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.handle_error = lambda *_: None  # a connection that the client drops
    server.runs, server.streamed = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = dict(os.environ, WANDB_BASE_URL="http://127.0.0.1:%d" % server.server_address[1], WANDB_API_KEY="0" * 40, WANDB_ERROR_REPORTING="false",
               HOME=str(home))
    done = subprocess.run([program(), "sync", run_folder], env=env, capture_output=True, text=True, timeout=120, cwd=home)
    server.shutdown()
    assert done.returncode == 0 and "Finished syncing" in done.stderr, done.stderr
    lines = [json.loads(line) for part in server.streamed for line in (part.get("files") or {}).get("wandb-history.jsonl", {}).get("content", [])]
    return server.runs[0], lines, any(part.get("complete") for part in server.streamed)
