#!/bin/bash
# A run of slime with arrays of arguments.
ray start --head --num-gpus 8
MODEL_ARGS=(
   --num-layers 36 --hidden-size 2560
   --swiglu --rotary-base 1000000
)
CKPT_ARGS=(
   --hf-checkpoint /models/Qwen3-4B
   --ref-load /models/Qwen3-4B_torch_dist
   --save /runs/qwen3-4b --save-interval 20
)
ROLLOUT_ARGS=(
   --prompt-data /data/dapo-math-17k.jsonl --input-key prompt --label-key label
   --apply-chat-template --rollout-shuffle --rm-type deepscaler
   --num-rollout 3000
   --rollout-batch-size 32        # prompts
   --n-samples-per-prompt 8
   --rollout-max-response-len 8192
   --rollout-temperature 0.8
   --global-batch-size 128        # samples
   --balance-data
)
PERF_ARGS=(
   --tensor-model-parallel-size 2 --sequence-parallel --context-parallel-size 1
   --use-dynamic-batch-size --max-tokens-per-gpu 9216
)
GRPO_ARGS=(
   --advantage-estimator gspo --use-kl-loss --kl-loss-coef 0.001 --kl-loss-type low_var_kl
   --eps-clip 4e-4
)
OPTIMIZER_ARGS=(
   --lr 1e-6 --lr-decay-style constant --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.98
)
ray job submit -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \
   ${MODEL_ARGS[@]} ${CKPT_ARGS[@]} ${ROLLOUT_ARGS[@]} ${PERF_ARGS[@]} ${GRPO_ARGS[@]} ${OPTIMIZER_ARGS[@]} --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.7
