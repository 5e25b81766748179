#!/usr/bin/env bash
# Training throughput against a plain padded PyTorch/Hugging Face loop on the same sequences, float32, same threads, in turn:
#   scripts/bench_train.sh [build/roll] [rounds]
# 32 sequences of lognormal length (mu 4.6, sigma 0.8, at most 512). The peer takes micro-batches of 4 padded sequences
# and torch's AdamW; roll replays the sequences as rollouts and updates once a step (its policy loss, entropy included).
# Useful tokens a second; and 6 x parameters x useful tokens a second as a share of the float32 matrix product's peak,
# measured in the same rounds. Needs a Python with torch and transformers (BENCH_PYTHON). THREADS: 2.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2} TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
exec "${BENCH_PYTHON:-python3}" - "${1:-build/roll}" "${2:-5}" <<'PYTHON'
import json, os, pathlib, statistics, subprocess, sys, tempfile, time

import numpy, torch, transformers

transformers.logging.set_verbosity_error()
threads = int(os.environ["OMP_NUM_THREADS"])
torch.set_num_threads(threads)
binary, rounds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
LENGTHS = numpy.clip(numpy.random.default_rng(0).lognormal(4.6, 0.8, 32).astype(int), 8, 512)
MODELS = {"hidden 256, 4 layers, vocabulary 512": (256, 4, 704, 4, 512, 2.6, 0.45),
          "hidden 512, 8 layers, vocabulary 8192": (512, 8, 1408, 8, 8192, 2.0, 0.55)}
STEPS = 4  # of one roll run; the first warms up
CONFIG = """
exp_name: bench
output_dir: {out}
pretrain: {model}
track_with: [jsonl]
max_steps: {steps}
save_steps: 0
eval_steps: 0
rollout_batch_size: 32
num_return_sequences_in_group: 1
prompt_length: 4
response_length: 512
adv_estimator: reinforce
init_kl_coef: 0
loss_agg_mode: token-mean
rollout_replay: {rollouts}
actor_train:
  model_args: {{disable_gradient_checkpointing: true}}
  training_args: {{learning_rate: 1.0e-5, per_device_train_batch_size: 32, gradient_accumulation_steps: 1, lr_scheduler_type: constant}}
  data_args: {{file_name: {rows}, prompt: prompt}}
  use_sequence_packing: true
  sequence_packing_args: {{algorithm: load_balance, max_packed_sequence_length_train: {budget}, max_packed_sequence_length_forward: 4096}}
actor_infer: {{generating_args: {{temperature: 1.0, top_p: 1.0, top_k: 0}}}}
rewards: {{d: {{type: math_rule, tag_included: [d]}}}}
"""


def sgemm_peak():
    """The best of some square products."""
    best = 0
    for n in (512, 1024, 1536):
        a, b = torch.ones(n, n), torch.ones(n, n)
        for _ in range(3):
            start = time.perf_counter()
            a @ b
            best = max(best, 2 * n**3 / (time.perf_counter() - start))
    return best


def write_rollouts(folder, vocabulary):
    rng = numpy.random.default_rng(1)
    folder.mkdir()
    sequences = [rng.integers(10, min(vocabulary, 500), n).tolist() for n in LENGTHS]
    for step in range(1, STEPS + 1):
        lines = [dict(step=step, domain="d", prompt_id=str(i), group_index=i, sample_index=0, prompt="", response="", prompt_ids=s[:1],
                      response_ids=s[1:], log_probs=[-1.0] * (len(s) - 1), finish_reason="stop", reward=i % 2, ground_truth="",
                      tag="d") for i, s in enumerate(sequences)]
        (folder / f"step_{step:06}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return sequences


def peer(model_folder, sequences):
    """A function that runs one update and returns its seconds."""
    model = transformers.AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32, attn_implementation="sdpa")
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    total = sum(len(s) - 1 for s in sequences)

    def update():
        start = time.perf_counter()
        for begin in range(0, len(sequences), 4):
            batch = sequences[begin : begin + 4]
            longest = max(map(len, batch))
            ids = torch.tensor([s + [0] * (longest - len(s)) for s in batch])
            mask = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in batch])
            logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1]
            log_p = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[..., 0]
            (-(log_p * mask[:, 1:]).sum() / total).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - start

    update()
    return update, sum(p.numel() for p in model.parameters())


def ours(config):
    out = subprocess.run([binary, "train", "--config", config, "--device", "cpu"], capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stdout + out.stderr)
    lines = [json.loads(line) for line in open(config.parent / "run/metrics.jsonl")]
    return [line["time/step_train"] for line in lines[1:]]


for name, (hidden, layers, inner, heads, vocabulary, wanted_ratio, wanted_share) in MODELS.items():
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        subprocess.run([binary, "init-model", "--arch", "qwen2", "--hidden", str(hidden), "--intermediate", str(inner), "--layers",
                        str(layers), "--heads", str(heads), "--vocab", str(vocabulary), "--tie", "--out", folder / "model"], check=True,
                       capture_output=True)
        sequences = write_rollouts(folder / "rollouts", vocabulary)
        (folder / "rows.jsonl").write_text('{"id": "1", "prompt": "a", "ground_truth": "1", "tag": "d"}\n')
        (folder / "run.yaml").write_text(CONFIG.format(out=folder / "run", model=folder / "model", rollouts=folder / "rollouts",
                                                       rows=folder / "rows.jsonl", steps=STEPS, budget=os.environ.get("BUDGET", 1024)))
        update, parameters = peer(folder / "model", sequences)
        tokens = int(sum(LENGTHS))
        padded = sum(4 * max(LENGTHS[i : i + 4]) for i in range(0, 32, 4))
        peaks, theirs, mine = [], [], []
        for _ in range(rounds):
            peaks.append(sgemm_peak())
            theirs.append(update())
            mine.append(statistics.median(ours(folder / "run.yaml")))
            theirs.append(update())
        peak, t, m = max(peaks), statistics.median(theirs), statistics.median(mine)
        share = lambda seconds: 6 * parameters * tokens / seconds / peak
        print(f"{name}: {parameters / 1e6:.1f} M parameters, {tokens} useful tokens (the peer computes {padded}), sgemm peak "
              f"{peak / 1e9:.0f} GFLOP/s\n  peer {tokens / t:7.0f} tokens/s, {share(t):.2f} of the peak\n"
              f"  roll {tokens / m:7.0f} tokens/s, {share(m):.2f} of the peak (wanted {wanted_share})\n"
              f"  ratio {t / m:.2f} (wanted {wanted_ratio}); by round: {' '.join(f'{statistics.median(theirs[2 * i : 2 * i + 2]) / x:.2f}' for i, x in enumerate(mine))}",
              flush=True)
PYTHON
