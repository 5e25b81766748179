// A small byte-level BPE tokenizer built without training, for tiny models: all 256 bytes, ChatML's special tokens, and
// the merges that make each listed word one token. Hugging Face tokenizers and transformers load what is written here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

struct TinyTokenizerSpec {
  /// Each becomes one token ("Ġ" is not written: a leading space is a space), e.g. " plus". Letters only, after at most
  /// one space: the pre-tokenizer never joins anything else.
  std::vector<std::string> words;
  /// Beside <|endoftext|> (pad), <|im_start|> and <|im_end|> (eos), which are always there.
  std::vector<std::string> more_special_tokens;
  /// Digits are single tokens (they are whenever no word holds two); kept as its own pre-tokenizer step.
  bool split_digits = true;
};

/// tokenizer.json as HF writes it. Ids: 256 bytes, merges, then special tokens. UserError: a word that cannot be one
/// token.
Json make_byte_level_tokenizer(const TinyTokenizerSpec& spec);

/// Writes tokenizer.json, tokenizer_config.json (with a ChatML chat_template) and generation_config.json into `folder`.
void write_tiny_tokenizer(const std::filesystem::path& folder, const TinyTokenizerSpec& spec);

}  // namespace roll
