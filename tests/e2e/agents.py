"""Training of a tiny model by agents that ask it, and what must hold of its trajectories, for the tests of both kinds of agents."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect
from rollouts import rollout_lines


def command_of(binary, folder, name, environment, ranks=1, number=4, **keys):
    """The command that trains; `environment` is the env_config, `number` the levels of a step, each with four sessions."""
    config = dict(exp_name="agents", seed=5, output_dir=str(folder / name), max_steps=1, save_steps=1, track_with=["jsonl"], pretrain=str(folder / "model"),
                  rollout_batch_size=4 * number, prompt_length=160, response_length=150, adv_estimator="grpo", dump_experience=True,
                  custom_envs=dict(Agent=dict(env_type="openai", max_steps=3, max_tokens_per_step=6, env_config=dict(timeout_s=20, config=dict(task="sums")) | environment)),
                  train_env_manager=dict(tags=["Agent"], num_env_groups=1, group_size=4, num_levels=4 * number),
                  actor_train=dict(training_args=dict(learning_rate=1e-3, train_batch_size=8, lr_scheduler_type="constant"), use_sequence_packing=True,
                                   sequence_packing_args=dict(algorithm="load_balance", max_packed_sequence_length_train=600,
                                                              max_packed_sequence_length_forward=600)),
                  actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)))
    for key, value in keys.items():
        config[key] = config[key] | value if isinstance(value, dict) and key in config else value
    (folder / f"{name}.yaml").write_text(json.dumps(config))
    return [binary, "train", "--config", folder / f"{name}.yaml", "-n", str(ranks), "--device", "cpu"]


def train(binary, folder, name, environment, ranks=1, number=4, **keys):
    """The run folder."""
    done = subprocess.run(command_of(binary, folder, name, environment, ranks, number, **keys), capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return folder / name


def spoken(line):
    """What the model said in a trajectory, turn by turn."""
    ids, turns = line["response_ids"], []
    for turn in line["turns"]:
        turns.append(ids[:turn["tokens"]])
        ids = ids[turn["tokens"] + turn["environment_tokens"]:]
    return turns


def check_trained(run, told, steps=(1,)):
    """The tokens that the agents were told are those that are trained, where the model spoke and nowhere else."""
    by_turns = {(t["seed"], json.dumps(t["turns"])): t for t in told}
    for step in steps:
        experience = [json.loads(line) for line in open(run / f"experience/step_{step:06}.jsonl")]
        for line, trained in zip(rollout_lines(run, step), experience):
            heard = by_turns.get((int(line["prompt_id"].split(":")[1]), json.dumps(spoken(line))))
            expect(heard is not None, f"{line['prompt_id']}: what was sampled was told: {spoken(line)}, {line['reward_detail']}")
            if heard is None: continue
            expect(heard.get("prompt") in (None, line["prompt_ids"]), f"kind {heard.get('kind')}: the prompt is the first request")
            expect(heard.get("reward", 1) == line["reward"], f"the reward is what was posted: {heard}, {line['reward']}")
            own = [x for turn in line["turns"] for x in [1.0] * turn["tokens"] + [0.0] * turn["environment_tokens"]]
            expect(trained["response_ids"] == line["response_ids"] and trained["response_mask"] == own, "what was sampled is trained, and nothing else")
            gap = max(abs(a - b) for a, b, m in zip(trained["old_log_probs"], line["log_probs"], own) if m)
            expect(gap < (1e-4 if len(line.get("weights", [])) < 2 and steps == (1,) else 1), f"kind {heard.get('kind')}: the trainer finds the sampler's log-probs: {gap}")
            expect(all(turn["environment_tokens"] > 0 for turn in line["turns"][:-1]), "between turns lies what the agent said")
