// The `post_processor` of a tokenizer.json: special tokens added around an encoded text.
#pragma once

#include <cstdint>
#include <vector>

#include "text/json_view.h"

namespace roll {

/// Ids added before and after a text.
struct PostProcessor {
  std::vector<int64_t> before, after;
};

/// Supports TemplateProcessing (`single` form), ByteLevel (adds no ids), Sequence. UserError: the file has another one.
PostProcessor read_post_processor(const JsonView& json);

}  // namespace roll
