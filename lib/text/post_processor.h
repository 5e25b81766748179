// Reads the `post_processor` of a tokenizer.json: the special tokens that Tokenizer adds around an encoded text.
#pragma once

#include <cstdint>
#include <vector>

#include "text/json_view.h"

namespace roll {

/// Token ids added before and after a text.
struct PostProcessor {
  std::vector<int64_t> before, after;
};

/// Returns the ids that the section `json` adds. Supports TemplateProcessing (only the template `single`), ByteLevel
/// (adds no ids), Sequence. Throws UserError for others.
PostProcessor read_post_processor(const JsonView& json);

}  // namespace roll
