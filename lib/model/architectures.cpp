#include "model/architectures.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

std::deque<Architecture>& architectures() {
  static std::deque<Architecture> rows = {
      {.name = "qwen2",
       .causal_class = "Qwen2ForCausalLM",
       .value_class = "Qwen2ForTokenClassification",
       .qkv_bias = Bias::kAlways},
      {.name = "qwen3",
       .causal_class = "Qwen3ForCausalLM",
       .value_class = "Qwen3ForTokenClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .head_dim = 128},
      {.name = "llama",
       .causal_class = "LlamaForCausalLM",
       .value_class = "LlamaForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig},
  };
  return rows;
}

std::string architecture_list(const std::string& last_word) {
  const std::deque<Architecture>& rows = architectures();
  std::string list = rows.front().name;
  for (size_t i = 1; i < rows.size(); ++i)
    list += (i + 1 < rows.size() ? ", " : fmt::format(" {} ", last_word)) + rows[i].name;
  return list;
}

const Architecture& find_architecture(const std::string& name, const std::string& origin) {
  std::vector<std::string> known;
  for (const Architecture& row : architectures()) {
    if (row.name == name) return row;
    known.push_back(row.name);
  }
  throw user_error("{} = {}: only {} are supported{}", origin, name, architecture_list(), did_you_mean(name, known));
}

}  // namespace roll
