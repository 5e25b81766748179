// The rules by which byte-level BPE tokenizers split text into words (pre-tokenization). A GGUF file holds only the
// rule's name; tokenizer.json needs its regular expressions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

struct PreTokenizerRule {
  Json pre_tokenizer;           // value of the key pre_tokenizer in tokenizer.json
  bool is_normalized = false;   // the tokenizer first normalises text to Unicode's NFC
  bool ignores_merges = false;  // a word that is a token becomes that token, without merges
  bool adds_bos = false;        // default for files without the key add_bos_token
};

/// Returns the rule that the key tokenizer.ggml.pre names. Throws UserError if the key is missing or its name unknown.
PreTokenizerRule pre_tokenizer_rule(const File& file);

/// The inverse: returns the name of the rule that a tokenizer.json has; "" if none is known. Of equal rules it takes
/// the one with the architecture's name, else the first.
std::string pre_tokenizer_name(const FileJson& tokenizer, const std::string& architecture);

}  // namespace roll::gguf
