// The `post_processor` of a tokenizer.json, for the Tokenizer: special tokens added around an encoded text.
#pragma once

#include <cstdint>
#include <vector>

#include "text/json_view.h"

namespace roll {

/// Token ids added before and after a text.
struct PostProcessor {
  std::vector<int64_t> before, after;
};

/// Supports TemplateProcessing (only the template `single`), ByteLevel (adds no ids), Sequence. Throws UserError for
/// others.
PostProcessor read_post_processor(const JsonView& json);

}  // namespace roll
