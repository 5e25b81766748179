// Makes config.json from the metadata of a GGUF file.
#pragma once

#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// Returns config.json. UserError: a key is missing, has another type, or changes the model in a way that is not known
/// here.
Json model_config(const File& file);

}  // namespace roll::gguf
