// A small byte-level BPE tokenizer built without training, for tiny models: all 256 bytes, ChatML's special tokens, and
// the merges that make each listed word one token. Hugging Face tokenizers and transformers load what is written here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

struct TinyTokenizerSpec {
  /// Each becomes one token, e.g. " plus" or "the" (a leading space is a space). A word is what the pre-tokenizer keeps
  /// whole: letters after at most one other character, digits, a run of signs, or white space.
  std::vector<std::string> words;
  /// Beside <|endoftext|> (pad), <|im_start|> and <|im_end|> (eos), which are always there.
  std::vector<std::string> more_special_tokens;
  /// Each digit is a word of its own, so that numbers are read digit by digit.
  bool split_digits = true;
};

/// tokenizer.json as HF writes it. Ids: the bytes 0 to 255, then the words and their parts, then special tokens.
/// UserError: a word that cannot be one token, a special token that is listed twice.
Json make_byte_level_tokenizer(const TinyTokenizerSpec& spec);

/// Writes tokenizer.json, tokenizer_config.json (with a ChatML chat_template) and generation_config.json into `folder`.
void write_tiny_tokenizer(const std::filesystem::path& folder, const TinyTokenizerSpec& spec);

}  // namespace roll
