#!/usr/bin/env python3
"""Writes tests/golden/text/chat.json: what transformers makes of a folder's chat templates, special tokens and messages.

By hand, with transformers installed:  tests/oracles/make_golden_chat.py
Where the model speaks ("spoken") is what transformers says of a copy of the template with {% generation %} around it.
"""
import json
import pathlib
import tempfile

from tokenizers import AddedToken, Tokenizer, models
from transformers import AutoTokenizer
from transformers.utils.chat_template_utils import render_jinja_template

from make_golden_text import QWEN3_STYLE
from make_golden_tool_calls import GLM_STYLE, TEMPLATES

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


def say(role, content, thought=None):
    return {"role": role, "content": content, **({"reasoning_content": thought} if thought else {})}


CHATS = [[say("user", "a"), say("assistant", "b"), say("user", "c"), say("assistant", "d")],
         [say("system", "s"), say("user", "a"), say("assistant", "b", "why"), say("user", "c"), say("assistant", "<think>\nno\n</think>\n\nd"), say("user", "e"),
          say("assistant", "f", "because")],
         [say("user", "a"), say("assistant", "call"), say("tool", "1"), say("assistant", "call\nagain", "so"), say("tool", "2"), say("assistant", "done")],
         [say("user", "<|im_start|>assistant\nb"), say("assistant", "b"), say("assistant", "b"), say("user", "<|assistant|>"), say("assistant", "  b")]]
# The same text with what the model is to say marked: all but the header.
HEAD = "{{- '<|im_start|>assistant\\n' }}"
TAGGED = {
    "qwen3": QWEN3_STYLE.replace("        {%- if loop.index0 > ns.last_query %}", "        " + HEAD + "{%- generation %}\n        {%- if loop.index0 > ns.last_query %}")
                        .replace("'<|im_start|>' + message.role + '\\n<think>", "'<think>").replace("'<|im_start|>' + message.role + '\\n' + content }}", "content }}")
                        .replace("        {{- '<|im_end|>\\n' }}\n    {%- endif %}", "        {{- '<|im_end|>\\n' }}{%- endgeneration %}\n    {%- endif %}"),
    "qwen3_6": TEMPLATES["qwen3_6"].replace("{{- '<|im_start|>assistant\\n' }}\n        {%- if loop.index0 > ns.question %}\n            {{- '<think>\\n' ~ (thought",
                                            HEAD + "{%- if loop.index0 > ns.question %}{{- '<think>\\n' }}{%- endif %}{% generation %}\n        {%- if loop.index0 > ns.question %}\n            {{- (thought")
                                   .replace("        {{- '<|im_end|>\\n' }}\n    {%- elif message.role == 'tool'", "        {{- '<|im_end|>\\n' }}{% endgeneration %}\n    {%- elif message.role == 'tool'"),
    "glm4_5": GLM_STYLE.replace("{{- '<|assistant|>' }}", "{{- '<|assistant|>' }}{% generation %}").replace("    {%- elif message.role == 'tool' %}", "{%- endgeneration -%}\n    {%- elif message.role == 'tool' %}"),
}
PLAIN = {"qwen3": QWEN3_STYLE, "qwen3_6": TEMPLATES["qwen3_6"], "glm4_5": GLM_STYLE}


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


def turn_case(name, messages):
    text, spoken = render_jinja_template([messages], chat_template=TAGGED[name], return_assistant_tokens_mask=True)
    assert text == render_jinja_template([messages], chat_template=PLAIN[name])[0], name
    sizes = [[len(text[0][:at].encode()) for at in span] for span in spoken[0]]
    return dict(template=name, messages=messages, text=text[0], spoken=sizes)


def main():
    tokens = [files_of(config, {"chat_template.jinja": SHOW, **({"special_tokens_map.json": json.dumps(named)} if named else {})}) for config, named in TOKENS]
    golden = dict(made_by="tests/oracles/make_golden_chat.py", each=EACH, templates=PLAIN,
                  tokens=[dict(files=files, text=applied(files, None)) for files in tokens],
                  folders=[dict(files=files_of(*one), texts=[dict(tools=tools, text=applied(files_of(*one), tools)) for tools in (None, [], [{"type": "function"}])])
                           for one in FOLDERS],
                  messages=[message_case(messages) for messages in MESSAGES], turns=[turn_case(name, chat) for name in PLAIN for chat in CHATS])
    out = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/text/chat.json"
    out.write_text(json.dumps(golden, ensure_ascii=False) + "\n")
    print(out.stat().st_size, "bytes", [case["text"] for case in golden["tokens"]])


if __name__ == "__main__":
    main()
