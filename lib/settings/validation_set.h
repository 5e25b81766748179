// Keys of a named validation set: an entry of `validation.sets`, measured in addition to the validation's own rows.
#pragma once

#include "config/keys.h"
#include "data/config.h"
#include "rollout/config.h"

namespace roll {

/// Rows and sampling of a set; keys that are not set are copied from `validation`.
struct ValidationSet {
  DataArgs data_args;
  GeneratingArgs generating_args;

  void fields(Keys& v) {
    v("data_args", data_args, "the set's rows; keys that are not set are the validation's");
    v("generating_args", generating_args,
      "the set's sampling; num_return_sequences: samples per prompt; keys that are not set are the validation's");
  }
};

}  // namespace roll
