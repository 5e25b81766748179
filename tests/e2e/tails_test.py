#!/usr/bin/env python3
"""What a step samples and keeps is the same however the sampling is shared out: ranks, tensor ranks of the sampler, few slots in small pages,
too few pages, and prompts that run ahead of a filter. Responses to the id, log-probs within 1e-5, and the prompt stream stands where it would.
Argument: the roll binary."""
import json
import pathlib
import tempfile

from resumed import prepare, run
from rollouts import rollout_lines, rollout_steps

TP = "actor_infer.strategy_args.strategy_config.tensor_model_parallel_size=2"
AHEAD = "is_use_additional_prompts=true"
ENGINE = "actor_infer.strategy_args.strategy_config"
FEW = ("max_running_requests=3", f"{ENGINE}.block_size=8")
PAGES = (f"{ENGINE}.block_size=8", f"{ENGINE}.num_gpu_blocks_override=5")  # of which a response takes two
SETUPS = {
    "1 rank": (1,),
    "1 rank, 5 ahead": (1, AHEAD, "max_additional_running_prompts=5"),
    "1 rank, few pages": (1, *PAGES),
    "2 ranks, tp 2, few pages, 5 ahead": (2, TP, AHEAD, "max_additional_running_prompts=5", *PAGES),
    "1 rank, few slots, 50 ahead": (1, AHEAD, "max_additional_running_prompts=50", *FEW),
    "2 ranks": (2,),
    "2 ranks, few slots, 5 ahead": (2, AHEAD, "max_additional_running_prompts=5", *FEW),
    "2 ranks, tp 2, few slots, 5 ahead": (2, TP, AHEAD, "max_additional_running_prompts=5", *FEW),
    "2 ranks, tp 2": (2, TP),
    "4 ranks, 5 ahead": (4, AHEAD, "max_additional_running_prompts=5"),
    "4 ranks, few slots": (4, *FEW),
    "4 ranks, tp 2, 20 ahead": (4, TP, AHEAD, "max_additional_running_prompts=20"),
}


def sampled(folder, name, ranks, *keys):
    """The records of all steps, where the stream then stands, and metrics that depend on no layout."""
    out = folder / name.replace(" ", "_").replace(",", "")
    batch = [f"{role}.training_args.gradient_accumulation_steps={4 // ranks}" for role in ("actor_train", "critic")]
    keys = keys if AHEAD in keys else ("is_use_additional_prompts=false", *keys)
    run(folder, out, ranks, "max_steps=3", "save_steps=3", "eval_steps=0", "best_ckpt_to_keep=0", *batch, *keys)
    lines = [line for step in rollout_steps(out) for line in rollout_lines(out, step)]
    state = json.loads((out / "checkpoints/step_000003/state.json").read_text())["prompts"]
    metrics = [json.loads(line) for line in open(out / "metrics.jsonl")]
    kept = [{key: value for key, value in line.items() if "groups_sampled" in key or "groups_dropped" in key} for line in metrics]
    total = lambda key: sum(line[key] for line in metrics)
    return lines, state, kept, total("rollout/groups_aborted"), total("rollout/evictions")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        base, aborted, evicted = None, {}, {}
        for what, setup in SETUPS.items():
            lines, state, kept, aborted[what], evicted[what] = sampled(folder, what, *setup)
            base = base or (lines, state, kept)
            assert (state, kept) == base[1:], f"{what}: {kept}, {state} instead of {base[1:]}"
            assert len(lines) == len(base[0]) == 3 * 8 * 2
            for mine, theirs in zip(lines, base[0]):
                differing = [key for key in mine if key != "log_probs" and mine[key] != theirs[key]]
                assert not differing, f"{what}: {differing}: {mine} instead of {theirs}"
                assert max(abs(a - b) for a, b in zip(mine["log_probs"], theirs["log_probs"])) < 1e-5, what
        assert sum(line["rollout/groups_dropped"] for line in base[2]) > 0, "the filter dropped none"
        assert all((count > 0) == ("ahead" in what) for what, count in aborted.items()), aborted
        assert all((count > 0) == ("pages" in what) for what, count in evicted.items()), evicted
        print(f"{len(SETUPS)} ways to share the sampling out give the same {len(base[0])} responses; groups aborted: {aborted}")


main()
