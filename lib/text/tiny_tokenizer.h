// Builds a small byte-level BPE tokenizer for tiny models, without training it: all 256 bytes, ChatML's special tokens,
// and merges that make each listed word one token. Hugging Face's tokenizers and transformers can load it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Contents of the tokenizer.
struct TinyTokenizerSpec {
  /// Words that become one token each, e.g. " plus" or "the". The pre-tokenizer must not split a word. It may be
  /// letters after at most one other character, digits (only one if split_digits), punctuation, or white space.
  std::vector<std::string> words;
  /// Special tokens in addition to <|endoftext|> (pad), <|im_start|> and <|im_end|> (eos).
  std::vector<std::string> more_special_tokens;
  /// Splits numbers into single digits.
  bool split_digits = true;
};

/// Returns tokenizer.json in HF format. Ids: the 256 bytes, then words and the tokens from which they are merged, then
/// special tokens. Throws UserError if a word cannot be one token, or a special token is listed twice.
Json make_byte_level_tokenizer(const TinyTokenizerSpec& spec);

/// Writes tokenizer.json, tokenizer_config.json (with a ChatML chat_template) and generation_config.json into `folder`,
/// which must exist. Throws like make_byte_level_tokenizer(), and SystemError if a file cannot be written.
void write_tiny_tokenizer(const std::filesystem::path& folder, const TinyTokenizerSpec& spec);

}  // namespace roll
