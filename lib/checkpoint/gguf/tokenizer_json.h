// Makes the tokenizer's files of a Hugging Face folder from the metadata of a GGUF file.
#pragma once

#include <map>
#include <string>

#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// Returns the contents of tokenizer.json, tokenizer_config.json, generation_config.json and chat templates, by file
/// name. Empty if the file has no tokenizer. UserError: the tokenizer is of an unknown kind, or contradicts itself.
std::map<std::string, std::string> tokenizer_files(const File& file);

}  // namespace roll::gguf
