// The `decoder` of a tokenizer.json: from tokens back to text.
#pragma once

#include <string_view>

#include "text/json_view.h"

namespace roll {

enum class DecoderKind {
  kByteLevel,  // the bytes that the tokens spell
  kNone,       // the tokens as the file spells them, with spaces between
};

/// Supported: ByteLevel, a Sequence of it and Fuse, or none (null). UserError names another one.
DecoderKind read_decoder(const JsonView& tokenizer_json);

}  // namespace roll
