#!/usr/bin/env python3
"""Agents that run elsewhere, 64 sessions at once on two ranks that sample ahead of training: what they were told is what is trained, of every
version; a thousand malformed requests, wrong keys and clients that hang up harm nothing; validations are played as well. Argument: the roll binary."""
import http.client
import json
import pathlib
import random
import sys
import tempfile
import threading

import one_step
from agents import check_trained, train
from held_ports import held_port

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

KEY = "a key of this test"
AGENTS, AT_ONCE, MALFORMED = 96, 64, 16  # some for validations; sessions; bodies of each
GOOD = json.dumps(dict(messages=[dict(role="user", content="go")], max_tokens=2, stop=["x"], stream=False, n=1, seed=1, tools=[])).encode()


def malformed(rng):
    """What is no request, in many ways."""
    kind = rng.randrange(4)
    if kind == 0:
        return GOOD[:rng.randrange(len(GOOD) - 1)]
    if kind == 1:
        return json.dumps(json.loads(GOOD) | {rng.choice(["messages", "stop", "n", "seed", "tools", "max_tokens"]): rng.choice([-1, "", {"x": []}, [[]], 1e300, True])}).encode()
    if kind == 2:
        noisy = bytearray(GOOD)
        noisy[rng.choice([i for i, c in enumerate(GOOD) if chr(c) in '{}[]:,"'])] = rng.randrange(1, 32)
        return bytes(noisy)
    return rng.choice([b"[" * 5000, b'{"a":' * 3000, b"", b"null", b"3", rng.randbytes(50), GOOD + GOOD])


class Agent(threading.Thread):
    """Plays sessions until the run is over."""

    def __init__(self, port, number, begins, told):
        super().__init__(daemon=True)
        self.link, self.number, self.begins, self.told = http.client.HTTPConnection("127.0.0.1", port, timeout=60), number, begins, told
        self.statuses, self.rng, self.problem, self.heard_end = [], random.Random(number), None, False

    def post(self, path, body, key=KEY):
        body = body if isinstance(body, bytes) else json.dumps(body)
        self.link.request("POST", path, body, {"Authorization": "Bearer " + key})
        answer = self.link.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def run(self):
        while True:
            try:
                status, session = self.post("/v1/sessions", {})
            except (OSError, http.client.HTTPException):
                self.link.close()
                if not self.begins.wait_for_run(): return
                continue
            if status == 503:
                self.heard_end = True
                return
            if status == 200: self.play_safely(session, "/v1/sessions/" + session["id"])

    def play_safely(self, session, path):
        """Whatever goes wrong is kept for the end, which the run must reach."""
        try:
            self.play(session, path)
        except Exception as problem:
            self.link.close()
            if not self.begins.is_over.is_set(): self.problem = repr(problem)

    def play(self, session, path):
        if session["seed"] % 2 == 0 and not self.statuses and self.begins.places.acquire(blocking=False):  # no validation
            self.begins.all_there.wait(60)
            self.link.close()  # which the server may have ended meanwhile
            expect(self.post(path + "/chat/completions", {"messages": []}, "wrong")[0] == 401 and self.post(path + "/reward", {"reward": 1}, "")[0] == 401, "wrong keys")
            expect(self.post(path + "/nothing", {})[0] == 404, "the connection goes on")
            self.statuses = [self.post(path + "/chat/completions", malformed(self.rng))[0] for _ in range(MALFORMED)]
        messages, turns = [dict(role="user", content=f"level {session['seed'] % 100}")], []
        if self.number % 4 == 1:
            self.hang_up(path, messages)
        while len(turns) < 2:
            status, answer = self.post(path + "/chat/completions", dict(messages=messages, max_tokens=4, return_token_ids=True))
            if status != 200: return self.over(status, answer)
            choice = answer["choices"][0]
            turns.append(choice["token_ids"])
            messages += [choice["message"], dict(role="user", content=f"turn {len(turns)}")]
        reward = sum(map(sum, turns)) % 7
        self.told.append(dict(seed=session["seed"], turns=turns, reward=reward))
        status, answer = self.post(path + "/reward", dict(reward=reward, success=reward > 3))
        if status != 200: self.over(status, answer)

    def over(self, status, answer):
        """Only a run that ends, or wants its trajectory no more, may say no."""
        expect(status in (404, 503) or (status == 400 and "over" in answer["error"]["message"]), f"{status} {answer}")

    def hang_up(self, path, messages):
        link = http.client.HTTPConnection("127.0.0.1", self.link.port, timeout=60)
        link.request("POST", path + "/chat/completions", json.dumps(dict(messages=messages, stream=True, n=3)), {"Authorization": "Bearer " + KEY})
        link.getresponse().read(10)
        link.close()


class Begins:
    """That the run listens, and that all sessions are there at once."""

    def __init__(self, is_over):
        self.places, self.all_there, self.is_over = threading.Semaphore(AT_ONCE), threading.Barrier(AT_ONCE), is_over

    def wait_for_run(self):
        return not self.is_over.wait(0.1)


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one_step.make_model(binary, folder / "model", 1, False)
        port, told, is_over = held_port(2), [], threading.Event()
        begins = Begins(is_over)
        agents = [Agent(port + i % 2, i, begins, told) for i in range(AGENTS)]
        for agent in agents: agent.start()
        run = train(binary, folder, "run", dict(api_key=KEY, port=port, timeout_s=100), ranks=3, number=16, max_steps=3, async_generation_ratio=1, eval_steps=2, val_batch_size=8,
                    val_env_manager=dict(tags=["Agent"], num_env_groups=1), actor_infer=dict(device_mapping=[1, 2]), actor_train=dict(device_mapping=[0]))
        is_over.set()
        for agent in agents: agent.join(60)
        problems = [agent.problem for agent in agents if agent.problem]
        expect(any(agent.heard_end for agent in agents), "who waits for a session hears that the run is over")
        expect(not problems, f"agents heard what they should not: {problems[:3]}")
        statuses = [status for agent in agents for status in agent.statuses]
        counts = {status: statuses.count(status) for status in sorted(set(statuses))}
        print("malformed requests:", counts)
        expect(len(statuses) == AT_ONCE * MALFORMED and counts.get(400, 0) > 0.9 * len(statuses) and set(counts) <= {200, 400}, f"all were at once, and refused: {counts}")
        check_trained(run, told, (1, 2, 3))
        stale = sum(count for step in (2, 3) for line in rollout_lines(run, step) for version, count in line.get("weights", []) if version < step - 1)
        expect(stale > 0, "some tokens were sampled ahead")
        metrics = [json.loads(line) for line in open(run / "metrics.jsonl")]
        expect(any("val_turns/mean" in m for m in metrics), "the validation was played")
        expect(not any(key.startswith("environment/failed") and value for m in metrics for key, value in m.items()), "nobody failed")
    finish("agents that run elsewhere")


main()
