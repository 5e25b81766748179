# REINFORCE++-baseline, as OpenRLHF is started.
python3 -m openrlhf.cli.train_ppo_ray \
   --pretrain Qwen/Qwen2.5-3B --prompt_data /data/math.jsonl --input_key messages --apply_chat_template \
   --actor_num_nodes 1 --actor_num_gpus_per_node 8 --colocate_all_models \
   --advantage_estimator reinforce_baseline --n_samples_per_prompt 8 \
   --rollout_batch_size 128 --train_batch_size 1024 --micro_train_batch_size 4 \
   --prompt_max_len 1024 --generate_max_len 2048 --temperature 1.0 \
   --eps_clip_low_high 0.2 0.3 --init_kl_coef 1e-5 --use_kl_loss --kl_estimator k3 \
   --actor_learning_rate 5e-7 --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --gradient_checkpointing \
   --packing_samples --bf16 --zero_stage 3 --remote_rm_url ./reward.py
