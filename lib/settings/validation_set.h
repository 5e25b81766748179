// A named set of validation rows, beside the validation's own (`validation.sets`).
#pragma once

#include "config/keys.h"
#include "data/config.h"
#include "rollout/config.h"

namespace roll {

/// What a set does not say is the validation's.
struct ValidationSet {
  DataArgs data_args;
  GeneratingArgs generating_args;

  void fields(Keys& v) {
    v("data_args", data_args, "the set's rows; what is not given is the validation's");
    v("generating_args", generating_args,
      "the set's sampling; num_return_sequences: its samples of each prompt; what is not given is the validation's");
  }
};

}  // namespace roll
