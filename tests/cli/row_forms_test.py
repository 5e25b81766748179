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
                for key in ("ids", "labels") if kind == "sft" else ("prompt_ids", "chosen_ids", "rejected_ids"):
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
    expect("tools = 3: must be a list of tool schemas, or one as JSON" in text(dict(row, tools=3), code=2), "tools of another type are refused")


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


with tempfile.TemporaryDirectory() as name:
    compare(pathlib.Path(name))
    common_prompts(pathlib.Path(name))
    parquet(pathlib.Path(name))
    prompts_with_tools(pathlib.Path(name))
finish(f"{len(golden['cases'])} rows as TRL reads them")
