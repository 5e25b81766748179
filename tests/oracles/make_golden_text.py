#!/usr/bin/env python3
"""Writes tests/golden/text: what jinja2 renders (templates.json) and what HF tokenizers does (splits.json, tokenizers.json).

jinja2 is set up as Hugging Face transformers sets it up for chat templates; when transformers is there, that is checked.
The templates are our own, in the style of those of Qwen2.5, Qwen3 and Llama 3.
Needs jinja2 and tokenizers; run by hand: tests/oracles/make_golden_text.py
"""
import itertools
import json
import pathlib
import sys

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

MADE_BY = "tests/oracles/make_golden_text.py"
ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/text"
sys.path.insert(0, str(ROOT / "tests/cli"))


def environment():
    def refuse(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = refuse
    return env


CHATS = {
    "one": [{"role": "user", "content": "What is 2+2?"}],
    "system": [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Hi\n"}],
    "turns": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "<think>\nlong\n\nthought\n</think>\n\nb"},
              {"role": "user", "content": "c"}, {"role": "assistant", "content": "<think>\nx\n</think>\n\n  d  "}],
    "after_system": [{"role": "system", "content": "S"}, {"role": "user", "content": "ü 漢字 🙂"},
                     {"role": "assistant", "content": "no thought"}, {"role": "user", "content": "again"}],
    "late_system": [{"role": "user", "content": "q"}, {"role": "system", "content": "s"}, {"role": "assistant", "content": "r"}],
    "reasoning": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "\nanswer", "reasoning_content": "\nwhy\n"}],
    "tools": [{"role": "user", "content": "weather?"},
              {"role": "assistant", "content": "", "tool_calls": [
                  {"type": "function", "function": {"name": "get", "arguments": {"city": "Zürich", "n": 2, "x": 1.5, "ok": True}}},
                  {"name": "put", "arguments": {}}]},
              {"role": "tool", "content": "sun"}, {"role": "tool", "content": "rain"}, {"role": "user", "content": "thanks"}],
}
TOOLS = [{"type": "function", "function": {"name": "get", "description": "A \"tool\" <b>", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": ["a", "b"]}}, "required": ["city"]}}}]

# In the style of Qwen2.5: every block trims itself, a default system message, tools as JSON lines.
QWEN25_STYLE = """
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "\\n\\nTools:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools> as {\\"name\\": <name>}<|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for call in message.tool_calls %}
            {%- if call.function is defined %}
                {%- set call = call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- call.name }}
            {{- '", "arguments": ' }}
            {{- call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

# In the style of Qwen3: a namespace, the list backwards, reasoning taken out of earlier turns.
QWEN3_STYLE = """
{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(searching=true, last_query=messages|length - 1) %}
{%- for m in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and m.role == "user" and m.content is string and not(m.content.startswith('<tool_response>') and m.content.endswith('</tool_response>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query %}
            {%- if loop.last or (not loop.last and thought) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

# In the style of Llama 3 and 3.1: one long line, and one with named defaults and a refusal.
LLAMA3_STYLE = ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
                "message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
                "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}"
                "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")
LLAMA31_STYLE = """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{#- The system message, if any, comes first #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
# One that insists on alternating roles, with an inline if and a default.
STRICT_STYLE = """{% if messages[0]['role'] == 'system' %}{% set offset = 1 %}{% else %}{% set offset = 0 %}{% endif %}
{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == offset) %}
{{ raise_exception('roles must alternate at ' ~ loop.index) }}
{% endif %}
[{{ message.role | upper }}{{ ':' if not loop.last else '!' }}] {{ message.content | trim | default('nothing', true) }}
{% endfor %}
"""

SNIPPETS = r"""
{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 1e3 }} {{ 1.5e-7 }} {{ 1_000 }}
{{ 10 / 4 }} {{ 4 / 2 }} {{ 0.1 + 0.2 }} {{ 1e16 }} {{ 123456789.0 }} {{ -3 | abs }} {{ (-3) | abs }} {{ 3.7 | int }} {{ '12' | int }} {{ 'x' | int(5) }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ none == none }} {{ 'a' != 'b' }}
{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1, 'x'] ~ {'k': 'v'} }} {{ "it's" }} {{ ["it's", 'say "x"', 'a\nb\\'] }} {{ 'a' 'b' }}
{{ 'x' in 'xyz' }} {{ 'x' not in ['x'] }} {{ 'k' in {'k': 1} }} {{ not 'x' in 'y' }} {{ 3 in [1, 2] }}
{{ missing }}|{{ missing is defined }}|{{ missing is undefined }}|{{ missing | default('d') }}|{{ '' | default('e', true) }}|{{ none | default('f') }}|{{ not missing }}
{{ d['items'] }}{{ d.a }} {{ d['a'] }} {{ d.get('b', 'none') }} {{ d.get('zz') }} {{ d.nope }} {{ d.nope is defined }} {{ d.a is string }}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %} {{ d.keys() | list }} {{ d.values() | list }} {{ d | items | list | length }} {{ d | length }}
{{ d | tojson }} {{ d | tojson(indent=2) }} {{ [1, 2.0, none, true, 'ü"\\'] | tojson }} {{ {} | tojson }} {{ [] | tojson(indent=2) }} {{ 'a<b>&' | tojson }}
{{ s.split() }} {{ s.split(' ') }} {{ s.split('o', 1) }} {{ s.rsplit('o', 1) }} {{ s.strip() }}| {{ s.lstrip('H ') }}| {{ s.rstrip() }}| {{ s.upper() }} {{ s.title() }}
{{ s.replace('l', 'L') }} {{ s.replace('l', 'L', 1) }} {{ s.startswith(' H') }} {{ s.endswith(('x', ' ')) }} {{ s.find('World') }} {{ s.find('q') }} {{ s.count('o') }} {{ ','.join(['a', 'b']) }}
{{ s[0] }} {{ s[-2] }} {{ s[1:4] }} {{ s[::-1] }} {{ s[:-3] }} {{ s[::2] }} {{ s[100:] }} {{ l[-1] }} {{ l[1:] }} {{ l[:1] }} {{ l[::-1] }} {{ l[9] is defined }}
{{ 'ünïcödé 漢字'[2:5] }} {{ 'ünïcödé' | length }} {{ 'straße' | upper }} {{ 'ΑΣ' | lower }} {{ 'éa' | capitalize }} {{ 'hello wOrld' | title }}
{{ l | join(', ') }} {{ l | join }} {{ l | first }} {{ l | last }} {{ l | length }} {{ l | reverse | list }} {{ l | sort }} {{ l | sort(reverse=true) }} {{ l | sum }} {{ l | max }} {{ l | min }} {{ l | unique | list }}
{{ rows | map(attribute='n') | list }} {{ rows | selectattr('n', 'gt', 1) | list | length }} {{ rows | rejectattr('ok') | map(attribute='n') | join('+') }} {{ ['a', 'b'] | map('upper') | join }}
{{ rows | selectattr('ok') | list }} {{ [1, 2, 3] | select('odd') | list }} {{ [1, 2, 3] | reject('odd') | list }} {{ rows | selectattr('n', 'equalto', 2) | first }}
{{ '  x ' | trim }}| {{ 'xxaxx' | trim('x') }} {{ 'a\nb\n\nc' | indent(2) }} {{ 'a\nb' | indent(2, true) }} {{ 3.14159 | round(2) }} {{ 2.5 | round }} {{ '1.5' | float }} {{ 5 | string ~ 'x' }}
{{ 1.5 | round(1000000000) }} {{ 1.5 | round(-1000000000) }} {{ 2.675 | round(2) }} {{ 0.5 | round }} {{ -0.4 | round }} {{ 1e300 | round(20) }} {{ 5 | round(2) }} {{ 1250 | round(-2) }} {{ 1250.0 | round(-2) }} {{ 1.21 | round(1, 'ceil') }} {{ -1.21 | round(1, method='floor') }} {{ 7 | round(0, 'ceil') }} {{ true | round }}
{{ 1 is number }} {{ 1 is integer }} {{ 1.0 is float }} {{ true is boolean }} {{ 'x' is string }} {{ [] is sequence }} {{ {} is mapping }} {{ none is none }} {{ 4 is even }} {{ 3 is odd }} {{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }} {{ 1 is eq 1 }} {{ 2 is in [1, 2] }} {{ 'x' is not string }} {{ true is true }} {{ 1 is true }} {{ [] is iterable }} {{ range is callable }}
{{ range(3) | list }} {{ range(1, 10, 3) | list }} {{ range(3, 0, -1) | list }} {{ dict(a=1, b='x') }} {{ (1, 2) | list }} {{ [1, 2] + [3] }} {{ [0] * 3 }} {{ 'ab' * 2 }}
{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.cycle('a', 'b') }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}
{% for x in [] %}x{% else %}empty{% endfor %} {% for x in l if x > 1 %}{{ x }}/{{ loop.length }} {% endfor %} {% for x in l %}{% if x == 2 %}{% continue %}{% endif %}{% if loop.index > 2 %}{% break %}{% endif %}{{ x }}{% endfor %}
{% for c in 'añ' %}[{{ c }}]{% endfor %}{% for k in d %}<{{ k }}>{% endfor %}{% for (a, b) in [[1, 2], [3, 4]] %}{{ a + b }},{% endfor %}
{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 3 %}{% endif %}{{ x }} {% set a, b = 1, 2 %}{{ a }}{{ b }} {% set t = (1, 2) %}{{ t[1] }}
{% set ns = namespace(n=0, found=false) %}{% for i in range(5) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }} {{ ns.found }}
{% macro greet(name, mark='!') %}Hi {{ name }}{{ mark }}{% endmacro %}{{ greet('A') }} {{ greet('B', mark='?') }} {{ greet(name='C') | upper }}
{% macro fact(n) %}{% if n < 2 %}1{% else %}{{ n * (fact(n - 1) | int) }}{% endif %}{% endmacro %}{{ fact(6) }}
{% set block %}a {{ 1 }}{% for i in [1, 2] %}{{ i }}{% endfor %}{% endset %}[{{ block }}] {% with y = 5 %}{{ y }}{% endwith %}{{ y }} {% raw %}{{ not }} {% this %}{% endraw %} {# comment #}x{#- trimmed -#}  y
{{ 'yes' if l else 'no' }} {{ 'yes' if missing }} {{ 'a' if false else 'b' if false else 'c' }} {{ (l or [9]) | first }} {{ none or 'z' }} {{ '' and 'q' }} {{ not l }} {{ not not 1 }}
{{ 'tab\there' }} {{ 'quote\'s' }} {{ "\u00e9\x41" }} {{ 'back\\slash' }} {{ 'unknown \d' }} {{ '{{ not code }}' }} {{ '%}' }} {{ {'a': {'b': 1}}['a']['b'] }} {{ {'a': {'b': 1}}.a.b }}
{{ [1, [2, {'a': none}]] }} {{ {'a': true, 'b': [1.5]} }} {{ () | list }} {{ [1,] }} {{ "a" + "b" | upper }} {{ -1 ** 2 }} {{ 2 * 3 ~ 4 }} {{ 1 if true else 2 ~ 'x' }}
{{ 'a,b,c'.split(',')[1] }} {{ ('a' ~ 'b').upper() }} {{ 'x'.join(['1', '2']) }} {{ ' a  b '.split() | length }} {{ 'a b c'.split(None, 1) }} {{ 'a b c'.rsplit(None, 1) }} {{ 'l1\nl2\r\nl3'.splitlines() }} {{ 'hELLO'.capitalize() }}
{{ rows[0].n }} {{ rows[0]['ok'] }} {{ rows[-1].n }} {{ rows.0.n }} {{ rows | length > 1 }} {{ rows | map(attribute='zz', default='-') | list }} {{ (d | dictsort)[0] | join }} {{ {'b': 1, 'a': 2} | dictsort | first | list }}
""".strip("\n").split("\n")

# White space: what trim_blocks, lstrip_blocks, -, + and the last newline do.
LAYOUTS = ["a\n{% if true %}\nb\n{% endif %}\nc\n", "a\n  {% if true %}  \n  b\n  {% endif %}  \nc\n\n", "a  {%- if true -%}  b  {%- endif -%}  c",
           "a\n\n  {{- 'x' -}}\n\n b", "  {{ 'x' }}  \n  {{ 'y' }}\n", "a\n {%+ if true %}b{% endif %}\n", "a\n {%+ if true +%}\nb{% endif +%}\nc",
           "{# c #}\n  {# d #}\nx {# e #}\n{#- f #} y", "a\r\nb\r{% if true %}\r\nc{% endif %}\r\n", "\n\n{% for i in [1, 2] %}\n  {{ i }}\n{% endfor %}\n\n",
           "x{% if true %}\n\n y{% endif %}z", "\t{% set a = 1 %}\t\n{{ a }}\n", "a {{ 'b' -}} \u00a0 c {{- 'd' }}", "{% if true -%}\n\n  a\n{%- endif %}\n", "a\n{%- if true %} b {% endif -%}\n c",
           "{% raw %}\n a {{ x }}\n{% endraw %}\nb", "a{% raw -%} \n b {%- endraw %} c", "{{ '\n' }}|{{ 'a\n' }}\n", "a\n{%if true%}b{%endif%}\n", "{{1}}{{-2-}}{{3}} {{ 4 -}}\n{{5}}"]

REFUSED = ["{{ x", "{% if %}", "{% if true %}", "{% for x %}{% endfor %}", "{{ 1 + }}", "{{ 'a }}", "{% endif %}", "{{ missing.attribute }}",
           "{{ missing + 1 }}", "{{ 'a' + 1 }}", "{{ 1 / 0 }}", "{{ 5 // 0 }}", "{{ [1] | nofilter }}", "{{ 1 is notest }}", "{{ missing() }}", "{{ 'a'.nomethod() }}",
           "{{ raise_exception('no') }}", "{% set d.x = 1 %}", "{{ range(200000) }}", "{{ 1 < 'a' }}", "{{ (1 }}", "{{ ) }}", "{% frobnicate %}", "{{ a b }}",
           "{{ [1, 2][ }}", "{{ {'a': } }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{# open", "{% raw %} x", "{{ }}", "{{ none.x.y }}", "{{ l.append(1) }}",
           "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "{{ 1 in 5 }}", "{{ none | length }}", "{{ -'a' }}", "{{ 2 + 3 ~ 4 }}", "{{ 'n' ~ 1 + 2 }}"]

SAMPLE = {"d": {"a": "x", "b": 2, "items": "shadowed"}, "s": " Hello World ", "l": [3, 1, 2, 3], "rows": [{"n": 1, "ok": True}, {"n": 2, "ok": False}, {"n": 3, "ok": True}]}


def template_cases():
    env = environment()
    cases = []

    def add(name, source, variables):
        try:
            cases.append(dict(name=name, source=source, variables=variables, text=env.from_string(source).render(**variables)))
        except Exception:  # whatever it is, ours must refuse too
            cases.append(dict(name=name, source=source, variables=variables, text=None))

    styles = dict(qwen25=QWEN25_STYLE, qwen3=QWEN3_STYLE, llama3=LLAMA3_STYLE, llama31=LLAMA31_STYLE, strict=STRICT_STYLE)
    for (style, source), (chat, messages), prompt in itertools.product(styles.items(), CHATS.items(), [True, False]):
        more = [{}] + ([{"enable_thinking": False}] if style == "qwen3" and prompt else []) + ([{"tools": TOOLS}] if "qwen25" in style else [])
        for extra in more:
            variables = dict(messages=messages, tools=None, documents=None, bos_token="<|begin_of_text|>", add_generation_prompt=prompt)
            add(f"{style}/{chat}/{'prompt' if prompt else 'whole'}/{'+'.join(extra)}", source, {**variables, **extra})
    for i, snippet in enumerate(SNIPPETS):
        add(f"snippet {i}", snippet, SAMPLE)
    for i, layout in enumerate(LAYOUTS):
        add(f"layout {i}", layout, {})
    for i, source in enumerate(REFUSED):
        add(f"refused {i}", source, SAMPLE)
        assert cases[-1]["text"] is None, f"jinja2 renders {source!r} as {cases[-1]['text']!r}"
    check_against_transformers(env, styles["qwen25"])
    return cases


def check_against_transformers(env, source):
    try:
        from transformers.utils.chat_template_utils import render_jinja_template
    except ImportError:
        return print("transformers is not here: the environment was not compared with it")
    rendered, _ = render_jinja_template([CHATS["system"]], chat_template=source, add_generation_prompt=True)
    expected = env.from_string(source).render(messages=CHATS["system"], tools=None, documents=None, add_generation_prompt=True)
    assert rendered[0] == expected, (rendered, expected)


QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")
TEXTS = ["", "a", "ab12", "Hello world's  end\n\n\tx", "'S 'Ll 'RE don'\u017f", "a\nb\n", "\na\n\n", "漢字とカナ한글 ١٢٣ ½Ⅷ", "e\u0301\u0323x\u180e\u00a0\u3000y\u0085z",
         "1234567", "aaa_bbb-ccc", "AbC dEf 0x1F", "x\r\ny\v\fz", "🙂🙂👍🏽 ok", "\U00031350\U0001e4d0\u1c89 \u0897", "\u200d\u200ca\ufeff", "((a)[b]{c})", "...!?", "ﬀ ß K Å", "a.b.c..d"]
PATTERNS = [QWEN2, QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|"), r"\s", r"\S+", r"[\s]+", r"[^\s]+", r"[\S]", r"\w+", r"\W+", r"[\w.]+", r"\d+", r"\D", r"\h+", r"[\h_]+", r"\p{L}+", r"\P{L}+",
            r"\p{^L}+", r"[\p{L}\p{M}]+", r"[^\P{L}a]+", r"\p{Lu}\p{Ll}*", r"\p{Han}+", r"[\p{Hiragana}\p{Katakana}]+", r"\P{Han}", r"\p{Hangul}", r"\p{P}+|\p{S}+", r"\p{So}", r"\p{Nd}|\p{No}|\p{Nl}",
            r"\p{Lo}+", r"\p{Mn}+|\p{Me}", r"^.", r".$", r"\A.", r".\z", r"$", r"^", r"\b", r"\B", r"\bx", r".", r"(?m:.)", r"(?m:.+)", r".+", r"\v", r"\R", r"(?i:ab)", r"(?i:k)", r"(?i)A|B",
            r"(?i:'[sdmt]|'ll|'ve|'re)", r"a{2}", r"a{1,2}", r"a{,2}", r"a{2,}", r"\p{N}{1,3}+", r"(?:\p{N}{1,3}+)7", r"[a-c]{2}+c", r"(ab|[0-9]){2}+", r"a?+a", r"a*+a", r"a+?", r"(?>a+)a|b", r"(?<=a)b",
            r"(?<!a)b", r"b(?=1)", r"b(?!1)", r"(a)(b)", r"(?:a|b)+", r"[]a]", r"[a\]]", r"[^]a]", r"[\[\](){}]", r"[a-z&]", r"\u0041|\x{62}|\x63", r"\x20", r"\.", r"\-", r"[\-.]", r"[.-]", r"a|", r"x*",
            r"\t|\n|\r|\f", r"[\t\n\r\f\v]", r"\{|\}", r"[0-9]{3}(?=(?:[0-9]{3})*\b)", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"[A-Z]+(?=[a-z])"]


def split_cases():
    from tokenizers import Regex, normalizers, pre_tokenizers as pre
    cases = []

    def add(section, made, texts, apply):
        cases.append(dict(section=section, texts=[dict(text=t, result=apply(made, t)) for t in texts]))

    def spelled(part):
        return json.loads(part.__getstate__())

    def pieces(made, text):
        return [bytes_of(piece) for piece, _ in pre.Sequence([made, pre.ByteLevel(add_prefix_space=False, use_regex=False)]).pre_tokenize_str(text)]

    def behave(made, text):
        return [bytes_of(piece) for piece, _ in made.pre_tokenize_str(text)]

    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    both = lambda made: {"type": "Sequence", "pretokenizers": [spelled(made), byte_level]}
    for pattern in PATTERNS:
        made = pre.Split(Regex(pattern), "isolated")
        add(both(made), made, TEXTS, pieces)
    for behavior, invert, pattern in itertools.product(["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"], [False, True], [Regex(r"\s"), Regex(r"[a-c]+"), "a", "."]):
        made = pre.Split(pattern, behavior, invert)
        add(both(made), made, TEXTS, pieces)
    for made in [pre.Digits(True), pre.Digits(False), pre.Whitespace(), pre.WhitespaceSplit(), pre.Sequence([pre.Digits(True), pre.WhitespaceSplit(), pre.Split("b", "removed")])]:
        add(both(made), made, TEXTS, pieces)
    for prefix, regex in itertools.product([True, False], [True, False]):
        made = pre.ByteLevel(add_prefix_space=prefix, use_regex=regex)
        add(spelled(made), made, TEXTS, behave)
        more = pre.Sequence([pre.Split(Regex(r"\d"), "isolated"), made])
        add(spelled(more), more, TEXTS, behave)
    n = normalizers
    for made in [n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.Prepend("▁"), n.Strip(left=True, right=False), n.Strip(left=False, right=True), n.Replace("a", "bb"), n.Replace(Regex(r"\s+"), " "),
                 n.Sequence([n.NFKD(), n.Lowercase(), n.Replace(Regex(r"\p{Mn}"), "")])]:
        add(spelled(made), made, TEXTS + ["q\u0307\u0323 \u1100\u1161\u11a8 \u0958 ﬁ ½ ㋿ \U00011938 a\u0898\u0301 İI ΑΣ ΑΣ. ǅ", "  both  ", "a\u0334\u0301 \u0345\u0301 \U0001d15f"], lambda made, t: made.normalize_str(t))
    return cases


def bytes_of(spelling):
    """A byte-level piece as hexadecimal bytes."""
    codes = [c for c in range(256) if 33 <= c <= 126 or 161 <= c <= 172 or 174 <= c <= 255]
    names = {chr(c): c for c in codes}
    names.update({chr(256 + i): c for i, c in enumerate(c for c in range(256) if c not in codes)})
    return bytes(names[c] for c in spelling).hex()


def byte_runs(tokenizer):
    """Ids of single bytes: whole characters, several in one run, broken ones, between other tokens and special ones."""
    ids = lambda data: [tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in data]
    han, smile, a = ids("漢".encode()), ids("🙂".encode()), tokenizer.token_to_id("▁a")
    return [han, han + smile, han[:2], [a, *han[:1]], [*han, a, *smile, a], [*han, *smile[:3], a], [*smile[1:], *han], [*han, 1, *smile, 1], [a, 1, a], [1, a, a]]


def tokenizer_cases():
    import tokenizer_corpus as corpus
    out = []
    texts = corpus.random_strings(150, seed=7) + corpus.SENTENCES + ["", "a" * 300, "漢" * 100, "<|im_start|><|im_end|>", "xMASK MASKx MASK"]
    for name, make in corpus.TOKENIZERS.items():
        is_pieces = name in corpus.SENTENCEPIECE
        tokenizer = make(vocab_size=600 if is_pieces else 500)
        cases = []
        for text in corpus.spoken(name, texts[130:] if is_pieces else texts):
            ids = tokenizer.encode(text).ids
            cases.append(dict(text=text, ids=ids, decoded=tokenizer.decode(ids, skip_special_tokens=False), skipped=tokenizer.decode(ids), plain=tokenizer.encode(text, add_special_tokens=False).ids))
        out.append(dict(name=name, tokenizer=json.loads(tokenizer.to_str()), cases=cases,
                        pieces=[dict(ids=ids, decoded=tokenizer.decode(ids)) for ids in ([200, 150, 230], list(range(100, 140)), [99999, 50, 70], [180] * 5, list(range(250, 120, -1)), *(byte_runs(tokenizer) if is_pieces else []))]))
    return out


def write(name, cases):
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / name
    path.write_text(json.dumps(dict(made_by=MADE_BY, cases=cases), ensure_ascii=True, separators=(",", ":")).replace('},{"', '},\n{"') + "\n")
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


def main():
    write("templates.json", template_cases())
    write("splits.json", split_cases())
    write("tokenizers.json", tokenizer_cases())


if __name__ == "__main__":
    main()
