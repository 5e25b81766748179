// Root configuration of `roll sft` (supervised fine-tuning). RowConfig holds most keys; fields() declares them.
#pragma once

#include "config/keys.h"
#include "settings/row_config.h"

namespace roll {

struct SftConfig : RowConfig {
  SftConfig() : RowConfig("sft", "sft_train") {}

  void fields(Keys& v) {
    run_fields(v);
    loss.aggregation_fields(v);
    v("prompt_key", prompt_key, "ROLL's spelling of sft_train.data_args.question");
    v("query_key", query_key, "ROLL's spelling of sft_train.data_args.query");
    v("response_key", response_key, "ROLL's spelling of sft_train.data_args.response");
    v("sft_train", trained, "the model in training");
    v("validation", validation, "data of the validation", may_change());
  }
};

}  // namespace roll
