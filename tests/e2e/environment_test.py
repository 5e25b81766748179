#!/usr/bin/env python3
"""Training over several turns: the same trajectories and weights on any number of ranks, what was sampled is what is trained, holes where
the environment spoke, environments that fail, and replay to the bit. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import one_step
from metric_words import unknown_metrics

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines
from turns import PLAYS, run_config

binary = pathlib.Path(sys.argv[1]).resolve()
LAKE = dict(env_type="frozen_lake", max_steps=3, max_tokens_per_step=5, agent_template="{observation}",
            env_config=dict(env_instruction="", action_pattern="([a-m])", action_lookup={0: "a", 1: "b", 2: "c", 3: "d"}, is_slippery=False, size=3))
NUMBER = dict(env_type="guess_the_number", max_steps=4, max_tokens_per_step=3, env_config=dict(action_pattern="([0-9])", max_number=9))
# To a model that knows no tool, some of its letters are calls that are none.
TOOLS = dict(env_type="tools", max_steps=3, max_tokens_per_step=6, env_config=dict(tools=["calculator", "python"], show_tools=False, env_instruction="",
                                                                                   tool_pattern="([a-m])([n-z]|$)", action_pattern="([0-9])"))
# Answers in order, but for levels whose seed says otherwise: those end, hang, or say what nobody understands.
PROGRAM = PLAYS + r'''
def begin(seed, config):
    return {"tools": [{"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}]} if "tools" in config else {}
def act(seed, message):
    if seed // 2 % 4 == 1: sys.exit(3)
    if seed // 2 % 4 == 2: time.sleep(60)
    return {"reward": len(message) % 3 - (seed // 2 % 4 == 3 and 1e9)}
play(act, begin)
'''


def train(folder, name, environments, ranks=1, overrides=(), **keys):
    config = run_config(folder, name, environments, **keys)
    done = subprocess.run([binary, "train", "--config", config, "-n", str(ranks), "--device", "cpu", *overrides], capture_output=True, text=True,
                          timeout=300)
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    leaks = "validation rows are training rows too" in done.stdout + done.stderr
    expect(leaks == (name == "held"), f"{name}: a level of both is told, and a beginning that all have is none: {done.stderr[-1000:]}")
    return folder / name


def trajectories(run, step):
    """All of them but their log-probs, which differ by the rounding of sums over ranks."""
    return [{key: value for key, value in line.items() if key != "log_probs"} for line in rollout_lines(run, step)]


def weights(run):
    return one_step.model_weights(run / "checkpoints/step_000002/actor")


def distance(run, other):
    """The largest difference of two runs' weights, which moved by about 0.002."""
    ours, theirs = weights(run), weights(other)
    return max(float(abs(ours[name] - theirs[name]).max()) for name in ours)


def check_trajectories(run):
    for step in (1, 2):
        sampled, trained = rollout_lines(run, step), [json.loads(line) for line in open(run / f"experience/step_{step:06}.jsonl")]
        expect(len(sampled) == len(trained) == 16, f"step {step} has all its trajectories")
        for line, told in zip(sampled, trained):
            own = [x for turn in line["turns"] for x in [1.0] * turn["tokens"] + [0.0] * turn["environment_tokens"]]
            expect(told["response_ids"] == line["response_ids"], "the tokens that were sampled are those that are trained")
            expect(told["response_mask"] == told["final_response_mask"] == own, "loss is where the model spoke, and nowhere else")
            expect(all(a == 0 for a, m in zip(told["advantages"], own) if not m), "an environment's tokens have no advantage")
            expect(all((p == 0) == (not m) for p, m in zip(line["log_probs"], own)), "log-probs are the model's")
            gap = max(abs(a - b) for a, b, m in zip(told["old_log_probs"], line["log_probs"], own) if m)
            expect(gap < 1e-4, f"the trainer finds the sampler's log-probs behind all that was said before: {gap}")
            expect(abs(sum(turn["reward"] for turn in line["turns"]) - line["reward"]) < 1e-9, "rewards of turns are the reward")
            limit = 3 if line["domain"] == "Lake" else 4
            expect(line["finish_reason"] == ("length" if "cut" in line["reward_detail"] else "stop"), "how it ended")
            expect((line["reward_detail"].get("cut") == "turns") <= (len(line["turns"]) == limit), "cut at its last turn")


def own_tokens(line):
    return sum(turn["tokens"] for turn in line["turns"])


def check_lengths(run):
    """A response is as long as what the model drew of it; prompts of later turns are told apart."""
    steps = [told for told in map(json.loads, open(run / "metrics.jsonl")) if "token/response_length/mean" in told]
    for step, told in enumerate(steps, 1):
        lines = rollout_lines(run, step)
        own, later = [own_tokens(line) for line in lines], [turn["environment_tokens"] for line in lines for turn in line["turns"][:-1]]
        for name, lengths in (("response", own), ("later_prompt", later), ("total", [len(line["prompt_ids"] + line["response_ids"]) for line in lines])):
            found = [told[f"token/{name}_length/{kind}"] for kind in ("mean", "max", "min")]
            expect(abs(found[0] - sum(lengths) / len(lengths)) < 1e-4 and found[1:] == [max(lengths), min(lengths)], f"{name} lengths: {found}, {lengths}")
        lake = [own_tokens(line) for line in lines if line["domain"] == "Lake"]
        expect(abs(told["Lake/token/response_length/mean"] - sum(lake) / len(lake)) < 1e-4, "lengths of a domain")
    expect(len(steps) == 2, f"each step tells them: {len(steps)}")


def check_length_penalties(run):
    """The model pays for its own tokens alone: half of its share of 40 tokens in Lake, all beyond the 10th in Number."""
    for line in [line for step in (1, 2) for line in rollout_lines(run, step)]:
        own, earned = own_tokens(line), sum(turn["reward"] for turn in line["turns"])
        pays = own / 80 if line["domain"] == "Lake" else max(0, own - 10) / 30
        expect(abs(line["reward"] - (earned - pays)) < 1e-6, f"{line['domain']}: {own} of {len(line['response_ids'])} tokens cost {earned - line['reward']}")


def check_loss(folder, run):
    """No layout changes the loss of trajectories, those of a run and random ones."""
    for estimator in ("grpo", "gigpo"):
        config = run_config(folder, "loss", dict(Lake=LAKE, Number=NUMBER), adv_estimator=estimator)
        for rollouts in (["--rollouts", run], []):
            done = subprocess.run([binary, "check-loss", "--config", config, *rollouts], capture_output=True, text=True, timeout=120)
            expect(done.returncode == 0 and "largest deviation" in done.stdout, f"{estimator} {rollouts}: {done.stdout[-600:]}{done.stderr[-600:]}")


def check_ahead(run):
    """Turns are sampled while others train, some trajectories with several versions, and each token's version is known."""
    stale = 0
    for step in (1, 2, 3):
        for line, told in zip(rollout_lines(run, step), (json.loads(line) for line in open(run / f"experience/step_{step:06}.jsonl"))):
            versions = line.get("weights", [[step - 1, len(line["response_ids"])]])
            expect(sum(count for _, count in versions) == len(line["response_ids"]), "each token has a version")
            stale += sum(count for version, count in versions if version < step - 1)
            expect(told["response_ids"] == line["response_ids"], "sampled ahead: the tokens that were sampled are trained")
    expect(stale > 0, "some tokens were sampled ahead")


def check_tools(run):
    """Calls are answered between turns, and counted; the answers carry no loss."""
    lines = [line for step in (1, 2) for line in rollout_lines(run, step)]
    for line, told in zip(lines, [json.loads(line) for step in (1, 2) for line in open(run / f"experience/step_{step:06}.jsonl")]):
        detail, answers = line["reward_detail"], line["response"].count("Error: this is no call")
        own = [x for turn in line["turns"] for x in [1.0] * turn["tokens"] + [0.0] * turn["environment_tokens"]]
        expect(told["response_ids"] == line["response_ids"] and told["response_mask"] == own, "answers of tools are holes in the mask")
        expect(not answers or "tool" in line["response"], "they are messages of the role tool")
        expect(detail["tool_calls"] == detail["tool_errors"] >= answers >= len(line["turns"]) - 1, f"each call has its answer: {detail}, {answers}")
    expect(any(line["reward_detail"]["tool_calls"] for line in lines), "some turns call")
    told = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    count = sum(line["reward_detail"]["tool_calls"] for line in lines if line["step"] == 2) / 16
    expect(abs(told["environment/tool_calls"] - count) < 1e-6 and told["environment/tool_errors"] == told["environment/tool_calls"], "calls are counted")
    page = subprocess.run([binary, "report", run], capture_output=True, text=True, timeout=60)
    expect(page.returncode == 0 and "environment/tool_errors" in (run / "report.html").read_text(), f"the report has them: {page.stderr}")


def check_declared_tools(folder):
    """A program's tools reach the template, or are refused; a call that is none is answered without it, as a message of the role tool."""
    args = dict(command=[sys.executable, "-c", PROGRAM.replace("% 4", "* 0")], world_size=2, config=dict(tools="yes"), tool_pattern="([a-m])([n-z]|$)")
    program = lambda shows: dict(Program=dict(env_type="command", max_steps=4, max_tokens_per_step=6, env_config=args | dict(show_tools=shows)))
    run = train(folder, "declared", program(False))
    lines = [line for step in (1, 2) for line in rollout_lines(run, step)]
    counts = [(line["reward_detail"]["tool_calls"], line["reward_detail"]["tool_errors"], line["response"].count("Error: this is no call")) for line in lines]
    expect(all(calls == errors >= told for calls, errors, told in counts) and any(told for _, _, told in counts), f"bad calls come back: {counts}")
    expect(any("more" in line["response"] for line in lines), "the program is asked about turns that call nothing")
    done = subprocess.run([binary, "train", "--config", run_config(folder, "shown", program(True)), "--device", "cpu"], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 2 and "does not show the tool look" in done.stderr, f"a template without tools: {done.stderr[-300:]}")
    own = dict(Sums=TOOLS | dict(env_config=TOOLS["env_config"] | dict(show_tools=True)))
    checked = subprocess.run([binary, "validate-config", run_config(folder, "own", own), "--no-time"], capture_output=True, text=True, timeout=60)
    expect(checked.returncode == 2 and "does not show the tool calculator" in checked.stderr, f"validate-config says so before a run: {checked.stderr[-300:]}")


def check_failures(run):
    kinds = {1: "crash", 2: "timeout", 3: "protocol"}
    seen = set()
    for step in (1, 2):
        for line in [json.loads(line) for line in open(run / f"experience/step_{step:06}.jsonl")]:
            kind = kinds.get(int(line["prompt_id"].split(":")[1]) // 2 % 4)
            seen.add(kind)
            expect(line["reward_detail"].get("environment") == kind, f"{kind}: the failure is told: {line['reward_detail']}")
            expect((line["reward"] is None) == (kind is not None), "a failure is no reward, and never 0")
            expect(any(line["final_response_mask"]) == (kind is None), "who failed teaches nothing")
    expect(seen == {None, "crash", "timeout", "protocol"}, f"all kinds came: {seen}")
    told = [json.loads(line) for line in open(run / "metrics.jsonl")]
    failed = [sum(m.get(f"environment/failed/{kind}", 0) for m in told) for kind in kinds.values()]
    expect(all(failed), f"failures are counted by kind: {failed}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    one_step.make_model(binary, folder / "model", 1, False)
    both = dict(Lake=LAKE, Number=NUMBER)
    one = train(folder, "one", both)
    check_trajectories(one)
    check_lengths(one)
    told = [json.loads(line) for line in open(one / "metrics.jsonl")]
    expect(not unknown_metrics(binary, told[-1]), f"metrics that nobody knows: {unknown_metrics(binary, told[-1])}")
    expect(any("val_turns/mean" in m for m in told), "the validation counts turns")
    hits = told[0]["rollout/prefix_hits"] if "rollout/prefix_hits" in told[0] else told[1]["rollout/prefix_hits"]
    expect(hits > 0.3, f"turns find the pages of those before: {hits}")
    for ranks, overrides in ((2, ()), (4, ()), (2, ("actor_infer.strategy_args={strategy_config: {tensor_model_parallel_size: 2}}",))):
        other = train(folder, f"on{ranks}{len(overrides)}", both, ranks, overrides)
        for step in (1, 2):
            same = trajectories(one, step) == trajectories(other, step)
            expect(same or overrides, f"{ranks} ranks {overrides}: step {step} has the same trajectories")
        expect(distance(one, other) < (1e-3 if overrides else 2e-6), f"{ranks} ranks {overrides}: the same weights: {distance(one, other)}")
        check_trajectories(other)
    check_loss(folder, one)
    check_ahead(train(folder, "ahead", both, 2, max_steps=3, async_generation_ratio=1,
                      actor_infer=dict(device_mapping=[1], generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)),
                      actor_train=dict(device_mapping=[0], training_args=dict(learning_rate=1e-3, train_batch_size=8, lr_scheduler_type="constant"))))
    sums = dict(Program=dict(env_type="command", max_steps=4, max_tokens_per_step=3, env_config=dict(command=[sys.executable, "-c", PROGRAM.replace("% 4", "* 0").replace("{seed}", "{seed % 8 // 4}")], world_size=1)))
    held = train(folder, "held", sums, 2, max_steps=3, eval_steps=1, async_generation_ratio=1,
                 actor_infer=dict(device_mapping=[1], generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)),
                 actor_train=dict(device_mapping=[0], training_args=dict(learning_rate=1e-3, train_batch_size=8, lr_scheduler_type="constant")))
    expect(sum("val_turns/mean" in line for line in open(held / "metrics.jsonl")) > 2, "a validation has environments where those of training are held")
    apart = train(folder, "apart", both, overrides=["actor_train.share_prompts=false"], rollout_replay=str(one / "rollouts"))
    shared = train(folder, "shared", both, overrides=["actor_train.share_prompts=true"], rollout_replay=str(one / "rollouts"))
    expect(json.loads((shared / "metrics.jsonl").read_text().splitlines()[-1])["packing/shared"] > 0.1, "prompts are computed once")
    expect(distance(apart, shared) < 2e-6, f"prompts computed once, holes in the mask: the same weights: {distance(apart, shared)}")
    own = dict(Lake=dict(type="environment", response_length_penalty_coef=0.5),
               Number=dict(type="environment", overlong_buffer=dict(enable=True, len=30, penalty_factor=1)))
    short = train(folder, "short", both, response_length=40, rewards=own)
    check_length_penalties(short)
    lengths = [len(line["response_ids"]) for step in (1, 2) for line in rollout_lines(short, step)]
    cuts = [line["reward_detail"].get("cut") for step in (1, 2) for line in rollout_lines(short, step)]
    expect(max(lengths) <= 40 and "tokens" in cuts, f"a trajectory ends where its tokens do: {max(lengths)}, {set(cuts)}")
    again = train(folder, "again", both, rollout_replay=str(one / "rollouts"))
    expect(distance(one, again) == 0, "a replay of trajectories trains the same weights")
    program = dict(Program=dict(env_type="command", max_steps=4, max_tokens_per_step=3,
                                env_config=dict(command=[sys.executable, "-c", PROGRAM], timeout_s=1.5, world_size=3)))
    tools = train(folder, "tools", dict(Sums=TOOLS))
    check_tools(tools)
    pair = ["actor_infer.strategy_args={strategy_config: {tensor_model_parallel_size: 2}}"]
    check_tools(train(folder, "tools2", dict(Sums=TOOLS), 2, pair))
    check_declared_tools(folder)
    check_failures(train(folder, "program", program, 1, seed=9))
    sizes = ["rollout_batch_size=16", "val_batch_size=4", "train_env_manager.num_levels=16", "actor_train.training_args.train_batch_size=16"]
    for name in ("frozen_lake", "sokoban"):
        recipe = pathlib.Path(__file__).resolve().parents[2] / f"configs/{name}_cpu.yaml"
        done = subprocess.run([binary, "train", "--config", recipe, "--device", "cpu", f"pretrain={folder / 'model'}", f"output_dir={folder / name}",
                               "max_steps=1", *sizes, *(["rewards=null"] if name == "sokoban" else [])], capture_output=True, text=True, timeout=120)
        expect(done.returncode == 0 and "step 1/1" in done.stdout, f"the recipe of {name} runs a step: {done.stderr[-800:]}")
finish("training over several turns")
