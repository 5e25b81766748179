#include "checkpoint/gguf/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "checkpoint/gguf/rope_scaling.h"
#include "checkpoint/gguf/tensor_names.h"

namespace roll::gguf {

namespace {

/// Hugging Face's classes of language models, by model_type.
const std::map<std::string, const char*> kClasses = {
    {"llama", "LlamaForCausalLM"},     {"mistral", "MistralForCausalLM"},    {"qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "Qwen3ForCausalLM"},     {"qwen3_moe", "Qwen3MoeForCausalLM"}, {"gemma", "GemmaForCausalLM"},
    {"gemma2", "Gemma2ForCausalLM"},   {"gemma3_text", "Gemma3ForCausalLM"}, {"phi3", "Phi3ForCausalLM"},
    {"smollm3", "SmolLM3ForCausalLM"}, {"olmo2", "Olmo2ForCausalLM"},        {"olmo3", "Olmo3ForCausalLM"},
    {"granite", "GraniteForCausalLM"}, {"glm4", "Glm4ForCausalLM"},          {"mixtral", "MixtralForCausalLM"},
    {"gpt_oss", "GptOssForCausalLM"}};

/// Keys that change nothing in the computation.
const std::set<std::string> kIdle = {"vocab_size", "tensor_data_layout", "rope.scaling.finetuned",
                                     "attention.layer_norm_epsilon"};

class ConfigMaker {
 public:
  explicit ConfigMaker(const File& file) : file_(file), name_(read_architecture(file)) {}

  Json make() {
    add_sizes();
    add_rope();
    if (name_ == "llama") add_llama();
    if (name_ == "qwen3moe") add_experts();
    if (name_.starts_with("gemma")) add_gemma();
    if (name_ == "phi3") add_phi();
    if (name_ == "olmo2") add_olmo();
    if (name_ == "granite") add_granite();
    if (name_ == "gpt-oss") add_gpt_oss();
    add_biases();
    refuse_other_keys();
    config_["architectures"] = {kClasses.at(config_["model_type"].get<std::string>())};
    return std::move(config_);
  }

 private:
  std::string key(const std::string& name) {
    read_.insert(name);
    return name_ + "." + name;
  }
  int64_t count(const std::string& name) {
    const auto value = optional_count(name);
    if (!value) file_.fail(key(name), "a whole number is needed");
    return *value;
  }
  /// Returns a number, or that of all layers if the value is a list.
  std::optional<int64_t> optional_count(const std::string& name) {
    const std::string full = key(name);
    if (!file_.is_list(full)) return file_.count(full);
    const std::vector<double> all = *file_.numbers(full);
    const double first = all.empty() ? -1 : all.front();
    if (first < 0 || first > 1e15 || first != std::floor(first) || std::ranges::count(all, first) != std::ssize(all))
      file_.fail(full, "a whole number that is the same in all layers is needed");
    return static_cast<int64_t>(first);
  }
  std::optional<double> number(const std::string& name) { return file_.number(key(name)); }
  bool has_tensor(const std::string& name) const { return file_.find_tensor(name) != nullptr; }

  void add_sizes() {
    const StoredTensor* embedding = file_.find_tensor("token_embd.weight");
    if (!embedding || embedding->shape.size() != 2)
      throw user_error("{}: token_embd.weight: a matrix is needed; give a language model's file", file_.name());
    const int64_t hidden = count("embedding_length"), heads = count("attention.head_count");
    const auto head_dim = optional_count("attention.key_length");
    if (const auto values = optional_count("attention.value_length"); values && head_dim && *values != *head_dim)
      file_.fail(key("attention.value_length"),
                 fmt::format("only heads of one size are read, and keys have {}", *head_dim));
    if (heads == 0 || (!head_dim && hidden % heads != 0))
      file_.fail(key("attention.head_count"), "must divide embedding_length");
    head_dim_ = head_dim ? *head_dim : hidden / heads;
    config_ = {{"model_type", name_},
               {"vocab_size", embedding->shape[0]},
               {"hidden_size", hidden},
               {"num_hidden_layers", count("block_count")},
               {"num_attention_heads", heads},
               {"num_key_value_heads", optional_count("attention.head_count_kv").value_or(heads)},
               {"head_dim", head_dim_},
               {"max_position_embeddings", count("context_length")},
               {"rms_norm_eps", needed_number("attention.layer_norm_rms_epsilon")},
               {"tie_word_embeddings", !has_tensor("output.weight")},
               {"torch_dtype", "float32"}};
    if (const auto inner = optional_count("feed_forward_length")) config_["intermediate_size"] = *inner;
  }

  double needed_number(const std::string& name) {
    const auto value = number(name);
    if (!value) file_.fail(key(name), "a number is needed");
    return *value;
  }

  void add_rope() {
    config_["rope_theta"] = number("rope.freq_base").value_or(10000);
    for (const char* name : {"type", "factor", "original_context_length", "yarn_ext_factor", "yarn_attn_factor",
                             "yarn_beta_fast", "yarn_beta_slow"})
      key(std::string("rope.scaling.") + name);  // read by keyed_scaling()
    key("rope.scale_linear");
    if (Json scaling = keyed_scaling(file_, name_); !scaling.is_null()) config_["rope_scaling"] = std::move(scaling);
    const int64_t turned = optional_count("rope.dimension_count").value_or(head_dim_);
    const bool may_be_partial = name_ == "phi3" || name_ == "glm4";
    if (turned > head_dim_ || (turned != head_dim_ && !may_be_partial))
      file_.fail(key("rope.dimension_count"), fmt::format("must be the heads' size, {}", head_dim_));
    if (may_be_partial) config_["partial_rotary_factor"] = static_cast<double>(turned) / static_cast<double>(head_dim_);
  }

  void add_llama() {
    if (const auto window = optional_count("attention.sliding_window"); window && *window > 0) {
      config_["model_type"] = "mistral";
      config_["sliding_window"] = *window;
    }
    key("expert_used_count");
    if (const auto experts = optional_count("expert_count"); experts && *experts > 0) {
      config_["model_type"] = "mixtral";
      config_["num_local_experts"] = *experts;
      config_["num_experts_per_tok"] = count("expert_used_count");
    }
    const std::vector<double> divisors = small_tensor(file_, "rope_freqs.weight");
    if (divisors.empty()) return;
    if (std::ssize(divisors) * 2 != head_dim_)
      throw user_error("{}: rope_freqs.weight: has {} numbers; half a head, {}, is needed", file_.name(),
                       divisors.size(), head_dim_ / 2);
    if (Json scaling = llama3_scaling(file_, divisors, config_["rope_theta"].get<double>()); !scaling.is_null())
      config_["rope_scaling"] = std::move(scaling);
  }

  void add_experts() {
    config_["model_type"] = "qwen3_moe";
    config_["num_experts"] = count("expert_count");
    config_["num_experts_per_tok"] = count("expert_used_count");
    config_["moe_intermediate_size"] = count("expert_feed_forward_length");
    config_["norm_topk_prob"] = file_.flag(key("expert_weights_norm")).value_or(true);
    config_["decoder_sparse_step"] = 1;
    config_["mlp_only_layers"] = Json::array();
    constexpr int64_t kSoftmax = 1;
    if (optional_count("expert_gating_func").value_or(kSoftmax) != kSoftmax)
      file_.fail(key("expert_gating_func"), "only 1, softmax, is read");
    if (const auto scale = number("expert_weights_scale"); scale && *scale != 0 && *scale != 1)
      file_.fail(key("expert_weights_scale"), "only 1 is read");
  }

  void add_gemma() {
    config_["hidden_act"] = config_["hidden_activation"] = "gelu_pytorch_tanh";
    if (name_ == "gemma") return;
    // ggml's rule: the largest models, known by their layers, scale by the hidden size of a head.
    const int64_t layers = config_["num_hidden_layers"], largest = name_ == "gemma2" ? 46 : 62;
    config_["query_pre_attn_scalar"] =
        layers == largest ? config_["hidden_size"].get<int64_t>() / config_["num_attention_heads"].get<int64_t>()
                          : head_dim_;
    const auto cap = [&](const char* name) {
      const double value = number(name).value_or(0);
      return value > 0 ? Json(value) : Json();
    };
    if (name_ == "gemma2") config_["attn_logit_softcapping"] = cap("attn_logit_softcapping");
    config_["final_logit_softcapping"] = cap("final_logit_softcapping");
    if (name_ == "gemma3") config_["rope_local_base_freq"] = number("rope.freq_base_swa").value_or(10000);
    if (name_ == "gemma3") config_["model_type"] = "gemma3_text";
    add_windows(name_ == "gemma2" ? 2 : 6);
  }

  void add_phi() {
    const auto window = optional_count("attention.sliding_window").value_or(0);
    config_["sliding_window"] = window > 0 ? Json(window) : Json();
    const std::vector<double> longer = small_tensor(file_, "rope_factors_long.weight"),
                              shorter = small_tensor(file_, "rope_factors_short.weight");
    const auto original = optional_count("rope.scaling.original_context_length");
    const auto attention = number("rope.scaling.attn_factor");
    if (longer.empty() && shorter.empty()) return;
    if (!original) file_.fail(key("rope.scaling.original_context_length"), "a whole number is needed");
    config_["original_max_position_embeddings"] = *original;
    config_["rope_scaling"] = {{"rope_type", "longrope"}, {"short_factor", shorter}, {"long_factor", longer}};
    if (attention) config_["rope_scaling"]["attention_factor"] = *attention;
  }

  /// Says which layers have a window: by the list in the file, or all but every n-th.
  void add_windows(int64_t pattern) {
    const int64_t window = optional_count_of_window();
    config_["sliding_window"] = window > 0 ? Json(window) : Json();
    const std::string full = key("attention.sliding_window_pattern");
    const auto layers = config_["num_hidden_layers"].get<int64_t>();
    const auto given = file_.numbers(full);
    if (given && file_.is_list(full) && std::ssize(*given) < layers)
      file_.fail(full, "a number for each layer is needed");
    if (given && !file_.is_list(full)) pattern = count("attention.sliding_window_pattern");
    Json types = Json::array();
    for (int64_t i = 0; i < std::min<int64_t>(layers, 10'000); ++i) {
      const bool slides = window > 0 && (given && file_.is_list(full) ? (*given)[static_cast<size_t>(i)] != 0
                                                                      : pattern > 0 && (i + 1) % pattern != 0);
      types.push_back(slides ? "sliding_attention" : "full_attention");
    }
    config_["layer_types"] = std::move(types);
  }
  int64_t optional_count_of_window() {
    return optional_count("attention.sliding_window").value_or(name_ == "gemma2" ? 4096 : 0);
  }

  /// Removes rope_scaling and returns it as newer configurations have it, with the base.
  Json take_rope() {
    Json rope = config_.value("rope_scaling", Json{{"rope_type", "default"}});
    rope["rope_theta"] = config_["rope_theta"];
    config_.erase("rope_scaling");
    return rope;
  }

  void add_olmo() {
    if (optional_count_of_window() == 0) return;
    config_["model_type"] = "olmo3";
    add_windows(4);
    config_["rope_parameters"] = {
        {"full_attention", take_rope()},
        {"sliding_attention",
         {{"rope_type", "default"},
          {"rope_theta", number("rope.freq_base_swa").value_or(config_["rope_theta"].get<double>())}}}};
  }

  void add_granite() {
    for (const auto& [stored, own] :
         {std::pair("attention.scale", "attention_multiplier"), std::pair("embedding_scale", "embedding_multiplier"),
          std::pair("residual_scale", "residual_multiplier"), std::pair("logit_scale", "logits_scaling")})
      if (const auto value = number(stored); value && *value != 0) config_[own] = *value;
    // Without the key ggml scales scores as usual, and Hugging Face not at all.
    if (!config_.contains("attention_multiplier"))
      config_["attention_multiplier"] = 1 / std::sqrt(static_cast<double>(head_dim_));
  }

  void add_gpt_oss() {
    config_["model_type"] = "gpt_oss";
    config_["num_local_experts"] = count("expert_count");
    config_["num_experts_per_tok"] = count("expert_used_count");
    config_["intermediate_size"] = count("expert_feed_forward_length");
    config_["swiglu_limit"] = 7.0;
    add_windows(2);
    Json rope = take_rope();
    if (rope["rope_type"] == "yarn") rope["truncate"] = false;  // in all released models
    config_["rope_parameters"] = std::move(rope);
  }

  void add_biases() {
    config_["attention_bias"] = has_tensor("blk.0.attn_q.bias");
    config_["mlp_bias"] = has_tensor("blk.0.ffn_up.bias");
    if (name_ == "qwen2") config_.erase("attention_bias");
  }

  /// UserError: a key of the architecture that nothing here reads, and that is not zero, false or empty.
  void refuse_other_keys() {
    for (const auto& [full, value] : file_.metadata()) {
      if (!full.starts_with(name_ + ".")) continue;
      const std::string own = full.substr(name_.size() + 1);
      const bool is_zero =
          std::ranges::all_of(value.numbers, [](char byte) { return byte == 0; }) && value.texts.empty();
      if (!read_.contains(own) && !kIdle.contains(own) && !is_zero)
        file_.fail(
            full, "a key that may change what the model computes, and is not read here; give the model as safetensors");
    }
  }

  const File& file_;
  std::string name_;
  std::set<std::string> read_;
  int64_t head_dim_ = 0;
  Json config_;
};

}  // namespace

Json model_config(const File& file) {
  return ConfigMaker(file).make();
}

}  // namespace roll::gguf
