#!/usr/bin/env python3
"""A run that samples for two domains: every response gets its own reward, groups that agree are dropped and replaced in the domain
that filters them, the end of a text ends a response, and the critic warms up alone. Argument: the roll binary."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import one_step
from rollouts import rollout_lines

binary = pathlib.Path(sys.argv[1]).resolve()
GROUPS, GROUP_SIZE, LENGTH = 6, 2, 6
COUNTED = 4  # of the groups, 0.67 x 6; the others are of the domain "plain"
PENALTY = 0.5
# The reward is the number of the response's bytes modulo 3, so that many groups of two agree.
SCORER = """import json, sys
for line in sys.stdin:
    print(json.dumps({"reward": len(json.loads(line)["response"].encode()) % 3}), flush=True)
"""


def config(folder):
    trained = dict(training_args=dict(learning_rate=1e-3, per_device_train_batch_size=GROUPS, gradient_accumulation_steps=1,
                                      lr_scheduler_type="linear"))
    model = lambda role: dict(model_args=dict(model_name_or_path=str(folder / role)))
    reward = dict(type="command", command=[sys.executable, str(folder / "score.py")], tag_included=["t"], timeout_s=60,
                  query_filter_config=dict(type="std_filter", filter_args=dict(std_threshold=0)))
    plain = dict(type="exact_match", tag_included=["p@1"], response_length_penalty_coef=PENALTY)
    return dict(exp_name="sampled", seed=3, output_dir=str(folder / "run"), max_steps=2, save_steps=1, eval_steps=1,
                logging_steps=2, track_with=["jsonl"], pretrain=str(folder / "actor"), reward_pretrain=str(folder / "critic"), critic_warmup=1,
                rollout_batch_size=GROUPS, num_return_sequences_in_group=GROUP_SIZE, prompt_length=24, response_length=LENGTH,
                adv_estimator="gae", add_token_level_kl=False,
                actor_train=model("actor") | trained | dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="prompt",
                                                                            domain_interleave_probs=dict(counted=0.67, plain=0.33))),
                validation=dict(data_args=dict(file_name=[str(folder / "rows.jsonl")]), generating_args=dict(num_return_sequences=3)),
                actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)), critic=model("critic") | trained,
                rewards=dict(counted=reward, plain=plain))


def own_end(folder):
    """The id of the tokenizer's eos_token."""
    eos = json.loads((folder / "tokenizer_config.json").read_text())["eos_token"]
    tokens = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
    return next(token["id"] for token in tokens if token["content"] == eos)


def check_rollouts(folder, end_ids):
    lines = [line for step in (1, 2) for line in rollout_lines(folder / "run", step)]
    for i, line in enumerate(lines):
        place = i % (GROUPS * GROUP_SIZE)
        assert (line["group_index"], line["sample_index"]) == divmod(place, GROUP_SIZE), line
        assert line["domain"] == ("counted" if place < COUNTED * GROUP_SIZE else "plain"), line
        if line["domain"] == "counted":
            assert line["score"] == line["reward"] == len(line["response"].encode()) % 3, line
        else:
            assert line["score"] == 0 and abs(line["reward"] + PENALTY * len(line["response_ids"]) / LENGTH) < 1e-8, line
        ended = line["response_ids"][-1] in end_ids
        assert line["finish_reason"] == ("stop" if ended else "length"), line
        assert ended or len(line["response_ids"]) == LENGTH, line
        assert not end_ids & set(line["response_ids"][:-1]), line
    for a, b in zip(lines[::2], lines[1::2]):
        assert a["prompt_id"] == b["prompt_id"] and (a["domain"] == "plain" or a["score"] != b["score"]), (a, b)
    pairs = {str([a["response_ids"], b["response_ids"]]) for a, b in zip(lines[::2], lines[1::2])}
    assert len(pairs) == 2 * GROUPS, "all prompts are the same, so equal groups share their random numbers"
    assert any(line["finish_reason"] == "stop" for line in lines), "no response ended by itself: nothing was tested"
    assert len({line["score"] for line in lines if line["domain"] == "counted"}) > 1
    return lines


def clustered_error(scores):
    """Of the mean of equally many scores of each prompt: the error of a mean of the prompts' means."""
    means = [statistics.fmean(of_prompt) for of_prompt in scores]
    return statistics.stdev(means) / len(means) ** 0.5


def check_metrics(folder, lines):
    zeroth, first, second = (json.loads(line) for line in open(folder / "run/metrics.jsonl"))  # whatever logging_steps is
    for step, metrics in ((1, first), (2, second)):
        assert metrics["counted/rollout/groups_sampled"] > COUNTED, "the filter dropped none"
        assert metrics["plain/rollout/groups_sampled"] == GROUPS - COUNTED, "a domain without a filter was refilled"
        assert metrics["rollout/groups_sampled"] == metrics["counted/rollout/groups_sampled"] + GROUPS - COUNTED
        assert metrics["rollout/groups_dropped"] == metrics["counted/rollout/groups_sampled"] - COUNTED == metrics["counted/rollout/groups_dropped"]
        assert metrics["plain/rollout/groups_dropped"] == metrics["rollout/groups_aborted"] == metrics["counted/rollout/groups_aborted"] == 0
        for name in ("time/step_model_update", "time/step_generate_wait", "rollout/tokens_per_s", "rollout/slots_busy", "rollout/kv_pages_used",
                     "rollout/prefix_hits", "rollout/evictions"):
            assert metrics[name] >= 0, name
        assert metrics["rollout/tokens_per_s"] > 0 and 0 < metrics["rollout/slots_busy"] <= 1 and 0 < metrics["rollout/kv_pages_used"] <= 1
        assert 0 < metrics["rollout/prefix_hits"] < 1, "all prompts are the same"
        scores = [line["score"] for line in lines if line["step"] == step]
        assert abs(metrics["score/mean"] - sum(scores) / len(scores)) < 1e-8, "the score is penalised"
        assert metrics["rewards/min"] < 0, "the reward is not penalised"
    for metrics, step in ((zeroth, 0), (first, 1), (second, 2)):
        validated = rollout_lines(folder / "run", step, "val_")
        for of, some in (("all", validated), ("p@1", [line for line in validated if line["tag"] == "p@1"])):
            assert some and abs(metrics[f"val_correct/{of}/mean"] - sum(line["score"] >= 1 for line in some) / len(some)) < 1e-8, metrics
            assert abs(metrics[f"val_score/{of}/mean"] - sum(line["score"] for line in some) / len(some)) < 1e-8, metrics
            prompts = sorted({line["group_index"] for line in some})
            assert len(some) == 3 * len(prompts)
            by_prompt = [[line["score"] for line in some if line["group_index"] == prompt] for prompt in prompts]
            for what, scores in (("score", by_prompt), ("correct", [[score >= 1 for score in of_prompt] for of_prompt in by_prompt])):
                assert abs(metrics[f"val_{what}/{of}/se"] - clustered_error(scores)) < 1e-8, (what, of, metrics)
    assert "actor/lr" not in first, "the actor was trained while the critic warmed up"
    assert second["actor/lr"] == (1e-3 + 0.5e-3) / 2, second["actor/lr"]  # 2 updates in all, in step 2
    assert second["critic/lr"] == (0.5e-3 + 0.25e-3) / 2, second["critic/lr"]  # the last 2 of 4


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed, role in ((1, "actor"), (3, "critic")):
            one_step.make_model(binary, folder / role, seed, role == "critic")
        # The model ends a text with one of many tokens, so that tiny responses do end.
        end_ids = set(range(100, 140))
        (folder / "actor/generation_config.json").write_text(json.dumps({"eos_token_id": sorted(end_ids)}))
        (folder / "score.py").write_text(SCORER)
        rows = [dict(id=str(i), prompt="1+1=", ground_truth="2", tag="t" if i < 40 else "p@1") for i in range(50)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "run.yaml").write_text(json.dumps(config(folder), indent=1))
        done = subprocess.run([binary, "train", "--config", folder / "run.yaml", "--device", "cpu"], capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            sys.exit(f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
        check_metrics(folder, check_rollouts(folder, end_ids | {own_end(folder / "actor")}))
        (folder / "score.py").write_text(SCORER.replace("% 3", "* 0"))
        done = subprocess.run([binary, "train", "--config", folder / "run.yaml", "--device", "cpu", f"output_dir={folder}/other"],
                              capture_output=True, text=True, timeout=300)
        hopeless = "rewards.counted.query_filter_config: std_filter has dropped the last 40 groups of domain counted, whose data has 40 prompts"
        assert done.returncode == 2 and hopeless in done.stderr, done.stderr[-3000:]
        print("rollouts, filter, ends and warm-up are as they should be")


main()
