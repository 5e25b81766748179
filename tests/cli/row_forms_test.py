#!/usr/bin/env python3
"""Rows to learn from: `roll tokenize --as sft` and `--as dpo` make the tokens and labels that TRL's trainers make of every form
(tests/golden/data/rows.json, by tests/oracles/make_golden_rows.py). Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from expecting import expect, finish
from tokenizers import Tokenizer

binary = pathlib.Path(sys.argv[1]).resolve()
golden = json.loads((pathlib.Path(__file__).resolve().parents[1] / "golden/data/rows.json").read_text())
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
STRUCTS = [{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello.", "reasoning": "A greeting."}]},
           {"messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": "{}"}}]},
                         {"role": "tool", "content": "2"}, {"role": "assistant", "content": "2"}], "tools": json.dumps([TOOL])}]


def model(folder, template):
    path = folder / template
    path.mkdir(exist_ok=True)
    (path / "tokenizer.json").write_text(json.dumps(golden["tokenizer"]))
    (path / "tokenizer_config.json").write_text(json.dumps(dict(eos_token="<|im_end|>", bos_token="<s>", chat_template=golden["templates"][template])))
    return path


def tokenize(folder, template, kind, rows):
    done = subprocess.run([binary, "tokenize", "--model", model(folder, template), "--as", kind], capture_output=True, text=True,
                          input="".join(json.dumps(row) + "\n" for row in rows), timeout=60)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    expect(done.returncode == 0 and len(lines) == len(rows), f"{template} {kind}: {done.returncode} after {len(lines)} rows: {done.stderr}")
    return lines


def compare(folder):
    for template in golden["templates"]:
        for kind in ("sft", "dpo"):
            cases = [case for case in golden["cases"] if (case["template"], case["kind"]) == (template, kind)]
            for case, line in zip(cases, tokenize(folder, template, kind, [case["row"] for case in cases]) if cases else []):
                if kind == "sft":  # nothing predicts the first token
                    expect(line["labels"][1:] == case["labels"][1:], f"{case['name']}: labels are {line['labels']}, TRL's {case['labels']}")
                for key in ("ids",) if kind == "sft" else ("prompt_ids", "chosen_ids", "rejected_ids"):
                    expect(line[key] == case[key], f"{case['name']}: {key} are {line[key]}, TRL's {case[key]}")


def parquet(folder):
    """Its structs have all keys, null where a message has none; tools are a column of their own, or null."""
    columns = pa.table({"messages": [row["messages"] for row in STRUCTS], "tools": [row.get("tools") for row in STRUCTS]})
    pq.write_table(columns, folder / "rows.parquet")
    expected = tokenize(folder, "chatml", "sft", STRUCTS)
    done = subprocess.run([binary, "tokenize", "--model", model(folder, "chatml"), "--as", "sft", "--input", folder / "rows.parquet"], capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    expect(done.returncode == 0 and found == expected, f"Parquet: {done.stderr}{found}, not {expected}")


def prompts_with_tools(folder):
    """Without --as the rows are prompts, or conversations."""
    row = STRUCTS[1]
    def text(row, code=0):
        done = subprocess.run([binary, "tokenize", "--model", model(folder, "chatml"), "--no-generation-prompt"], input=json.dumps(row), capture_output=True, text=True)
        expect(done.returncode == code, f"{row}: {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)["text"] if code == 0 else done.stderr
    learnt = tokenize(folder, "chatml", "sft", [row])[0]["text"]
    expect(text(row) == learnt and "tools:" in learnt, f"prompts have tools, too: {text(row)}")
    expect("tools = 3: must be a list of tool schemas, or such a list as JSON text" in text(dict(row, tools=3), code=2), "tools of another type are refused")


def common_prompts(folder):
    """Of two texts without a prompt's column."""
    tokenizer = Tokenizer.from_str(json.dumps(golden["tokenizer"]))
    text = lambda ids: tokenizer.decode(ids, skip_special_tokens=False)
    cases = golden["prompts"]
    for case, line in zip(cases, tokenize(folder, "chatml", "dpo", [dict(chosen=case["chosen"], rejected=case["rejected"]) for case in cases])):
        prompt = text(line["prompt_ids"])
        expect(prompt == case["prompt"], f"{case}: the prompt is {prompt!r}")
        for key in ("chosen", "rejected"):
            expect(prompt + text(line[key + "_ids"]) == case[key] + "<|im_end|>", f"{case}: {key} is {text(line[key + '_ids'])!r}")


def alpaca(folder):
    """instruction, input and output are the messages that LLaMA-Factory makes of them; columns of the program's own win."""
    asked = lambda text, answer: dict(messages=[dict(role="user", content=text), dict(role="assistant", content=answer)])
    cases = [(dict(instruction="Add.", input="1+1", output="2"), asked("Add.\n1+1", "2")), (dict(instruction="Hi", input="", output="Hello."), asked("Hi", "Hello.")),
             (dict(instruction="Hi", output="Hello.", text="Below is an instruction."), None)]
    file = folder / "alpaca.jsonl"
    for row, same in cases:
        file.write_text(json.dumps(row) + "\n")
        done = subprocess.run([binary, "tokenize", "--model", model(folder, "chatml"), "--as", "sft", "--input", file], capture_output=True, text=True)
        if same is None:
            expect(done.returncode == 2 and "has a column text, which is trained on unchanged, beside" in done.stderr, f"{row}: {done.stdout}{done.stderr}")
            continue
        wanted, found = tokenize(folder, "chatml", "sft", [same])[0], json.loads(done.stdout or "{}")
        expect({key: found.get(key) for key in ("ids", "labels")} == {key: wanted[key] for key in ("ids", "labels")}, f"{row}: {found} {done.stderr}")
    file.write_text(json.dumps(dict(instruction="Hi", output="a", response="b")) + "\n")
    done = subprocess.run([binary, "tokenize", "--model", model(folder, "chatml"), "--as", "sft", "--input", file], capture_output=True, text=True)
    expect(done.returncode == 2 and "has the columns response and output" in done.stderr, f"two answers: {done.stderr}")


def prompts_of_others(folder):
    """open-r1's rows, whose messages hold an answer, and Big-Math's, whose domains are a list, are problems with answers."""
    answered = [dict(role="user", content="1+1?"), dict(role="assistant", content="It is 2.")]
    rows = {"open_r1": dict(problem="1+1?", solution="It is \\boxed{2}.", answer="2", source="olympiads", generations=["2"], messages=answered),
            "big_math": dict(problem="1+1?", answer="2", source="orca_math", domain=["Mathematics -> Algebra"], llama8b_solve_rate=0.5)}
    for name, row in rows.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
        done = subprocess.run([binary, "data", "convert", f"{name}.jsonl", "--out", f"{name}.out"], cwd=folder, capture_output=True, text=True)
        expect(done.returncode == 0, f"{name}: {done.stderr}")
        own = json.loads((folder / f"{name}.out").read_text() or "{}") if done.returncode == 0 else {}
        expect(own.get("messages") == answered[:1] and own.get("ground_truth") == "2", f"{name}: {own} {done.stderr}")
    done = subprocess.run([binary, "data", "check", "openai/gsm8k/main"], cwd=folder, capture_output=True, text=True)
    expect(done.returncode == 2 and "hf download openai/gsm8k --repo-type dataset" in done.stderr, f"a data set that is not there: {done.stderr}")


with tempfile.TemporaryDirectory() as name:
    alpaca(pathlib.Path(name))
    prompts_of_others(pathlib.Path(name))
    compare(pathlib.Path(name))
    common_prompts(pathlib.Path(name))
    parquet(pathlib.Path(name))
    prompts_with_tools(pathlib.Path(name))
finish(f"{len(golden['cases'])} rows as TRL reads them")
