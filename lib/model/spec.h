// Spec of a decoder-only transformer: sizes, and the features in which architectures differ (architectures.h). All that
// builds, plans or stores models uses it; it is read from and written to HF's config.json.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/bitsandbytes_config.h"
#include "model/architectures.h"
#include "model/delta_net.h"
#include "model/full_heads.h"
#include "model/lora.h"
#include "model/mixture.h"

namespace roll {

/// Largest sizes that are accepted: some ten times those of the largest models known. Tables are as long as these.
struct SizeLimits {
  static constexpr int64_t kHidden = 1 << 20, kIntermediate = 1 << 22, kLayers = 1 << 12, kHeads = 1 << 14,
                           kHeadDim = 1 << 14, kVocab = 1 << 22, kPositions = 1 << 30;
  static constexpr int64_t kExperts = 1 << 13;
  static constexpr double kParameters = 1e13;
};

/// Per-layer inputs: a table over the vocabulary, and a projection of the embedding (LayerInput in layer.h).
struct LayerInputs {
  int64_t width = 0, vocab_size = 0;
  bool operator==(const LayerInputs&) const = default;
};

struct ModelSpec {
  const Architecture* architecture = &architectures().front();  // must outlive this
  int64_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, num_layers = 0;
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  int64_t max_positions = 32768;  // longest sequence, in tokens
  double rms_norm_eps = 1e-6;
  Rope rope = {};                       // dim 0: all of a head
  std::optional<Rope> local_rope = {};  // for layers with a window
  std::vector<char> no_rope = {};       // by layer: 1 if it has no RoPE; empty: all have
  std::vector<char> slides = {};        // by layer: 1 if it has a window of `window` tokens; empty: none
  int64_t window = 0;
  std::optional<FullHeads> full_heads = {};
  std::optional<LayerInputs> layer_inputs = {};
  int64_t keyless_layers = 0;     // last layers, which read keys and values of the last earlier layer of their kind
  bool widens_keyless = false;    // their MLPs are twice as wide
  std::vector<char> recurs = {};  // by layer: 1 if a delta net replaces attention; empty: none
  std::optional<DeltaSpec> delta = {};
  double embedding_scale = 1, branch_scale = 1, logit_scale = 1;
  double score_scale = 0, score_cap = 0, logit_cap = 0;  // 0: 1 / sqrt(head_dim); 0: no cap
  Activation activation = Activation::kSilu;
  bool tied_head = false;    // lm_head is embed_tokens
  bool unties_head = false;  // config.json ties them, but they differ in the folder or by an adapter's copy
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qk_norm = false;  // RMSNorm of q and k
  std::optional<LoraSpec> lora = {};
  std::optional<Quantisation> quantised = {};           // the products of the layers
  std::optional<BitsandbytesConfig> bitsandbytes = {};  // set if the folder stores these quantised
  std::optional<MixtureSpec> mixture = {};              // null: no layer has experts

  /// Returns the FLOPs of one forward over a sequence of `length` tokens, with `head_rows` rows through the lm head:
  /// linear part * length + causal attention part * length^2 + head. Backward is twice that.
  double forward_flops(int64_t length, int64_t head_rows) const;
  int64_t num_parameters() const;  // without adapters
  std::vector<Layer> layers() const { return architecture->layers(*this); }
  /// Returns the largest length that for_length() accepts: the model's limit.
  int64_t most_positions() const { return std::max(max_positions, rope.long_positions); }
  double norm_offset() const { return architecture->norm_offset; }
  /// True if the layer reads keys and values of an earlier one.
  bool is_keyless(size_t layer) const { return static_cast<int64_t>(layer) >= num_layers - keyless_layers; }
  /// Returns the RoPEs that RotaryRule::rope indexes.
  std::vector<Rope> ropes() const;
  /// Returns true if `marks`, one per layer or empty, marks the layer.
  static bool is_marked(const std::vector<char>& marks, size_t layer) {
    return layer < marks.size() && marks[layer] != 0;
  }
  bool operator==(const ModelSpec&) const = default;
};

/// Computes ModelSpec::forward_flops() of many sequences: the layers are counted once.
class ForwardFlops {
 public:
  explicit ForwardFlops(const ModelSpec& spec)
      : ForwardFlops(spec, spec.layers(), /*has_begin=*/true, /*has_head=*/true) {}
  /// Counts some of the layers; with `has_begin` also the per-layer inputs, with `has_head` also the head.
  ForwardFlops(const ModelSpec& spec, const std::vector<Layer>& layers, bool has_begin, bool has_head);
  double operator()(int64_t length, int64_t head_rows) const;

 private:
  LayerCost layers_;
  double head_row_ = 0;
};

/// Reads a config.json. UserError "origin: key = value: rule": an unknown architecture, a missing or impossible value,
/// or an unsupported kind of attention, RoPE or activation.
ModelSpec parse_spec(const Json& config, const std::string& origin, const Architectures& known = architectures());

/// Returns the spec for a run whose sequences have up to `longest` tokens. With LongRoPE, sequences are limited to the
/// original context, as after parse_spec(), unless longer ones are asked for. Then all tokens use long_factor, whatever
/// their own sequence's length, and sequences may be as long as the model's.
ModelSpec for_length(ModelSpec spec, int64_t longest);

/// Reads biases, norms, scales, windows and RoPE of the spec's architecture from `config`. UserError: see parse_spec().
void read_features(const Json& config, const std::string& origin, ModelSpec& spec);

/// Returns a config.json that transformers opens as the CausalLM of that architecture (without dtype; hf_folder adds
/// it).
Json hf_config(const ModelSpec& spec);

/// Rows of a parameter in the folder's fused tensor `name`: it has `groups` groups of `rows` rows, and the parameter
/// those from `begin` on in each. Empty: the parameter has its own tensor. `stacked`: matrices in the leading
/// dimension, 0: none.
struct FolderRows {
  std::string name = {};
  int64_t begin = 0, rows = 0, groups = 1, stacked = 0;

  /// Returns the fused tensor's shape, given a part's.
  std::vector<int64_t> whole_shape(std::vector<int64_t> part) const;
};

struct ParameterShape {
  std::string name;  // HF's; adapters have PEFT's
  std::vector<int64_t> shape;
  Cut cut = {};
  bool is_adapter = false;  // an adapter: trained while other weights are frozen; float32
  std::optional<Quantisation> quantised = {};
  double initial = 1;     // value of new norms and constants
  double deviation = -1;  // standard deviation of new elements; below 0: see init_parameters()
  FolderRows fused = {};
  std::optional<ExpertPlace> expert = {};
  bool is_constant = false;      // never trained by gradients
  bool is_wide = false;          // float32 even in 16-bit models
  int64_t layer = -1;            // -1: before all layers; num_layers: after them
  bool is_at_both_ends = false;  // a tied embedding: a pipeline's first and last stage have it

  const std::string& name_in_folder() const { return fused.name.empty() ? name : fused.name; }
};

/// Returns the folder's tensors of these parameters; parts of a fused tensor become one.
std::vector<ParameterShape> in_folder(const std::vector<ParameterShape>& parameters);

/// Returns the tensors that store a parameter: itself, or codes under its name and "<name>.scales" (ops/quantised.h).
std::vector<ParameterShape> stored_shapes(const ParameterShape& parameter);
inline constexpr const char* kScales = ".scales";

/// Returns every parameter of the backbone (embedding, layers, final norm), in HF's order and under HF's names.
std::vector<ParameterShape> backbone_parameters(const ModelSpec& spec);
/// Returns the projection of embeddings to per-layer inputs, which the model must have.
LinearShape input_projection(const ModelSpec& spec);
/// Returns the prefix of a layer's weight names.
std::string layer_prefix(const ModelSpec& spec, size_t layer);
/// Returns the sharding of embedding and lm head.
Cut vocabulary_cut(const ModelSpec& spec);
/// Returns the language model's head, [V, E].
ParameterShape lm_head_parameter(const ModelSpec& spec);
/// Returns the value model's head, [1, E] and [1].
std::vector<ParameterShape> value_head_parameters(const ModelSpec& spec);
/// Returns the parameters that expert rank `rank` of `size` holds: all but other ranks' experts.
std::vector<ParameterShape> held_by(const std::vector<ParameterShape>& parameters, int64_t rank, int64_t size);
/// Returns the trained parameters: the adapters if the model has some, else all.
std::vector<ParameterShape> select_trained(const ModelSpec& spec, std::vector<ParameterShape> parameters);
/// Returns all parameters of a language model: the backbone's, and its head unless that is the embedding.
std::vector<ParameterShape> policy_parameters(const ModelSpec& spec);
/// Returns policy_parameters(), cached: a mixture has tens of thousands, and plans of many ranks ask for them often.
std::shared_ptr<const std::vector<ParameterShape>> shared_policy_parameters(const ModelSpec& spec);
/// Returns all parameters of a value model: the backbone's and the value head's.
std::vector<ParameterShape> critic_parameters(const ModelSpec& spec);

}  // namespace roll
