#!/usr/bin/env python3
"""Programs on a sandbox server (SandboxFusion's run_code): what is asked of it, what its answers mean, and that its failures
are neither verdicts nor lost. The server is here, and runs only this file's programs. Argument: the roll binary."""
import collections
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

BINARY = sys.argv[1]
asked = []
failing = collections.Counter()  # source -> how often it has been asked for


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked.append(request)
        status, answer = answer_to(request)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def answer_to(request):
    for mark, failure in FAILURES.items():
        if mark in request["code"]:
            failing[mark] += 1
            if failing[mark] <= failure[0]:
                return failure[1], failure[2]
    if request["language"] != "python":
        return 200, {"status": "Success", "run_result": {"status": "Finished", "return_code": 0, "stdout": request["language"], "stderr": ""}}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.py"
        path.write_text(request["code"])
        try:
            done = subprocess.run([sys.executable, path], input=request["stdin"], capture_output=True, text=True, timeout=request["run_timeout"], cwd=folder)
        except subprocess.TimeoutExpired:
            return 200, {"status": "Failed", "message": "", "run_result": {"status": "TimeLimitExceeded", "stdout": "", "stderr": ""}}
    return 200, {"status": "Failed" if done.returncode else "Success", "message": "", "compile_result": None,
                 "run_result": {"status": "Finished", "return_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}}


# A mark in a program: how often the server fails on it, its status, its answer.
FAILURES = {"# once 500": (1, 500, b"oops"), "# once sandbox error": (1, 200, {"status": "SandboxError", "message": "busy"}), "# once garbage": (1, 200, b"<html>"),
            "# always 503": (99, 503, b"no"), "# always odd": (99, 200, {"status": "Success"}), "# always list": (99, 200, []),
            "# does not compile": (99, 200, {"status": "Failed", "compile_result": {"status": "Error", "stderr": "expected ;"}, "run_result": None})}


def fenced(code, mark="python"):
    return f"```{mark}\n{code}\n```"


def streams(code, stdin, stdout, mark="python"):
    return {"response": fenced(code, mark), "case_type": "input", "test_cases": [{"stdin": stdin, "expected_stdout": stdout}]}


def tests(code, *tests, case_type="assert"):
    return {"response": fenced(code), "case_type": case_type, "test_cases": [{"assert_code": test, "entry_point": "f"} for test in tests]}


TABLE = [
    ("right", streams("print(int(input()) + 1)", "41", "42"), 1),
    ("wrong", streams("print(1)", "41", "42"), 0),
    ("nothing expected", streams("print(1)", "", ""), 0),
    ("fails", streams("print(1)\n1 / 0", "", "1"), 0),
    ("usual imports", streams("print(gcd(4, 6))", "", "2"), 1),
    ("loops", streams("while True: pass", "", "1"), 0),
    ("another language", streams("x", "", "cpp", "c++"), 1),
    ("JavaScript", streams("x", "", "nodejs", "javascript"), 1),
    ("does not compile", streams("# does not compile", "", "1"), 0),
    ("asserts", tests("def f(x): return x * 2", "assert f(2) == 4", "assert f('ü\\n\"') == 'ü\\n\"ü\\n\"'"), 1),
    ("asserts, wrong", tests("def f(x): return x * 2", "assert f(2) == 5"), 0),
    ("pytest", tests("def f(x): return x * 2", "import pytest\ndef test_f():\n    with pytest.raises(TypeError): f()", case_type="pytest"), 1),
    ("check", tests("def f(x): return x * 2", "def check(candidate):\n    assert candidate(2) == 4", case_type="check_based"), 1),
    ("calls", {**streams("def f(a, b): return a + b", "1\n2", "3"), "test_case_function": "f"}, 1),
    ("text", {"response": "three '''words''' here", "case_type": "text", "test_cases": ["assert len({response}.split()) == 3"]}, 1),
    ("exits early", tests("import os\nos._exit(0)", "assert f(2) == 4"), 0),
    ("equals all", tests("class L:\n    def __eq__(s, o): return True\ndef f(x): return L()", "assert f(2) == 4"), 0),
    ("prints a verdict", tests("import os\nos.write(1, b'\\n{\"passed\": 1, \"total\": 1, \"error\": null}')\nos.kill(os.getppid(), 9)\ndef f(x): return 0", "assert f(2) == 4"), 0),
    ("broken tests", tests("def f(x): return x", "assert f("), None),
    ("a server that fails once", streams("print(1) # once 500", "", "1"), 1),
    ("a sandbox that fails once", streams("print(1) # once sandbox error", "", "1"), 1),
    ("garbage once", streams("print(1) # once garbage", "", "1"), 1),
    ("a server that fails", streams("print(1) # always 503", "", "1"), None),
    ("an answer without a run", streams("print(1) # always odd", "", "1"), None),
    ("an answer that is none", streams("print(1) # always list", "", "1"), None),
]


def score(url, rows, *flags):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "run.yaml"
        config.write_text(f"rewards:\n  code:\n    type: code_sandbox\n    use_local: false\n    code_url: {url}\n    case_cpu_s: 3\n    timeout_s: 30\n    max_retries: 2\n    world_size: 4\n")
        text = "".join(json.dumps({"ground_truth": "", **row}) + "\n" for row in rows)
        return subprocess.run([BINARY, "score", "--config", config], input=text, capture_output=True, text=True, timeout=300)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = score(f"http://127.0.0.1:{server.server_port}/run_code", [row for _, row, _ in TABLE])
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [f"{name}: {wanted} wanted, {got}" for (name, _, wanted), got in zip(TABLE, results) if got["reward"] != wanted]
    assert not wrong and len(results) == len(TABLE), "\n".join(wrong)
    kinds = {name: got["detail"].get("failure") for (name, _, wanted), got in zip(TABLE, results) if wanted is None}
    assert kinds == {"broken tests": "unjudged", "a server that fails": "unavailable", "an answer without a run": "unparsable",
                     "an answer that is none": "unparsable"}, kinds
    assert all(set(request) == {"code", "language", "stdin", "compile_timeout", "run_timeout"} for request in asked)
    assert not any("== 4" in request["code"] for request in asked), "the tests stand where the program can read them"
    server.shutdown()
    dead = score(f"http://127.0.0.1:{server.server_port}/run_code".replace(str(server.server_port), "9"), [TABLE[0][1]])
    assert dead.returncode == 0 and json.loads(dead.stdout)["detail"]["failure"] == "unavailable", dead.stdout + dead.stderr
    bad = score("ftp://x/y", [])
    assert bad.returncode == 2 and "rewards.code.code_url = " in bad.stderr, bad.stderr
    print(f"{len(TABLE)} programs on a server are judged as they should be")


main()
