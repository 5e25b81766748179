#!/usr/bin/env python3
"""Agents that ask the policy in training, over HTTP: what was sampled for them is what is trained, on any number of ranks, whatever they ask; who
dies, says nothing, floods or lies is counted and never a reward; OpenAI's own client and an agent framework (Pydantic AI) play as any other. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import one_step
from agents import check_trained, command_of, train
from metric_words import unknown_metrics

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

binary = pathlib.Path(sys.argv[1]).resolve()
# Plays one session after the other, each by its seed, and writes down what it was told.
COMMON = r'''
import http.client, json, os, sys, time
log, base, key = open(sys.argv[1], "a"), os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
link = http.client.HTTPConnection(base.split("/")[2], timeout=60)

def post(path, body, key=key, link=link):
    link.request("POST", path, json.dumps(body), {"Authorization": "Bearer " + key})
    answer = link.getresponse()
    text = answer.read().decode()
    if answer.getheader("Content-Type") == "text/event-stream":
        return answer.status, [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return answer.status, json.loads(text or "null")

def sessions():
    while True:
        try:
            status, session = post("/v1/sessions", {})
        except OSError:
            return
        if status == 503:
            return
        if status == 200:
            yield session, "/v1/sessions/" + session["id"], session["seed"] // 8 % 8

def told(**what):
    log.write(json.dumps(what) + "\n"), log.flush()
'''
AGENT = COMMON + r'''
checked = []

def check_texts(ask):
    "How texts end, and that special tokens are hidden unless asked for; which of both was seen."
    whole = ask(seed=1)
    stop = next((c for c in whole[1:] if c.isascii() and c.isalnum()), None)
    if stop:
        before, heard = whole[:whole.index(stop)], [ask(seed=1, stop=[stop], include_stop_str_in_output=included) for included in (False, True)]
        assert heard == [before, before + stop], (whole, stop, heard)
    hidden = [(ask(seed=seed), ask(seed=seed, skip_special_tokens=False)) for seed in (2, 3, 4)]
    return ["stop"] * bool(stop) + ["special"] * any("<|" in shown and "<|" not in text for text, shown in hidden)

for session, path, kind in sessions():
    assert session["config"] == {"task": "sums"} and session["base_url"].endswith(path)
    assert post("/v1/sessions/0-0/chat/completions", {"messages": []})[0] == 404 and post(path + "/reward", {}, "wrong")[0] == 401
    messages, turns = [{"role": "user", "content": f"level {session['seed'] % 100}"}], []
    said = dict(return_token_ids=True, logprobs=True)
    while len(turns) < 2:
        if kind == 1:   # asks once more, and goes on with what it heard last
            seeded = [post(path + "/chat/completions", {**said, "messages": messages, "seed": seed})[1]["choices"][0]["token_ids"] for seed in (1, 1, 2)]
            assert seeded[0] == seeded[1] != seeded[2], seeded
            checked = check_texts(lambda **more: post(path + "/chat/completions", {**said, "messages": messages, **more})[1]["choices"][0]["message"]["content"])
        if kind == 2:   # streams
            status, chunks = post(path + "/chat/completions", {**said, "messages": messages, "stream": True})
            ids = [id for chunk in chunks for choice in chunk["choices"] for id in choice.get("token_ids", [])]
            message = {"role": "assistant", "content": "".join(c["delta"].get("content") or "" for chunk in chunks for c in chunk["choices"])}
            prompt = None
        elif kind == 3:  # of three, the second
            status, answer = post(path + "/chat/completions", {**said, "messages": messages, "n": 3})
            choice, prompt = answer["choices"][1], answer["choices"][1]["prompt_token_ids"]
            ids, message = choice["token_ids"], choice["message"]
        elif kind == 4:  # texts
            text = f"level {session['seed'] % 100}: " if not turns else text + choice["text"] + " and "
            status, answer = post(path + "/completions", {**said, "logprobs": 1, "prompt": text, "max_tokens": 3, "seed": 5})
            choice = answer["choices"][0]
            ids, message, prompt = choice["token_ids"], {"role": "assistant", "content": ""}, choice["prompt_token_ids"]
        elif kind == 5:  # token ids
            known = [5, 6, 7] if not turns else known + ids + [8]
            status, answer = post(path + "/completions", {**said, "logprobs": 1, "prompt": known, "max_tokens": 3})
            ids, prompt, message = answer["choices"][0]["token_ids"], [5, 6, 7], {"role": "assistant", "content": ""}
        else:
            status, answer = post(path + "/chat/completions", {**said, "messages": messages, "max_tokens": 4})
            assert status == 200, answer
            choice = answer["choices"][0]
            ids, message, prompt = choice["token_ids"], choice["message"], choice["prompt_token_ids"]
            assert len(choice["logprobs"]["content"]) == len(ids)
        if not turns: first_prompt = prompt
        turns.append(ids)
        if kind == 6 and len(turns) == 1:  # forgets what was said
            status, answer = post(path + "/chat/completions", {"messages": messages + [{"role": "assistant", "content": "x" + message["content"]}, messages[0]]})
            assert status == 400 and answer["error"]["message"].startswith("messages[1]: in its content, at character 0, "), answer
            status, answer = post(path + "/chat/completions", {"messages": messages, "temperature": 0.5})
            assert status == 400 and "temperature = 0.5: must be 1, as in the run's settings" in answer["error"]["message"], answer
        messages += [message, {"role": "tool" if kind == 7 else "user", "content": f"turn {len(turns)}"}]
    if kind == 3:  # the turn that is drawn last ends the trajectory
        status, answer = post(path + "/chat/completions", {**said, "messages": messages, "max_tokens": 2})
        turns.append(answer["choices"][0]["token_ids"])
    assert post(path + "/reward", {"reward": "much"})[0] == 400
    reward = sum(map(sum, turns)) % 7
    told(seed=session["seed"], prompt=first_prompt, turns=turns, reward=reward, kind=kind, checked=checked if kind == 1 else [])
    assert post(path + "/reward", {"reward": reward, "success": reward > 3})[0] == 200
    assert post(path + "/reward", {"reward": reward})[0] == 404
'''
FAILING = COMMON + r'''
for session, path, kind in sessions():
    messages = [{"role": "user", "content": "go"}]
    if kind % 5 == 4: post(path + "/chat/completions", {"messages": messages, "n": 49})  # floods before its first turn
    status, answer = post(path + "/chat/completions", {"messages": messages, "max_tokens": 1})
    if kind % 5 == 1: sys.exit("no more")
    if kind % 5 == 2:
        time.sleep(60)
        continue
    for i in range(21 * (kind % 5 == 3)): post(path + "/chat/completions", {"messages": [*messages, {"role": "assistant", "content": "what it never said"}, *messages]})
    post(path + "/reward", {"reward": 1})
'''
OPENAI = r'''
import os, sys, json, urllib.request
import openai
log, base, key = open(sys.argv[1], "a"), os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
TOOLS = [{"type": "function", "function": {"name": "add", "description": "", "parameters": {"type": "object", "properties": {}}}}]
def post(url, body):
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), {"Authorization": "Bearer " + key})) as answer:
        return json.loads(answer.read() or b"null")
while session := post(base + "/sessions", {}):
    client = openai.OpenAI(base_url=session["base_url"], api_key=key)
    messages = [{"role": "user", "content": "hello"}]
    answer = client.chat.completions.create(model="policy", messages=messages, tools=TOOLS, extra_body=dict(return_token_ids=True))
    messages += [answer.choices[0].message, {"role": "user", "content": "more"}]
    streamed = client.chat.completions.create(model="policy", messages=messages, tools=TOOLS, stream=True, extra_body=dict(return_token_ids=True))
    ids = [id for chunk in streamed for id in (chunk.choices[0].model_extra or {}).get("token_ids") or []]
    log.write(json.dumps(dict(seed=session["seed"], turns=[answer.choices[0].model_extra["token_ids"], ids])) + "\n"), log.flush()
    post(session["base_url"] + "/reward", {"reward": 1.0})
'''


# An agent framework, whose requests are its own; what it was told is read under its hands.
FRAMEWORK = r'''
import asyncio, json, os, sys, urllib.request
import openai
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
log, base, key = open(sys.argv[1], "a"), os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
def post(url, body):
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), {"Authorization": "Bearer " + key})) as answer:
        return json.loads(answer.read() or b"null")

async def play(session):
    turns = []
    async with openai.AsyncOpenAI(base_url=session["base_url"], api_key=key) as client:
        create = client.chat.completions.create
        async def listening(*arguments, **named):
            answer = await create(*arguments, **named)
            turns.append(answer.choices[0].model_extra["token_ids"])
            return answer
        client.chat.completions.create = listening
        model = OpenAIChatModel("policy", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, system_prompt="You add numbers.", model_settings={"extra_body": {"return_token_ids": True}})

        @agent.tool_plain
        def add(a: int, b: int) -> int:
            """The sum of two numbers."""
            return a + b

        try:
            first = await agent.run("hello")
            await agent.run("more", message_history=first.all_messages())
        except Exception as error:  # of a framework whose model talks nonsense
            print(repr(error), file=sys.stderr)
    return turns

while session := post(base + "/sessions", {}):
    turns = asyncio.run(play(session))
    log.write(json.dumps(dict(seed=session["seed"], turns=turns)) + "\n"), log.flush()
    post(session["base_url"] + "/reward", {"reward": 1.0})
'''


def play(folder, name, agent, ranks=1, number=4, environment=None, **keys):
    """A run with agents of that program, and what these were told."""
    (folder / f"{name}.py").write_text(agent)
    told = folder / f"{name}.told"
    command = dict(command=[sys.executable, str(folder / f"{name}.py"), str(told)], world_size=3)
    run = train(binary, folder, name, command | (environment or {}), ranks, number, **keys)
    return run, [json.loads(line) for line in open(told)] if told.exists() else []


def check_failures(run):
    kinds, seen = {1: "crash", 2: "timeout", 3: "protocol", 4: "flood"}, set()
    for line in [json.loads(line) for line in open(run / "experience/step_000001.jsonl")]:
        kind = kinds.get(int(line["prompt_id"].split(":")[1]) // 8 % 8 % 5)
        seen.add(kind)
        expect(line["reward_detail"].get("environment") == kind, f"{kind}: the failure is told: {line['reward_detail']}")
        expect((line["reward"] is None) == (kind is not None), f"{kind}: a failure is no reward, and never 0")
        expect(any(line["final_response_mask"]) == (kind is None), "who failed teaches nothing")
    expect(seen == {None, *kinds.values()}, f"all kinds came: {seen}")
    told = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    expect(all(told.get(f"environment/failed/{kind}") for kind in kinds.values()), "failures are counted by kind")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    one_step.make_model(binary, folder / "model", 1, False)
    one, told = play(folder, "one", AGENT, number=16)
    expect({t["kind"] for t in told} == set(range(8)), f"all kinds of sessions came: {sorted({t['kind'] for t in told})}")
    expect({word for t in told for word in t["checked"]} == {"stop", "special"}, "stop strings and special tokens were seen")
    check_trained(one, told)
    metrics = json.loads((one / "metrics.jsonl").read_text().splitlines()[-1])
    expect(not unknown_metrics(binary, metrics), f"metrics that nobody knows: {unknown_metrics(binary, metrics)}")
    two, told = play(folder, "two", AGENT, 2, number=16)
    check_trained(two, told)
    same = [[{k: v for k, v in line.items() if k != "log_probs"} for line in rollout_lines(run, 1)] for run in (one, two)]
    expect(same[0] == same[1], "2 ranks have the same trajectories")
    ours, theirs = (one_step.model_weights(run / "checkpoints/step_000001/actor") for run in (one, two))
    distance = max(float(abs(ours[name] - theirs[name]).max()) for name in ours)
    expect(distance < 2e-6, f"and the same weights: {distance}")
    pair, told = play(folder, "pair", AGENT, 2, number=4, actor_infer=dict(strategy_args=dict(strategy_config=dict(tensor_model_parallel_size=2))))
    check_trained(pair, told)
    check_failures(play(folder, "failing", FAILING, number=8, seed=9, environment=dict(timeout_s=3))[0])
    command = command_of(binary, folder, "futile", dict(command=[sys.executable, "-c", "import sys; sys.exit('not today')"]))
    futile = subprocess.run(command, capture_output=True, text=True, timeout=200)
    expect(futile.returncode == 2 and "the environment failed in all" in futile.stderr and "first failure (crash)" in futile.stderr,
           f"agents that take no session end the run: {futile.stderr[-600:]}")
    check_trained(*play(folder, "client", OPENAI, number=2, environment=dict(world_size=1)))
    framework, told = play(folder, "framework", FRAMEWORK, number=2, environment=dict(world_size=1))
    check_trained(framework, told)
    expect(sum(len(t["turns"]) for t in told) > 10, f"Pydantic AI has talked with the policy: {told}")
finish("agents that ask the policy")
