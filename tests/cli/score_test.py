"""`roll score` from outside: rewards in order, and each broken input with its exit code and message.

    python3 tests/cli/score_test.py BINARY
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from expecting import expect, finish

BINARY = sys.argv[1]
ROW = '{"response": "\\\\boxed{4}", "ground_truth": "4"}\n'
MATH = ["--reward", "math_rule"]
CONFIG = "rewards:\n  math:\n    type: math_rule\n  words:\n    type: exact_match\n    compare: last_line\n"


def roll(args, text):
    run = subprocess.run([BINARY, "score", *args], input=text, capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout, run.stderr


def broken(args, text, *said):
    code, _, err = roll(args, text)
    expect(code == 2 and all(s in err for s in said), f"{args} on {text!r}: exit {code}, said {err!r}, wanted 2 and {said}")


with tempfile.TemporaryDirectory() as folder:
    config = pathlib.Path(folder) / "run.yaml"
    config.write_text(CONFIG)

    rows = "".join(json.dumps({"response": f"so \\boxed{{{i}}}", "ground_truth": str(i - i % 2)}) + "\n" for i in range(9000))
    code, out, _ = roll(MATH + ["--world-size", "3"], rows)
    rewards = [json.loads(line)["reward"] for line in out.splitlines()]
    expect(code == 0 and rewards == [float(i % 2 == 0) for i in range(9000)], "rewards in the order of the rows")
    code, out, _ = roll(["--config", str(config), "--domain", "words"], '{"response": "a\\nb", "ground_truth": "b"}\n')
    expect(code == 0 and json.loads(out)["reward"] == 1, "a domain of a configuration")
    expect(roll(MATH, "\n")[:2] == (0, ""), "no rows give no lines")
    code, out, _ = roll(["--reward", "regex", "--ignore-case", "--pattern", "^(.*)$"], '{"response": "A", "ground_truth": "a"}\n')
    expect(code == 0 and json.loads(out)["reward"] == 1, "a key that two types own reaches the one that a later flag names")
    for spelling in ("--response-length-penalty-coef", "--response_length_penalty_coef"):
        code, out, _ = roll(MATH + [spelling, "0.5", "--response-length", "10"], ROW.replace("}\n", ', "num_response_tokens": 4}\n'))
        expect(code == 0 and json.loads(out)["reward"] == 0.8, f"{spelling} as the key's name and as a flag")
    _, out, _ = roll(["--help"], "")
    words = " ".join(out.split())
    for said in ("[math_rule | exact_match | regex | command", "--timeout-s TEXT=null", "[(0, 86400]]", "[1..1024]",
                 "type exact_match, regex: ASCII letters", "[whole | last_line | after_marker]", "type exact_match: text directly before"):
        expect(said in words, f"--help holds {said}")
    echo = "import sys, json\nfor l in sys.stdin: print(json.dumps({'reward': len(json.loads(l)['response'])}), flush=True)"
    code, out, _ = roll(["--reward", "command", "--", sys.executable, "-c", echo], ROW)
    expect(code == 0 and json.loads(out) == {"reward": 9.0, "detail": {}}, f"a program's reward, not {out}")

    hard = [  # what a broken model may write: no crash, no hang, and the right reward against "4"
        ("a power tower", r"\boxed{9^{9^{9^9}}}", 0), ("a tower of tens", r"\boxed{10^{10^{10}}}", 0),
        ("a factorial of factorials", r"\boxed{(((9!)!)!)!}", 0), ("nested brackets", r"\boxed{" + "(" * 10**5 + "4" + ")" * 10**5 + "}", 0),
        ("open braces", r"\boxed{" * 10**5, 0), ("closing braces", r"\boxed{4" + "}" * 10**5, 1), ("1 MB of words", "word " * 200000 + r"\boxed{4}", 1),
        ("1 MB in the box", r"\boxed{" + "1+" * 500000 + "1}", 0), ("formulas that never close", r"\(\[" * 250000, 0),
        ("backslashes", "\\" * 10**6, 0), ("dollars", "$" * 10**6, 0), ("the word answer", "the answer is " * 70000, 0)]
    for truth in ("4", r"9^{9^{9^{9}}} + 1"):
        rows = "".join(json.dumps({"response": response, "ground_truth": truth}) + "\n" for _, response, _ in hard)
        code, out, err = roll(MATH + ["--timeout-s", "10"], rows)
        rewards = [json.loads(line)["reward"] for line in out.splitlines()]
        wanted = [reward if truth == "4" else 0 for _, _, reward in hard]
        unlike = [name for (name, _, _), a, b in zip(hard, rewards, wanted) if a != b]
        expect(code == 0 and len(rewards) == len(hard) and not unlike, f"hard answers against {truth}: {unlike}, exit {code}, {err[:200]}")
    slow = json.dumps({"response": "a" * 10**6, "ground_truth": "a"}) + "\n"
    code, out, _ = roll(["--reward", "regex", "--timeout-s", "0.2", "--pattern", "a[^b]*+b(?<=b)|a[^c]*+c(?<=c)"], slow)
    expect(code == 0 and json.loads(out) == {"reward": None, "detail": {"error": "timeout", "failure": "timeout"}}, f"a regex's time limit, not {out[:200]}")

    broken([], ROW, "--reward: missing")
    broken(["--reward", "math-rule"], ROW, "--reward = math-rule", "did you mean 'math_rule'")
    broken(MATH, "{}\n", "stdin:1", "response: missing")
    broken(MATH, ROW + '{"response": "x"}\n', "stdin:2", "ground_truth: missing")
    for truth in (4, 4.0, "4", {"a": 4}):
        code, out, err = roll(MATH, json.dumps({"response": "\\boxed{4}", "ground_truth": truth, "tag": None, "prompt": None}) + "\n")
        expect(code == 0 and json.loads(out)["reward"] == (truth != {"a": 4}), f"ground_truth {truth} as a run reads it, not {code} {out} {err}")
    broken(MATH, '{"response": "", "ground_truth": ["4"]}\n', "stdin:1: ground_truth = [\"4\"]: must be a string or a number, not array")
    broken(MATH, '{"response": "", "ground_truth": "", "tag": 3}\n', "stdin:1: tag = 3: must be a string, not number")
    broken(MATH, '{"response": "", "ground_truth": "", "messages": []}\n', "stdin:1: messages = []: has no messages")
    broken(MATH, '{"response": 4, "ground_truth": "4"}\n', "stdin:1", "response = 4", "must be a string")
    broken(MATH, ROW + "[1]\n", "stdin:2", "JSON object")
    broken(MATH, "{oops\n", "stdin:1", "not valid JSON")
    broken(MATH, '{"response": "", "ground_truth": "", "num_response_tokens": -1}\n', "num_response_tokens = -1")
    broken(MATH + ["--input", folder + "/nothing.jsonl"], "", "--input = ", "nothing.jsonl: no such file; give a JSON-lines file")
    broken(MATH + ["--out", folder + "/no/such/folder"], "", "does not exist; create it first")
    broken(MATH + ["--timeout-s", "-1"], ROW, "--timeout_s = -1")
    broken(MATH + ["--timeout_s", "-1"], ROW, "--timeout_s = -1: must be above 0 and at most 86400")
    broken(MATH + ["--world-size", "0"], ROW, "--world_size = 0")
    broken(MATH + ["--pattern", "x"], ROW, "--pattern = x: is a key of type regex, and the type here is math_rule")
    broken(MATH + ["--", "cat"], ROW, "--command = [cat]: is a key of type command")
    broken(["--config", str(config), "--domain", "math", "--timeout-s", "3"], ROW, "--timeout_s: --config describes the reward")
    broken(MATH + ["--response-length", "0"], ROW, "--response_length = 0: must be in 1..16777216")
    broken(MATH + ["--format-pattern", "(a"], ROW, "--format_pattern = (a", "not a regular expression")
    broken(MATH + ["--response-length-penalty-coef", "1"], ROW, "response_length")
    broken(["--reward", "regex"], ROW, "--pattern: missing")
    broken(["--reward", "regex", "--pattern", "[z-a]"], ROW, "--pattern = [z-a]")
    broken(["--reward", "exact_match", "--compare", "some"], ROW, "--compare = some")
    broken(["--reward", "command"], ROW, "--command: missing")
    broken(["--reward", "command", "--", "no-such-program"], ROW, "no-such-program: cannot be started")
    broken(["--reward", "command", "--", "sh", "-c", "echo why >&2; exit 4"], ROW, "exit status 4", "why")
    broken(["--reward", "command", "--", "sh", "-c", "read x; echo 12; sleep 5"], ROW, 'answered "12"')
    stray = "import json, sys\nprint(json.dumps({'reward': -1}), flush=True)\nfor line in sys.stdin: print(json.dumps({'reward': json.loads(line)['ground_truth']}), flush=True)"
    broken(["--reward", "command", "--", sys.executable, "-c", stray], ROW * 4, "printed", "-1", "without being asked")
    wild = "while read x; do case $x in *3*) echo '{\"reward\": 1e308}';; *2*) exit 3;; *) echo '{\"reward\": 1}';; esac; done"
    rows = "".join(json.dumps({"response": str(i), "ground_truth": "x"}) + "\n" for i in (7, 2, 3, 7))
    code, out, err = roll(["--reward", "command", "--", "sh", "-c", wild.replace("$x in", "${x#*response} in")], rows)
    expect(code == 0 and [json.loads(line)["reward"] for line in out.splitlines()] == [1, None, None, 1], f"failed answers score nothing: {code} {out} {err}")
    expect("warning: of the rewards, 2 failed (1 crash, 1 unparsable), the first: ended (exit status 3)" in err, f"failed answers are told, not {err}")
    for row in ('{"response": "", "ground_truth": ""}\n',):
        code, out, err = roll(["--reward", "exact_match"], row)
        expect(code == 0 and json.loads(out)["reward"] is None and "no ground_truth" in err, f"no truth, no reward: {out} {err}")

    same = pathlib.Path(folder) / "same.jsonl"
    for name in ("link", "hard"):
        same.write_text(ROW)
        other = pathlib.Path(folder) / name
        other.symlink_to(same) if name == "link" else other.hardlink_to(same)
        for given in (str(same), str(other), folder + "/./same.jsonl"):
            broken(MATH + ["--input", str(same), "--out", given], "", "is the file that --input reads")
    with same.open("a") as grows:
        code = subprocess.run([BINARY, "score", *MATH, "--input", str(same)], stdout=grows, stderr=subprocess.PIPE, timeout=60).returncode
    with same.open() as read:
        code2 = subprocess.run([BINARY, "score", *MATH, "--out", str(same)], stdin=read, stderr=subprocess.PIPE, timeout=60).returncode
    expect((code, code2) == (2, 2) and same.read_text() == ROW, "standard input or output that is the other one's file")
    code, _, _ = roll(MATH + ["--input", "/dev/null", "--out", "/dev/null"], "")
    expect(code == 0, "/dev/null is no file to lose")
    broken(["--config", str(config), "--domain", "mth"], ROW, "--domain = mth", "did you mean 'math'")
    broken(["--config", str(config)], ROW, "--domain", "math, words")
    broken(["--config", folder + "/none.yaml"], ROW, "none.yaml")

finish("score")
