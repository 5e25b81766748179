#include "settings/worker_config.h"

#include "config/keys.h"

namespace roll {

void WorkerConfig::fields(Keys& v) {
  model_fields(v);
  training_fields(v);
  if (duties.has_data)
    v("data_args", data_args, "the role's data");
  else
    v.noted({"data_args"}, "only actor_train and validation have data");
  if (duties.samples)
    v("generating_args", generating_args, "the role's sampling");
  else
    v.noted({"generating_args"}, "only actor_infer and validation sample");
  if (duties.has_sets)
    v("sets", sets,
      "named sets, each with rows and sampling, in addition to data_args; their metrics are val/NAME/avg@n, pass@k, "
      "maj@k");
  v.noted({"eval_steps"}, "eval_steps at the top level decides");
  v.noted({"worker_cls", "name"}, "the role and its keys define a worker");
  v.noted({"world_size"}, "the number of ranks comes from device_mapping or -n");
  v.noted({"model_update_frequency", "max_concurrency", "offload_nccl", "use_remove_padding"},
          "there are no separate engines to synchronise, and there is no padding");
  v.noted({"system_envs"}, "every role lives in the same processes; set system_envs at the top level");
  v.noted({"logits_in_fp32"}, "log-probs are always computed in float32");
}

void WorkerConfig::judging_fields(Keys& v) {
  v("model_args", model_args, "the judging model");
  v("strategy_args", strategy_args, "the judging model's back-end", may_change());
  v("data_args", data_args, "the judging model's chat template");
  v("infer_batch_size", infer_batch_size, "sequences of a forward when nothing is packed", sequence_range(),
    may_change());
  packing.fields(v, /*trains=*/false);
  v("device_mapping", device_mapping, "the judging model's devices; null: the devices of actor_train", may_change());
  v.noted({"num_gpus_per_worker"}, "a process has one device");
}

void WorkerConfig::model_fields(Keys& v) {
  if (!duties.has_model)
    return v.noted({"model_args", "strategy_args", "device_mapping", "num_gpus_per_worker", "router_replay"},
                   "this role has no model");
  if (duties.routes)
    v("router_replay", router_replay, "ROLL's spelling of routing_replay");
  else
    v.noted({"router_replay"}, "only the policy's experts are replayed; actor_train and actor_infer set it");
  v("model_args", model_args, "the role's model");
  v("strategy_args", strategy_args, "the role's back-end", may_change());
  v("device_mapping", device_mapping, "devices of the role: list(range(0,8)), [0,1,2], or a sum of such lists",
    may_change());
  if (duties.samples)
    v("speculation", speculation, kSpeculationHelp, may_change());
  else
    v.noted({"speculation"}, "only actor_infer samples");
  if (duties.samples)
    v("num_gpus_per_worker", num_gpus_per_worker, "ROLL's devices per sampling engine; must equal its parallel size",
      rank_range(), may_change());
  else
    v.noted({"num_gpus_per_worker"}, "a process has one device");
  if (duties.leads)
    v("backend_timeout", backend_timeout, "minutes, also fractions, that a rank waits for the others in a collective",
      above_to(0, 7 * 24 * 60), may_change());
  else
    v.noted({"backend_timeout"}, "the backend_timeout of the trained policy counts for all roles");
}

void WorkerConfig::training_fields(Keys& v) {
  if (duties.trains) {
    v("training_args", training_args, "the role's optimizer");
    const StrategyConfig& strategy = strategy_args.strategy_config;
    const Address cause = is_megatron(strategy_args.strategy_name) ? Address(strategy.recompute_granularity)
                                                                   : model_args.disable_gradient_checkpointing;
    v.only_if(strategy.recompute_method, recomputes(), cause);
    v("apply_loss_scale", apply_loss_scale,
      "true: gradient of the whole mini-batch; false: divided by the number of micro-batches");
    v("loss_func", loss_func, "a loss plug-in in place of the built-in loss");
  } else {
    v.noted({"training_args", "apply_loss_scale"}, "this role is not trained");
    v.refused({"loss_func"}, "only a role that is trained has a loss; remove it");
  }
  if (duties.is_policy) {
    policy.fields(v);
    v("pg_loss_reducer", pg_loss_reducer,
      "a plug-in that reduces the policy term; it takes precedence over loss_agg_mode");
  } else {
    v.noted({"pg_variant", "tis_*", "topr_*", "cispo_*", "kimi15_tau", "gmpo_*", "sapo_*", "dppo_*"},
            "only actor_train has a policy loss");
    v.refused({"pg_loss_reducer"}, "reduces the policy term, which only actor_train has; remove it");
  }
  if (duties.forwards) {
    v("infer_batch_size", infer_batch_size, "sequences of a log-prob forward when nothing is packed", sequence_range(),
      may_change());
    packing.fields(v, duties.trains);
  } else {
    v.noted({"infer_batch_size", "use_sequence_packing", "sequence_packing_args", "use_dynamic_batching_in_*",
             "max_tokens_per_microbatch_in_*", "sequence_length_round_in_*"},
            "this role runs no forward over whole sequences");
  }
}

}  // namespace roll
