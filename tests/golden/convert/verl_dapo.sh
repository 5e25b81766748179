#!/usr/bin/env bash
# A DAPO recipe as people start verl with it.
MODEL=${MODEL:-Qwen/Qwen2.5-7B}
max_response=8192
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files="['/data/dapo-17k.jsonl']" data.val_files=/data/aime.jsonl \
    data.train_batch_size=512 data.max_prompt_length=2048 data.max_response_length=${max_response} \
    data.filter_overlong_prompts=True data.truncation=error \
    actor_rollout_ref.model.path="$MODEL" \
    actor_rollout_ref.model.use_remove_padding=True \
    actor_rollout_ref.actor.ppo_mini_batch_size=32 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=10240 \
    actor_rollout_ref.actor.clip_ratio_low=0.2 actor_rollout_ref.actor.clip_ratio_high=0.28 \
    actor_rollout_ref.actor.clip_ratio_c=10.0 \
    actor_rollout_ref.actor.optim.lr=1e-6 actor_rollout_ref.actor.optim.lr_warmup_steps=10 \
    actor_rollout_ref.actor.optim.weight_decay=0.1 \
    actor_rollout_ref.actor.fsdp_config.param_offload=True \
    actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=16 \
    actor_rollout_ref.rollout.tensor_model_parallel_size=4 \
    actor_rollout_ref.rollout.val_kwargs.temperature=1.0 actor_rollout_ref.rollout.val_kwargs.top_p=0.7 \
    +reward_model.overlong_buffer.enable=True +reward_model.overlong_buffer.len=4096 \
    +reward_model.overlong_buffer.penalty_factor=1.0 \
    algorithm.use_kl_in_reward=False +algorithm.filter_groups.enable=True \
    custom_reward_function.path=my_reward.py \
    trainer.nnodes=2 trainer.n_gpus_per_node=8 trainer.total_training_steps=200 trainer.save_freq=5 \
    trainer.experiment_name=dapo-7b trainer.logger='["console","wandb"]' \
    data.max_prompt_lenght=2048 $@   # misspelt on purpose
