// The `post_processor` of a tokenizer.json: the special tokens that stand before and after an encoded text.
#pragma once

#include <cstdint>
#include <vector>

#include "text/json_view.h"

namespace roll {

struct PostProcessor {
  std::vector<int64_t> before, after;
};

/// Supported: TemplateProcessing (its `single` form), ByteLevel (no ids), Sequence. UserError names another one.
PostProcessor read_post_processor(const JsonView& json);

}  // namespace roll
