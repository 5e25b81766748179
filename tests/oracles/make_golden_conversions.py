#!/usr/bin/env python3
"""Writes tests/golden/maths/conversions.json: gradients of the losses and estimators of verl, TRL, slime and OpenRLHF with respect to
the log-probs of a small step, as their own code computes them, each beside the keys that ask for it there.
tests/train/conversions_test.cpp converts the keys and compares the gradient of what they become.

The functions are read from clones and run as they stand, on rows that are padded as they want them; what they import beside torch is
left out, and what they read of a model is given. `python tests/oracles/make_golden_conversions.py` with ROLL_OTHERS, a folder that
holds the clones verl, trl, slime and OpenRLHF (`git clone` or `git archive` of each). Needs torch and numpy.
"""
import __future__
import ast
import collections
import json
import math
import os
import pathlib
import typing
from types import SimpleNamespace

os.environ["TORCHDYNAMO_DISABLE"] = "1"
import numpy as np
import torch

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/maths/conversions.json"
torch.manual_seed(7)
G = 4  # responses to a prompt
PROMPTS = [2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3]
TOKENS = [3, 7, 2, 4, 5, 1, 5, 2, 2, 6, 3, 4]  # of the first and the last prompt one response is the longest
SCORES = [1.0, 0.0, 0.0, 1.0, 0.5, 0.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0]  # the last group agrees
GREEDY = [0.0, 1.0, 0.5]
N, WIDTH, LONGEST = len(TOKENS), max(TOKENS), 16  # LONGEST: the response length of the configurations
ALL = range(N)
INDEX = np.array([i // G for i in ALL])
MASK = torch.tensor([[1.0] * n + [0.0] * (WIDTH - n) for n in TOKENS])
DOUBLE = torch.float64


def draw(scale, uniform=False):
    numbers = (torch.rand if uniform else torch.randn)(N, WIDTH, dtype=DOUBLE) * scale
    return (numbers.float() * MASK).double()


def rounded(x):
    return (x.float() * MASK).double()


OLD = rounded(-draw(3, uniform=True) - 0.05)
NEW = rounded(OLD + draw(0.3))
NEW[1, 2] += 1.5  # ratios beyond a dual clip, of a response with a negative advantage
NEW[7, 0] += 1.25
REF = rounded(OLD + draw(0.4))
SAMPLER = rounded(OLD + draw(0.3))
VALUES = rounded(draw(0.7))
ENERGIES = rounded((1 - OLD.exp()) ** 2 * (1 + draw(1, uniform=True)))
REWARDS = torch.tensor(SCORES, dtype=DOUBLE)
ENTROPY = -0.5  # entropies are this times the log-probs, so that they have a gradient, too


def pick(path, *names, **scope):
    """Functions, or methods, of a file by their names, without decorators, with `scope` in place of what the file imports."""
    tree = ast.parse(path.read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names]
    missing = set(names) - {node.name for node in found}
    if missing:
        raise SystemExit(f"{path}: no {', '.join(sorted(missing))}")
    for node in found:
        node.decorator_list = []
    scope = {"torch": torch, "np": np, "math": math, "F": torch.nn.functional, "nn": torch.nn, "defaultdict": collections.defaultdict,
             **{name: getattr(typing, name) for name in ("Any", "Callable", "Optional", "Union", "Tuple", "List")}, **scope}
    module = ast.Module(body=found, type_ignores=[])
    exec(compile(module, str(path), "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True), scope)
    return SimpleNamespace(**scope)


def block(path, function, first, **scope):
    """Runs the statement of `function` that begins with `first`; what it sets."""
    tree = ast.parse(path.read_text())
    body = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function)
    node = next(node for node in ast.walk(body) if isinstance(node, ast.stmt) and ast.unparse(node).startswith(first))
    exec(compile(ast.Module(body=[node], type_ignores=[]), str(path), "exec"), {"torch": torch, **scope}, scope)
    return scope


CASES = {}


def case(name, keys, loss, longer=1.0):
    """`loss(logp)` is a scalar of the log-probs [N, WIDTH], whose gradient is `longer` than ours by a factor that tends to 1 with many
    tokens."""
    logp = NEW.clone().requires_grad_()
    loss(logp).backward()
    gradient = (logp.grad * MASK).tolist()
    assert any(any(row) for row in gradient), name
    CASES[name] = {"longer": longer, "keys": [[str(x) for x in key] for key in keys], "gradient": packed(torch.tensor(gradient, dtype=DOUBLE), 7)}


def packed(x, digits=9):
    """On the token axis: index t is about token t + 1."""
    numbers = []
    for i in ALL:
        numbers += [0.0] * (PROMPTS[i] - 1) + [float(f"{v:.{digits}g}") for v in x[i, :TOKENS[i]].tolist()] + [0.0]
    return numbers


class Config(dict):
    __getattr__ = dict.get


# ---- verl

def verl(root):
    utils = pick(root / "verl/utils/torch_functional.py", "masked_sum", "masked_mean", "masked_var", "masked_whiten")
    groups = pick(root / "verl/utils/groupwise.py", "group_mean_std", "_resolve_device", os=os)
    core_file = root / "verl/trainer/ppo/core_algos.py"
    estimators = [node.name for node in ast.parse(core_file.read_text()).body if isinstance(node, ast.FunctionDef) and node.name.endswith("_advantage")
                  or isinstance(node, ast.FunctionDef) and node.name == "compute_gae_advantage_return"]
    losses = [f"compute_policy_loss_{name}" for name in ("vanilla", "gspo", "gpg", "geo_mean", "dro", "cispo", "sapo", "dppo_tv", "dppo_kl")]
    core = pick(core_file, *estimators, *losses, "agg_loss", "kl_penalty", "kl_penalty_forward", verl_F=utils,
                as_torch_index=lambda index, device: torch.as_tensor(index), group_mean_std=groups.group_mean_std,
                AlgoConfig=type("AlgoConfig", (), {}), ActorConfig=Config)
    helper_file = root / "verl/trainer/ppo/rollout_corr_helper.py"
    helper = pick(helper_file, "compute_rollout_correction_weights", "compute_rollout_rejection_mask", "_parse_rollout_is_threshold",
                  "_parse_rollout_rs_thresholds", verl_F=utils, compute_is_metrics=lambda **_: {}, compute_rs_metrics=lambda **_: {}, **constants_of(helper_file))

    def advantages(name, mask, weights, gamma=1.0, lam=1.0, kl=0.0, penalty="kl", std=True):
        token_rewards = torch.zeros(N, WIDTH, dtype=DOUBLE)
        for i in ALL:
            token_rewards[i, TOKENS[i] - 1] = REWARDS[i]
        token_rewards = token_rewards - kl * core.kl_penalty(OLD, REF, penalty) * MASK
        if name == "gae":
            return core.compute_gae_advantage_return(token_rewards, VALUES, mask, gamma, lam)[0]
        function = {"grpo": "compute_grpo_outcome_advantage", "grpo_vectorized": "compute_grpo_vectorized_outcome_advantage",
                    "optimal_token_baseline": "compute_optimal_token_baseline_advantage"}.get(name, f"compute_{name}_outcome_advantage")
        given = {"token_level_rewards": token_rewards, "response_mask": mask, "index": INDEX}
        if name.startswith("grpo"):
            given["norm_adv_by_std_in_grpo"] = std
        else:
            given["config"] = Config(gamma=gamma)
        if name == "remax":
            given |= {"reward_baselines": torch.tensor(GREEDY, dtype=DOUBLE)[INDEX]}
        if name == "optimal_token_baseline":
            given |= {"old_log_probs": OLD, "sum_pi_squared": ENERGIES - 1 + 2 * OLD.exp(), "rollout_is_weights": weights}
        if name in ("reinforce_plus_plus", "remax"):
            given.pop("index")
        return getattr(core, function)(**given)[0]

    def actor(keys, **given):
        keys = dict(keys)
        get = lambda key, standard: keys.get(key, standard)
        correction = "algorithm.rollout_correction."
        mask, weights = MASK.clone(), None
        if correction + "rollout_rs" in keys:
            kept, _ = helper.compute_rollout_rejection_mask(OLD - SAMPLER, MASK, keys[correction + "rollout_rs"], keys[correction + "rollout_rs_threshold"])
            mask = mask * kept
        if correction + "rollout_is" in keys:
            weights, _ = helper.compute_rollout_correction_weights(OLD - SAMPLER, MASK, keys[correction + "rollout_is"], keys.get(correction + "rollout_is_threshold", 2.0))
        a = "actor_rollout_ref.actor."
        estimated = advantages(get("algorithm.adv_estimator", "gae"), mask, weights, float(get("algorithm.gamma", 1.0)), float(get("algorithm.lam", 1.0)),
                               float(get("algorithm.kl_ctrl.kl_coef", 0.001)) if "algorithm.use_kl_in_reward" in keys else 0.0,
                               get("algorithm.kl_penalty", "kl"), "algorithm.norm_adv_by_std_in_grpo" not in keys)
        config = Config(clip_ratio=0.2, clip_ratio_low=float(get(a + "clip_ratio_low", 0.2)), clip_ratio_high=float(get(a + "clip_ratio_high", 0.2)),
                        clip_ratio_c=float(get(a + "clip_ratio_c", 3.0)), tau_pos=float(get(a + "tau_pos", 1.0)), tau_neg=float(get(a + "tau_neg", 1.05)),
                        policy_loss=Config(dro_beta=float(get(a + "policy_loss.dro_beta", 0.1))))
        factor = get(a + "loss_scale_factor", LONGEST)
        config.global_batch_info = {"dp_size": 1, "batch_num_tokens": mask.sum(), "global_batch_size": N, "loss_scale_factor": float(factor)}
        config["global_batch_info"] = config.__dict__["global_batch_info"]
        mode, aggregation = get(a + "policy_loss.loss_mode", "vanilla"), get(a + "loss_agg_mode", "token-mean")

        def loss(logp):
            total, _ = getattr(core, f"compute_policy_loss_{mode}")(OLD, logp, estimated, mask, aggregation, config, weights)
            info = config["global_batch_info"]
            if a + "use_kl_loss" in keys:
                kl = core.kl_penalty(logp, REF, get(a + "kl_loss_type", "low_var_kl"))
                total = total + float(get(a + "kl_loss_coef", 0.001)) * core.agg_loss(kl, mask, aggregation, **info)
            if a + "entropy_coeff" in keys:
                total = total - float(keys[a + "entropy_coeff"]) * core.agg_loss(ENTROPY * logp, mask, aggregation, **info)
            return total
        return loss

    def add(name, *keys):
        case("verl: " + name, [("actor_rollout_ref.model.path", "m"), ("trainer.n_gpus_per_node", "1"), ("actor_rollout_ref.rollout.n", G),
                               ("data.max_response_length", LONGEST), *keys], actor(keys))

    a, estimator = "actor_rollout_ref.actor.", "algorithm.adv_estimator"
    grpo = (estimator, "grpo")
    for name in ("gae", "grpo", "grpo_vectorized", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax", "rloo", "rloo_vectorized", "opo", "gpg",
                 "optimal_token_baseline"):
        add(name, (estimator, name), ("algorithm.gamma", "0.9"), ("algorithm.lam", "0.8"))
    for name in ("gae", "reinforce_plus_plus", "remax", "rloo", "opo", "gpg", "optimal_token_baseline"):
        add(name + ", KL in the reward", (estimator, name), ("algorithm.use_kl_in_reward", "True"), ("algorithm.kl_ctrl.kl_coef", "0.3"), ("algorithm.kl_penalty", "low_var_kl"))
    add("grpo without deviation", grpo, ("algorithm.norm_adv_by_std_in_grpo", "False"))
    for aggregation in ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"):
        add("vanilla, " + aggregation, grpo, (a + "loss_agg_mode", aggregation), (a + "use_kl_loss", "True"), (a + "kl_loss_coef", "0.2"))
    add("sum-norm of a factor", grpo, (a + "loss_agg_mode", "seq-mean-token-sum-norm"), (a + "loss_scale_factor", "7"))
    ranges = [(a + "clip_ratio_low", "0.1"), (a + "clip_ratio_high", "0.25")]
    for mode in ("gspo", "geo_mean", "gpg", "cispo", "dro", "sapo", "dppo_tv", "dppo_kl"):
        add(mode, grpo, (a + "policy_loss.loss_mode", mode), (a + "policy_loss.dro_beta", "0.3"), *ranges)
        if mode != "dro":
            add(mode + ", seq-mean-token-sum", grpo, (a + "policy_loss.loss_mode", mode), (a + "loss_agg_mode", "seq-mean-token-sum"), *ranges)
    add("geo_mean of GAE", (estimator, "gae"), (a + "policy_loss.loss_mode", "geo_mean"), (a + "loss_agg_mode", "seq-mean-token-mean"), *ranges)
    add("sapo, other temperatures", grpo, (a + "policy_loss.loss_mode", "sapo"), (a + "tau_pos", "0.5"), (a + "tau_neg", "2"))
    for mode in ("dppo_tv", "dppo_kl"):
        add(mode + ", close thresholds", grpo, (a + "policy_loss.loss_mode", mode), (a + "clip_ratio_low", "0.0005"), (a + "clip_ratio_high", "0.001"), (a + "clip_ratio_c", "1.05"))
    add("cispo without lower bound", grpo, (a + "policy_loss.loss_mode", "cispo"), (a + "clip_ratio_low", "10"))
    add("gspo with KL", grpo, (a + "policy_loss.loss_mode", "gspo"), (a + "loss_agg_mode", "seq-mean-token-mean"), (a + "use_kl_loss", "True"), (a + "kl_loss_coef", "0.2"))
    add("dual clip", grpo, (a + "clip_ratio_c", "2.5"), *ranges)
    add("clip_ratio alone", grpo, (a + "clip_ratio", "0.05"))
    for kind in ("kl", "abs", "mse", "low_var_kl", "k3+", "kl+"):
        add("KL in the loss, " + kind, grpo, (a + "use_kl_loss", "True"), (a + "kl_loss_coef", "0.5"), (a + "kl_loss_type", kind))
    for aggregation in ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"):
        add("entropy, " + aggregation, grpo, (a + "entropy_coeff", "0.3"), (a + "loss_agg_mode", aggregation))
    correction = "algorithm.rollout_correction."
    for level, bound in (("token", "1.1"), ("sequence", "1.5"), ("token", "0.8_1.2"), ("sequence", "0.5_1.5")):
        add(f"weights {level} {bound}", grpo, (correction + "rollout_is", level), (correction + "rollout_is_threshold", bound))
    for kind, bound in (("token_k1", "0.7_1.3"), ("seq_sum_k1", "0.5_2.5"), ("seq_mean_k1", "0.9_1.2")):
        add(f"rejection {kind}", grpo, (correction + "rollout_rs", kind), (correction + "rollout_rs_threshold", bound))
    add("optimal_token_baseline, weights", (estimator, "optimal_token_baseline"), (correction + "rollout_is", "token"), (correction + "rollout_is_threshold", "1.1"))
    add("geo_mean, weights", grpo, (a + "policy_loss.loss_mode", "geo_mean"), (correction + "rollout_is", "sequence"), (correction + "rollout_is_threshold", "1.5"))


def constants_of(path):
    """Upper-case names that a file sets to literals."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) and node.value else []
        for target in targets:
            if isinstance(target, ast.Name) and target.id.isupper():
                try:
                    found[target.id] = eval(compile(ast.Expression(node.value), str(path), "eval"), {})
                except Exception:
                    pass
    return found


# ---- TRL

def trl(root):
    path = root / "trl/trainer/grpo_trainer.py"
    methods = pick(path, "_compute_loss", "get_high_entropy_mask", nanmin=lambda x: x.min(), nanmax=lambda x: x.max())
    nanstd = pick(root / "trl/trainer/utils.py", "nanstd").nanstd
    rloo_path = root / "trl/trainer/rloo_trainer.py"
    rloo_loss = pick(rloo_path, "_compute_loss", nanmin=lambda x: x.min(), nanmax=lambda x: x.max())
    accelerator = SimpleNamespace(num_processes=1, gather=lambda x: x, reduce=lambda x, **_: x, sync_gradients=False, gather_for_metrics=lambda x: x)

    def trainer(logp, keys, **more):
        model = SimpleNamespace(training=True)
        entropies = (ENTROPY * logp)
        high = keys.get("epsilon_high", keys.get("epsilon", "0.2"))
        return SimpleNamespace(
            _get_per_token_logps_and_entropies=lambda *_, **__: (logp, entropies, None), model=model, aux_loss_enabled=False, top_entropy_quantile=1.0,
            off_policy_mask_threshold=None, importance_sampling_level=keys.get("importance_sampling_level", "token"), beta=float(keys.get("beta", 0)),
            loss_type=keys.get("loss_type", "dapo"), epsilon_low=float(keys.get("epsilon", 0.2)), epsilon_high=float(high),
            args=SimpleNamespace(delta=float(keys["delta"]) if "delta" in keys else None, use_bias_correction_kl=False,
                                 sapo_temperature_pos=float(keys.get("sapo_temperature_pos", 1.0)), sapo_temperature_neg=float(keys.get("sapo_temperature_neg", 1.05))),
            use_vllm="use_vllm" in keys, vllm_importance_sampling_correction=True, current_gradient_accumulation_steps=1, max_completion_length=LONGEST,
            accelerator=accelerator, _metrics=collections.defaultdict(lambda: collections.defaultdict(list)), use_adaptive_entropy=False,
            entropy_coef=float(keys.get("entropy_coef", 0)), _entropy_bonus_enabled="entropy_coef" in keys, **more)

    def advantages(keys):
        scale = {"none": "none", "batch": "batch"}.get(keys.get("scale_rewards"), "group")
        me = SimpleNamespace(multi_objective_aggregation="sum_then_normalize", reward_weights=torch.ones(1, dtype=DOUBLE), scale_rewards=scale, reward_funcs=[0])
        return block(path, "_generate_and_score_completions", "if self.multi_objective_aggregation ==", self=me, nanstd=nanstd, device="cpu", num_generations=G,
                     rewards_per_func=REWARDS[:, None], unscorable_mask=torch.zeros(N, dtype=torch.bool))["advantages"]

    def weights(keys):
        mode = keys.get("vllm_importance_sampling_mode", "sequence_mask")
        me = SimpleNamespace(use_vllm=True, vllm_importance_sampling_correction=True, vllm_importance_sampling_mode=mode,
                             vllm_importance_sampling_clip_max=float(keys.get("vllm_importance_sampling_clip_max", 3.0)),
                             vllm_importance_sampling_clip_min=float(keys["vllm_importance_sampling_clip_min"]) if "vllm_importance_sampling_clip_min" in keys else None)
        first = "if self.use_vllm and self.vllm_importance_sampling_correction:\n    mask ="
        return block(path, "_generate_and_score_completions", first, self=me, math=math, completion_mask=MASK, tool_mask=None, old_per_token_logps=OLD,
                     sampling_per_token_logps=SAMPLER)["vllm_importance_sampling_ratio"]

    def inputs(keys):
        given = {"prompt_ids": torch.zeros(N, 1), "prompt_mask": torch.ones(N, 1), "completion_ids": torch.zeros(N, WIDTH), "completion_mask": MASK,
                 "old_per_token_logps": OLD, "ref_per_token_logps": REF, "advantages": advantages(keys), "num_items_in_batch": MASK.sum()}
        if "use_vllm" in keys:
            given["importance_sampling_ratio"] = weights(keys)
        return given

    def add(name, *keys):
        named = dict(keys)
        def loss(logp):
            me = trainer(logp, named)
            return methods._compute_loss(me, me.model, inputs(named))
        case("TRL: " + name, [("model_name_or_path", "m"), ("num_processes", "1"), ("num_generations", G), ("per_device_train_batch_size", N),
                              ("max_completion_length", LONGEST), ("num_iterations", 2), *keys], loss)

    for kind in ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo"):
        add(kind, ("loss_type", kind), ("beta", "0.2"), ("epsilon", "0.1"), ("epsilon_high", "0.25"))
        add(kind + " of sequences", ("loss_type", kind), ("importance_sampling_level", "sequence"), ("epsilon", "0.1"), ("epsilon_high", "0.25"))
    add("sapo, other temperatures", ("loss_type", "sapo"), ("sapo_temperature_pos", "0.5"), ("sapo_temperature_neg", "2"))
    add("cispo, epsilon_high 4", ("loss_type", "cispo"), ("epsilon_high", "4"))
    add("defaults")
    for scale in ("group", "batch", "none"):
        add("scale_rewards " + scale, ("scale_rewards", scale))
    add("delta", ("delta", "2"), ("epsilon_high", "0.25"))
    add("entropy", ("entropy_coef", "0.3"))
    vllm = ("use_vllm", "true")
    for mode, low, high in (("token_truncate", "0.9", "1.2"), ("token_mask", "0.7", "1.3"), ("sequence_truncate", "0.8", "1.5"), ("sequence_mask", "0.5", "1.5")):
        add("vLLM " + mode, vllm, ("vllm_importance_sampling_mode", mode), ("vllm_importance_sampling_clip_min", low), ("vllm_importance_sampling_clip_max", high))

    def add_rloo(name, *keys):
        named = dict(keys)
        beta, rewards = float(named.get("beta", 0.05)), REWARDS.clone()
        scope = dict(self=SimpleNamespace(beta=beta), old_per_token_logps=OLD, ref_per_token_logps=REF, completion_mask=MASK, gather=lambda x: x, rewards=rewards)
        if beta:
            rewards = block(rloo_path, "_generate_and_score_completions", "if self.beta != 0.0:\n    per_token_kl", **scope)["rewards"]
        grouped = rewards.view(-1, G)
        counts = torch.full((N // G, 1), float(G), dtype=DOUBLE)
        got = block(rloo_path, "_generate_and_score_completions", "if num_generations > 1:\n    baselines", num_generations=G, rewards=rewards,
                    grouped_sum=grouped.sum(1, keepdim=True), grouped_rewards=grouped, scorable_counts=counts)["advantages"]

        def loss(logp):  # one update to a step: the old policy is the one that is trained
            me = trainer(logp, named)
            given = {"prompt_ids": torch.zeros(N, 1), "prompt_mask": torch.ones(N, 1), "completion_ids": torch.zeros(N, WIDTH), "completion_mask": MASK,
                     "old_logps": (logp.detach() * MASK).sum(1), "advantages": got}
            return rloo_loss._compute_loss(me, me.model, given)
        case("TRL: RLOO" + name, [("rloo_trainer", "true"), ("model_name_or_path", "m"), ("num_processes", "1"), ("num_generations", G),
                                  ("per_device_train_batch_size", N), ("max_completion_length", LONGEST), *keys], loss)

    add_rloo("")
    add_rloo(", beta 0", ("beta", "0"))


# ---- slime

def slime(root):
    mpu = SimpleNamespace(get_context_parallel_world_size=lambda: 1, get_context_parallel_rank=lambda: 0, is_pipeline_last_stage=lambda: True,
                          get_data_parallel_group=lambda **_: None, get_data_parallel_world_size=lambda **_: 1)
    import sys
    import types
    core = types.ModuleType("megatron.core")
    core.mpu = mpu
    sys.modules["megatron"], sys.modules["megatron.core"] = types.ModuleType("megatron"), core
    alone = SimpleNamespace(get_rank=lambda *_: 0, all_reduce=lambda *_, **__: None, ReduceOp=SimpleNamespace(SUM=0))
    utils_file = root / "slime/utils/ppo_utils.py"
    names = [node.name for node in ast.parse(utils_file.read_text()).body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    utils = pick(utils_file, *[n for n in names if "log_probs_and_entropy" not in n], dist=alone)
    whiten = pick(next(p for p in (root / "slime").rglob("*.py") if "def distributed_masked_whiten" in p.read_text()), "distributed_masked_whiten", dist=alone)
    parallel = pick(root / "slime/backends/megatron_utils/cp_utils.py", "get_sum_of_sample_mean", mpu=mpu)
    rewards_of = pick(root / "slime/ray/rollout.py", "_post_process_rewards")._post_process_rewards
    file = root / "slime/backends/megatron_utils/loss.py"
    lists = lambda x: [x[i, :TOKENS[i]] for i in ALL]
    masks = [torch.ones(n, dtype=DOUBLE) for n in TOKENS]

    def add(name, *keys):
        named = {key.replace("-", "_"): value for key, value in keys}
        number = lambda key, standard: float(named.get(key, standard))
        args = Config(advantage_estimator=named.get("advantage_estimator", "grpo"), kl_coef=number("kl_coef", 0), kl_loss_type=named.get("kl_loss_type", "k1"),
                      gamma=number("gamma", 1), lambd=number("lambd", 1), normalize_advantages="normalize_advantages" in named, use_opd=False,
                      use_rollout_logprobs=False, use_opsm=False, use_tis="use_tis" in named, tis_clip=number("tis_clip", 2), tis_clip_low=number("tis_clip_low", 0),
                      eps_clip=number("eps_clip", 0.2), eps_clip_high=number("eps_clip_high", named.get("eps_clip", 0.2)),
                      eps_clip_c=number("eps_clip_c", 0) or None, use_kl_loss="use_kl_loss" in named, kl_loss_coef=number("kl_loss_coef", 0),
                      entropy_coef=number("entropy_coef", 0), calculate_per_token_loss="calculate_per_token_loss" in named, n_samples_per_prompt=G,
                      rollout_batch_size=N // G, rewards_normalization="disable_rewards_normalization" not in named,
                      grpo_std_normalization="disable_grpo_std_normalization" not in named)
        me = SimpleNamespace(custom_reward_post_process_func=None, args=args)
        samples = [SimpleNamespace(get_reward_value=lambda _, score=score: score) for score in SCORES]
        batch = Config(log_probs=lists(OLD), ref_log_probs=lists(REF), rollout_log_probs=lists(SAMPLER), values=lists(VALUES), response_lengths=TOKENS,
                       loss_masks=masks, total_lengths=[p + t for p, t in zip(PROMPTS, TOKENS)], rewards=rewards_of(me, samples)[1],
                       rollout_mask_sums=[m.sum() for m in masks], unconcat_tokens=None)

        def loss(logp):
            read = {"log_probs": lists(logp), "entropy": lists(ENTROPY * logp)}
            scope = dict(mpu=mpu, get_log_probs_and_entropy=lambda *_, **__: (None, read), get_rollout_top_p_logprob_kwargs=lambda *_: {},
                         _maybe_capture_log_probs=lambda *_: None, all_gather_with_cp=lambda x, *_: x, load_function=None,
                         get_sum_of_sample_mean=parallel.get_sum_of_sample_mean, distributed_masked_whiten=whiten.distributed_masked_whiten,
                         **{n: getattr(utils, n) for n in names if hasattr(utils, n)})
            its = pick(file, "policy_loss_function", "compute_advantages_and_returns", "vanilla_tis_function", **scope)
            its.compute_advantages_and_returns(args, batch)
            reducer = parallel.get_sum_of_sample_mean(batch.total_lengths, TOKENS, masks, batch.rollout_mask_sums, args.calculate_per_token_loss)
            total, _ = its.policy_loss_function(args, batch, logp, reducer)
            return total / (sum(TOKENS) if args.calculate_per_token_loss else N)  # as loss_function and Megatron scale it
        case("slime: " + name, [("hf-checkpoint", "m"), ("actor-num-gpus-per-node", "1"), ("n-samples-per-prompt", G), ("rollout-batch-size", N // G),
                                ("num-steps-per-rollout", 1), ("rollout-max-response-len", LONGEST), *keys], loss)

    estimator, on = "advantage-estimator", "true"
    whitened = ("normalize-advantages", on)
    for name in ("grpo", "gspo", "cispo", "ppo"):
        add(name, (estimator, name), ("gamma", "0.9"), ("lambd", "0.8"), ("eps-clip", "0.1"), ("eps-clip-high", "0.25"))
        add(name + " per token", (estimator, name), ("calculate-per-token-loss", on))
    add("reinforce_plus_plus", (estimator, "reinforce_plus_plus"), whitened, ("gamma", "0.9"), ("kl-coef", "0.3"))
    add("reinforce_plus_plus_baseline", (estimator, "reinforce_plus_plus_baseline"), whitened, ("gamma", "0.9"))
    add("reinforce_plus_plus_baseline without mean", (estimator, "reinforce_plus_plus_baseline"), whitened, ("disable-rewards-normalization", on))
    add("grpo, whitened", whitened)
    add("grpo without deviation", ("disable-grpo-std-normalization", on))
    add("grpo without mean", ("disable-rewards-normalization", on))
    add("grpo, kl-coef", ("kl-coef", "0.3"))
    add("ppo, kl-coef k3", (estimator, "ppo"), ("kl-coef", "0.3"), ("kl-loss-type", "low_var_kl"))
    add("dual clip", ("eps-clip-c", "2.5"))
    add("gspo, dual clip", (estimator, "gspo"), ("eps-clip-c", "1.05"))
    add("cispo without lower bound", (estimator, "cispo"), ("eps-clip", "1.0"), ("eps-clip-high", "4.0"))
    for kind in ("k1", "k2", "k3", "low_var_kl"):
        add("KL in the loss, " + kind, ("use-kl-loss", on), ("kl-loss-coef", "0.5"), ("kl-loss-type", kind))
    add("entropy", ("entropy-coef", "0.3"))
    add("entropy per token", ("entropy-coef", "0.3"), ("calculate-per-token-loss", on))
    add("TIS", ("use-tis", on), ("tis-clip", "1.2"), ("tis-clip-low", "0.9"))


# ---- OpenRLHF

def openrlhf(root):
    loss_file = root / "openrlhf/models/loss.py"
    masked_mean = pick(root / "openrlhf/models/utils.py", "masked_mean", "compute_approx_kl", "compute_reward")
    losses = pick(loss_file, "aggregate_loss", "PolicyLoss", masked_mean=masked_mean.masked_mean)
    import itertools
    maker = pick(root / "openrlhf/trainer/ppo_utils/experience_maker.py", "compute_advantages_and_returns", "get_advantages_and_returns",
                 "get_cumulative_returns", itertools=itertools, apply_length_penalties=lambda *_: None, compute_reward=masked_mean.compute_reward,
                 logger=SimpleNamespace(warning=lambda *_: None))

    def add(name, *keys):
        named = dict(keys)
        number = lambda key, standard: float(named.get(key, standard))
        uses_loss = "use_kl_loss" in named
        beta, kind = number("init_kl_coef", 0.01), named.get("kl_estimator", "k1")
        estimator = named.get("advantage_estimator", "gae")
        args = SimpleNamespace(rollout=SimpleNamespace(n_samples_per_prompt=G), reward=SimpleNamespace(clip_range=(-10, 10)),
                               algo=SimpleNamespace(advantage=SimpleNamespace(estimator=estimator, gamma=number("gamma", 1), lambd=number("lambd", 1),
                                                                              no_std_norm=False)))
        kl = torch.zeros(N, WIDTH, dtype=DOUBLE) if uses_loss else masked_mean.compute_approx_kl(OLD, REF, kind).double() * MASK
        me = SimpleNamespace(strategy=SimpleNamespace(args=args), kl_ctl=SimpleNamespace(value=0.0 if uses_loss else beta), advantage_estimator=estimator,
                             get_advantages_and_returns=lambda *x: maker.get_advantages_and_returns(None, *x),
                             get_cumulative_returns=lambda *x: maker.get_cumulative_returns(None, *x))
        rows = SimpleNamespace(index=list(ALL), rewards=REWARDS.clone(), kl=kl, action_mask=MASK.double(), values=VALUES, info={})
        rows.__dict__["advantages"] = rows.__dict__["returns"] = None
        estimated = maker.compute_advantages_and_returns(me, [rows])[0].advantages * MASK
        low, _, high = named.get("eps_clip_low_high", "").partition(" ")
        policy = losses.PolicyLoss(clip_eps_low=float(low or named.get("eps_clip", 0.2)), clip_eps_high=float(high or named.get("eps_clip", 0.2)),
                                   dual_clip=number("dual_clip", 0) or None, policy_loss_type=named.get("policy_loss_type", "ppo"),
                                   enable_vllm_is_correction="enable_vllm_is_correction" in named,
                                   vllm_is_truncated_threshold=[float(x) for x in named.get("vllm_is_truncated_threshold", "0.5 5.0").split()],
                                   vllm_is_correction_type=named.get("vllm_is_correction_type", "tis"))
        info = {"dp_size": 1, "batch_num_tokens": MASK.sum(), "global_batch_size": N}
        # Its variance of advantages is divided by their number, ours by one less.
        longer = math.sqrt(sum(TOKENS) / (sum(TOKENS) - 1)) if estimator in ("gae", "reinforce", "reinforce_baseline") and not uses_loss else 1.0

        def loss(logp):
            total = policy(logp, OLD, estimated, action_mask=MASK, rollout_log_probs=SAMPLER, **info)[0]
            if uses_loss:
                total = total + beta * losses.aggregate_loss(masked_mean.compute_approx_kl(logp, REF, kind), MASK, **info)
            if "entropy_loss_coef" in named:
                total = total - number("entropy_loss_coef", 0) * losses.aggregate_loss(ENTROPY * logp, MASK, **info)
            return total
        case("OpenRLHF: " + name, [("pretrain", "m"), ("actor_num_gpus_per_node", "1"), ("n_samples_per_prompt", G), ("rollout_batch_size", N // G),
                                   ("train_batch_size", N), ("generate_max_len", LONGEST), ("lr_scheduler", "constant"), *keys], loss, longer)

    estimator, no_kl = "advantage_estimator", ("init_kl_coef", "0")
    for name in ("gae", "reinforce", "reinforce_baseline", "group_norm", "dr_grpo"):
        add(name, (estimator, name), ("gamma", "0.9"), ("lambd", "0.8"), ("init_kl_coef", "0.3"))
    for name in ("gae", "reinforce", "rloo", "reinforce_baseline", "group_norm", "dr_grpo"):
        add(name + " without KL", (estimator, name), no_kl, ("eps_clip_low_high", "0.1 0.25"))
    for kind in ("k1", "k2", "k3"):
        add("KL in the loss, " + kind, (estimator, "group_norm"), ("use_kl_loss", "true"), ("init_kl_coef", "0.5"), ("kl_estimator", kind))
        add("KL in the reward, " + kind, (estimator, "reinforce"), ("init_kl_coef", "0.3"), ("kl_estimator", kind))
    add("gspo", (estimator, "group_norm"), ("policy_loss_type", "gspo"), no_kl, ("eps_clip", "0.05"))
    add("dual clip", (estimator, "group_norm"), ("dual_clip", "2.5"), no_kl)
    add("entropy", (estimator, "group_norm"), ("entropy_loss_coef", "0.3"), no_kl)
    add("TIS", (estimator, "group_norm"), ("enable_vllm_is_correction", "true"), ("vllm_is_truncated_threshold", "0.9 1.2"), no_kl)
    add("ICEPOP", (estimator, "group_norm"), ("enable_vllm_is_correction", "true"), ("vllm_is_truncated_threshold", "0.7 1.3"), ("vllm_is_correction_type", "icepop"), no_kl)


def main():
    root = os.environ.get("ROLL_OTHERS")
    if not root:
        raise SystemExit("ROLL_OTHERS must name a folder with clones of verl, trl, slime and OpenRLHF")
    for name, run in (("verl", verl), ("trl", trl), ("slime", slime), ("OpenRLHF", openrlhf)):
        run(pathlib.Path(root) / name)
    inputs = {"old_log_probs": OLD, "log_probs": NEW, "ref_log_probs": REF, "sampler_log_probs": SAMPLER, "values": VALUES, "energies": ENERGIES}
    text = json.dumps({"made_by": "tests/oracles/make_golden_conversions.py", "group_size": G, "prompt_lengths": PROMPTS, "response_lengths": TOKENS,
                       "scores": SCORES, "greedy_rewards": GREEDY, "entropy_factor": ENTROPY,
                       "inputs": {name: packed(x) for name, x in inputs.items()}})
    cases = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in CASES.items())
    OUT.write_text(text[:-1] + ', "cases": {\n' + cases + "\n}}\n")
    print(len(CASES), "cases,", OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
