// Writes the model in a folder as a GGUF file, which the programs of ggml open, for `roll export --gguf`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/architectures.h"

namespace roll {

/// Reads the language model in the folder `from` and writes it, with its tokenizer, to the new file `to`. `type`:
/// number format of the matrices, such as "Q8_0" (written_format() in checkpoint/gguf/gguf_types.h). Norms, biases and
/// routers stay float32; matrices whose rows are not whole blocks get a wider format, which a note says. Weights are
/// read one by one; only a folder with adapters (if `merges`) or quantised weights is in memory whole. Returns notes
/// for users. Before it writes, it reads its own metadata as gguf_folder() would, and compares. Throws UserError if the
/// folder is invalid, GGUF files cannot say the model or its tokenizer, `to` exists or does not end with ".gguf", or
/// `merges` does not suit the folder (check_merge()).
std::vector<std::string> export_gguf(const std::filesystem::path& from, const std::filesystem::path& to,
                                     const std::string& type, bool merges,
                                     const Architectures& known = architectures());

}  // namespace roll
