// A small model and a configuration that trains it.
#pragma once

#include <string>
#include <vector>

#include "model/spec.h"
#include "settings/config.h"

namespace roll::test {

/// Sizes that no number of slices divides.
inline ModelSpec small_spec(bool tied_head) {
  return {.vocab_size = 301,
          .hidden_size = 36,
          .intermediate_size = 77,
          .num_layers = 3,
          .num_heads = 6,
          .num_kv_heads = 2,
          .head_dim = 6,
          .tied_head = tied_head,
          .qkv_bias = true};
}

inline Config config_of(bool is_fp32, bool shares, std::vector<std::string> frozen = {}) {
  Config config;
  for (WorkerConfig* worker : {&config.actor_train, &config.critic, &config.reference}) {
    worker->model_args.dtype = is_fp32 ? Dtype::kFp32 : Dtype::kBf16;
    worker->model_args.freeze_module_prefix = frozen;
    worker->strategy_args.strategy_config.use_distributed_optimizer = shares;
  }
  return config;
}

}  // namespace roll::test
