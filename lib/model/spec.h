// What a decoder-only transformer is: sizes, and the features in which architectures differ (architectures.h). Read
// from and written to HF's config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/architectures.h"
#include "model/lora.h"
#include "model/mixture.h"

namespace roll {

/// Llama 3.1's frequency scaling (`rope_type: llama3`).
struct Llama3Scaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_max_positions = 8192;
};

/// The largest sizes that are read: some ten times those of the largest models known. Tables are as long as these.
struct SizeLimits {
  static constexpr int64_t kHidden = 1 << 20, kIntermediate = 1 << 22, kLayers = 1 << 12, kHeads = 1 << 14,
                           kHeadDim = 1 << 14, kVocab = 1 << 22, kPositions = 1 << 30;
  static constexpr int64_t kExperts = 1 << 13;
  static constexpr double kParameters = 1e13;
};

struct ModelSpec {
  const Architecture* architecture = &architectures().front();  // must outlive this
  int64_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, num_layers = 0;
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0, max_positions = 32768;
  double rms_norm_eps = 1e-6, rope_theta = 10000;
  std::optional<Llama3Scaling> rope_scaling;
  bool tied_head = false;  // lm_head is embed_tokens
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qk_norm = false;  // RMSNorm over each head of q and k
  std::optional<LoraSpec> lora = {};
  std::optional<Quantisation> quantised = {};  // the products of the layers, beside adapters
  std::optional<MixtureSpec> mixture = {};     // null: every layer's MLP is one

  /// Floating-point operations of one forward pass over a sequence of `length` tokens, `head_rows` of which go through
  /// the lm head: linear part * length + causal attention part * length^2 + head. Backward is twice that.
  double forward_flops(int64_t length, int64_t head_rows) const;
  int64_t num_parameters() const;  // without adapters
  std::vector<Layer> layers() const { return architecture->layers(*this); }
};

/// ModelSpec::forward_flops() of many sequences: the layers are counted once.
class ForwardFlops {
 public:
  explicit ForwardFlops(const ModelSpec& spec);
  double operator()(int64_t length, int64_t head_rows) const;

 private:
  LayerCost layers_;
  double head_row_ = 0;
};

/// From config.json. UserError "origin: key = value: rule" for unknown architectures, missing or impossible values, and
/// what we would compute wrongly: sliding windows in use, other rope types, activations other than silu.
ModelSpec parse_spec(const Json& config, const std::string& origin, const Architectures& known = architectures());

/// Which biases and norms the spec's architecture has, where `config` may say so.
void read_features(const Json& config, const std::string& origin, ModelSpec& spec);

/// A config.json that transformers opens as the CausalLM of that architecture (without dtype; hf_folder adds it).
Json hf_config(const ModelSpec& spec);

struct ParameterShape {
  std::string name;  // HF's, of adapters PEFT's
  std::vector<int64_t> shape;
  Cut cut = {};
  bool is_adapter = false;  // all that is trained where the model has adapters; kept in float32
  std::optional<Quantisation> quantised = {};
  std::optional<ExpertPlace> expert = {};
};

/// The tensors that a parameter is kept in: itself, or codes under its name and "<name>.scales" (ops/quantised.h).
std::vector<ParameterShape> stored_shapes(const ParameterShape& parameter);
inline constexpr const char* kScales = ".scales";

/// Every parameter of the backbone (embedding, layers, final norm), in HF's order and under HF's names.
std::vector<ParameterShape> backbone_parameters(const ModelSpec& spec);
/// What names of a layer's weights begin with.
std::string layer_prefix(const ModelSpec& spec, size_t layer);
/// How tensor ranks share the embedding and the lm head.
Cut vocabulary_cut(const ModelSpec& spec);
/// [V, E], the language model's.
ParameterShape lm_head_parameter(const ModelSpec& spec);
/// [1, E] and [1], the value model's.
std::vector<ParameterShape> value_head_parameters(const ModelSpec& spec);
/// Those that expert rank `rank` of `size` holds: all, without the experts of others.
std::vector<ParameterShape> held_by(std::vector<ParameterShape> parameters, int64_t rank, int64_t size);
/// All, or where the model has adapters only these.
std::vector<ParameterShape> trained_of(const ModelSpec& spec, std::vector<ParameterShape> parameters);
/// All parameters of a language model: the backbone's, and its head unless that is the embedding.
std::vector<ParameterShape> policy_parameters(const ModelSpec& spec);
/// All parameters of a value model: the backbone's and the value head's.
std::vector<ParameterShape> critic_parameters(const ModelSpec& spec);

}  // namespace roll
