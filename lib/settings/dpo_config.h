// Root configuration of `roll dpo` (direct preference optimisation), with ROLL's keys. fields() declares each key with
// a help text; RowConfig holds the keys shared with `roll sft`.
#pragma once

#include "config/keys.h"
#include "settings/row_config.h"

namespace roll {

struct DpoConfig : RowConfig {
  double beta = 0.1;
  bool ipo = false;
  double label_smoothing = 0;
  std::string chosen_key = "chosen";
  std::string rejected_key = "rejected";
  WorkerConfig reference{.duties = {.forwards = true}};

  DpoConfig() : RowConfig("dpo", "actor_train") { loss.loss_mask_keys = {"response_mask"}; }

  void fields(Keys& v) {
    run_fields(v);
    v("beta", beta, "strength of the pull towards the reference: the reward of a response is beta x its log-ratio",
      within(1e-6, 1'000'000));
    v("ipo", ipo, "IPO's squared loss, (margin of the log-ratios - 1 / (2 beta))^2, in place of DPO's logistic one");
    v("label_smoothing", label_smoothing, "share of pairs that are assumed to be labelled the wrong way round (cDPO)",
      within(0, 0.5));
    v("chosen_key", chosen_key, "column of the better response: a text, or messages that end with it");
    v("rejected_key", rejected_key, "column of the worse response");
    v("actor_train", trained, "the policy in training; its batch sizes count pairs");
    v("reference", reference, "the frozen policy, on the ranks of actor_train");
    v("validation", validation, "data of the validation", may_change());
    v.noted({"num_nodes", "local_rank", "rpc_timeout", "is_offload_states", "is_offload_optimizer_states_in_train_step",
             "base_dir"},
            "one program runs all roles; there are no remote calls to tune");
  }
};

}  // namespace roll
