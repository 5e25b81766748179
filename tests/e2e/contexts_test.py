#!/usr/bin/env python3
"""Turns with prompts of their own (ROLL's StepEnvManager): what each is shown, the same trajectories and weights on any number of ranks and
any layout, what was sampled is what is trained, and resuming to the bit. Argument: the roll binary."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import one_step
import turns

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

binary = pathlib.Path(sys.argv[1]).resolve()
STEPS = dict(env_manager_cls="roll.pipeline.agentic.env_manager.step_env_manager.StepEnvManager", max_steps=4, max_tokens_per_step=4, history_length=2)
LAKE = STEPS | dict(env_type="frozen_lake", agent_system_template="be brief",
                    agent_template="{env_instruction}({step_count},{history_length},{current_step},{actions_left})[{history}]\n{current_observation}",
                    env_config=dict(env_instruction="", action_pattern="([a-m])", action_lookup={0: "a", 1: "b", 2: "c", 3: "d"}, is_slippery=False, size=3,
                                       grid_lookup={2: "<|im_end|>"}))  # a hole that spells the end of a turn
NUMBER = STEPS | dict(env_manager_cls="StepConcatEnvManager", env_type="guess_the_number", agent_template="{history}|{current_observation}", history_length=1,
                      env_config=dict(action_pattern="([0-9])", max_number=9))
STATES = {}  # by observation


def run_config(folder, name, **keys):
    own = dict(exp_name="contexts", save_steps=1, prompt_length=100, response_length=160, adv_estimator="gigpo")
    return turns.run_config(folder, name, dict(Lake=LAKE, Number=NUMBER), 1100, **(own | keys))


def roll(command, config, *more):
    done = subprocess.run([binary, command, "--config", config, *more], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{config}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def train(folder, name, ranks=1, overrides=(), **keys):
    roll("train", run_config(folder, name, **keys), "-n", str(ranks), "--device", "cpu", *overrides)
    return folder / name


def trajectories(run, step):
    """All of them but their log-probs, which differ by the rounding of sums over ranks."""
    return [{key: value for key, value in line.items() if key != "log_probs"} for line in rollout_lines(run, step)]


def distance(run, other, step=2):
    """The largest difference of two runs' weights, which moved by about 0.002."""
    ours, theirs = (one_step.model_weights(r / f"checkpoints/step_{step:06}/actor") for r in (run, other))
    return max(float(abs(ours[name] - theirs[name]).max()) for name in ours)


def check_prompts(line, most=4):
    """Each turn is shown what its template says: the last turns, the level as it is now, and nothing else."""
    parts = re.split(r"<\|im_start\|>assistant\n", line["response"])  # a turn, and the prompt of the next one
    expect(len(parts) == len(line["turns"]), f"each turn but the first has a prompt of its own: {line['response']}")
    shown = line["prompt"]
    for number, (part, turn) in enumerate(zip(parts, line["turns"]), 1):
        expect((number > 1) == turn.get("own_context", False), "turns say where contexts begin")
        if line["domain"] == "Lake":
            told = re.search(r"\((\d),(\d),(\d),(\d)\)\[(.*?)\]\n(.*?)<\|im_end\|>\n<\|im_start\|>assistant", shown, re.DOTALL)
            expect(told and told[1] == str(number - 1) and told[2] == str(min(number - 1, 1)) and told[3] == str(number) and told[4] == str(most + 1 - number),
                   f"turn {number} is counted: {shown!r}")
            expect("be brief" in shown and shown.count("<|im_start|>") == 3, f"a prompt is whole: {shown!r}")
            expect(shown.count("<|im_end|>") == 2, f"what an environment or the model says ends no turn: {shown!r}")
            expect(number == 1 or (seen in told[5] and f"Turn {number - 1} showed" in told[5] and told[5].count("You answered") == 1 and
                                   ("no valid action" in told[5]) == (not valid)), f"one observation of the past is shown: {shown!r}")
            seen, valid = told[6], turn["valid"]
            expect(STATES.setdefault(seen.replace("<|im_end|>", "< |im_end|>"), turn["state"]) == turn["state"], "a state is an observation, whatever was before")
        shown = part[re.search(r"<\|im_start\|>(system|user)\n", part).start():] + "<|im_start|>assistant\n" if number < len(parts) else None


def check_trajectories(run, steps=(1, 2)):
    for step in steps:
        sampled, trained = rollout_lines(run, step), [json.loads(line) for line in open(run / f"experience/step_{step:06}.jsonl")]
        expect(len(sampled) == len(trained) == 16, f"step {step} has all its trajectories")
        expect(any(len(line["turns"]) > 2 for line in sampled), "trajectories have turns")
        for line, told in zip(sampled, trained):
            own = [x for turn in line["turns"] for x in [1.0] * turn["tokens"] + [0.0] * turn["environment_tokens"]]
            expect(told["response_ids"] == line["response_ids"], "the tokens that were sampled are those that are trained")
            expect(told["response_mask"] == told["final_response_mask"] == own, "loss is where the model spoke, and nowhere else")
            gap = max(abs(a - b) for a, b, m in zip(told["old_log_probs"], line["log_probs"], own) if m)
            expect(gap < 1e-4, f"the trainer finds the sampler's log-probs behind each turn's own prompt: {gap}")
            check_prompts(line)


def check_draws(run):
    """Turns of a trajectory that are asked alike have random numbers of their own."""
    alike = []
    for line in (line for step in (1, 2) for line in rollout_lines(run, step)):
        at, said, asked = 0, [], []
        for turn in line["turns"]:
            said.append(line["response_ids"][at:at + turn["tokens"]])
            asked.append(line["response_ids"][at + turn["tokens"]:at + turn["tokens"] + turn["environment_tokens"]])
            at += turn["tokens"] + turn["environment_tokens"]
        alike += [a != b for a, b, x, y in zip(said[1:], said[2:], asked, asked[1:]) if x == y]
    expect(len(alike) > 8 and sum(alike) > 0.9 * len(alike), f"the same prompt twice, and other draws: {alike}")


def check_experts(folder):
    """The experts of the sampler's routers come to each context's tokens in training."""
    subprocess.run([binary, "init-model", "--arch", "qwen3_moe", "--hidden", "32", "--layers", "2", "--heads", "4", "--kv-heads", "2", "--experts", "8",
                    "--experts-per-token", "2", "--expert-intermediate", "16", "--tokenizer", "builtin", "--seed", "2", "--out", folder / "experts"],
                   check=True, capture_output=True)
    run = train(folder, "routed", pretrain=str(folder / "experts"), routing_replay=True, max_steps=1,
                overrides=["actor_train.strategy_args.strategy_config.moe_aux_loss_coeff=0.1"])
    told = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    expect(told["actor/moe/agreement"] == 1, f"all tokens went through the sampler's experts: {told['actor/moe/agreement']}")
    for line in rollout_lines(run, 1):
        ends, at = [], len(line["prompt_ids"])
        for turn in line["turns"][:-1]:
            ends.append(at + turn["tokens"] - 1)
            at += turn["tokens"] + turn["environment_tokens"]
        expect([i for i, experts in enumerate(line["routed_experts"]) if -1 in experts] == ends, "the last token of a context went on to none")


def check_ahead(folder):
    """Turns that wait for new weights go on behind the tokens that they have, whose versions are known."""
    slow = {tag: its | dict(max_steps=2, max_tokens_per_step=200) for tag, its in (("Lake", LAKE), ("Number", NUMBER))}
    run = train(folder, "ahead", 2, max_steps=3, async_generation_ratio=1, custom_envs=slow, response_length=500,
                actor_infer=dict(device_mapping=[1], generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)),
                actor_train=dict(device_mapping=[0], training_args=dict(learning_rate=1e-3, train_batch_size=8, lr_scheduler_type="constant")))
    before = []  # of turns with tokens of several versions, how far those of the older ones are from the trainer's
    for step in (1, 2, 3):
        for line, told in zip(rollout_lines(run, step), (json.loads(line) for line in open(run / f"experience/step_{step:06}.jsonl"))):
            runs = line.get("weights", [[step - 1, len(line["response_ids"])]])
            versions = [version for version, count in runs for _ in range(count)]
            gaps = [abs(a - b) for a, b in zip(told["old_log_probs"], line["log_probs"])]
            expect(len(versions) == len(told["response_ids"]) and told["response_ids"] == line["response_ids"], "sampled ahead: each token has a version")
            at = 0
            for turn in line["turns"]:
                own = list(zip(versions, gaps))[at:at + turn["tokens"]]
                at += turn["tokens"] + turn["environment_tokens"]
                now, old = [gap for v, gap in own if v == step - 1], [gap for v, gap in own if v < step - 1]
                expect(max(now, default=0) < 1e-4, f"what these weights drew has their log-probs: {max(now, default=0)}")
                before += [max(old)] if now and old else []
            check_prompts(line, most=2)
    expect(min(before, default=1) > 1e-5, f"turns go on behind what earlier weights drew: {before}")  # how many there are is a matter of time


def check_loss(folder, run):
    config = run_config(folder, "loss", loss_agg_mode="seq-mean-token-mean", importance_sampling="seq")
    for rollouts in (["--rollouts", run], []):
        expect("largest deviation" in roll("check-loss", config, *rollouts), f"no layout changes the loss: {rollouts}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    one_step.make_model(binary, folder / "model", 1, False)
    one = train(folder, "one")
    check_trajectories(one)
    expect(len(set(STATES.values())) == len(STATES) > 8, "another observation is another state")
    told = json.loads((one / "metrics.jsonl").read_text().splitlines()[-1])
    expect(told["rollout/prefix_hits"] > 0.2, f"prompts find the pages of what they begin with: {told['rollout/prefix_hits']}")
    for ranks, overrides in ((2, ()), (4, ()), (2, ("actor_infer.strategy_args={strategy_config: {tensor_model_parallel_size: 2}}",))):
        other = train(folder, f"on{ranks}{len(overrides)}", ranks, overrides)
        expect(overrides or all(trajectories(one, step) == trajectories(other, step) for step in (1, 2)), f"{ranks} ranks: the same trajectories")
        expect(distance(one, other) < (1e-3 if overrides else 2e-6), f"{ranks} ranks {overrides}: the same weights: {distance(one, other)}")
        check_trajectories(other)
    replays = lambda name, ranks=1, *overrides: train(folder, name, ranks, overrides, rollout_replay=str(one / "rollouts"))
    strategy = lambda *keys: f"actor_train.strategy_args={{strategy_name: megatron_train, strategy_config: {{{': 2, '.join(keys)}: 2}}}}"
    for name, ranks, *overrides in (("shared", 1, "actor_train.share_prompts=true"),
                                  ("plain", 1, "actor_train.use_sequence_packing=false", "actor_train.share_prompts=false"),
                                  ("cut", 4, strategy("context_parallel_size", "tensor_model_parallel_size")),
                                  ("pp", 2, strategy("pipeline_model_parallel_size"))):
        gap = distance(one, replays(name, ranks, *overrides))
        expect(gap < 1e-5, f"{overrides}: the same weights: {gap}")
    check_loss(folder, one)
    check_draws(one)
    check_experts(folder)
    train(folder, "resumed", overrides=["max_steps=1"])
    train(folder, "resumed", overrides=["--resume"])
    expect(distance(one, folder / "resumed") == 0 and rollout_lines(folder / "resumed", 2) == rollout_lines(one, 2), "a run goes on as if it had not ended")
    check_ahead(folder)
    short = train(folder, "short", response_length=4, overrides=["actor_infer.generating_args.max_new_tokens=4"])
    lines = [line for step in (1, 2) for line in rollout_lines(short, step)]
    cuts = [line["reward_detail"].get("cut") for line in lines]
    expect("tokens" in cuts, f"a trajectory ends where a prompt has no room: {cuts}")
finish("turns with contexts of their own")
