#!/usr/bin/env bash
# A GRPO step with a KL loss to the reference (8 prompts x 8 responses, one update) against TRL's GRPOTrainer: same model,
# prompts, response lengths and threads, in turn:
#   scripts/bench_step.sh [--model FOLDER] [build/roll] [rounds] [case...]
# --model: a Hugging Face folder (of a GGUF file: roll export --model FILE.gguf --out FOLDER), with 64 response tokens;
# cases model_fp32 and model_bf16.
# Without --model: random Qwen2 models of `roll init-model`, responses as long as allowed. Ratios are medians over the rounds of response
# tokens a second of whole steps, sampling, rewards (each response's length), reference, log-probs and update; the first
# step, which warms up, and loading are left out; share_prompts is auto, as by default. Cases of bfloat16 are measured against TRL's float32, its autocast and its
# bfloat16 weights, whichever is fastest. "shared" is one prompt of 512 tokens with 8 responses of as many, under share_prompts. Needs a Python with torch, transformers, datasets and trl (BENCH_PYTHON). THREADS: 2.
set -euo pipefail
given=
[[ ${1:-} != --model ]] || { given=$(realpath "$2"); shift 2; }
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2} TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
exec "${BENCH_PYTHON:-python3}" - "$given" "${1:-build/roll}" "${2:-3}" "${@:3}" <<'PYTHON'
import json, os, pathlib, shutil, statistics, subprocess, sys, tempfile, time

import datasets, torch, transformers, trl

sys.path.insert(0, "scripts")
from bench_replay import never_ends, prepare_step

transformers.logging.set_verbosity_error()
datasets.disable_progress_bars()
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
given, binary, rounds, wanted = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3]), sys.argv[4:]
MODELS = {"small": dict(hidden=256, layers=4, heads=4, kv=2, intermediate=704),
          "large": dict(hidden=512, layers=8, heads=8, kv=2, intermediate=1408)}
VOCABULARY = {"small": 512, "large": 8192}
SHARED = "shared"
# model, response tokens, our dtype
CASES = {"small_32": ("small", 32, "fp32"), "small_256": ("small", 256, "fp32"), "large_128": ("large", 128, "fp32"),
         "large_128_bf16": ("large", 128, "bf16"), SHARED: ("large", 512, "fp32")}
if given:
    CASES = {f"model_{dtype}": ("model", 64, dtype) for dtype in ("fp32", "bf16")}
PROMPTS, RESPONSES, STEPS = 8, 8, 3
TEXTS = [f"{17 * i + 3} plus {29 * i + 11} is " for i in range(PROMPTS)]
LONG = "".join(f"{(i * 7919) % 9973:04d}" for i in range(128))  # a token each character


def make_model(folder, vocabulary, hidden, layers, heads, kv, intermediate):
    subprocess.run([binary, "init-model", "--out", folder, "--hidden", str(hidden), "--layers", str(layers), "--heads", str(heads),
                    "--kv-heads", str(kv), "--intermediate", str(intermediate), "--vocab", str(vocabulary), "--tokenizer", "builtin", "--tie"],
                   check=True, capture_output=True)
    add_endless(folder, vocabulary)


def add_endless(folder, vocabulary):
    """No response of ours ends early; TRL's are told so by min_new_tokens."""
    endless = folder.with_name(folder.name + "_endless")
    shutil.copytree(folder, endless)
    never_ends(endless, vocabulary)


def ours(folder, case, model, tokens, dtype):
    """Response tokens a second of the steps after the first."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        work = pathlib.Path(work)
        shape = dict(texts=TEXTS, share="auto") if case != SHARED else dict(texts=[LONG], prompt_length=512, share="true", budget=8192, forward_budget=8192)
        prepare_step(work, f"{model}_endless", responses=RESPONSES, tokens=tokens, steps=STEPS, dtype=dtype, **shape)
        done = subprocess.run([binary, "train", "--config", work / "run.yaml", "-n", "1", "--device", "cpu"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        steps = [json.loads(line) for line in open(work / "run/metrics.jsonl")]
    assert all(step["token/response_length/mean"] == tokens for step in steps), "no response ends early"
    return statistics.median(tokens * step["system/samples"] / step["time/step_total"] for step in steps[1:])


def as_prompt(text):
    """A given model's prompts go through its chat template, on both sides."""
    return [{"role": "user", "content": text}] if given else text


def length_reward(completion_ids, **kwargs):
    counted.append(sum(map(len, completion_ids)))
    return [float(ids[0] % 7) for ids in completion_ids]


class Watch(transformers.TrainerCallback):
    def __init__(self):
        self.seconds = []

    def on_step_begin(self, args, state, control, **kwargs):
        self.start = time.perf_counter()

    def on_step_end(self, args, state, control, **kwargs):
        self.seconds.append(time.perf_counter() - self.start)


counted = []


def peer(folder, case, model, tokens, kind):
    counted.clear()
    texts = TEXTS if case != SHARED else [LONG]
    weights = torch.bfloat16 if kind == "bf16 weights" else torch.float32
    watch = Watch()
    args = trl.GRPOConfig(output_dir=str(folder / "trl"), per_device_train_batch_size=len(texts) * RESPONSES, num_generations=RESPONSES,
                          max_completion_length=tokens, generation_kwargs={"min_new_tokens": tokens}, beta=0.04, temperature=1.0, top_p=1.0,
                          top_k=0, max_steps=STEPS, learning_rate=1e-6, use_cpu=True, bf16=kind == "autocast", gradient_checkpointing=False,
                          logging_strategy="no", save_strategy="no", report_to=[], disable_tqdm=True, shuffle_dataset=False)
    trainer = trl.GRPOTrainer(transformers.AutoModelForCausalLM.from_pretrained(model, dtype=weights), length_reward, args,
                              train_dataset=datasets.Dataset.from_dict({"prompt": [as_prompt(text) for text in texts]}), callbacks=[watch],
                              processing_class=transformers.AutoTokenizer.from_pretrained(model))
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return statistics.median(n / s for n, s in list(zip(counted, watch.seconds))[1:])


with tempfile.TemporaryDirectory() as place:
    place = pathlib.Path(place)
    for case, (name, tokens, dtype) in CASES.items():
        if wanted and case not in wanted:
            continue
        model = place / name
        if given and not model.exists():
            shutil.copytree(given, model)
            add_endless(model, json.loads((model / "config.json").read_text())["vocab_size"])
        elif not model.exists():
            make_model(model, VOCABULARY[name], **MODELS[name])
        kinds = ["float32"] if dtype == "fp32" else ["float32", "autocast", "bf16 weights"]
        mine, theirs = [], {kind: [] for kind in kinds}
        for _ in range(rounds):
            mine.append(ours(place, case, model, tokens, dtype))
            for kind in kinds:
                theirs[kind].append(peer(place, case, model, tokens, kind))
        best = max(kinds, key=lambda kind: statistics.median(theirs[kind]))
        ratios = [a / b for a, b in zip(mine, theirs[best])]
        others = ", ".join(f"{kind} {statistics.median(theirs[kind]):.0f}" for kind in kinds)
        print(f"{case}: roll {dtype} {statistics.median(mine):.0f} response tokens/s; {statistics.median(ratios):.2f} times TRL {best} "
              f"({min(ratios):.2f} .. {max(ratios):.2f}); TRL: {others}", flush=True)
PYTHON
