"""roll convert-config: recipes of other trainers, the file that each becomes (tests/golden/convert), and what is told of the rest.

convert_test.py BINARY [--update]: --update writes those files anew.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROLL = pathlib.Path(sys.argv[1]).resolve()
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/convert"


def run(*words, cwd, wanted=0):
    done = subprocess.run([ROLL, *map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == wanted, (words, done.returncode, done.stdout[-1500:], done.stderr[-1500:])
    return done


def value_of(resolved, path):
    """Of what `validate-config --print` shows."""
    text = resolved
    *groups, key = path.split(".")
    indent = ""
    for group in groups:
        text = re.search(rf"^{indent}{re.escape(group)}:\n((?:{indent}  .*\n)*)", text, re.M)[1]
        indent += "  "
    return re.search(rf"^{indent}{re.escape(key)}: (.*)$", text, re.M)[1]


# What a recipe amounts to here, as the loader sees it; batch units are the point.
WANTED = {
    "verl_dapo.sh": {
        "rollout_batch_size": "512", "num_return_sequences_in_group": "16", "response_length": "8192", "pretrain": "Qwen/Qwen2.5-7B",
        "adv_estimator": "grpo", "loss_agg_mode": "token-mean", "pg_clip_high": "0.28", "dual_clip_c": "10", "max_steps": "200",
        # 32 prompts x 16 responses = 512 sequences of an update over 16 ranks
        "actor_train.training_args.train_batch_size": "512", "actor_train.training_args.per_device_train_batch_size": "1",
        "actor_train.sequence_packing_args.max_packed_sequence_length_train": "10240", "actor_infer.generating_args.top_p": "1",
        "actor_infer.generating_args.temperature": "1", "rewards.python.overlong_buffer.len": "4096",
        "rewards.python.query_filter_config.type": "mean_filter", "use_kl_loss": "false", "save_steps": "5", "eval_steps": "0"},
    "verl_ppo.yaml": {
        "adv_estimator": "gae", "lambd": "1", "whiten_advantages": "true", "add_token_level_kl": "true", "init_kl_coef": "0.001",
        "target_kl": "0.05", "value_clip": "0.5", "dual_clip_c": "3", "actor_train.training_args.train_batch_size": "64",
        "actor_train.training_args.per_device_train_batch_size": "8", "critic.training_args.learning_rate": "1e-05", "save_steps": "0",
        "actor_train.training_args.weight_decay": "0.01", "max_steps": "null", "num_train_epochs": "15"},
    "trl_grpo.yaml": {
        # 4 x 8 completions of a process are 4 groups of 8; two passes over them make two updates, so 400 updates are 200 steps
        "rollout_batch_size": "4", "num_return_sequences_in_group": "8", "ppo_epochs": "2", "max_steps": "200",
        "actor_train.training_args.per_device_train_batch_size": "4", "actor_train.training_args.train_batch_size": "32",
        "adv_estimator": "reinforce", "norm_mean_type": "group", "loss_agg_mode": "constant", "loss_aggregation_divisor": "1024",
        "use_kl_loss": "true", "kl_loss_coef": "0.001", "max_len_mask": "true", "actor_infer.generating_args.temperature": "0.9"},
    "slime_gspo.sh": {
        "rollout_batch_size": "32", "num_return_sequences_in_group": "8", "importance_sampling": "seq", "adv_estimator": "grpo",
        # 128 samples of an update over 8 GPUs of which 2 share the weights
        "actor_train.training_args.train_batch_size": "128", "loss_agg_mode": "seq-mean-token-mean", "pg_clip_low": "0.0004",
        "actor_train.strategy_args.strategy_config.tensor_model_parallel_size": "2", "seed": "1234", "save_steps": "20", "max_steps": "3000",
        "actor_infer.strategy_args.strategy_config.mem_fraction_static": "0.7", "actor_train.training_args.adam_beta2": "0.98"},
    "openrlhf_reinforce.sh": {
        "adv_estimator": "reinforce_plus_plus_baseline", "rollout_batch_size": "128", "pg_clip_high": "0.3", "use_kl_loss": "true",
        "actor_train.training_args.per_device_train_batch_size": "4", "actor_train.training_args.train_batch_size": "1024",
        "actor_train.training_args.adam_beta2": "0.95", "actor_train.training_args.lr_scheduler_type": "cosine_with_min_lr", "reward_clip": "10", "actor_infer.generating_args.top_k": "-1",
        "rewards.python.type": "python", "rewards.python.python": "\"./reward.py:reward_func\""},
}
# What must be told of each, so that nothing is lost in silence.
TOLD = {
    "verl_dapo.sh": [r"data\.max_prompt_lenght = 2048 \(verl_dapo\.sh:\d+\): unknown key.*data\.max_prompt_length",
                     r"param_offload = True .*handled by roll", r"data: all rows belong to the domain python"],
    "verl_ppo.yaml": [],
    "trl_grpo.yaml": [r"reward_funcs = .*NOT SUPPORTED", r"correction: TRL by default weights", r"and steps in roll"],
    "slime_gspo.sh": [r"hidden-size = 2560 \(slime_gspo\.sh:5\): handled by roll: read from the model's config\.json", r"rm-type = deepscaler .*NOT SUPPORTED"],
    "openrlhf_reinforce.sh": [],
}


def check_recipe(name, folder):
    made = folder / "ours.yaml"
    done = run("convert-config", "-n", 1, "--out", made, name, cwd=GOLDEN)
    text = made.read_text()
    golden = GOLDEN / f"{pathlib.Path(name).stem}.ours.yaml"
    if "--update" in sys.argv:
        golden.write_text(text)
    assert text == golden.read_text(), f"{name}: differs from {golden}; look, then --update"
    for pattern in TOLD[name]:
        assert re.search(pattern, done.stderr), (name, pattern, done.stderr)
        assert re.search(pattern, text), (name, pattern)
    resolved = run("validate-config", "--offline", "--print", "--config", made, cwd=folder).stdout
    for path, value in WANTED[name].items():
        assert value_of(resolved, path) == value, (name, path, value_of(resolved, path), value)
    made.unlink()


def check_arguments(folder):
    words = ["data.train_batch_size=64", "actor_rollout_ref.rollout.n=4", "actor_rollout_ref.actor.ppo_mini_batch_size=16",
             "algorithm.adv_estimator=grpo", "trainer.n_gpus_per_node=1", "actor_rollout_ref.rollout.tensor_model_parallel_size=1"]
    done = run("convert-config", *words, cwd=folder)
    assert "rollout_batch_size: 64" in done.stdout and "converted from verl" in done.stderr, done.stdout
    assert "pretrain: was not given; set it" in done.stderr, done.stderr
    (folder / "few.yaml").write_text(done.stdout)
    run("validate-config", "--offline", "--config", "few.yaml", cwd=folder)
    # What is not set has the other trainer's default, not ours: no top_k, and the validation as slime's rollouts.
    done = run("convert-config", "-n", 1, "--rollout-batch-size", "8", "--n-samples-per-prompt", "4", "--eval-prompt-data", "aime", "/data/aime.jsonl",
               "--rollout-temperature", "0.8", "--actor-num-gpus-per-node", "1", cwd=folder)
    (folder / "slime.yaml").write_text(done.stdout)
    resolved = run("validate-config", "--offline", "--print", "--config", "slime.yaml", cwd=folder).stdout
    for path, value in {"actor_infer.generating_args.top_k": "-1", "validation.generating_args.temperature": "0.8",
                        "validation.generating_args.top_p": "1", "validation.generating_args.num_return_sequences": "1",
                        "validation.data_args.file_name": "[/data/aime.jsonl]"}.items():
        assert value_of(resolved, path) == value, (path, value_of(resolved, path))
    # A file, and arguments that replace its values.
    done = run("convert-config", GOLDEN / "verl_ppo.yaml", "data.train_batch_size=128", cwd=folder)
    assert "rollout_batch_size: 128 " in done.stdout, done.stdout
    done = run("convert-config", "-n", "2", "--from", "trl", "--num_generations", "16", "--learning_rate=3e-6", cwd=folder)
    assert "rollout_batch_size: 1 " in done.stdout and "learning_rate: 3e-6" in done.stdout, done.stdout
    done = run("convert-config", "data.train_batch_size=8", "trainer.nnodes=$NODES", cwd=folder, wanted=2)
    assert "trainer.nnodes = $NODES: must be a number" in done.stderr, done.stderr
    done = run("convert-config", "data.train_batch_size=8", cwd=folder, wanted=2)
    assert "trainer.n_gpus_per_node is not given, so the number of GPUs is not known: give it with -n" in done.stderr, done.stderr
    # A variable that the script leaves to the shell is asked of the environment; a default of its own counts.
    (folder / "home.sh").write_text("N=2\npython3 -m verl.trainer.main_ppo data.train_files=$HOME/data/rows.jsonl data.train_batch_size=256 trainer.n_gpus_per_node=1 "
                                    "actor_rollout_ref.model.path=${MODELS:-/models}/m trainer.nnodes=1 trainer.default_local_dir=${HOME}/out$N\n")
    (folder / "home.yaml").write_text(run("convert-config", "home.sh", cwd=folder).stdout)
    resolved = run("validate-config", "--offline", "--print", "--config", "home.yaml", cwd=folder).stdout
    assert "$HOME" not in (folder / "home.yaml").read_text() and value_of(resolved, "pretrain") == "/models/m", resolved
    assert value_of(resolved, "actor_train.data_args.file_name") == '["${oc.env:HOME}/data/rows.jsonl"]', resolved
    # Its rows are of one domain, whatever their tags: a tag of ours would fit none of them.
    rows = [dict(prompt=[dict(role="user", content="1+1?")], reward_model=dict(ground_truth="2"), data_source=tag) for tag in ("openai/gsm8k", "mine")]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("validate-config", "--offline", "--config", "home.yaml", "actor_train.data_args.file_name=rows.jsonl", cwd=folder)
    check_scripts(folder)
    done = run("convert-config", "--hello", "1", cwd=folder, wanted=2)
    assert "not a key of verl, trl, slime, openrlhf" in done.stderr, done.stderr
    done = run("convert-config", cwd=folder, wanted=2)
    assert "no keys" in done.stderr, done.stderr


# Arguments as people build them: defaults, arrays, branches, a file beside, a launcher.
SCRIPT = r"""#!/usr/bin/env bash
set -xeuo pipefail
here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
source "${here}/model.sh"
NODES=${NODES:-}
BATCH=$((1024 / ${SHARE:=8}))
if [ "$BATCH" -ge 64 ]; then CLIP=(actor_rollout_ref.actor.clip_ratio_low=0.2 actor_rollout_ref.actor.clip_ratio_high=0.28); else CLIP=(); fi
ARGS=(
  data.train_batch_size=$BATCH  # prompts
  actor_rollout_ref.actor.ppo_mini_batch_size=$((BATCH / 4))
  algorithm.adv_estimator=grpo
)
ARGS+=("${CLIP[@]}" trainer.experiment_name="run-${MODEL##*/}-$(date +%m%d)")
ray job submit --address=http://127.0.0.1:8265 -- \
  python3 -m verl.trainer.main_ppo "${ARGS[@]}" \
  actor_rollout_ref.model.path="$MODEL" actor_rollout_ref.rollout.n=4 \
  actor_rollout_ref.rollout.tensor_model_parallel_size=1 \
  trainer.n_gpus_per_node=$(nvidia-smi -L | wc -l) trainer.nnodes="${NODES:-1}" "$@"
"""


def check_scripts(folder):
    (folder / "run.sh").write_text(SCRIPT)
    (folder / "model.sh").write_text("MODEL=Qwen/Qwen3-4B\n")
    done = run("convert-config", "run.sh", cwd=folder, wanted=2)
    assert re.search(r"run\.sh:18: trainer\.n_gpus_per_node depends on \$\(nvidia-smi -L \| wc -l\) \(run\.sh:18\), which is known only when the script runs", done.stderr), done.stderr
    done = run("convert-config", "run.sh", "SHARE=4", "trainer.n_gpus_per_node=8", cwd=folder)
    (folder / "run.yaml").write_text(done.stdout)
    resolved = run("validate-config", "--offline", "--print", "--config", "run.yaml", cwd=folder).stdout
    for path, value in {"rollout_batch_size": "256", "actor_train.training_args.train_batch_size": "256", "pg_clip_high": "0.28", "pretrain": "Qwen/Qwen3-4B",
                        "exp_name": "run-Qwen3-4B", "adv_estimator": "grpo"}.items():
        assert value_of(resolved, path) == value, (path, value_of(resolved, path))
    assert re.search(r"rollout_batch_size: 256 +# from run\.sh:9: data\.train_batch_size", done.stdout), done.stdout
    assert "exp_name: $(date +%m%d) (run.sh:13) is left out of the name" in done.stderr, done.stderr
    keys = run("convert-config", "--keys", "run.sh", cwd=folder).stdout
    assert "run.sh:9 data.train_batch_size 128\n" in keys and "starts run.sh:14 verl.trainer.main_ppo\n" in keys, keys
    # A README has several; what does not validate is not given out.
    (folder / "README.md").write_text("# Runs\n```bash\ntrl grpo --model_name_or_path m --num_generations 8 --learning_rate 1e-6\n```\nor\n```\n"
                                      "accelerate launch --num_processes 2 grpo.py --model_name_or_path m --num_generations 8 --temperature -3\n```\n")
    done = run("convert-config", "README.md", cwd=folder, wanted=2)
    assert "2 commands start a training; choose one with --pick:" in done.stderr and "2. README.md:7: grpo.py" in done.stderr, done.stderr
    assert "learning_rate: 1e-6" in run("convert-config", "README.md", "--pick", 1, "-n", 1, cwd=folder).stdout
    done = run("convert-config", "README.md", "--pick", 2, cwd=folder, wanted=2)
    assert "the converted configuration is invalid" in done.stderr and "temperature = -3" in done.stderr and not done.stdout, done.stderr
    (folder / "bytes.sh").write_bytes(b"python3 x.py --a \xff\xfe\x00")
    assert "is no UTF-8" in run("convert-config", "bytes.sh", cwd=folder, wanted=2).stderr


with tempfile.TemporaryDirectory() as base:
    for recipe in WANTED:
        check_recipe(recipe, pathlib.Path(base))
    check_arguments(pathlib.Path(base))
print(f"{len(WANTED)} recipes of four trainers become configurations that validate")
