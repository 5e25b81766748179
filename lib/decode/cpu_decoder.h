// Decoder for the CPU, made by make_decoder(). It copies the weights into the order in which they are read; one thread
// team runs all steps of a forward pass. A block is a norm and a mixer (attention, MLP, experts or gated delta net);
// the mixer's output is added to the residual stream. Each supported mixer (CpuMixers) has a block struct, room_for(),
// add_block() and mix(). Results are batch-invariant, bit by bit: a token's logits, and so its samples, do not depend
// on other rows, on which pages a sequence has, or on whether earlier tokens came one by one or together. Legend: N
// rows (tokens), K experts per token, P pages; of delta nets Hv value heads, Dk and Dv key and value head sizes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "decode/cpu_heads.h"
#include "decode/decoder.h"
#include "decode/expert_record.h"
#include "model/features.h"
#include "model/transformer.h"
#include "ops/delta_rule.h"
#include "ops/packed_weight.h"
#include "ops/paged_attention_cpu.h"
#include "ops/thread_team.h"

namespace roll {

using CpuMixers = MixerKinds<Attention, GatedMlp, Experts, GatedDeltaNet, LatentAttention>;
/// Supported model features; with tensor parallelism, has_cpu_decoder() excludes kWideHeadNorm.
inline constexpr Features kCpuFeatures = {
    Feature::kWindow,     Feature::kSoftCap,    Feature::kScoreScale, Feature::kRotary,      Feature::kWideHeadNorm,
    Feature::kNormOffset, Feature::kOutputNorm, Feature::kActivation, Feature::kBranchScale, Feature::kEmbeddingScale,
    Feature::kLogitScale, Feature::kLogitCap,   Feature::kOutputGate, Feature::kRecurrence,  Feature::kLateHeadNorm,
    Feature::kLatents,    Feature::kSinks,      Feature::kExpertBias};

/// Returns true if CpuDecoder supports the model: its dtype is float32 or bfloat16, it is on the CPU, and CpuMixers and
/// kCpuFeatures include all its mixers and features.
bool has_cpu_decoder(const Transformer& model);

/// View of a tensor's rows as raw pointers, which are faster to index than at::Tensor. The tensor must outlive the
/// view.
template <class Number>
struct RowView {
  Number* data = nullptr;
  int64_t stride = 0;  // elements from row to row
  Number* operator[](int64_t row) const { return data + row * stride; }
};

/// T: float or c10::BFloat16, the model's dtype. GEMM inputs, keys and values have this type, and so have the weights
/// unless DecoderSizes::weight_bits is set. Sums, norms and the residual stream are float32.
template <class T>
class CpuDecoder : public Decoder {
 public:
  /// Copies the model's current weights. `model` must outlive the decoder; has_cpu_decoder(model) must be true. Throws
  /// Bug if the model is not on the CPU or its dtype is not T.
  CpuDecoder(const Transformer& model, const DecoderSizes& sizes);

  void copy_page(int64_t from, int64_t to) override;
  const ExpertRecord& experts() const override { return record_; }
  LogitRows run(std::span<const DecoderRow> rows, std::span<const int64_t> logit_rows) override;

  /// Returns the bytes of expert weights that the last run() read (only experts with tokens are read).
  int64_t expert_bytes() const { return expert_bytes_; }

 private:
  static constexpr at::ScalarType kDtype = c10::CppTypeToScalarType<T>::value;
  at::ScalarType packed_dtype() const {
    return sizes_.weight_bits == 4 ? at::kQUInt4x2 : sizes_.weight_bits == 8 ? at::kChar : kDtype;
  }

  // Norms and biases are float32; undefined if the model has none.
  struct AttentionBlock {
    int64_t heads, kv_heads, head_dim;  // on this rank
    PackedWeight qkv, o;                // qkv: q, k, v, then the output gate if is_gated; o: output projection
    at::Tensor keys, values;            // [P, kv_heads * page_size * head_dim] of type T
    at::Tensor q_norm, k_norm, qkv_bias;
    bool is_gated = false;  // the output is multiplied by the sigmoid of the output gate
    RotaryRule rotary;
    int64_t window = 0;           // tokens that a query sees; 0: all
    bool norms_together = false;  // true: one q/k norm over all heads; false: one per head
    bool norms_after_rope = false;
    float scale = 1;   // factor of scores
    float cap = 0;     // soft cap of scores; 0: none
    at::Tensor sinks;  // [heads]; undefined: none

    int64_t qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
  };
  struct GatedBlock {
    int64_t inner;  // inner size, on this rank
    PackedWeight gate, up, down;
    at::Tensor gate_bias, up_bias;
    Activation activation = Activation::kSilu;
  };
  struct ExpertsBlock {
    RoutingRule routing;
    int64_t number;   // index of this mixture among the model's mixtures
    at::Tensor bias;  // [experts] float32, for the choice of experts; undefined: none
    // Biases of the router [experts], and of the experts [experts, outputs]; undefined: none.
    at::Tensor router_bias, gate_biases, up_biases, down_biases;
    Activation activation;
    PackedWeight router;                          // float32; if gates_shared, the last row is the shared expert's gate
    bool gates_shared;                            // the shared expert's output is multiplied by the sigmoid of its gate
    std::vector<PackedWeight> gates, ups, downs;  // [experts]
    int64_t inner;                                // inner size of an expert, on this rank
    std::optional<GatedBlock> shared;             // the shared expert, if any
  };
  struct DeltaBlock {
    DeltaHeads heads;
    int64_t num_taps;           // tokens that the convolution reads
    PackedWeight qkvz, ba, o;   // projections to q, k, v, z; to b, a (float32); of the output
    at::Tensor taps;            // convolution weights [taps, q k v]
    at::Tensor a_log, dt_bias;  // [Hv]
    at::Tensor norm;            // [Dv]
    at::Tensor states, tails;   // [P, Hv * Dk * Dv], [P, (num_taps - 1) * (q k v)]: after the last token of each page
  };
  struct LatentBlock {
    int64_t heads, latent_dim, key_dim, rotated_dim, value_dim;  // heads: on this rank
    int64_t query_dim;  // elements of the queries' latent; 0: `down` makes queries
    PackedWeight down;  // from x: the queries' latent (or queries), then the latent, then the rotated key
    PackedWeight q, o;  // q: from the queries' latent; no outputs if query_dim is 0
    // Per head and in the model's dtype: from the query's key_dim elements to latent_dim, and from there to value_dim.
    std::vector<PackedWeight> keys_up, values_up;
    at::Tensor pages;  // [P, page_size * (latent_dim + rotated_dim)] of type T
    at::Tensor down_bias, q_norm, latent_norm;
    RotaryRule rotary;
    float scale = 1;     // factor of scores
    float norm_eps = 0;  // epsilon of q_norm and latent_norm

    int64_t query_width() const { return heads * (key_dim + rotated_dim); }
    int64_t cached_dim() const { return latent_dim + rotated_dim; }
  };
  using MixerBlock = std::variant<AttentionBlock, GatedBlock, ExpertsBlock, DeltaBlock, LatentBlock>;
  struct DecoderBlock {
    at::Tensor norm;  // norm of the mixer's input
    MixerBlock mixer;
    at::Tensor out_bias;  // bias of the mixer's output
    at::Tensor after;     // norm of the mixer's output
    float scale = 1;      // factor of the mixer's output
  };
  using Rows = RowView<float>;
  using Inputs = RowView<T>;
  /// Rows [first, first + count) of a call, which belong to one sequence and are processed together.
  struct Run {
    int64_t first = 0, count = 0;
  };
  using Member = ThreadTeam::Member;

  /// Returns the bytes of a linear layer's packed weight.
  int64_t packed_bytes(const Linear& linear) const;
  /// Packs the weights of linear layers with a common input into one: [sum of outputs, inputs].
  PackedWeight packed_together(const std::vector<Linear>& linears, StreamedMemory& memory) const;
  /// Return the bytes of memory for a block's packed weights and pages.
  int64_t room_for(const Attention& attention, const LayerWeights& weights) const;
  int64_t room_for(const GatedMlp& mlp, const LayerWeights& weights) const;
  void add_block(const Attention& attention, const Block& block, const LayerWeights& weights, StreamedMemory& memory);
  void add_block(const GatedMlp& mlp, const Block& block, const LayerWeights& weights, StreamedMemory& memory);
  void push_block(MixerBlock mixer, const Block& block, const LayerWeights& weights, const at::Tensor& out_bias);
  GatedBlock packed_mlp(const GatedMlp& mlp, const LayerWeights& weights, StreamedMemory& memory) const;
  // MoE layers, in decode/cpu_experts.cpp.
  int64_t room_for(const Experts& experts, const LayerWeights& weights) const;
  void add_block(const Experts& experts, const Block& block, const LayerWeights& weights, StreamedMemory& memory);
  // Gated delta nets, in decode/cpu_delta.cpp.
  int64_t room_for(const GatedDeltaNet& net, const LayerWeights& weights) const;
  void add_block(const GatedDeltaNet& net, const Block& block, const LayerWeights& weights, StreamedMemory& memory);
  // Latent attention, in decode/cpu_latents.cpp.
  int64_t room_for(const LatentAttention& attention, const LayerWeights& weights) const;
  void add_block(const LatentAttention& attention, const Block& block, const LayerWeights& weights,
                 StreamedMemory& memory);
  void make_latent_buffers();
  /// Fills blocks_, lm_head_, embedding_ and final_norm_.
  void pack_weights();
  void make_buffers();
  KvPages<T> kv_pages(const AttentionBlock& block) const;
  KvPages<T> kv_pages(const LatentBlock& block) const;

  // Functions with a Member run on all threads of the team, which share the work.

  void run_rows(Member& member);
  /// Sets x_ to the embeddings of the rows.
  void embed(Member& member);
  /// Adds branch_, the output of block `last` (null: none), to x_, and sets input_ to the norm of x_.
  void add_and_norm(Member& member, const DecoderBlock* last, const at::Tensor& norm);
  /// Adds one row of the block's output, with bias, norm and scale, to a row of x_.
  void add_branch(const DecoderBlock& block, float* x, float* branch) const;
  /// Rows of x in the form that a product reads: type T, or fixed point (ops/fixed_rows.h) for weights of 8 or 4 bits.
  using Operand = std::variant<Inputs, RowView<uint8_t>>;
  /// Returns the first `rows` rows of x as `weight` reads them. Rows in fixed point are valid until the next call.
  Operand operand(Member& member, const PackedWeight& weight, Inputs x, int64_t rows);
  /// Computes `count` rows of x times a panel, from row `first` on, into rows of y from `y` on.
  static void multiply_panel(const PackedWeight& weight, int64_t panel, const Operand& x, int64_t first, int64_t count,
                             Rows y, int64_t next);
  /// Computes y = x weight^T for the first `rows` rows.
  void multiply(Member& member, const PackedWeight& weight, Inputs x, int64_t rows, Rows y);
  /// Computes branch_ from input_, without the output bias.
  void mix(Member& member, const AttentionBlock& block);
  void mix(Member& member, const GatedBlock& block);
  void mix(Member& member, const ExpertsBlock& block);
  void mix(Member& member, const DeltaBlock& block);
  void mix(Member& member, const LatentBlock& block);
  /// Weights of a gated MLP or of one expert.
  struct GatePart {
    const PackedWeight &gate, &up;
    const float *gate_bias, *up_bias;  // or null
    int64_t inner;
    Activation activation;
  };
  /// Computes gated = activation(input gate^T) * (input up^T) for rows [begin, end) and the outputs of weight panel
  /// `panel` (ops/packed_weight.h). next: the panel to prefetch.
  void gate_panel(const GatePart& part, int64_t panel, int64_t next, const Operand& input, Inputs gated, int64_t begin,
                  int64_t end) const;
  /// Sets choices_ and choice_weights_ by the router's logits, and records the choices.
  void choose(Member& member, const ExpertsBlock& block);
  /// Sets choice_indices_ and expert_rows_ from choices_. On one thread.
  void sort_choices(const ExpertsBlock& block);
  /// Sets expert_results_ to the chosen experts' outputs.
  void run_experts(Member& member, const ExpertsBlock& block);
  /// Sets branch_ to the weighted sum of each row's experts, plus the shared expert.
  void combine(Member& member, const ExpertsBlock& block);
  /// Sets rounds_: a sequence that starts from a delta-net state that this call writes runs in a later round.
  void lay_out_rounds();
  /// Runs a sequence's rows through a key head of a delta net and the value heads that share it.
  void run_sequence(const DeltaBlock& block, Run run, int64_t key_head);
  /// Updates the states [value heads of the key head, Dk, Dv] with a row and writes its output. x: q, k, v after the
  /// convolution.
  void step_heads(const DeltaBlock& block, int64_t row, int64_t key_head, float* x, float* states);
  /// Returns the queries of all rows and heads, from input_; writes latents and rotated keys to their pages.
  Rows project_latents(Member& member, const LatentBlock& block);
  /// Sets latent_queries_ from the queries.
  void absorb_queries(Member& member, const LatentBlock& block, Rows queries);
  /// Sets latent_reads_ to the attention output.
  void attend_latents(Member& member, const LatentBlock& block);
  /// Applies bias, q/k norm and RoPE to qkv_, and writes keys and values to their pages.
  void store_heads(Member& member, const AttentionBlock& block);
  /// Sets mixed_ to the attention output.
  void attend(Member& member, const AttentionBlock& block);
  void apply_output_gate(const AttentionBlock& block, Run run, int64_t kv_head);
  /// Sets gated_ to the MLP's inner activations.
  void gate(Member& member, const GatedBlock& block);
  /// Sums y [N, hidden size] over the tensor-parallel ranks, in place.
  void sum_over_ranks(Member& member, const at::Tensor& y);
  template <class Number = float>
  static RowView<Number> tensor_rows(const at::Tensor& tensor) {
    return {tensor.mutable_data_ptr<Number>(), tensor.stride(0)};
  }
  void compute_logits(Member& member);

  const Transformer& model_;
  const Backbone& backbone_;
  DecoderSizes sizes_;
  int64_t hidden_ = 0;
  float eps_ = 0;
  std::vector<DecoderBlock> blocks_;  // all layers
  PackedWeight lm_head_;
  at::Tensor embedding_, final_norm_;
  std::vector<Angles> angles_;
  ThreadTeam team_;
  // float32. x_: residual stream. branch_: mixer output to add to it. gathered_: logits of the whole vocabulary, if
  // tensor-parallel ranks split it.
  at::Tensor x_, qkv_, branch_, logits_, gathered_;
  at::Tensor input_, mixed_, gated_;  // type T: GEMM inputs
  at::Tensor fixed_;                  // uint8: the rows of operand(); only with weights of 8 or 4 bits

  ExpertRecord record_;
  // MoE: router logits; input, gated and result of each (row, expert) choice, sorted by expert.
  at::Tensor router_logits_, expert_input_, expert_gated_, expert_results_;
  // Latent attention. Type T: input of the products to queries, queries without their rotated elements, and what heads
  // read from latents. float32: queries, and queries over latents.
  at::Tensor query_latents_, plain_queries_, latent_reads_, queries_, latent_queries_;
  at::Tensor rates_;  // delta nets: b of each value head, then a of each

  // State of the current run().
  std::vector<int32_t> choices_;         // [N, K]
  std::vector<float> choice_weights_;    // [N, K]
  std::vector<int64_t> choice_indices_;  // [N, K]: row of expert_input_ and expert_results_
  /// Rows [first, first + count) of expert_input_, which go to one expert.
  struct ExpertRows {
    int64_t expert = 0, first = 0, count = 0;
  };
  std::vector<ExpertRows> expert_rows_;  // experts that have rows, ascending
  int64_t expert_bytes_ = 0;
  std::span<const DecoderRow> rows_;
  std::span<const int64_t> logit_rows_;
  std::vector<Run> runs_;                 // for attention
  std::vector<std::vector<Run>> rounds_;  // empty for models without delta nets
};

}  // namespace roll
