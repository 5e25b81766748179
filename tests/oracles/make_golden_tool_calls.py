#!/usr/bin/env python3
"""Writes tests/golden/text/tool_calls.json: how transformers writes tools, calls and answers with templates of both forms.

By hand, with transformers installed:  tests/oracles/make_golden_tool_calls.py
The templates are our own, in the style of those of Qwen2.5 and of Llama 3.1 and 3.2.
"""
import json
import pathlib

from transformers.utils.chat_template_utils import render_jinja_template

from make_golden_text import QWEN25_STYLE

LLAMA_STYLE = """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- if not tools is none %}
    {%- set question = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\nCall as {"name": ..., "parameters": ...}.\\n\\n' }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- question + "<|eot_id|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("one call at once") }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- else %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
TOOLS = [{"type": "function", "function": {"name": name, "description": about, "parameters": {
    "type": "object", "properties": {"x": {"type": "string", "enum": ["a", "<b>"]}, "n": {"type": "integer"}}, "required": ["x"]}}}
         for name, about in [("look_up", 'Finds "x"; says it.'), ("räume-auf", "Ordnung.")]]
FIRST = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is x?"}]
CALLS = [[("look_up", {"x": "Zürich; or \"Genf\"", "n": -2, "deep": {"a": [1, 2.5, None, True, {}]}})], [("räume-auf", {})],
         [("look_up", {"x": "{\"name\": \"no\", \"parameters\": {}}; \\ <|eot_id|> \n\t</s>"})],
         [("look_up", {"x": "a"}), ("look_up", {"x": "<b>", "n": 1})]]


def case(form, template, calls):
    asked = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]}
    answers = [{"role": "tool", "content": f"{i}: \"ü\"\n<x>"} for i in range(len(calls))]

    def rendered(messages, prompt):
        return render_jinja_template([messages], tools=TOOLS, chat_template=template, add_generation_prompt=prompt, bos_token="<s>")[0][0]

    opening, called, answered = rendered(FIRST, True), rendered(FIRST + [asked], False), rendered(FIRST + [asked] + answers, True)
    assert called.startswith(opening) and answered.startswith(called)
    return dict(form=form, calls=[dict(name=n, arguments=a) for n, a in calls], answers=answers,
                opening=opening, said=called[len(opening):], behind=answered[len(called):])


def main():
    templates = dict(hermes=QWEN25_STYLE, llama3=LLAMA_STYLE)
    cases = [case(form, template, calls) for form, template in templates.items() for calls in CALLS if form == "hermes" or len(calls) == 1]
    out = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/text/tool_calls.json"
    out.write_text(json.dumps({"made_by": "tests/oracles/make_golden_tool_calls.py", "templates": templates, "first": FIRST, "tools": TOOLS,
                               "cases": cases}, ensure_ascii=False) + "\n")
    print(len(cases), "cases", out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
