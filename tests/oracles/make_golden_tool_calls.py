#!/usr/bin/env python3
"""Writes tests/golden/text/tool_calls.json: how transformers writes tools, calls and answers with templates of both forms.

By hand, with transformers installed:  tests/oracles/make_golden_tool_calls.py
The templates are our own, in the style of those of Qwen2.5, of Llama 3.1 and 3.2, of Qwen3.5 and 3.6 (which write
arguments between tags, true and null in Python's words or in JSON's) and of GLM-4.5.
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
QWEN35_STYLE = """{{- '<|im_start|>system\\n' ~ (messages[0].content if messages[0].role == 'system' else '') }}
{%- for tool in tools or [] %}
    {{- '\\n' ~ (tool | tojson) }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- set ns = namespace(question=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {%- set ns.question = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = (message.content or '') | trim %}
    {%- if message.role == 'user' %}
        {{- '<|im_start|>user\\n' ~ content ~ '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set thought = message.reasoning_content or '' %}
        {%- if not thought and '</think>' in content %}
            {%- set thought = content.split('</think>')[0].split('<think>')[-1] %}
            {%- set content = content.split('</think>')[-1] | trim %}
        {%- endif %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if loop.index0 > ns.question %}
            {{- '<think>\\n' ~ (thought | trim) ~ '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content }}
        {%- for call in message.tool_calls or [] %}
            {%- set call = call.function %}
            {{- ('\\n\\n' if loop.first and content else '' if loop.first else '\\n') ~ '<tool_call>\\n<function=' ~ call.name ~ '>\\n' }}
            {%- for key, value in call.arguments | items %}
                {{- '<parameter=' ~ key ~ '>\\n' }}
                {{- value | tojson if value is mapping or (value is sequence and value is not string) else SCALAR }}
                {{- '\\n</parameter>\\n' }}
            {%- endfor %}
            {{- '</function>\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {{- ('<|im_start|>user' if loop.previtem.role != 'tool' else '') ~ '\\n<tool_response>\\n' ~ content ~ '\\n</tool_response>' }}
        {{- '<|im_end|>\\n' if loop.last or loop.nextitem.role != 'tool' else '' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n<think>\\n' ~ ('\\n</think>\\n\\n' if enable_thinking is defined and enable_thinking is false else '') }}
{%- endif %}
"""
GLM_STYLE = """[gMASK]<sop><|system|>
{{ messages[0].content if messages[0].role == 'system' else '' }}
{%- for tool in tools or [] %}
    {{- '\\n' ~ (tool | tojson) }}
{%- endfor %}
{%- set ns = namespace(question=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {%- set ns.question = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '<|user|>\\n' ~ message.content ~ ('/nothink' if enable_thinking is defined and not enable_thinking else '') }}
    {%- elif message.role == 'assistant' %}
        {{- '<|assistant|>' }}
        {%- if message.reasoning_content and loop.index0 > ns.question %}
            {{- '\\n<think>' ~ (message.reasoning_content | trim) ~ '</think>' }}
        {%- else %}
            {{- '\\n<think></think>' }}
        {%- endif %}
        {{- '\\n' ~ (message.content | trim) if message.content else '' }}
        {%- for call in message.tool_calls or [] %}
            {%- set call = call.function %}
            {{- '\\n<tool_call>' ~ call.name }}
            {%- for key, value in call.arguments | items %}
                {{- '\\n<arg_key>' ~ key ~ '</arg_key>\\n<arg_value>' }}
                {{- value if value is string else value | tojson }}
                {{- '</arg_value>' }}
            {%- endfor %}
            {{- '\\n</tool_call>' }}
        {%- endfor %}
    {%- elif message.role == 'tool' %}
        {{- ('<|observation|>' if loop.previtem.role != 'tool' else '') ~ '\\n<tool_response>\\n' ~ message.content ~ '\\n</tool_response>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' ~ ('\\n<think></think>' if enable_thinking is defined and enable_thinking is false else '') }}
{%- endif %}
"""
TEMPLATES = dict(hermes=QWEN25_STYLE, llama3=LLAMA_STYLE, qwen3_5=QWEN35_STYLE.replace("SCALAR", "value | string"),
                 qwen3_6=QWEN35_STYLE.replace("SCALAR", "value if value is string else value | tojson"), glm4_5=GLM_STYLE)
TOOLS = [{"type": "function", "function": {"name": name, "description": about, "parameters": {
    "type": "object", "properties": {"x": {"type": "string", "enum": ["a", "<b>"]}, "n": {"type": "integer"}, "r": {"type": "number"}, "b": {"type": "boolean"},
                                     "deep": {"type": "object"}, "list": {"type": "array"}, "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "required": ["x"]}}}
         for name, about in [("look_up", 'Finds "x"; says it.'), ("räume-auf", "Ordnung.")]]
FIRST = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is x?"}]
# Each form of arguments, as a list of calls.
CALLS = [[("look_up", arguments)] for arguments in [
    {"x": "Zürich; or \"Genf\"", "n": -2, "deep": {"a": [1, 2.5, None, True, {}]}},
    {},
    {"x": "{\"name\": \"no\", \"parameters\": {}}; \\ <|eot_id|> \n\t</s>"},
    {"x": "he said 'no' and \"yes\""},
    {"x": "one\ntwo\n\nthree"},
    {"x": "\n around \n"},
    {"x": "  spaces  "},
    {"x": ""},
    {"x": "漢字 🙂 e\u0301 \u2028 ñ"},
    {"x": "5"},
    {"x": "true", "b": True, "maybe": None},
    {"b": False, "maybe": 3, "x": "null"},
    {"n": 0, "r": -1.5e-07, "x": "1e3"},
    {"list": [], "deep": {"b": {"c": {"d": ["</tool_call>", None, False]}}}},
    {"x": "[1, 2]", "list": [1, "2", [3]]},
    {"x": "a </tool_call> b"},
    {"x": "</parameter>\n</function>\n</tool_call>"},
    {"x": "</arg_value>\n</tool_call>", "n": 1},
    {"x": "<tool_call>\n{\"name\": \"no\", \"arguments\": {}}", "n": 1},
    {"x": "<function=no> <parameter=y> <arg_key>y</arg_key>"},
    {"x": "if (a < b) { return \"}\"; } // \\n"},
    {"x": "<think> &amp; <b>"},
]] + [[("räume-auf", {})], [("look_up", {"x": "a"}), ("look_up", {"x": "<b>", "n": 1})],
      [("räume-auf", {}), ("look_up", {"x": "</tool_call>"}), ("räume-auf", {})]]


def rendered(template, messages, prompt):
    return render_jinja_template([messages], tools=TOOLS, chat_template=template, add_generation_prompt=prompt, bos_token="<s>")[0][0]


def case(form, template, calls, content=""):
    asked = {"role": "assistant", "content": content, "tool_calls": [{"type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]}
    answers = [{"role": "tool", "content": f"{i}: \"ü\"\n<x>"} for i in range(len(calls))]

    opening = rendered(template, FIRST, True)
    called, answered = rendered(template, FIRST + [asked], False), rendered(template, FIRST + [asked] + answers, True)
    assert called.startswith(opening) and answered.startswith(called)
    return dict(form=form, content=content, calls=[dict(name=n, arguments=a) for n, a in calls], answers=answers,
                said=called[len(opening):], behind=answered[len(called):])


def main():
    cases = [case(form, template, calls) for form, template in TEMPLATES.items() for calls in CALLS if form != "llama3" or len(calls) == 1]
    cases += [case(form, template, CALLS[-1], "I look.") for form, template in TEMPLATES.items() if form != "llama3"]
    out = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/text/tool_calls.json"
    out.write_text(json.dumps({"made_by": "tests/oracles/make_golden_tool_calls.py", "templates": TEMPLATES, "first": FIRST, "tools": TOOLS,
                               "openings": {form: rendered(template, FIRST, True) for form, template in TEMPLATES.items()}, "cases": cases}, ensure_ascii=False) + "\n")
    print(len(cases), "cases", out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
