// What a decoder-only transformer is: sizes, and the features in which architectures differ (architectures.h). Read
// from and written to HF's config.json.
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

/// The largest sizes that are read: some ten times those of the largest models known. Tables are as long as these.
struct SizeLimits {
  static constexpr int64_t kHidden = 1 << 20, kIntermediate = 1 << 22, kLayers = 1 << 12, kHeads = 1 << 14,
                           kHeadDim = 1 << 14, kVocab = 1 << 22, kPositions = 1 << 30;
  static constexpr int64_t kExperts = 1 << 13;
  static constexpr double kParameters = 1e13;
};

/// Inputs of each layer: a table of the vocabulary, and a projection of the embedding (LayerInput in layer.h).
struct LayerInputs {
  int64_t width = 0, vocab_size = 0;
  bool operator==(const LayerInputs&) const = default;
};

struct ModelSpec {
  const Architecture* architecture = &architectures().front();  // must outlive this
  int64_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, num_layers = 0;
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  int64_t max_positions = 32768;  // where sequences end
  double rms_norm_eps = 1e-6;
  Rope rope = {};                       // its dim of 0: all of a head
  std::optional<Rope> local_rope = {};  // of layers that slide
  std::vector<char> unturned = {};      // by layer: whether queries and keys do not turn; empty: all do
  std::vector<char> slides = {};        // by layer: whether it sees `window` tokens; empty: none
  int64_t window = 0;
  std::optional<FullHeads> full_heads = {};
  std::optional<LayerInputs> layer_inputs = {};
  int64_t keyless_layers = 0;     // so many last ones read keys and values of the last of their kind before them
  bool widens_keyless = false;    // whose MLPs are twice as wide
  std::vector<char> recurs = {};  // by layer: whether it has a delta net in place of attention; empty: none
  std::optional<DeltaSpec> delta = {};
  double embedding_scale = 1, branch_scale = 1, logit_scale = 1;
  double score_scale = 0, score_cap = 0, logit_cap = 0;  // 0: 1 / sqrt(head_dim), none
  Activation activation = Activation::kSilu;
  bool tied_head = false;    // lm_head is embed_tokens
  bool unties_head = false;  // they are one in the folder, but adapters have a copy of one of them alone
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qk_norm = false;  // RMSNorm of q and k
  std::optional<LoraSpec> lora = {};
  std::optional<Quantisation> quantised = {};           // the products of the layers
  std::optional<BitsandbytesConfig> bitsandbytes = {};  // of these, where they lie quantised in the folder
  std::optional<MixtureSpec> mixture = {};              // null: every layer's MLP is one

  /// Floating-point operations of one forward pass over a sequence of `length` tokens, `head_rows` of which go through
  /// the lm head: linear part * length + causal attention part * length^2 + head. Backward is twice that.
  double forward_flops(int64_t length, int64_t head_rows) const;
  int64_t num_parameters() const;  // without adapters
  std::vector<Layer> layers() const { return architecture->layers(*this); }
  /// Where sequences of a run end that asks for the longest (for_length()).
  int64_t most_positions() const { return std::max(max_positions, rope.long_positions); }
  double norm_offset() const { return architecture->norm_offset; }
  /// Whether the layer has no keys and values of its own.
  bool is_keyless(size_t layer) const { return static_cast<int64_t>(layer) >= num_layers - keyless_layers; }
  /// Those that Turning::rope counts.
  std::vector<Rope> ropes() const;
  /// Whether a list by layer has it.
  static bool names(const std::vector<char>& list, size_t layer) { return layer < list.size() && list[layer] != 0; }
  bool operator==(const ModelSpec&) const = default;
};

/// ModelSpec::forward_flops() of many sequences: the layers are counted once.
class ForwardFlops {
 public:
  explicit ForwardFlops(const ModelSpec& spec)
      : ForwardFlops(spec, spec.layers(), /*has_begin=*/true, /*has_head=*/true) {}
  /// Of some of the layers, and of what stands before and behind all.
  ForwardFlops(const ModelSpec& spec, const std::vector<Layer>& layers, bool has_begin, bool has_head);
  double operator()(int64_t length, int64_t head_rows) const;

 private:
  LayerCost layers_;
  double head_row_ = 0;
};

/// From config.json. UserError "origin: key = value: rule" for unknown architectures, missing or impossible values, and
/// what we would compute wrongly: kinds of attention, rope types and activations that are not known.
ModelSpec parse_spec(const Json& config, const std::string& origin, const Architectures& known = architectures());

/// What a run computes whose sequences have up to `longest` tokens. Of a model with LongRoPE they end with the original
/// context, as after parse_spec(), unless longer ones are asked for: then long_factor turns all tokens, whatever their
/// own sequence's length, and they may be as long as the model's.
ModelSpec for_length(ModelSpec spec, int64_t longest);

/// Which biases and norms the spec's architecture has, where `config` may say so.
void read_features(const Json& config, const std::string& origin, ModelSpec& spec);

/// A config.json that transformers opens as the CausalLM of that architecture (without dtype; hf_folder adds it).
Json hf_config(const ModelSpec& spec);

/// Where a folder has a parameter: rows from `begin` on of each of `groups` runs of `rows`, of which a tensor is made;
/// empty: under its own name, whole. `stacked`: the tensor has so many matrices in a dimension of their own, 0: none.
struct FolderRows {
  std::string name = {};
  int64_t begin = 0, rows = 0, groups = 1, stacked = 0;

  /// The tensor's shape, of which a part has this one.
  std::vector<int64_t> whole_shape(std::vector<int64_t> part) const;
};

struct ParameterShape {
  std::string name;  // HF's, of adapters PEFT's
  std::vector<int64_t> shape;
  Cut cut = {};
  bool is_adapter = false;  // all that is trained where the model has adapters; kept in float32
  std::optional<Quantisation> quantised = {};
  double initial = 1;     // numbers of a new norm, and
  double deviation = -1;  // theirs from it; below 0: what init_parameters() says
  FolderRows fused = {};
  std::optional<ExpertPlace> expert = {};
  bool is_constant = false;      // never trained by gradients
  bool is_wide = false;          // float32 in models of 16 bits, too
  int64_t layer = -1;            // -1: before all layers, num_layers: behind them
  bool is_at_both_ends = false;  // an embedding that is the head, too

  const std::string& name_in_folder() const { return fused.name.empty() ? name : fused.name; }
};

/// The tensors that a folder has of them: what is fused there is one.
std::vector<ParameterShape> in_folder(const std::vector<ParameterShape>& parameters);

/// The tensors that a parameter is kept in: itself, or codes under its name and "<name>.scales" (ops/quantised.h).
std::vector<ParameterShape> stored_shapes(const ParameterShape& parameter);
inline constexpr const char* kScales = ".scales";

/// Every parameter of the backbone (embedding, layers, final norm), in HF's order and under HF's names.
std::vector<ParameterShape> backbone_parameters(const ModelSpec& spec);
/// The projection of embeddings to layers' inputs; of a model that has these.
LinearShape input_projection(const ModelSpec& spec);
/// What names of a layer's weights begin with.
std::string layer_prefix(const ModelSpec& spec, size_t layer);
/// How tensor ranks share the embedding and the lm head.
Cut vocabulary_cut(const ModelSpec& spec);
/// [V, E], the language model's.
ParameterShape lm_head_parameter(const ModelSpec& spec);
/// [1, E] and [1], the value model's.
std::vector<ParameterShape> value_head_parameters(const ModelSpec& spec);
/// Those that expert rank `rank` of `size` holds: all, without the experts of others.
std::vector<ParameterShape> held_by(const std::vector<ParameterShape>& parameters, int64_t rank, int64_t size);
/// All, or where the model has adapters only these.
std::vector<ParameterShape> trained_of(const ModelSpec& spec, std::vector<ParameterShape> parameters);
/// All parameters of a language model: the backbone's, and its head unless that is the embedding.
std::vector<ParameterShape> policy_parameters(const ModelSpec& spec);
/// The same, which a mixture has tens of thousands of: a plan of many ranks asks for them often, and they are made
/// once.
std::shared_ptr<const std::vector<ParameterShape>> shared_policy_parameters(const ModelSpec& spec);
/// All parameters of a value model: the backbone's and the value head's.
std::vector<ParameterShape> critic_parameters(const ModelSpec& spec);

}  // namespace roll
