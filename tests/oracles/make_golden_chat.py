#!/usr/bin/env python3
"""Writes tests/golden/text/chat.json: what transformers makes of a folder's chat templates, special tokens and messages.

By hand, with transformers installed:  tests/oracles/make_golden_chat.py
"""
import json
import pathlib
import tempfile

from tokenizers import AddedToken, Tokenizer, models
from transformers import AutoTokenizer

from make_golden_text import QWEN3_STYLE

HELLO = [{"role": "user", "content": "x"}]
KIND = {"tokenizer_class": "PreTrainedTokenizerFast"}
SHOW = "[{{bos_token}}|{{eos_token}}|{{pad_token}}|{{unk_token}}|{{sep_token}}|{{image_token}}|{{boi}}]"
DECODER = {"2": {"content": "<s>", "special": True, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}}
WIDE = {"content": "</s>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
LIST = [{"name": "rag", "template": "rag"}, {"name": "default", "template": "default {{ tools }}"}, {"name": "tool_use", "template": "tool_use {{ tools }}"}]
MORE = "additional_chat_templates/"

# tokenizer_config.json (null: none), special_tokens_map.json (null: none)
TOKENS = [(KIND, {"bos_token": "<s>", "eos_token": WIDE}), ({**KIND, "bos_token": "<u>"}, {"bos_token": "<s>", "eos_token": "</s>"}),
          ({**KIND, "added_tokens_decoder": DECODER}, {"bos_token": "<s>"}), ({**KIND, "added_tokens_decoder": DECODER, "bos_token": "<u>"}, {"bos_token": "<s>"}),
          ({**KIND, "added_tokens_decoder": {}, "bos_token": "<u>"}, {"bos_token": "<s>"}), ({**KIND, "bos_token": None}, {"bos_token": "<s>"}),
          ({**KIND, "bos_token": "<s>"}, {"bos_token": None, "pad_token": "<p>", "sep_token": WIDE}), (None, {"bos_token": "<s>", "unk_token": "<u>"}),
          ({**KIND, "bos_token": {"__type": "AddedToken", **WIDE}, "image_token": "<p>", "add_bos_token": True, "extra_special_tokens": {"boi": "<u>"}}, None)]
# tokenizer_config.json, other files
FOLDERS = [({**KIND, "chat_template": LIST}, {}), ({**KIND, "chat_template": dict((one["name"], one["template"]) for one in LIST)}, {}),
           ({**KIND, "chat_template": LIST + [{"name": "default", "template": "later"}]}, {}),
           ({**KIND, "chat_template": LIST[2:]}, {}), ({**KIND, "chat_template": LIST}, {"chat_template.jinja": "file {{ tools }}"}),
           (KIND, {"chat_template.jinja": "file {{ tools }}", MORE + "tool_use.jinja": "more {{ tools }}", MORE + "rag.jinja": "{% broken"}),
           ({**KIND, "chat_template": LIST}, {MORE + "tool_use.jinja": "more {{ tools }}"}),
           (KIND, {"chat_template.jinja": "file", MORE + "default.jinja": "more"}), ({**KIND, "chat_template": "alone {{ tools }}"}, {MORE + "x.txt": "no"})]
EACH = "{% for m in messages %}{% for key, value in m.items() %}{{ key }}={{ value }};{% endfor %}\n{% endfor %}"
CALLED = {"function": {"name": "f", "arguments": {"a": None}}, "id": None}
MESSAGES = [[{"role": "user", "content": "q", "name": None, "tool_calls": None, "tool_call_id": None}, {"role": "assistant", "content": None, "tool_calls": [CALLED]}],
            [{"role": "assistant", "content": "a", "reasoning": "r"}, {"role": "assistant", "thinking": "t", "content": "a"}],
            [{"role": "assistant", "content": "a", "reasoning": "r", "thinking": "t", "reasoning_content": "c"}, {"role": "assistant", "content": "a", "reasoning_content": "c", "reasoning": None}],
            [{"role": "assistant", "content": "a", "reasoning_content": None, "thinking": None, "reasoning": "r"}]]


def files_of(config, others):
    return {**({"tokenizer_config.json": json.dumps(config)} if config is not None else {}), **others}


def applied(files, tools):
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
        tokenizer.add_special_tokens([AddedToken(x, special=True) for x in ("<s>", "</s>", "<p>", "<u>")])
        tokenizer.save(folder + "/tokenizer.json")
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        loaded = AutoTokenizer.from_pretrained(folder)
        try:
            return loaded.apply_chat_template(HELLO, tokenize=False, tools=tools)
        except ValueError:
            return None


def message_case(messages):
    with tempfile.TemporaryDirectory() as folder:
        Tokenizer(models.BPE(vocab={"a": 0}, merges=[])).save(folder + "/tokenizer.json")
        return dict(messages=messages, text=AutoTokenizer.from_pretrained(folder).apply_chat_template(messages, tokenize=False, chat_template=EACH))


def main():
    tokens = [files_of(config, {"chat_template.jinja": SHOW, **({"special_tokens_map.json": json.dumps(named)} if named else {})}) for config, named in TOKENS]
    golden = dict(made_by="tests/oracles/make_golden_chat.py", each=EACH, qwen3=QWEN3_STYLE,
                  tokens=[dict(files=files, text=applied(files, None)) for files in tokens],
                  folders=[dict(files=files_of(*one), texts=[dict(tools=tools, text=applied(files_of(*one), tools)) for tools in (None, [], [{"type": "function"}])])
                           for one in FOLDERS],
                  messages=[message_case(messages) for messages in MESSAGES])
    out = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/text/chat.json"
    out.write_text(json.dumps(golden, ensure_ascii=False) + "\n")
    print(out.stat().st_size, "bytes", [case["text"] for case in golden["tokens"]])


if __name__ == "__main__":
    main()
