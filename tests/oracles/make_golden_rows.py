#!/usr/bin/env python3
"""Writes tests/golden/data/rows.json: which tokens TRL's trainers make of rows, and which of them they learn.

TRL's own preparation runs (SFTTrainer._prepare_dataset, DPOTrainer._prepare_dataset) on every form of rows. The templates are our own; where turns are
learnt, TRL gets them with {% generation %} marks, and the program without.

    make_golden_rows.py      # needs trl (1.16.0 was used), transformers (5.24.0) and torch; run by hand
"""
import json
import pathlib
import re
import types

import datasets

from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from trl import DPOTrainer, SFTTrainer
from trl.data_utils import extract_prompt, maybe_extract_prompt

OUT = pathlib.Path(__file__).resolve().parents[1] / "golden/data/rows.json"
SPECIAL = ["<|im_end|>", "<|im_start|>", "<think>", "</think>", "<s>", "<|end|>"]

CHATML = """{%- if tools %}{{- 'tools:' }}{%- for tool in tools %}{{- ' ' + (tool | tojson) }}{%- endfor %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}
        {%- if message.reasoning_content %}{{- '<think>' + message.reasoning_content + '</think>' }}{%- endif %}
        {{- message.content or '' }}
        {%- for call in message.tool_calls or [] %}{{- '\\n<tool_call>' + (call.function | tojson) + '</tool_call>' }}{%- endfor %}
        {{- '<|im_end|>\\n' }}
        {%- endgeneration %}
    {%- else %}
        {{- message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if quick %}{{- '<think></think>' }}{%- endif %}{%- endif %}"""

# In the manner of Qwen3: thoughts before the user's last question are dropped, and the last turn always has some.
THINKING = """{%- set ns = namespace(last=0) %}
{%- for message in messages %}{%- if message.role == 'user' %}{%- set ns.last = loop.index0 %}{%- endif %}{%- endfor %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}
        {%- if loop.index0 > ns.last and (loop.last or message.reasoning_content) %}
            {{- '<think>\\n' + (message.reasoning_content or '') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- message.content + '<|im_end|>\\n' }}
        {%- endgeneration %}
    {%- else %}
        {{- message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if quick %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}"""

# In the manner of Phi-3: what ends a conversation stands once, behind its last turn.
ENDING = """{{- '<s>' }}{%- for message in messages %}
    {{- '<' + message.role + '>' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}
        {{- message.content + '<|end|>\\n' }}
        {%- if loop.last %}{{- '<|im_end|>' }}{%- endif %}
        {%- endgeneration %}
    {%- else %}
        {{- message.content + '<|end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<assistant>' }}{%- endif %}"""

# In the manner of DeepSeek-R1's small ones: what opens a turn is not what the turn is rendered with.
OPENING = """{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '[assistant]' }}
        {%- generation %}
        {{- message.content + '<|im_end|>' }}
        {%- endgeneration %}
    {%- else %}
        {{- '[user]' + message.content }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '[assistant]<think>\\n' }}{%- endif %}"""
TEMPLATES = {"chatml": CHATML, "thinking": THINKING, "ending": ENDING, "opening": OPENING}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


SYSTEM = {"role": "system", "content": "Be brief."}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]}
SKY, BLUE, GREEN = user("What color is the sky?"), assistant("It is blue."), assistant("It is green.")
TURNS = [user("Hello there"), assistant("Hi! How are you?"), user("Well. What is 1+1?"), assistant("2")]
THOUGHTS = [user("Hello there"), assistant("Hi!", reasoning_content="A greeting."), user("What is 1+1?"), assistant("2", reasoning_content="One and one.")]
WORKED = [user("What is 1+1?"), assistant("I add.", reasoning_content="Sum."), {"role": "tool", "content": "2"}, assistant("It is 2."), user("And 2+2?"), assistant("4")]

# name, template, row; SFT. "turns": assistant_only_loss.
SFT = [
    ("a text", "chatml", {"text": "The sky is blue."}),
    ("a text with its end", "chatml", {"text": "The sky is blue.<|im_end|>"}),
    ("prompt and completion", "chatml", {"prompt": "The sky is", "completion": " blue."}),
    ("prompt and completion with its end", "chatml", {"prompt": "The sky is", "completion": " blue.<|im_end|>"}),
    ("lists of prompt and completion", "chatml", {"prompt": [SKY], "completion": [BLUE]}),
    ("a prompt of several turns", "chatml", {"prompt": [SYSTEM, *TURNS[:3]], "completion": TURNS[3:]}),
    ("a completion of several messages", "chatml", {"prompt": [SKY], "completion": [CALL, {"role": "tool", "content": "7"}, BLUE], "tools": [TOOL]}),
    ("tools as JSON", "chatml", {"prompt": [SKY], "completion": [BLUE], "tools": json.dumps([TOOL])}),
    ("variables of the template", "chatml", {"prompt": [SKY], "completion": [assistant("<think></think>It is blue.")], "chat_template_kwargs": {"quick": True}}),
    ("reasoning", "chatml", {"prompt": [SKY], "completion": [assistant("It is blue.", reasoning="Light scatters.")]}),
    ("thinking before reasoning", "chatml", {"prompt": [SKY], "completion": [assistant("Blue.", thinking="One.", reasoning="Two.")]}),
    ("reasoning under Qwen3's manner", "thinking", {"prompt": [SKY], "completion": [assistant("It is blue.", thinking="Light scatters.")]}),
    ("no reasoning under Qwen3's manner", "thinking", {"prompt": [SKY], "completion": [BLUE]}),
    ("an opening of its own", "opening", {"prompt": [SKY], "completion": [assistant("<b>blue</b>")]}),
    ("an end of the conversation", "ending", {"prompt": [SKY], "completion": [BLUE]}),
    ("turns", "chatml", {"messages": TURNS}),
    ("turns behind a system's message", "chatml", {"messages": [SYSTEM, *TURNS]}),
    ("turns with tools", "chatml", {"messages": [user("1+1?"), CALL, {"role": "tool", "content": "2"}, assistant("2")], "tools": [TOOL]}),
    ("turns with null keys", "chatml", {"messages": [dict(SKY, tool_calls=None, reasoning=None), dict(BLUE, tool_calls=None, reasoning="So.")]}),
    ("turns of ShareGPT's with our roles", "chatml", {"conversations": [{"from": "user", "value": "Hi"}, {"from": "assistant", "value": "Hello."}]}),
    ("turns under Qwen3's manner", "thinking", {"messages": TURNS}),
    ("thoughts under Qwen3's manner", "thinking", {"messages": THOUGHTS}),
    ("thoughts before a tool and a later question", "thinking", {"messages": WORKED}),
    ("turns with one end", "ending", {"messages": TURNS}),
    ("turns with an opening of their own", "opening", {"messages": TURNS}),
]

# name, template, row; preferences.
DPO = [
    ("texts", "chatml", {"prompt": "The sky is", "chosen": " blue.", "rejected": " green."}),
    ("texts that hold the prompt", "chatml", {"chosen": "The sky is blue.", "rejected": "The sky is green."}),
    ("lists", "chatml", {"prompt": [SKY], "chosen": [BLUE], "rejected": [GREEN]}),
    ("lists with a system's message", "chatml", {"prompt": [SYSTEM, SKY], "chosen": [BLUE], "rejected": [GREEN]}),
    ("lists that hold the prompt", "chatml", {"chosen": [SKY, BLUE], "rejected": [dict(reversed(SKY.items())), GREEN]}),
    ("lists that hold several turns", "chatml", {"chosen": [*TURNS], "rejected": [*TURNS[:3], assistant("3")]}),
    ("turns that differ early", "chatml", {"chosen": TURNS, "rejected": [TURNS[0], assistant("What?"), user("1+1?"), assistant("3")]}),
    ("equal lists", "chatml", {"chosen": [SKY, BLUE], "rejected": [SKY, BLUE]}),
    ("UltraFeedback's", "chatml", {"prompt": SKY["content"], "chosen": [SKY, BLUE], "rejected": [SKY, GREEN], "messages": [SKY, BLUE], "score_chosen": 8.0}),
    ("responses of several messages", "chatml", {"prompt": [TURNS[0]], "chosen": TURNS[1:], "rejected": [assistant("Hm."), *TURNS[2:]]}),
    ("tools", "chatml", {"prompt": [SKY], "chosen": [BLUE], "rejected": [CALL, {"role": "tool", "content": "7"}, GREEN], "tools": [TOOL]}),
    ("reasoning of pairs", "thinking", {"prompt": [SKY], "chosen": [assistant("Blue.", reasoning="Light.")], "rejected": [GREEN]}),
    ("an opening that one response lacks", "opening", {"prompt": [SKY], "chosen": [BLUE], "rejected": [assistant("<think>\nNo.")]}),
    ("an end of pairs", "ending", {"prompt": [SKY], "chosen": [BLUE], "rejected": [GREEN]}),
]

# chosen, rejected.
TEXTS = [("The sky is blue.", "The sky is green."), ("The sky is", "The sky is blue"), ("The sky is blue", "The sky is"), ("Himmel: ä", "Himmel: ö"),
         ("a b", "a c"), ("a  b", "a  c"), ("same", "same"), ("Der Weg über", "Der Weg überall"), ("漢字x", "漢字y"), ("\n\nHuman: 1\n\nAssistant: 2", "\n\nHuman: 1\n\nAssistant: 3")]


def make_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    texts = [json.dumps(row) for _, _, row in SFT + DPO]
    trainer = trainers.BpeTrainer(vocab_size=340, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def unmarked(template):
    return re.sub(r"\n *\{%- (end)?generation %\}", "", template)


def prepared(trainer, row, tokenizer, template, *arguments, **own):
    """The row as TRL prepares it."""
    tokenizer.chat_template = template
    data = Dataset.from_list([row], on_mixed_types="use_json")
    this = types.SimpleNamespace(_tokenizer=tokenizer, chat_template=None, **own)
    args = types.SimpleNamespace(dataset_num_proc=None, dataset_text_field="text", max_length=None, truncation_mode="keep_start",
                                 assistant_only_loss=own.get("assistant_only", False), packing=False, eval_packing=None, shuffle_dataset=False)
    return trainer._prepare_dataset(this, data, tokenizer, args, *arguments)[0]


def main():
    datasets.disable_progress_bars()
    tokenizer = make_tokenizer()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", bos_token="<s>")
    cases = []
    for name, template, row in SFT:
        turns = "messages" in row or "conversations" in row
        given = TEMPLATES[template] if turns else unmarked(TEMPLATES[template])
        found = prepared(SFTTrainer, row, fast, given, False, None, "train", completion_only_loss="text" not in row and not turns, assistant_only=turns)
        cases.append(dict(name=name, kind="sft", template=template, row=row, ids=found["input_ids"], labels=found["labels"]))
    for name, template, row in DPO:
        given = maybe_extract_prompt(row) if name.startswith("UltraFeedback") else row
        found = prepared(DPOTrainer, given, fast, unmarked(TEMPLATES[template]), "train")
        cases.append(dict(name=name, kind="dpo", template=template, row=row, **{key: found[key] for key in ("prompt_ids", "chosen_ids", "rejected_ids")}))
    prompts = [dict(chosen=chosen, rejected=rejected, prompt=extract_prompt(dict(chosen=chosen, rejected=rejected))["prompt"]) for chosen, rejected in TEXTS]
    OUT.parent.mkdir(exist_ok=True)
    lines = ",\n  ".join(json.dumps(case, separators=(",", ":")) for case in cases)
    templates = json.dumps({name: unmarked(text) for name, text in TEMPLATES.items()})
    OUT.write_text(f'{{"made_by": "tests/oracles/make_golden_rows.py",\n "tokenizer": {json.dumps(json.loads(tokenizer.to_str()), separators=(",", ":"))},\n'
                   f' "templates": {templates},\n "prompts": {json.dumps(prompts)},\n "cases": [\n  {lines}\n]}}\n')
    print(f"{OUT}: {len(cases)} rows, {OUT.stat().st_size // 1024} KiB")


main()
