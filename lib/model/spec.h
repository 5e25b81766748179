// Spec of a decoder-only transformer: its sizes, and the features in which architectures differ (architectures.h). All
// code that builds, stores or estimates models uses it. parse_spec() reads it from HF's config.json, hf_config() writes
// one.
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
#include "model/latent_attention.h"
#include "model/lora.h"
#include "model/mixture.h"

namespace roll {

/// Largest sizes that parse_spec() accepts: about ten times those of the largest models known. They bound the memory of
/// tables that are made from a config.json before its weights are seen.
struct SizeLimits {
  static constexpr int64_t kHidden = 1 << 20, kIntermediate = 1 << 22, kLayers = 1 << 12, kHeads = 1 << 14,
                           kHeadDim = 1 << 14, kVocab = 1 << 22, kPositions = 1 << 30;
  static constexpr int64_t kExperts = 1 << 13;
  static constexpr double kParameters = 1e13;
};

/// Sizes of the per-layer inputs (LayerInput in layer.h): elements of an input, and rows of the table of inputs by id.
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
  Rope rope = {};                       // dim 0: all elements of a head rotate
  std::optional<Rope> local_rope = {};  // RoPE of layers with a window; null: `rope`
  std::vector<char> no_rope = {};       // by layer: 1 if it has no RoPE; empty: all layers have RoPE
  std::vector<char> slides = {};        // by layer: 1 if it has a window of `window` tokens; empty: no layer has one
  int64_t window = 0;                   // tokens that a token sees there, itself included
  std::optional<FullHeads> full_heads = {};      // head sizes of layers without a window; null: the sizes above
  std::optional<LatentSpec> latent = {};         // sizes of latent attention; null: layers have plain attention
  std::optional<LayerInputs> layer_inputs = {};  // null: the model has no per-layer inputs
  // The last `keyless_layers` layers compute no keys and values: each reads those of the last of the other layers that,
  // like it, has or has no window.
  int64_t keyless_layers = 0;
  bool widens_keyless = false;          // the MLPs of keyless layers are twice as wide
  std::vector<char> recurs = {};        // by layer: 1 if a delta net replaces attention; empty: no layer has one
  std::optional<DeltaSpec> delta = {};  // sizes of delta nets; null: no layer has one
  double embedding_scale = 1;           // factor of embeddings
  double branch_scale = 1;              // factor of a block's result before it is added to x
  double logit_scale = 1;               // factor of logits
  double score_scale = 0;               // factor of query-key products; 0: 1 / sqrt(head_dim)
  double score_cap = 0, logit_cap = 0;  // c: scores (or logits) become c tanh(score / c); 0: no cap
  Activation activation = Activation::kSilu;
  bool tied_head = false;    // the lm head is the embedding
  bool unties_head = false;  // config.json ties them, but they differ in the folder or by PEFT's modules_to_save
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qk_norm = false;                                 // q and k have an RMSNorm
  std::optional<LoraSpec> lora = {};                    // adapters; null: none, all weights are trained
  std::optional<Quantisation> quantised = {};           // format of the layers' linear weights; null: not quantised
  std::optional<BitsandbytesConfig> bitsandbytes = {};  // set if the folder itself stores them quantised
  std::optional<MixtureSpec> mixture = {};              // null: no layer has experts
  bool trains_mtp = false;                              // the MTP head (mtp.h) is among the policy's parameters

  /// Returns the FLOPs of one forward over a sequence of `length` tokens, if `head_rows` tokens go through the head.
  /// A backward takes twice as many.
  double forward_flops(int64_t length, int64_t head_rows) const;
  int64_t num_parameters() const;  // without adapters
  /// Describes the layers; slow for large models, so keep the result.
  std::vector<Layer> layers() const { return architecture->layers(*this); }
  /// Returns the model's longest sequence; max_positions is shorter for LongRoPE models until for_length() raises it.
  int64_t most_positions() const { return std::max(max_positions, rope.long_positions); }
  double norm_offset() const { return architecture->norm_offset; }
  /// True if the layer reads keys and values of an earlier layer.
  bool is_keyless(size_t layer) const { return static_cast<int64_t>(layer) >= num_layers - keyless_layers; }
  /// Returns `rope`, then local_rope if it is set, with dim filled in. RotaryRule::rope is an index of this list.
  std::vector<Rope> ropes() const;
  /// True if `marks` (a list by layer, such as slides) has 1 for the layer.
  static bool is_marked(const std::vector<char>& marks, size_t layer) {
    return layer < marks.size() && marks[layer] != 0;
  }
  bool operator==(const ModelSpec&) const = default;
};

/// Computes ModelSpec::forward_flops() fast for many sequences: the constructor goes through the layers once.
class ForwardFlops {
 public:
  explicit ForwardFlops(const ModelSpec& spec)
      : ForwardFlops(spec, spec.layers(), /*has_begin=*/true, /*has_head=*/true) {}
  /// Counts only `layers`; with `has_begin` also the projection of per-layer inputs, with `has_head` also the lm head.
  ForwardFlops(const ModelSpec& spec, const std::vector<Layer>& layers, bool has_begin, bool has_head);
  double operator()(int64_t length, int64_t head_rows) const;

 private:
  LayerCost layers_;
  double head_row_ = 0;
};

/// Reads a config.json; `origin` is its path, for messages. Throws UserError "origin: key = value: rule" for an unknown
/// architecture, a missing or impossible value, or an unsupported kind of attention, RoPE or activation.
ModelSpec parse_spec(const Json& config, const std::string& origin, const Architectures& known = architectures());

/// Returns the spec for a run whose sequences have up to `longest` tokens. It changes only LongRoPE models, which
/// parse_spec() limits to the original context: if `longest` exceeds that, max_positions becomes most_positions(), and
/// all tokens use long_factor, also in short sequences.
ModelSpec for_length(ModelSpec spec, int64_t longest);

/// Reads all features (biases, norms, activation, scales, windows, delta nets, full heads, RoPE) from `config` into
/// `spec`, whose architecture and sizes must be set. Throws UserError like parse_spec().
void read_features(const Json& config, const std::string& origin, ModelSpec& spec);

/// Returns a config.json that transformers opens as the causal language model of that architecture. It lacks the dtype,
/// which checkpoint/hf_folder.h adds.
Json hf_config(const ModelSpec& spec);

/// Rows of a parameter in a fused tensor of the folder, which has `groups` groups of `rows` rows. In each group the
/// parameter has consecutive rows, from row `begin` of the group on. It is FusedRows (layer.h) with a complete name.
struct FolderRows {
  std::string name = {};  // the fused tensor's name; empty: the parameter has a separate tensor
  int64_t begin = 0, rows = 0, groups = 1;
  int64_t stacked = 0;  // above 0: the tensor is [stacked, rows, columns]; 0: it has the parameter's dimensions
  bool may_be_transposed = false, is_transposed = false;  // with stacked: it may be, or is, [stacked, columns, rows]
  int64_t step = 1;  // rows from one row of the parameter to its next one in a group

  /// Returns the fused tensor's shape, given the shape of a parameter in it.
  std::vector<int64_t> whole_shape(std::vector<int64_t> part) const;
};

/// A parameter of a model, without data.
struct ParameterShape {
  std::string name;            // HF's; PEFT's for adapters
  std::vector<int64_t> shape;  // whole, on all ranks together
  Cut cut = {};                // sharding over tensor ranks
  bool is_adapter = false;     // trained while all other weights are frozen (also copies and value heads); float32
  std::optional<Quantisation> quantised = {};  // format in which a matrix is held; null: not quantised
  // Elements of a new model: normal with standard deviation `deviation`; if that is 0, all are `initial`; below 0: as
  // init_parameters() says, with norms at `initial`.
  double initial = 1, deviation = -1;
  FolderRows fused = {};
  std::optional<ExpertPlace> expert = {};  // null: not an expert's
  bool is_constant = false;                // never trained by gradients
  bool is_wide = false;                    // float32 even in 16-bit models
  bool is_projection = false;    // weight of a linear layer, not of a router, a head or an adapter: Muon may train it
  int64_t layer = -1;            // number of the layer; -1: before all layers; num_layers: after them
  bool is_mtp = false;           // belongs to the MTP head (mtp.h), whose gradients have a norm of their own
  bool is_at_both_ends = false;  // a tied embedding, or one that the MTP head reads: a pipeline's first and last stage
                                 // each hold a copy

  const std::string& name_in_folder() const { return fused.name.empty() ? name : fused.name; }
};

/// Returns the tensors in which a folder stores these parameters: parameters in a fused tensor become one entry.
std::vector<ParameterShape> in_folder(const std::vector<ParameterShape>& parameters);

/// Returns the tensors in which a model holds a parameter. A quantised parameter has two (ops/quantised.h): its codes
/// under its name, and its scales under name + kScales. Others are one tensor.
std::vector<ParameterShape> stored_shapes(const ParameterShape& parameter);
inline constexpr const char* kScales = ".scales";

// The functions below return parameters with whole shapes, of all ranks and stages together, unless they say otherwise.

/// Returns every parameter of the backbone (embedding, layers, final norm, adapters), in HF's order.
std::vector<ParameterShape> backbone_parameters(const ModelSpec& spec);
/// Returns the linear layer that projects embeddings to the per-layer inputs. spec.layer_inputs must be set.
LinearShape input_projection(const ModelSpec& spec);
/// Returns the prefix of a layer's weight names, such as "model.layers.3.".
std::string layer_prefix(const ModelSpec& spec, size_t layer);
/// Returns the sharding of embedding and lm head: by rows.
Cut vocabulary_cut(const ModelSpec& spec);
/// Returns the lm head, [vocab_size, hidden_size].
ParameterShape lm_head_parameter(const ModelSpec& spec);
/// Returns the value head's weight and bias, [1, hidden_size] and [1].
std::vector<ParameterShape> value_head_parameters(const ModelSpec& spec);
/// Selects the parameters that expert rank `rank` of `size` ranks holds: all but the other ranks' experts.
std::vector<ParameterShape> held_by(const std::vector<ParameterShape>& parameters, int64_t rank, int64_t size);
/// Selects the trained parameters: those with is_adapter if spec.lora is set, else all (with constants).
std::vector<ParameterShape> select_trained(const ModelSpec& spec, std::vector<ParameterShape> parameters);
/// Returns all parameters of a language model: the backbone's, the lm head's unless it is tied, and with
/// spec.trains_mtp the MTP head's, which come last.
std::vector<ParameterShape> policy_parameters(const ModelSpec& spec);
/// Returns policy_parameters() from a cache, because a mixture has tens of thousands. Safe to call from several
/// threads.
std::shared_ptr<const std::vector<ParameterShape>> shared_policy_parameters(const ModelSpec& spec);
/// Returns all parameters of a value model: the backbone's and the value head's.
std::vector<ParameterShape> critic_parameters(const ModelSpec& spec);

}  // namespace roll
