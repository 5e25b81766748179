#!/usr/bin/env bash
# Measures how much of an update four stages of a pipeline idle, by what their passes take of a core, against the bubble
# of the schedule: (p - 1) / (m + p - 1), and with two chunks of layers a stage (p - 1) / (2 m + p - 1). Beside it stands
# the share of the time on the clock that stages waited, which other work on the machine changes.
#
#   pipeline_bubble.sh PROGRAM [MICRO_BATCHES, 8]
set -euo pipefail
roll=$(realpath "$1")
count=${2:-8}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMP_NUM_THREADS=1
"$roll" init-model --arch qwen2 --hidden 256 --intermediate 1024 --layers 16 --heads 4 --kv-heads 2 --tokenizer builtin --out model > log
for i in $(seq $((4 * count))); do  # of equal length
  printf '{"prompt": "%0100d", "response": "%0100d"}\n' "$i" "$i"
done > rows.jsonl
cat > sft.yaml <<YAML
exp_name: bubble
output_dir: $folder/out
pretrain: model
max_steps: 4
save_steps: 0
eval_steps: 0
sequence_length: 256
track_with: [jsonl]
sft_train:
  data_args: {file_name: rows.jsonl, prompt: prompt, response: response}
  training_args: {learning_rate: 1.0e-4, per_device_train_batch_size: 1, gradient_accumulation_steps: $count}
  strategy_args: {strategy_name: megatron_train, strategy_config: {pipeline_model_parallel_size: 4}}
YAML
for chunks in 1 2; do
  "$roll" sft --config sft.yaml -n 4 --device cpu --plain output_dir="$folder/out_$chunks" \
    sft_train.strategy_args.strategy_config.virtual_pipeline_model_parallel_size=$chunks >> log 2>&1 || { cat log; exit 1; }
  python3 - "$folder/out_$chunks/metrics.jsonl" $chunks <<'PYTHON'
import json, sys
steps = [json.loads(line) for line in open(sys.argv[1])][1:]  # the first one warms up
bubble, idle, waiting = (sum(step[f"pipeline/sft/{name}"] for step in steps) / len(steps) for name in ("bubble", "idle", "waiting"))
print(f"{sys.argv[2]} chunks a stage: bubble {bubble:.4f}, idle {idle:.4f} ({idle / bubble - 1:+.1%}); waited {waiting:.4f} of the time on the clock")
sys.exit(sys.argv[2] == "1" and abs(idle / bubble - 1) > 0.1)
PYTHON
done
