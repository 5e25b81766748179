// The rules by which byte-level tokenizers split text into words, by the names that GGUF files give them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

struct PreTokenizerRule {
  Json pre_tokenizer;           // value for tokenizer.json
  bool is_normalized = false;   // texts are brought to Unicode's form NFC first
  bool ignores_merges = false;  // a word that is a token is not made of merges
  bool adds_bos = false;        // default of add_bos_token
};

/// Returns the rule that tokenizer.ggml.pre names. UserError: it is not among the known ones.
PreTokenizerRule pre_tokenizer_rule(const File& file);

}  // namespace roll::gguf
