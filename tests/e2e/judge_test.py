#!/usr/bin/env python3
"""Rewards by a judge's server that fails, answers late, breaks off or hangs: through `roll score` and `roll train` nothing is lost, limits
hold, ends are prompt, and the key is nowhere. Argument: the roll binary."""
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import replay
from fake_judge import TEMPLATE, FakeJudge, rule
from rollouts import rollout_lines

KEY = "sk-Zq7hidden0key"
DEAD = "http://127.0.0.1:1/v1"
FAULTS = ["500", "429", "html", "cut", "close", "null", "503", "error", "riddle", "large"]
os.environ["NO_PROXY"] = "127.0.0.1"
os.environ["JUDGE_KEY"] = KEY


def one_in_ten(number):
    """A tenth of the requests fail, by turns in every way; others are late."""
    return FAULTS[number // 10 % len(FAULTS)] if number % 10 == 0 else "late" if number % 7 == 0 else None


def score(folder, url, rows, *flags, code=0):
    """(rewards, details, what was said)"""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([replay.binary, "score", "--reward", "llm_judge", "--judge-api-url", url, "--judge-model-name", "m", "--judge-api-key", KEY,
                           "--judge-prompt-file", folder / "judge.txt", "--judge-score-max", "10", *map(str, flags)], input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stderr[-3000:]}"
    assert KEY not in done.stdout + done.stderr, "the key was told"
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line["reward"] for line in lines], [line["detail"] for line in lines], done.stderr


def rows_of(count):
    return [dict(response="x" * i + "{reference}", ground_truth=str(i), prompt=f"p{i}") for i in range(count)]


def check_nothing_is_lost(folder):
    rows = rows_of(110)
    with FakeJudge(one_in_ten) as judge:
        rewards, details, said = score(folder, judge.url, rows, "--world-size", 8)
    assert rewards == [rule(row["response"]) for row in rows], rewards
    assert said == "", said
    assert sum(detail.get("retries", 0) for detail in details) == sum(number % 10 == 0 for number in range(1, len(judge.times) + 1)) >= 10
    assert 1 < judge.most_running <= 8, judge.most_running
    assert all(headers["Authorization"] == f"Bearer {KEY}" for headers in judge.headers)
    for body in judge.bodies:
        assert (body["path"], body["model"], body["temperature"], body["max_tokens"]) == ("/v1/chat/completions", "m", 0, 1024), body
    asked = {body["messages"][0]["content"] for body in judge.bodies}
    assert asked == {f"question p{i}\nreference {i}\nresponse\n{'x' * i}{{reference}}" for i in range(110)}, "a response was expanded, or a question lost"


def check_dead_servers(folder):
    rows = rows_of(4)
    quick = ("--max-retries", 1, "--world-size", 4)
    for policy, reward in (("drop", None), ("zero", 0)):
        rewards, details, said = score(folder, DEAD, rows, "--on-reward-error", policy, *quick)
        assert rewards == [reward] * 4, rewards
        assert all((detail["failure"], detail["retries"]) == ("unavailable", 1) for detail in details), details
        assert "of the rewards, 4 failed (4 unavailable), the first: the judge's server: " in said, said
    _, _, said = score(folder, DEAD, rows, "--on-reward-error", "stop", *quick, code=2)
    assert "--on_reward_error = stop" in said, said
    with FakeJudge(lambda number: "hang") as judge:
        rewards, details, said = score(folder, judge.url, rows, "--timeout-s", 0.3, *quick)
        assert rewards == [None] * 4 and "4 took longer than timeout_s" in said, said


def check_what_servers_say_of_the_key(folder):
    with FakeJudge(lambda number: "key") as judge:
        _, _, said = score(folder, judge.url, rows_of(1), code=2)
        assert "status 401" in said and "wrong key: Bearer (hidden)" in said and "judge_api_key (one was sent)" in said, said
        assert len(judge.times) == 1, "a key that is not known was tried again"
    with FakeJudge(lambda number: "echo") as judge:
        rewards, details, _ = score(folder, judge.url, rows_of(1))
        assert rewards == [0.5] and details == [{"judge": "Score: 5, says Bearer (hidden)"}], details


def check_passing_refusals(folder):
    """Who has answered once is asked again, whichever worker meets the refusal; who never has ends the run."""
    refusals, rows = ["302", "401", "403", "404", "410"], rows_of(11)
    with FakeJudge(lambda number: refusals[number // 3 % 5] if number % 3 == 0 else None) as judge:
        rewards, details, said = score(folder, judge.url, rows)
    assert rewards == [rule(row["response"]) for row in rows] and said == "", (rewards, said)
    assert sum(detail.get("retries", 0) for detail in details) == 5, details
    # Two workers: the second one's first question is refused once the first one, which asks again, has its answer.
    def second_is_refused(number):
        while number == 2 and len(judge.times) < 3:
            time.sleep(0.01)
        return "404" if number == 2 else None
    with FakeJudge(second_is_refused) as judge:
        rewards, _, said = score(folder, judge.url, rows, "--world-size", 2)
    assert rewards == [rule(row["response"]) for row in rows] and said == "", (rewards, said)


def check_secret_by_flag(folder):
    """A flag's ${oc.env:NAME} is the variable's value, as in a file; one that is not set is named."""
    with FakeJudge() as judge:
        score(folder, judge.url, rows_of(1), "--judge-api-key", "${oc.env:JUDGE_KEY}")
        assert judge.headers[0]["Authorization"] == f"Bearer {KEY}", "the text was sent instead of the key"
        _, _, said = score(folder, judge.url, rows_of(1), "--judge-api-key", "${oc.env:NO_SUCH_KEY}", code=2)
        assert "the environment variable NO_SUCH_KEY is not set" in said and len(judge.times) == 1, said


def check_certificates(folder):
    """A server whose certificate nobody vouches for is told nothing."""
    if not shutil.which("openssl"):
        return print("no openssl here: certificates are not tested")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", folder / "tls.pem", "-out", folder / "tls.crt"], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "tls.crt", folder / "tls.pem")
    with FakeJudge(tls=tls) as judge:
        rewards, details, said = score(folder, judge.url, rows_of(1), "--max-retries", 0)
    assert rewards == [None] and details[0]["failure"] == "unavailable" and "certificate" in said, said
    assert not judge.times, "a question went to a server that is not trusted"


def check_rate(folder, failed):
    """Ten requests where a minute may hold eight: the server's own clock decides."""
    try:
        with FakeJudge() as judge:
            score(folder, judge.url, rows_of(10), "--world-size", 10, "--requests-per-minute", 8)
            assert len(judge.times) == 10
            assert all(later - earlier >= 60 for earlier, later in zip(judge.times, judge.times[8:])), judge.times
    except BaseException as error:
        failed.append(error)


def judged_by(folder, url, **more):
    return {"rewards.math_rule.type": "llm_judge", "rewards.math_rule.judge_api_url": url, "rewards.math_rule.judge_model_name": "m",
            "rewards.math_rule.judge_prompt_file": folder / "judge.txt", "rewards.math_rule.judge_score_max": 10,
            "rewards.math_rule.judge_api_key": "${oc.env:JUDGE_KEY}", "rewards.math_rule.world_size": 4, "save_steps": 2} | more


def train(folder, name, url, code=0, ranks=1, **more):
    words = []
    replay.train(folder, name, ranks=ranks, accumulation=4 // ranks, launch=lambda *given: words.extend(map(str, given)), **judged_by(folder, url, **more))
    done = subprocess.run([replay.binary, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stderr[-3000:]}"
    check_no_key(folder / name, done.stdout + done.stderr)
    return done.stdout + done.stderr


def check_no_key(run, said):
    assert KEY not in said, "the key was told"
    for file in filter(pathlib.Path.is_file, run.rglob("*")):
        assert KEY.encode() not in file.read_bytes(), f"the key is in {file}"


def rollouts(run, step):
    return rollout_lines(run, step)


def check_training(folder, ranks):
    run = folder / f"judged_{ranks}"
    with FakeJudge(one_in_ten) as judge:
        train(folder, run.name, judge.url, ranks=ranks, **{"rewards.math_rule.requests_per_minute": 1000})
    metrics = [json.loads(line) for line in open(run / "metrics.jsonl")]
    assert len(metrics) == 3 and judge.most_running <= 4 * ranks, judge.most_running
    for step, of_step in enumerate(metrics, 1):
        lines = rollouts(run, step)
        assert len(lines) == 16 and all(line["score"] == line["reward"] == rule(line["response"]) for line in lines), lines
        assert of_step["reward/errors"] == of_step["reward/timeouts"] == 0
        assert of_step["math_rule/reward/retries"] == of_step["reward/retries"] == sum(line["reward_detail"].get("retries", 0) for line in lines)
        assert 0 < of_step["math_rule/reward/seconds/mean"] <= of_step["math_rule/reward/seconds/max"], of_step
        assert 0 <= of_step["math_rule/reward/waiting"] <= 16, of_step
    assert sum(of_step["reward/retries"] for of_step in metrics) == sum(number % 10 == 0 for number in range(1, len(judge.times) + 1)) >= 4
    assert "judge_api_key: \"${oc.env:JUDGE_KEY}\"\n" in (run / "config.resolved.yaml").read_text()


def check_training_with_a_dead_server(folder):
    retry = {"rewards.math_rule.max_retries": 1, "rewards.math_rule.world_size": 16, "max_steps": 2}
    written = {"rewards.math_rule.judge_api_key": KEY, "system_envs.OTHER_TOKEN": KEY}  # the careless way
    train(folder, "drop", DEAD, **retry, **written)
    resolved = folder / "drop/config.resolved.yaml"
    assert "judge_api_key: \"(hidden)\"" in resolved.read_text() and "OTHER_TOKEN: \"(hidden)\"" in resolved.read_text(), resolved.read_text()
    words = [replay.binary, "train", "--config", resolved, "output_dir=" + str(folder / "again"), "rewards.math_rule.judge_api_key=x"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "OTHER_TOKEN = (hidden): is the placeholder of a secret" in done.stderr, done.stderr
    train(folder, "zero", DEAD, **retry, **{"rewards.math_rule.on_reward_error": "zero"})
    for name, reward in (("drop", None), ("zero", 0)):
        metrics = [json.loads(line) for line in open(folder / name / "metrics.jsonl")]
        for step in (1, 2):
            assert all(line["reward"] == reward and line["reward_detail"]["failure"] == "unavailable" for line in rollouts(folder / name, step))
            assert metrics[step - 1]["reward/errors/unavailable"] == metrics[step - 1]["reward/retries"] == 16, metrics[step - 1]
    # One has failed for good; those that would try on for hours are woken.
    said = train(folder, "stop", DEAD, code=2, **retry, **{"rewards.math_rule.on_reward_error": "stop"})
    assert "rewards.math_rule.on_reward_error = stop" in said, said


def check_a_stop_does_not_wait(folder):
    """A server that never answers, an hour's patience, and Ctrl-C: only a run that gives the server up ends within this test's limit."""
    words = []
    with FakeJudge(lambda number: "hang") as judge:
        replay.train(folder, "stopped", launch=lambda *given: words.extend(map(str, given)), **judged_by(folder, judge.url, **{"rewards.math_rule.timeout_s": 3600}))
        run = subprocess.Popen([replay.binary, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            while not judge.times and run.poll() is None:
                time.sleep(0.05)
            run.send_signal(signal.SIGINT)
            said, _ = run.communicate(timeout=240)
        finally:
            run.kill()
    assert run.returncode == 130, f"exit code {run.returncode}: {said[-3000:]}"
    check_no_key(folder / "stopped", said)


def check_configurations(folder):
    def validate(**more):
        words = []
        replay.train(folder, "validated", launch=lambda *given: words.extend(map(str, given)), **judged_by(folder, DEAD, **more))
        words[0] = "validate-config"
        for flag in ("-n", "--device"):
            del words[words.index(flag) : words.index(flag) + 2]
        done = subprocess.run([replay.binary, *words, "--print"], capture_output=True, text=True, timeout=60)
        assert KEY not in done.stdout + done.stderr, "the key was told"
        return done.returncode, done.stdout + done.stderr

    assert validate()[0] == 0, validate()
    assert "(hidden)" in validate(**{"rewards.math_rule.judge_api_key": KEY})[1]
    for model_type, key in {"inference": "rewards.math_rule.model_args", "cluster": "reward_model.model_args"}.items():
        code, said = validate(**{"rewards.math_rule.judge_model_type": model_type})
        assert code == 2 and f"{key}.model_name_or_path" in said and "set it to the judging model" in said, said
    code, said = validate(**{"reward_model.model_args.model_name_or_path": "x"})
    assert code == 0 and "reward_model has no effect" in said, said


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "judge.txt").write_text(TEMPLATE)
    failed = []
    rate = threading.Thread(target=check_rate, args=(folder, failed))
    rate.start()
    check_nothing_is_lost(folder)
    check_dead_servers(folder)
    check_what_servers_say_of_the_key(folder)
    check_passing_refusals(folder)
    check_secret_by_flag(folder)
    check_certificates(folder)
    replay.make_model(folder)
    (folder / "rows.jsonl").write_text("".join(json.dumps(dict(id=str(i), prompt=f"{i}+1=", ground_truth=str(i + 1), tag="sum")) + "\n" for i in range(40)))
    check_configurations(folder)
    for ranks in (1, 2):
        check_training(folder, ranks)
    check_training_with_a_dead_server(folder)
    check_a_stop_does_not_wait(folder)
    rate.join()
    if failed:
        raise failed[0]
print("judges are as they should be")
