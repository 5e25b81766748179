#!/usr/bin/env python3
"""`roll serve` holds responses to a form: response_format and required calls of tools, drawn at temperature 1 from a model of random weights, which keeps to nothing by itself.
Python's json parses what comes and jsonschema judges it. Argument: the roll binary."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from expecting import expect, finish
from serving import CHAT, HI, TEXT, Server

BINARY = pathlib.Path(sys.argv[1]).resolve()
if not BINARY.with_name("libroll_grammar.so").exists():
    print("skipped: this roll was built without xgrammar")
    sys.exit(77)
try:
    import jsonschema
except ImportError:
    print("skipped: jsonschema (pip install -r tests/requirements.txt)")
    sys.exit(77)

TEXT_ = dict(type="string", maxLength=8)
PERSON = dict(type="object", properties=dict(name=TEXT_, age=dict(type="integer", minimum=0, maximum=130)), required=["name", "age"], additionalProperties=False)
SCHEMAS = dict(
    nested=dict(type="object", properties=dict(person=PERSON, ok=dict(type="boolean"), nothing=dict(type="null")), required=["person", "ok", "nothing"]),
    optional=dict(type="object", properties={key: dict(enum=[1, 2]) for key in "zyxa"}, required=["y"], additionalProperties=False),
    bounded_list=dict(type="array", items=dict(type="boolean"), minItems=2, maxItems=4),
    tuple=dict(type="array", prefixItems=[dict(const="x"), dict(type="integer", minimum=3, maximum=3)], items=False, minItems=2),
    longer_tuple=dict(type="array", prefixItems=[dict(const="x")], items=dict(enum=[None, 1.5]), minItems=3, maxItems=5),
    values=dict(enum=["a\"b\\c\n", "größer 🙂", 3, -0.25, None, True, [1, {"x": "y"}]]),
    constant=dict(const=dict(größe="\t🙂", list=[1, 2])),
    integers=dict(type="array", items=dict(type="integer", minimum=-17, exclusiveMaximum=1204), minItems=30, maxItems=30),
    one_sided=dict(type="array", items=dict(type="integer", exclusiveMinimum=99), minItems=9, maxItems=9),
    numbers=dict(type="array", items=dict(type="number", exclusiveMinimum=-0.35, maximum=12.5), minItems=30, maxItems=30),
    small=dict(type="array", items=dict(type="number", exclusiveMinimum=0, exclusiveMaximum=1), minItems=20, maxItems=20),
    any_of=dict(type="array", items=dict(anyOf=[dict(type="integer", minimum=5, maximum=9), PERSON, dict(type="null")]), minItems=6, maxItems=6),
    one_of=dict(type="array", minItems=6, maxItems=6, items=dict(oneOf=[
        dict(type="object", properties=dict(kind=dict(const="cat"), lives=dict(type="integer", minimum=1, maximum=9)), required=["kind", "lives"]),
        dict(type="object", properties=dict(kind=dict(enum=["dog", "wolf"]), barks=dict(type="boolean")), required=["kind"]),
        dict(type="null"), dict(type="integer", minimum=0, maximum=99)])),
    one_of_by_name=dict(oneOf=[dict(type="object", properties={name: dict(type="boolean")}, required=[name], additionalProperties=False) for name in "ab"]),
    all_of={"$defs": {"base": dict(type="object", properties=dict(id=dict(type="integer", minimum=1, maximum=50), note=TEXT_), required=["id"])},
            "allOf": [{"$ref": "#/$defs/base"}, dict(properties=dict(id=dict(type="integer", maximum=9), done=dict(type="boolean")), required=["done"])], "title": "two"},
    beside={"$defs": {"level": dict(enum=[1, 2, 3])}, "type": "object", "properties": {"level": {"$ref": "#/$defs/level", "enum": [2, 3, 4]}, "way": dict(enum=["in", "out"])},
            "required": ["level"], "anyOf": [dict(required=["way"]), dict(properties=dict(level=dict(const=3)))]},
    references={"$defs": {"node": dict(type="object", properties={"v": dict(enum=[0, 1]), "next": dict(anyOf=[dict(type="null"), dict(type="null"), {"$ref": "#/$defs/node"}])},
                                       required=["v", "next"])}, "type": "object", "properties": {"head": {"$ref": "#/$defs/node"}}, "required": ["head"]},
    patterns=dict(type="object", properties=dict(a=dict(type="string", pattern=r"^[A-Z]{2,3}-\d+(\.\d)?$"), b=dict(type="string", pattern=r"^(ab|[^\w]){3}$"),
                                                 c=dict(type="string", pattern=r'^.{4}[\\"]\s\S$')), required=["a", "b", "c"]),
    lengths=dict(type="array", items=dict(type="string", minLength=2, maxLength=5), minItems=12, maxItems=12),
    formats=dict(type="object", properties={format: dict(type="string", format=format) for format in ("date", "time", "date-time", "email", "ipv4", "uuid")},
                 required=["date", "time", "date-time", "email", "ipv4", "uuid"]),
    free_keys=dict(type="object", additionalProperties=dict(type="integer", minimum=0, maximum=9)),
    types=dict(type=["boolean", "null"]),
    unicode_keys=dict(type="object", properties={"größe": dict(type="boolean"), "名前": dict(enum=["山"])}, required=["größe", "名前"]),
)

# Each: a schema, and what the refusal names.
REFUSED = [
    (dict(type="object", patternProperties={"x": dict(type="null")}), "patternProperties"),
    (dict(type="array", uniqueItems=True), "uniqueItems"),
    (dict(type="integer", multipleOf=3), "multipleOf"),
    ({"not": dict(type="null")}, "not is not supported"),
    (dict(oneOf=[dict(type="integer"), dict(type="number", minimum=3)]), "a value may match both 0 and 1"),
    (dict(oneOf=[PERSON, dict(type="object", properties=dict(name=TEXT_), required=["name"])]), "a value may match both"),
    (dict(oneOf=[dict(const=1), dict(enum=[1.0, 2])]), "a value may match both"),
    (dict(allOf=[dict(type="null"), dict(type="string")]), "its parts contradict each other on type"),
    (dict(allOf=[dict(enum=[1, 2]), dict(enum=[3])]), "its parts contradict each other on values"),
    (dict(allOf=[PERSON, dict(type="object", properties=dict(extra=TEXT_), required=["extra"])]), "its parts contradict each other on extra"),
    (dict(allOf=[dict(type="string", pattern="a"), dict(type="string", pattern="b")]), "two parts have different values of pattern"),
    (dict(allOf=[dict(properties=3)]), "properties must be an object"),
    (dict(anyOf=[dict(type="string")], type="null"), "its parts contradict each other on type"),
    ({"$defs": {"a": {"$ref": "#/$defs/a", "type": "object"}}, "$ref": "#/$defs/a", "type": "object"}, "comparisons of its parts"),
    ({"$defs": {f"d{i}": dict(allOf=[{"$ref": f"#/$defs/d{i + 1}"}] * 2) for i in range(30)} | {"d30": dict(type="null")}, "$ref": "#/$defs/d0"}, "comparisons of its parts"),
    (dict(type="text"), "must be object"),
    (dict(type="object", properties=dict(a=False)), "/properties/a"),
    (dict(type="object", required=["a"]), "is not one of the properties"),
    (dict(type="array", minItems=3, maxItems=2), "minItems and maxItems allow no list"),
    (dict(type="integer", minimum=3, exclusiveMaximum=3), "no number lies"),
    (dict(type="string", pattern="(?=a)b"), "(?"),
    (dict(type="string", pattern="(a"), "an unclosed ("),
    (dict(type="string", pattern="a", maxLength=3), "only one"),
    (dict(type="string", format="iri"), "format"),
    ({"$ref": "#/$defs/none"}, "the schema has no such part"),
    ({"$ref": "https://example.com/x"}, "must be # or #/"),
    (dict(enum=[]), "enum has no value"),
    (3, "a schema must be an object"),
]


def asked(schema, **more):
    return dict(messages=HI, max_tokens=2500, response_format=dict(type="json_schema", json_schema=dict(name="x", schema=schema, strict=True)), **more)


def judge(schema, text, what):
    try:
        value = json.loads(text)
        jsonschema.validate(value, schema, format_checker=jsonschema.FormatChecker(["date", "email", "ipv4", "uuid"]))
        if isinstance(value, dict) and "time" in value:  # which jsonschema reads as another draft does
            expect(re.fullmatch(r"\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", value["time"]), value)
        return value
    except (ValueError, jsonschema.ValidationError) as error:
        expect(False, f"{what}: {text!r}: {str(error)[:300]}")


def check_schemas(server):
    ends_soon = dict(logit_bias={str(server.ids[closer]): 7 for closer in ('"', "]", "}")})
    both = [(name, schema, more) for more in (dict(), ends_soon) for name, schema in SCHEMAS.items()]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda one: server.ask(CHAT, asked(one[1], n=3, seed=5, logprobs=True, **one[2]), timeout=300), both))
    for (name, schema, _), (status, said) in zip(both, answers):
        expect(status == 200, f"{name}: {said}")
        for choice in said.get("choices", []):
            expect(choice["finish_reason"] == "stop", f"{name} does not end: {choice['message']}")
            judge(schema, choice["message"]["content"], name)
            expect(all(token["logprob"] <= 0 for token in choice["logprobs"]["content"]), f"{name}: log-probs {choice}")
    expect(len({choice["message"]["content"] for choice in answers[0][1]["choices"]}) == 3, "three choices are one")


def check_same_elsewhere(server):
    """Streams, stop strings, a limit of tokens, choices beside others, other filters; what has no form draws what it drew before."""
    schema = SCHEMAS["nested"]
    whole = server.ask(CHAT, asked(schema, seed=9))[1]["choices"][0]["message"]["content"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        plain = dict(prompt="1+1=", max_tokens=60, seed=4, return_token_ids=True)
        alone = server.ask(TEXT, plain)[1]["choices"][0]["token_ids"]
        mixed = [pool.submit(server.ask, TEXT, plain) if i % 2 else pool.submit(server.ask, CHAT, asked(schema, seed=9)) for i in range(12)]
        streamed = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in server.stream(CHAT, asked(schema, seed=9)))
        for i, future in enumerate(mixed):
            choice = future.result()[1]["choices"][0]
            expect(choice["token_ids"] == alone if i % 2 else choice["message"]["content"] == whole, f"beside others: {choice}")
    expect(streamed == whole, f"streamed {streamed!r}, whole {whole!r}")
    cut = server.ask(CHAT, asked(schema, seed=9) | dict(max_tokens=7))[1]["choices"][0]
    expect(cut["finish_reason"] == "length" and whole.startswith(cut["message"]["content"]), cut)
    stopped = server.ask(CHAT, asked(schema, seed=9, stop=["\"person\""]))[1]["choices"][0]["message"]["content"]
    expect(stopped == whole[:whole.index('"person"')], stopped)
    for filters in (dict(temperature=0, logit_bias={"1": 5}), dict(top_k=5), dict(top_p=0.3), dict(min_p=0.2), dict(repetition_penalty=1.2, frequency_penalty=0.5)):
        judge(schema, server.ask(CHAT, asked(schema, seed=2, **filters))[1]["choices"][0]["message"]["content"], filters)
    for seed in range(4):
        choice = server.ask(TEXT, dict(prompt="{", max_tokens=1500, seed=seed, response_format=dict(type="json_object"), logit_bias={str(server.ids["}"]): 5, str(server.ids['"']): 3}))[1]["choices"][0]
        expect(choice["finish_reason"] == "stop" and isinstance(json.loads(choice["text"]), dict), f"an object: {choice}")


def check_interrupted(server):
    """Of two places one is taken back from three choices, which then go on where they were."""
    long = dict(type="array", items=dict(type="string", maxLength=40), minItems=200, maxItems=200)
    wishes = [asked(schema, seed=1, n=3) | dict(max_tokens=20000) for schema in (long, SCHEMAS["numbers"], SCHEMAS["nested"])]
    texts = lambda answer: [choice["message"]["content"] for choice in answer[1]["choices"]]
    alone = [texts(server.ask(CHAT, wish)) for wish in wishes]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        futures = []
        for wish in wishes:
            futures.append(pool.submit(server.ask, CHAT, wish))
            time.sleep(0.1)  # of 0.9 s that the first takes by itself
        together = [texts(future.result()) for future in futures]
    expect(together == alone, f"interrupted: {together}, not {alone}")


def check_refused(server):
    for schema, said in REFUSED:
        status, answer = server.ask(CHAT, asked(schema))
        expect(status == 400 and said in answer["error"]["message"] and "response_format" in answer["error"]["message"], f"{schema}: {status} {answer}")
    for format in (3, "json_object", dict(type="xml"), dict(type="json_schema"), dict(type="json_schema", json_schema=dict(name="x")), dict(type="json_schema", json_schema=dict(schema={}, grammar=""))):
        status, answer = server.ask(CHAT, dict(messages=HI, response_format=format))
        expect(status == 400 and "response_format" in answer["error"]["message"], f"{format}: {answer}")


def check_hostile(server):
    """Schemas that would cost much are refused in time, and others are answered meanwhile."""
    deep = dict(type="null")
    for _ in range(150):
        deep = dict(type="array", items=deep)
    loop = {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    bomb = dict(type="string", pattern="(" * 20 + "a" + "){0,1000}" * 20)
    wide = dict(type="object", properties={f"k{i}" * 9: dict(type="string", minLength=1999) for i in range(900)})
    rings = dict(type="string", pattern="(" * 900 + ")" * 900)
    pid = server.process.pid
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        hostile = [pool.submit(server.ask, CHAT, asked(schema) | dict(max_tokens=20), timeout=300) for schema in (deep, bomb, loop, wide, rings)]
        begin = time.monotonic()
        expect(server.ask(TEXT, dict(prompt="x", max_tokens=5))[0] == 200 and time.monotonic() - begin < 20, "others wait for a grammar")
        answers = [future.result() for future in hostile]
    expect([status for status, _ in answers[:2]] == [400, 400] and answers[4][0] == 400, answers)
    expect(all(status in (200, 400) for status, _ in answers), answers)
    left = [name for name in pathlib.Path("/proc").glob("[0-9]*/stat") if f") Z {pid} " in name.read_text(errors="replace")] if pathlib.Path("/proc").exists() else []
    expect(not left, f"compilers that nobody took leave of: {left}")
    expect(server.ask("/health")[0] == 200, "it does not live any more")


def check_calls(server):
    tools = [dict(type="function", function=dict(name=name, parameters={"type": "object", "properties": {"at": {"$ref": "#/$defs/place"}, "n": dict(type="integer", minimum=1, maximum=9)}, "required": ["at", "n"],
                                                                        "$defs": {"place": dict(enum=["here", "there"])}})) for name in ("look", "go")]
    for choice, names in (("required", ["look", "go"]), (dict(type="function", function=dict(name="go")), ["go"])):
        wish = dict(messages=HI, tools=tools, tool_choice=choice, max_tokens=400, seed=3, n=4)
        status, said = server.ask(CHAT, wish)
        expect(status == 200, said)
        for one in said.get("choices", []):
            calls = one["message"].get("tool_calls") or []
            expect(len(calls) == 1 and one["finish_reason"] == "tool_calls" and calls[0]["function"]["name"] in names, f"{choice}: {one}")
            for call in calls:
                judge(tools[0]["function"]["parameters"], call["function"]["arguments"], "arguments")
        parts = [chunk["choices"][0]["delta"] for chunk in server.stream(CHAT, wish | dict(n=1))]
        expect(sum(len(part.get("tool_calls", [])) for part in parts) == 1 and not any(part.get("content") for part in parts), f"streamed: {parts}")
    for flag in (True, False):
        expect(server.ask(CHAT, dict(messages=HI, tools=tools, parallel_tool_calls=flag, max_tokens=3))[0] == 200, "parallel_tool_calls")
    for wrong, said in ((dict(tool_choice="required"), "needs tools"), (dict(tools=tools, tool_choice=dict(type="function", function=dict(name="fly"))), "fly"), (dict(tools=tools, tool_choice="any"), "tool_choice"),
                        (dict(tools=tools, tool_choice="required", response_format=dict(type="json_object")), "response_format")):
        status, answer = server.ask(CHAT, dict(messages=HI) | wrong)
        expect(status == 400 and said in answer["error"]["message"], f"{wrong}: {answer}")


def check_client(server):
    """As users of OpenAI's client write it."""
    try:
        import openai
        import pydantic
    except ImportError:
        return print("skipped: OpenAI's client")

    class Step(pydantic.BaseModel):
        explanation: str = pydantic.Field(max_length=6)
        result: float

    class Answer(pydantic.BaseModel):
        steps: list[Step] = pydantic.Field(max_length=2)
        final: int | None

    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="any", max_retries=0, timeout=120)
    parsed = client.chat.completions.parse(model="model", messages=HI, response_format=Answer, max_tokens=2000, seed=1).choices[0].message.parsed
    expect(isinstance(parsed, Answer), parsed)
    whole = client.chat.completions.create(model="model", messages=HI, max_tokens=1500, seed=1, response_format={"type": "json_object"}, logit_bias={str(server.ids["}"]): 5, str(server.ids['"']): 3})
    expect(isinstance(json.loads(whole.choices[0].message.content), dict), whole)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([BINARY, "init-model", "--arch", "qwen2", "--hidden", "64", "--intermediate", "128", "--layers", "2", "--heads", "4", "--kv-heads", "2", "--tokenizer", "builtin",
                        "--seed", "1", "--out", "model"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        vocabulary = json.loads((folder / "model/tokenizer.json").read_text())["model"]["vocab"]
        config = json.loads((folder / "model/tokenizer_config.json").read_text())
        config["chat_template"] = ("{% if tools %}Call as <tool_call>\n{\"name\": <name>, \"arguments\": <object>}\n</tool_call>{{ tools | tojson }}{% endif %}"
                                   "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
        (folder / "model/tokenizer_config.json").write_text(json.dumps(config))
        with Server(BINARY, folder) as server:
            server.ids = vocabulary
            check_schemas(server)
            check_same_elsewhere(server)
            check_refused(server)
            check_calls(server)
            check_client(server)
            check_hostile(server)
        with Server(BINARY, folder, "--template", "chatml", "--max-running-requests", 2) as server:
            check_interrupted(server)
            status, answer = server.ask(CHAT, dict(messages=HI, tools=[dict(type="function", function=dict(name="f"))], tool_choice="required"))
            expect(status == 400 and "tool_choice" in answer["error"]["message"] and "must be auto or none" in answer["error"]["message"], answer)
        lone = folder / "lone" / "roll"
        lone.parent.mkdir()
        lone.write_bytes(BINARY.read_bytes())
        lone.chmod(0o755)
        with Server(lone, folder) as server:
            status, answer = server.ask(CHAT, asked(True))
            expect(status == 400 and "xgrammar" in answer["error"]["message"], f"without the library: {status} {answer}")
    finish("response_format_test")


main()
