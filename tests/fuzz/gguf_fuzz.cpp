#include <nlohmann/json.hpp>
#include <vector>

#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/model_config.h"
#include "checkpoint/gguf/tensor_names.h"
#include "checkpoint/gguf/tokenizer_json.h"
#include "input.h"

FUZZ(input) {
  const roll::fuzz::MemoryFile memory(input);
  roll::fuzz::allow_refusal([&] {
    const roll::gguf::File file(memory.path());
    for (const roll::gguf::StoredTensor& tensor : file.tensors()) {  // touches every byte
      const roll::gguf::NumberFormat& format = *tensor.format;
      if (format.dequantise == nullptr) continue;
      int64_t count = 1;
      for (const int64_t size : tensor.shape) count *= size;
      std::vector<float> values(static_cast<size_t>(count));
      format.dequantise(tensor.data, count / format.block_size, values.data());
    }
    for (const auto& [key, value] : file.metadata()) roll::fuzz::allow_refusal([&, name = key] { file.number(name); });
    roll::fuzz::allow_refusal([&] { roll::gguf::folder_tensors(file); });
    roll::fuzz::allow_refusal([&] { roll::gguf::model_config(file).dump(); });
    roll::gguf::tokenizer_files(file);
  });
}
