// Makes Hugging Face's config.json from the metadata of a GGUF file, for gguf_folder().
#pragma once

#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// Returns the content of config.json. Throws UserError if a needed key is missing, a key has the wrong type, or a key
/// that roll does not read may change what the model computes.
Json model_config(const File& file);

}  // namespace roll::gguf
