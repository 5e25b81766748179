#!/usr/bin/env python3
"""Runs that sample and train nothing: the rollouts of a training's first step on any number of ranks, metrics and report, going on where
the prompts stand, lines from which a training learns what it learns from its own. Argument: the roll binary."""
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
from turns import run_config

binary = pathlib.Path(sys.argv[1]).resolve()
LAKE = dict(env_type="frozen_lake", max_steps=3, max_tokens_per_step=5, agent_template="{observation}",
            env_config=dict(env_instruction="", action_pattern="([a-m])", action_lookup={0: "a", 1: "b", 2: "c", 3: "d"}, is_slippery=False, size=3))
BUDGET = 900  # a trajectory of three contexts
STEPS = dict(LAKE, env_manager_cls="StepEnvManager", agent_template="{history}{current_observation}", history_length=2)
TRAINING = ("actor_train", "adv_estimator", "dump_experience", "eval_steps", "val_env_manager", "val_batch_size")
ONLY = "rollout_only=true"


def roll(*words, code=0):
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, timeout=300)
    expect(done.returncode == code, f"{words[0]} ends with {code}, not {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout + done.stderr


def train(config, *words, ranks=1):
    return roll("train", "--config", config, "-n", ranks, "--device", "cpu", *words)


def sampling_config(folder, name, environments, **keys):
    """Without a word of training."""
    file = run_config(folder, name, environments, **keys)
    config = json.loads(file.read_text())
    file.write_text(json.dumps({key: value for key, value in config.items() if key not in TRAINING}))
    return file


def sampled(run, step, folder="rollouts"):
    """But for log-probs, which differ by the rounding of sums over ranks."""
    return [{key: value for key, value in line.items() if key != "log_probs"} for line in rollout_lines(run, step, folder=folder)]


def metrics(run):
    return [json.loads(line) for line in open(run / "metrics.jsonl")]


def check_metrics(run, trained):
    told, of_training = metrics(run), metrics(trained)
    shared = [name for name in of_training[-1] if name.split("/")[0] in ("score", "group", "token", "environment", "Lake", "Steps", "rollout")]
    first = next(line for line in of_training if line["step"] == 1)
    for name in shared:
        if any(word in name for word in ("rewards", "advantages", "returns", "clip", "mask", "rollout/", "/reward/")): continue
        expect(abs(told[0].get(name, 1e9) - first[name]) < 1e-9, f"{name} is a training's: {told[0].get(name)}, {first[name]}")
    expect([line["step"] for line in told] == [1, 2] and "Lake/score/mean" in told[0] and "environment/turns" in told[0], "each step is measured, by tag")
    expect("system/tps" in told[0] and "time/step_generate" in told[0], f"how fast it was: {sorted(told[0])}")
    training = [name for name in told[0] if name.startswith(("actor/", "critic/", "advantages", "returns", "time/step_train", "val"))]
    expect(not training and not unknown_metrics(binary, told[0]), f"nothing of training, nothing that nobody knows: {training}{unknown_metrics(binary, told[0])}")


def check_refused(file):
    for words, told in ((["validate-config", "--simulate", 2], "--simulate needs a run that trains"), (["check-loss"], "check-loss needs a run that trains"),
                        (["pack-stats"], "pack-stats needs a run that trains"), (["validate-config", "rollout_replay=x"], "is for training, but rollout_only")):
        text = roll(words[0], "--config", file, *words[1:], code=2)
        expect(told in text, f"{words}: {text}")
    for key in ("adv_estimator=grpo", "ppo_epochs=2", "reference.infer_batch_size=2", "use_kl_loss=true", "critic.infer_batch_size=2", "whiten_advantages=true"):
        text = roll("validate-config", "--config", file, key, code=2)
        expect(f"{key.split('=')[0].split('.')[0]}" in text and "is a training key, but actor_train is not set" in text, f"{key}: {text}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    one_step.make_model(binary, folder / "model", 1, False)
    both = dict(Lake=LAKE, Steps=STEPS)
    train(run_config(folder, "trained", both, budget=BUDGET))
    trained = folder / "trained"

    file = sampling_config(folder, "alone", both)
    text = roll("validate-config", "--config", file)
    expect("samples only, without training: rollout_only = true" in text and "actor_infer is set and actor_train is not" in text, f"it says what it is: {text}")
    expect("optimizer" not in text and "training 0" in text and "algorithm" not in text and "micro-batch" not in text, f"and nothing of training: {text}")
    train(file)
    alone = folder / "alone"
    expect(sampled(alone, 1) == sampled(trained, 1), "the first step is a training's")
    expect(sampled(alone, 2) != sampled(trained, 2) and sampled(alone, 2) != sampled(alone, 1), "the second one is sampled by the first weights, of other prompts")
    check_metrics(alone, trained)
    expect(not list(alone.glob("checkpoints/*/actor")) and not list(alone.glob("checkpoints/**/*.safetensors")), "no weights are saved")
    expect("Lake" in pathlib.Path(roll("report", alone).strip().splitlines()[-1]).read_text(), "a page shows it")
    check_refused(file)
    (folder / "resolved.yaml").write_bytes((alone / "config.resolved.yaml").read_bytes())
    train(folder / "resolved.yaml", f"output_dir={folder / 'resolved'}")
    expect(sampled(folder / "resolved", 1) == sampled(alone, 1), "the resolved configuration samples alike")

    for ranks, words in ((2, ()), (2, ("actor_infer.strategy_args.strategy_config.tensor_parallel_size=2",))):
        other = folder / f"on{ranks}{len(words)}"
        train(file, *words, f"output_dir={other}", ranks=ranks)
        for step in (1, 2):
            expect(words or sampled(other, step) == sampled(alone, step), f"{ranks} ranks {words}: step {step} has the same rollouts")
        expect(len(rollout_lines(other, 2)) == 16, f"{ranks} ranks {words}: all are there")

    # A whole configuration of training, of which only the sampling is wanted.
    wanted = train(run_config(folder, "wanted", both, budget=BUDGET), ONLY, f"rollout_dump_dir={folder / 'dump'}")
    expect("no effect, because of rollout_only = true" in wanted and "adv_estimator" in wanted, f"keys of training are told: {wanted}")
    expect(sampled(folder, 1, "dump") == sampled(trained, 1) and not (folder / "wanted/rollouts").exists(), "rollout_only of a training samples its first step, to where it is told")
    train(run_config(folder, "learnt", both, budget=BUDGET, max_steps=1), f"rollout_replay={folder / 'dump'}")
    train(run_config(folder, "one", both, budget=BUDGET, max_steps=1))
    ours, theirs = (one_step.model_weights(folder / run / "checkpoints/step_000001/actor") for run in ("learnt", "one"))
    expect(all((ours[key] == theirs[key]).all() for key in ours), "a training on what was sampled learns what it learns from its own")

    # Going on.
    again = sampling_config(folder, "again", both, save_steps=1, max_steps=1)
    train(again)
    train(again, "--resume", "max_steps=2")
    expect(sampled(folder / "again", 2) == sampled(alone, 2), "a run goes on behind the prompts that it has had")
    expect([line["step"] for line in metrics(folder / "again")] == [1, 2], "and its metrics")

    # Of rows.
    rows = [json.dumps({"messages": [{"role": "user", "content": f"{a} + 1 = ?"}], "ground_truth": str(a + 1), "tag": "sums"}) for a in range(8)]
    (folder / "rows.jsonl").write_text("\n".join(rows))
    plain = dict(exp_name="rows", max_steps=1, pretrain=str(folder / "model"), rollout_batch_size=4, num_return_sequences_in_group=2, prompt_length=64,
                 response_length=8, adv_estimator="grpo", track_with=["jsonl"], rewards=dict(sums=dict(type="exact_match", tag_included=["sums"])),
                 actor_train=dict(data_args=dict(file_name=[str(folder / "rows.jsonl")]), training_args=dict(train_batch_size=8)),
                 actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)))
    (folder / "rows.yaml").write_text(json.dumps(plain))
    train(folder / "rows.yaml", f"output_dir={folder / 'rows_trained'}")
    train(folder / "rows.yaml", f"output_dir={folder / 'rows_alone'}", ONLY)
    expect(sampled(folder / "rows_alone", 1) == sampled(folder / "rows_trained", 1), "rows are sampled as a training does")
    val = f"validation.sets={{sums: {{data_args: {{file_name: [{folder / 'rows.jsonl'}]}}}}}}"
    roll("evaluate", "--config", folder / "rows.yaml", "--out", folder / "measured", ONLY, val, "--device", "cpu")
    expect("val/sums/avg@1" in metrics(folder / "measured")[0], "roll evaluate measures the model of such a run")
finish("runs that only sample")
