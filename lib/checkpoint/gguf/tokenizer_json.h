// Makes the tokenizer's files of a Hugging Face folder from the metadata of a GGUF file, for gguf_folder().
#pragma once

#include <map>
#include <string>

#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// Returns file name -> content for tokenizer.json, tokenizer_config.json, generation_config.json and the chat
/// templates. Empty if the file has no tokenizer. Throws UserError if the tokenizer is neither byte-level BPE nor
/// SentencePiece, a key has a wrong or unsupported value, or a token occurs twice.
std::map<std::string, std::string> tokenizer_files(const File& file);

}  // namespace roll::gguf
