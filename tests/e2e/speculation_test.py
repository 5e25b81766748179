#!/usr/bin/env python3
"""Guessed tokens change no run: with and without speculation, rollouts, weights and metrics are equal to the bit, on one rank and on two, in
float32, bfloat16 and int8, under tensor parallelism, killed and resumed. Argument: the roll binary."""
import json
import pathlib
import subprocess
import tempfile

from resumed import check_same, command, lines_of, prepare, run

LONG = ["response_length=40", "max_steps=8", "actor_infer.generating_args.temperature=0.02", "actor_infer.generating_args.presence_penalty=0.001"]
RUNS = {"one rank": (1, []), "two ranks, bf16": (2, ["actor_train.model_args.dtype=bf16", "critic.model_args.dtype=bf16"]),
        "int8": (1, ["actor_infer.model_args.dtype=int8"]),
        "tensor parallel": (2, [f"{role}.strategy_args.strategy_config.tensor_model_parallel_size=2" for role in ("actor_train", "critic")])}


def guessed(out):
    """Tokens guessed and the least speed-up."""
    lines = [json.loads(line) for line in open(out / "metrics.jsonl")]
    lines = [line for line in lines if "rollout/guessed" in line]
    return sum(line["rollout/guessed"] for line in lines), max((line["rollout/guess_speedup"] for line in lines), default=1)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    prepare(folder)
    for title, (ranks, words) in RUNS.items():
        base, out = folder / f"{title} none", folder / f"{title} auto"
        run(folder, base, ranks, *LONG, *words, "actor_infer.speculation=none")
        run(folder, out, ranks, *LONG, *words)
        check_same(out, base)
        assert guessed(base) == (0, 1), guessed(base)
        tokens, speedup = guessed(out)
        assert tokens > 100 and speedup > 1.02, f"{title}: {tokens} guesses, {speedup} tokens a step"
        print(f"{title}: {tokens:.0f} tokens guessed, up to {speedup:.2f} tokens a step", flush=True)
    # The guesser's memory is not in a checkpoint: a resumed run guesses otherwise, and draws the same.
    base, out = folder / "one rank none", folder / "resumed"
    stopped = subprocess.run(command(folder, out, 1, *LONG, "--time-limit", "1"), capture_output=True, text=True, timeout=300)
    assert stopped.returncode in (0, 75), stopped.stderr[-2000:]  # 0: a fast machine ends within a second
    for _ in range(20):
        if len(lines_of(out)) > 8:
            break
        run(folder, out, 1, *LONG, "--resume")
    check_same(out, base)
