"""One training step on tiny models with fixed rollouts: its files, shared by step_test.py, which runs it, and
tests/oracles/make_golden_step.py, which computes what it must give."""
import json
import math
import pathlib
import random
import subprocess

import numpy
from safetensors.numpy import load_file, save_file

GROUPS, GROUP_SIZE = 8, 4
TRAINING = dict(learning_rate=1e-3, weight_decay=0.01, adam_beta1=0.8, adam_beta2=0.95, adam_epsilon=1e-4,
                per_device_train_batch_size=2)
# Between them: estimators with and without a critic, a reference, every place of the KL, old log-probs computed and left out, several
# updates and epochs, the learning-rate schedule, ranks and packing. The keys of "training" are those of both roles.
RECIPES = {
    "ppo": dict(
        ranks=2, training=dict(gradient_accumulation_steps=4, lr_scheduler_type="cosine", warmup_ratio=0.3),
        worker=dict(use_sequence_packing=True, strategy_args=dict(strategy_name="megatron_train"),
                    sequence_packing_args=dict(algorithm="load_balance", max_packed_sequence_length_train=90,
                                               max_packed_sequence_length_forward=150)),
        keys=dict(adv_estimator="gae", gamma=0.99, lambd=0.9, ppo_epochs=2, whiten_advantages=True, add_token_level_kl=True,
                  init_kl_coef=0.1, kl_penalty="k3", value_clip=0.02, use_kl_loss=True, kl_loss_coef=0.02,
                  entropy_loss_coef=0.01, advantage_clip=1.5, bootstrap_truncated=True, max_len_mask=False,
                  max_grad_norm=0.1)),
    "grpo": dict(
        ranks=1, training=dict(gradient_accumulation_steps=16, lr_scheduler_type="linear"), worker={},
        without=("kl", "kl_coef"),  # of old log-probs, which a single update does without
        keys=dict(adv_estimator="grpo", use_kl_loss=True, kl_loss_coef=0.05, use_pg_clip_range=True, pg_clip_low=0.2,
                  pg_clip_high=0.28, max_len_mask=True, loss_agg_mode="token-mean", dual_clip_loss=True)),
    "reinforce": dict(
        ranks=1, training=dict(gradient_accumulation_steps=4, lr_scheduler_type="linear", warmup_steps=3), worker={},
        keys=dict(adv_estimator="reinforce", gamma=0.97, loss_agg_mode="prompt-mean", norm_mean_type="group",
                  norm_std_type="batch", reward_clip=0.8, importance_sampling="seq", max_len_mask=True, entropy_loss_coef=0.02)),
    "vapo": dict(
        ranks=2, training=dict(gradient_accumulation_steps=4, lr_scheduler_type="constant"), worker={},
        keys=dict(adv_estimator="gae", lambd_critic=1.0, lambd_alpha=0.2, loss_agg_mode="token-mean", use_pg_clip_range=True,
                  pg_clip_high=0.28, positive_loss_coef=0.1, max_len_mask=True)),
    "gmpo": dict(
        ranks=1, training=dict(gradient_accumulation_steps=4, lr_scheduler_type="constant"),
        worker=dict(pg_variant="gmpo", gmpo_epsilon_low=0.01, gmpo_epsilon_high=0.02),
        keys=dict(adv_estimator="rloo", add_token_level_kl=True, init_kl_coef=0.1, positive_loss_coef=0.05)),
    # One update: the policy's log-probs are the sampler's. A teacher of everything, and one of the groups of a second domain.
    "distillation": dict(
        ranks=2, training=dict(gradient_accumulation_steps=8, lr_scheduler_type="constant"), worker={}, second_domain=True,
        teachers=dict(general=dict(opd_kl_coef=0.3), specialist=dict(opd_kl_coef=0.7, tag_included=["u"])),
        keys=dict(is_pure_opd=True, advantage_clip=3.0, max_len_mask=True)),
    # Several: they are the trainer's. The one teacher has a shape of its own.
    "distillation and rewards": dict(
        ranks=2, training=dict(gradient_accumulation_steps=4, lr_scheduler_type="constant"),
        worker=dict(use_sequence_packing=True,
                    sequence_packing_args=dict(algorithm="load_balance", max_packed_sequence_length_train=90,
                                               max_packed_sequence_length_forward=150)),
        teachers=dict(default=dict()),
        keys=dict(use_opd=True, opd_kl_coef=0.5, kl_penalty="k3", adv_estimator="grpo", whiten_advantages=True)),
    # Responses of several turns: what an environment said between them is read, and carries nothing.
    "turns": dict(
        ranks=2, training=dict(gradient_accumulation_steps=4, lr_scheduler_type="constant"), turns=True,
        worker=dict(use_sequence_packing=True, strategy_args=dict(strategy_name="megatron_train"),
                    sequence_packing_args=dict(algorithm="load_balance", max_packed_sequence_length_train=90,
                                               max_packed_sequence_length_forward=150)),
        keys=dict(adv_estimator="gae", gamma=0.97, lambd=0.9, lambd_alpha=0.3, add_token_level_kl=True, init_kl_coef=0.1,
                  kl_penalty="k3", value_clip=0.02, use_kl_loss=True, kl_loss_coef=0.02, entropy_loss_coef=0.01,
                  whiten_advantages=True, importance_sampling="seq", bootstrap_truncated=True)),
    "gigpo": dict(
        ranks=1, training=dict(gradient_accumulation_steps=4, lr_scheduler_type="constant"), worker={}, turns=True,
        keys=dict(adv_estimator="gigpo", step_reward_gamma=0.8, step_reward_weight=0.5, loss_agg_mode="token-mean")),
    # Turns of which some have contexts of their own: to losses each context is a sequence.
    "contexts": dict(
        ranks=2, training=dict(gradient_accumulation_steps=4, lr_scheduler_type="constant"), turns=True, contexts=True,
        worker=dict(use_sequence_packing=True, strategy_args=dict(strategy_name="megatron_train"),
                    sequence_packing_args=dict(algorithm="load_balance", max_packed_sequence_length_train=150,
                                               max_packed_sequence_length_forward=150)),
        keys=dict(adv_estimator="gae", gamma=0.97, lambd=0.9, add_token_level_kl=True, init_kl_coef=0.1, kl_penalty="k3", value_clip=0.02,
                  use_kl_loss=True, kl_loss_coef=0.02, entropy_loss_coef=0.01, whiten_advantages=True, importance_sampling="seq",
                  bootstrap_truncated=True, positive_loss_coef=0.05)),
    "contexts gigpo": dict(
        ranks=1, training=dict(gradient_accumulation_steps=8, lr_scheduler_type="constant"), worker={}, turns=True, contexts=True,
        keys=dict(adv_estimator="gigpo", step_reward_gamma=0.8, step_reward_weight=0.5, loss_agg_mode="prompt-mean")),
    "step_reinforce": dict(
        ranks=1, training=dict(gradient_accumulation_steps=8, lr_scheduler_type="constant"), worker={}, turns=True,
        keys=dict(adv_estimator="step_reinforce", step_reward_gamma=0.9, max_len_mask=True)),
}


# What models compute before an update, per response token.
FORWARDS = ("old_log_probs", "ref_log_probs", "teacher_kl", "values")


def make_model(binary, folder, seed, with_head, hidden=32):
    subprocess.run([binary, "init-model", "--arch", "qwen2", "--hidden", str(hidden), "--intermediate", "48", "--layers", "2",
                    "--heads", "4", "--kv-heads", "2", "--tokenizer", "builtin", "--seed", str(seed), "--out", folder],
                   check=True, capture_output=True)
    tensors = load_file(folder / "model.safetensors")
    if with_head:
        tensors |= {"score.weight": numpy.zeros((1, 32), numpy.float32), "score.bias": numpy.zeros(1, numpy.float32)}
    for name, tensor in tensors.items():  # biases, norms and a head that do something
        if tensor.ndim == 1 or name.startswith("score"):
            tensor += (0.1 * numpy.sin(seed + numpy.arange(tensor.size))).astype(numpy.float32).reshape(tensor.shape)
        elif "embed" not in name:
            tensor *= 5  # predictions that differ
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def rollout_lines(second_domain=False):
    rng = random.Random(5)
    for group in range(GROUPS):
        prompt = [rng.randrange(200) for _ in range(rng.randint(2, 24))]
        for sample in range(GROUP_SIZE):
            n = rng.choice([1, 3, 7, 12, 20, 32])
            yield dict(step=1, domain="math_rule", prompt_id=f"p{group}", group_index=group, sample_index=sample, prompt="p",
                       response="r", prompt_ids=prompt, response_ids=[rng.randrange(200) for _ in range(n)],
                       log_probs=[-1.0] * n, finish_reason="length" if n == 32 else "stop",
                       reward=rng.choice([0.0, 1.0, 0.25]), reward_detail={}, ground_truth="1", tag="t") | (
                           dict(domain="other", tag="u") if second_domain and group % 2 else {})


def with_turns(line, rng):
    """The response as turns of the model with an environment's tokens between them, some of which begin alike."""
    rest, turns = len(line["response_ids"]), []
    while rest > 0:
        own = min(rest, rng.randint(1, 6))
        between = rng.randint(1, 4) if rest - own > 4 else 0
        own = own if between else rest
        turns.append(dict(tokens=own, environment_tokens=between, reward=rng.choice([0.0, 0.5, -0.25]), valid=True,
                          state=rng.randint(1, 2)))
        rest -= own + between
    return line | dict(turns=turns, reward=sum(turn["reward"] for turn in turns))


def with_contexts(line, rng):
    """Half of the turns have a prompt of their own, which is what the environment said before them."""
    turns = [turn | dict(own_context=True) if i and rng.random() < 0.5 else turn for i, turn in enumerate(line["turns"])]
    return line | dict(turns=turns)


def prepare(binary, folder, recipe):
    """Models, rollouts and run.yaml (JSON is YAML) under `folder`; returns the path of run.yaml."""
    described = RECIPES[recipe]
    for seed, role in enumerate(("actor", "reference", "critic"), 1):
        make_model(binary, folder / role, seed, role == "critic")
    (folder / "rollouts").mkdir()
    rng = random.Random(9)
    told = [with_turns(line, rng) if "turns" in described else line for line in rollout_lines("second_domain" in described)]
    if "contexts" in described:
        rng = random.Random(4)
        told = [with_contexts(line, rng) for line in told]
    for step in (1, 2):
        lines = "".join(json.dumps(line | {"step": step}) + "\n" for line in told)
        (folder / f"rollouts/step_{step:06}.jsonl").write_text(lines)
    (folder / "rows.jsonl").write_text('{"id": "0", "prompt": "1+1=", "ground_truth": "2", "tag": "t"}\n')
    teachers = described.get("teachers", {})
    for seed, name in enumerate(teachers, 4):
        make_model(binary, folder / name, seed, False, 48 if name == "default" else 32)
    trained = described["worker"] | dict(training_args=TRAINING | described["training"])
    model = lambda role: dict(model_args=dict(model_name_or_path=str(folder / role), dtype="fp32"))
    config = dict(exp_name="step", seed=7, output_dir=str(folder / "run"), max_steps=2, save_steps=1, eval_steps=0,
                  track_with=["jsonl"], pretrain=str(folder / "actor"), reward_pretrain=str(folder / "critic"),
                  rollout_batch_size=GROUPS, num_return_sequences_in_group=GROUP_SIZE, prompt_length=24, response_length=32,
                  rollout_replay=str(folder / "rollouts"), dump_experience="without" not in described, **described["keys"],
                  actor_train=model("actor") | trained | dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="prompt")),
                  actor_infer=model("actor") | dict(generating_args=dict(max_new_tokens=32, temperature=0.9, top_p=1.0, top_k=0)),
                  reference=model("reference"), critic=model("critic") | trained,
                  rewards=dict(math_rule=dict(type="math_rule", tag_included=["t"])))
    if "second_domain" in described:
        config["rewards"]["other"] = dict(type="math_rule", tag_included=["u"])
    if teachers:
        teachers = {name: model(name) | keys | dict(infer_batch_size=3) for name, keys in teachers.items()}
        config["teacher"] = teachers.get("default", teachers)
    file = folder / "run.yaml"
    file.write_text(json.dumps(config, indent=1))
    return file


def fingerprint(change):
    """[norm, a projection] of a tensor's change."""
    flat = numpy.asarray(change, numpy.float64).reshape(-1)
    return [math.sqrt(float(flat @ flat)), float(flat @ numpy.cos(numpy.arange(flat.size)))]


def model_weights(folder):
    return {name: t.astype(numpy.float64) for name, t in load_file(pathlib.Path(folder) / "model.safetensors").items()}
