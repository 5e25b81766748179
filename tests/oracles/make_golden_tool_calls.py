#!/usr/bin/env python3
"""Writes tests/golden/text/tool_calls.json: how transformers writes tools, calls and answers with templates of all forms.

By hand, with transformers installed:  tests/oracles/make_golden_tool_calls.py
The templates are our own, and write what those of the families write: Qwen2.5; Llama 3.1 and 3.2; Qwen3.5 and 3.6 (arguments
between tags, true and null in Python's words or in JSON's); GLM-4.5; Mistral 7B v0.3 to Small 3.1 (mistral), Small 3.2
(mistral11) and Ministral 3 (mistral13); Gemma 4; FunctionGemma; OLMo 3. The templates of Phi-4-mini, Granite 3 and GLM-4 write no
calls: ours write what the first two ask for in their system message, and what GLM-4's model card reads.
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
MISTRAL_STYLE = """{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '[AVAILABLE_TOOLS] ' ~ (tools | tojson) ~ '[/AVAILABLE_TOOLS]' if tools else '' }}
        {{- '[INST] ' ~ message.content ~ '[/INST]' }}
    {%- elif message.tool_calls %}
        CALLS
        {{- '</s>' }}
    {%- elif message.role == 'assistant' %}
        {{- message.content ~ '</s>' }}
    {%- elif message.role == 'tool' %}
        {%- if not message.tool_call_id or message.tool_call_id | length != 9 %}
            {{- raise_exception('ids have nine characters') }}
        {%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' ~ message.content ~ ', "call_id": "' ~ message.tool_call_id ~ '"}[/TOOL_RESULTS]' }}
    {%- endif %}
{%- endfor %}
"""
MISTRAL_LIST = """{{- '[TOOL_CALLS] [' }}
        {%- for call in message.tool_calls %}
            {{- (call.function | tojson)[:-1] ~ ', "id": "' ~ call.id ~ '"}' ~ (']' if loop.last else ', ') }}
        {%- endfor %}"""
MISTRAL_NAMED = """{{- message.content or '' }}
        {%- for call in message.tool_calls %}
            {{- '[TOOL_CALLS]' ~ call.function.name ~ CALL_ID '[ARGS]' ~ (call.function.arguments | tojson) }}
        {%- endfor %}"""
GEMMA_STYLE = """{%- macro written(value) -%}
    {%- if value is none -%}
        null
    {%- elif value is string -%}
        {{- '<|"|>' ~ value ~ '<|"|>' -}}
    {%- elif value is boolean -%}
        {{- 'true' if value else 'false' -}}
    {%- elif value is mapping -%}
        {{- '{' -}}
        {%- for key, inner in value | dictsort -%}
            {{- key ~ ':' ~ written(inner) ~ ('' if loop.last else ',') -}}
        {%- endfor -%}
        {{- '}' -}}
    {%- elif value is sequence -%}
        {{- '[' -}}
        {%- for inner in value -%}
            {{- written(inner) ~ ('' if loop.last else ',') -}}
        {%- endfor -%}
        {{- ']' -}}
    {%- else -%}
        {{- value -}}
    {%- endif -%}
{%- endmacro -%}
{{- bos_token ~ '<|turn>system\n' ~ (messages[0].content if messages[0].role == 'system' else '') }}
{%- for tool in tools or [] %}
    {{- '<|tool>declaration:' ~ tool.function.name ~ '{description:' ~ written(tool.function.description) ~ '}<tool|>' }}
{%- endfor %}
{{- '<turn|>\n' }}
{%- set ns = namespace(before='', id='') %}
{%- for message in messages if message.role not in ('system', 'tool') %}
    {%- set role = 'model' if message.role == 'assistant' else message.role %}
    {%- if not (role == 'model' and ns.before == 'answer') %}
        {{- '<|turn>' ~ role ~ '\n' }}
    {%- endif %}
    {%- set ns.before = '' %}
    {%- for call in message.tool_calls or [] %}
        {{- '<|tool_call>call:' ~ call.function.name ~ written(call.function.arguments) ~ '<tool_call|>' }}
        {%- set ns.before = 'call' %}
    {%- endfor %}
    {%- for call in message.tool_calls or [] %}
        {%- for answer in messages if answer.role == 'tool' and answer.tool_call_id == call.id %}
            {{- '<|tool_response>response:' ~ (answer.name or 'unknown') ~ '{value:' ~ written(answer.content) ~ '}<tool_response|>' }}
            {%- set ns.before = 'answer' %}
        {%- endfor %}
    {%- endfor %}
    {{- message.content | trim if message.content else '' }}
    {{- '<|tool_response>' if ns.before == 'call' else '' if ns.before == 'answer' and not message.content else '<turn|>\n' }}
{%- endfor %}
{{- '<|turn>model\n' if add_generation_prompt and not ns.before else '' }}
"""
ROLE_STYLE = """{%- for message in messages %}
    {{- BEGIN ~ message.role ~ HEAD ~ (message.content or '') }}
    {%- for tool in tools if loop.first %}
        {{- '<|tool|>' ~ (tool | tojson) ~ '<|/tool|>' }}
    {%- endfor %}
    {%- for call in message.tool_calls or [] %}
        {{- ('<|tool_call|>[' if loop.first else ', ') ~ (call.function | tojson) ~ (']CLOSE' if loop.last else '') }}
    {%- endfor %}
    {{- END }}
{%- endfor %}
{{- BEGIN ~ 'assistant' ~ HEAD if add_generation_prompt else '' }}
"""
OLMO_STYLE = """{%- for message in messages %}
    {{- '<|im_start|>' ~ ('environment' if message.role == 'tool' else message.role) ~ '\n' ~ (message.content or '') }}
    {{- '<functions>' ~ (tools | tojson) ~ '</functions>' if loop.first and tools else '' }}
    {%- for call in message.tool_calls or [] %}
        {%- set ns = namespace(arguments=[]) %}
        {%- for key, value in call.function.arguments.items() %}
            {%- set ns.arguments = ns.arguments + [key ~ '=' ~ (value | tojson)] %}
        {%- endfor %}
        {{- ('<function_calls>' if loop.first else '\n') ~ call.function.name ~ '(' ~ (ns.arguments | join(', ')) ~ ')' }}
        {{- '</function_calls>' if loop.last else '' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{{- '<|im_start|>assistant\n' if add_generation_prompt else '' }}
"""
GLM4_STYLE = """[gMASK]<sop>
{%- for tool in tools or [] %}
    {{- '<|system|>\n' ~ (tool | tojson) if loop.first else '\n' ~ (tool | tojson) }}
{%- endfor %}
{%- for message in messages if message.role != 'tool' %}
    {%- for call in message.tool_calls or [] %}
        {{- ('<|assistant|>' if loop.first else '') ~ call.function.name ~ '\n' ~ (call.function.arguments | tojson) }}
    {%- endfor %}
    {{- '' if message.tool_calls else '<|' ~ message.role ~ '|>\n' ~ message.content }}
{%- endfor %}
{{- '<|assistant|>' if add_generation_prompt else '' }}
"""


def role_style(begin, head, close, end):
    return ROLE_STYLE.replace("BEGIN", repr(begin)).replace("HEAD", repr(head)).replace("CLOSE", close).replace("END", repr(end))


TEMPLATES = dict(hermes=QWEN25_STYLE, llama3=LLAMA_STYLE, qwen3_5=QWEN35_STYLE.replace("SCALAR", "value | string"),
                 qwen3_6=QWEN35_STYLE.replace("SCALAR", "value if value is string else value | tojson"), glm4_5=GLM_STYLE,
                 mistral=MISTRAL_STYLE.replace("CALLS", MISTRAL_LIST),
                 mistral11=MISTRAL_STYLE.replace("CALLS", MISTRAL_NAMED.replace("CALL_ID", "'[CALL_ID]' ~ call.id ~")),
                 mistral13=MISTRAL_STYLE.replace("CALLS", MISTRAL_NAMED.replace("CALL_ID", "")), gemma4=GEMMA_STYLE,
                 functiongemma=GEMMA_STYLE.replace("<|tool_call>", "<start_function_call>").replace("<tool_call|>", "<end_function_call>").replace('<|"|>', "<escape>"),
                 phi4=role_style("<|", "|>", "<|/tool_call|>", "<|end|>"),
                 granite=role_style("<|start_of_role|>", "<|end_of_role|>", "", "<|end_of_text|>\n"), olmo3=OLMO_STYLE, glm4=GLM4_STYLE)
# What a turn that calls ends with, where the template writes something.
ENDS = dict(hermes="<|im_end|>\n", llama3="<|eot_id|>", qwen3_5="<|im_end|>\n", qwen3_6="<|im_end|>\n", glm4_5="", mistral="</s>", mistral11="</s>", mistral13="</s>",
            gemma4="<|tool_response>", functiongemma="<|tool_response>", phi4="<|end|>", granite="<|end_of_text|>\n", olmo3="<|im_end|>\n", glm4="")
ONE_CALL = {"llama3"}
NO_CONTENT = {"llama3", "mistral", "glm4", "gemma4", "functiongemma"}  # beside calls
THOUGHTS = {"qwen3_5", "qwen3_6", "glm4_5"}
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
    {"x": "<|/tool_call|>]} <tool_call|> [/TOOL_CALLS]</function_calls><end_function_call>)"},
    {"x": "[TOOL_CALLS]no[ARGS]{} <|tool_call>call:no{} <|tool_call|>[] <function_calls>no()", "n": 2},
    {"x": "f(a='b', c=[1]) = {d: \"e\"}, \\' \\u00e9 \\n"},
]] + [[("räume-auf", {})], [("look_up", {"x": "a"}), ("look_up", {"x": "<b>", "n": 1})],
      [("räume-auf", {}), ("look_up", {"x": "</tool_call>"}), ("räume-auf", {})]]


def rendered(template, messages, prompt):
    return render_jinja_template([messages], tools=TOOLS, chat_template=template, add_generation_prompt=prompt, bos_token="<s>")[0][0]


def case(form, calls, content="", thought=None):
    template = TEMPLATES[form]
    asked = {"role": "assistant", "content": content, **({"reasoning_content": thought} if thought else {}),
             "tool_calls": [{"id": f"{i:09}", "type": "function", "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate(calls)]}
    role = "observation" if form == "glm4" else "tool"  # the one that GLM-4's template writes
    answers = [{"role": role, "name": n, "tool_call_id": f"{i:09}", "content": f"{i}: \"ü\"\n<x>"} for i, (n, _) in enumerate(calls)]

    opening = rendered(template, FIRST, True)
    called, answered = rendered(template, FIRST + [asked], False), rendered(template, FIRST + [asked] + answers, True)
    assert called.startswith(opening) and answered.startswith(called) and called.endswith(ENDS[form]), (form, called, answered)
    return dict(form=form, content=content, calls=[dict(name=n, arguments=a) for n, a in calls], answers=answers,
                said=called[len(opening):], behind=answered[len(called):])


def main():
    cases = [case(form, calls) for form in TEMPLATES for calls in CALLS if form not in ONE_CALL or len(calls) == 1]
    cases += [case(form, CALLS[-1], "I look.") for form in TEMPLATES if form not in NO_CONTENT]
    cases += [case(form, CALLS[0], thought="A <tool_call> and <tool_call>{\"name\": \"no\", \"arguments\": {}}</tool_call> help?") for form in TEMPLATES if form in THOUGHTS]
    out = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/text/tool_calls.json"
    out.write_text(json.dumps({"made_by": "tests/oracles/make_golden_tool_calls.py", "templates": TEMPLATES, "ends": ENDS, "first": FIRST, "tools": TOOLS,
                               "openings": {form: rendered(template, FIRST, True) for form, template in TEMPLATES.items()}, "cases": cases}, ensure_ascii=False) + "\n")
    print(len(cases), "cases", out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
