"""Configurations of short trainings over several turns."""
import json

# A program that plays levels of two turns; `act(seed, message)` and `begin(seed, config)` say what its answers have beside, or do what they want.
PLAYS = r'''
import json, os, signal, subprocess, sys, time
def play(act, begin=lambda seed, config: {}):
    for line in sys.stdin:
        asked = json.loads(line)
        answer = {"id": asked["id"]}
        if asked["method"] == "reset":
            seed, turns = asked["seed"], 0
            answer |= {"observation": f"level {seed}"} | begin(seed, asked["config"])
        elif asked["method"] == "step":
            turns += 1
            answer |= {"observation": "more", "reward": 0, "done": turns == 2} | act(seed, asked["message"])
        print(json.dumps(answer), flush=True)
'''


def run_config(folder, name, environments, budget=600, **keys):
    """The file of a run of two steps on FOLDER/model; `budget`: packed tokens of a micro-batch."""
    config = dict(exp_name="turns", seed=5, output_dir=str(folder / name), max_steps=2, save_steps=2, eval_steps=2, track_with=["jsonl"],
                  pretrain=str(folder / "model"), rollout_batch_size=16, val_batch_size=4, prompt_length=160, response_length=120,
                  adv_estimator="grpo", dump_experience=True, custom_envs=environments,
                  train_env_manager=dict(tags=list(environments), num_env_groups=len(environments), group_size=4, num_levels=8 * len(environments)),
                  val_env_manager=dict(tags=list(environments), num_env_groups=len(environments)),
                  actor_train=dict(training_args=dict(learning_rate=1e-3, train_batch_size=8, lr_scheduler_type="constant"),
                                   use_sequence_packing=True, sequence_packing_args=dict(algorithm="load_balance", max_packed_sequence_length_train=budget,
                                                                                         max_packed_sequence_length_forward=budget)),
                  actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)))
    (folder / f"{name}.yaml").write_text(json.dumps(config | keys))
    return folder / f"{name}.yaml"
