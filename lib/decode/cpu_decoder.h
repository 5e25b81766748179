// The decoder of the CPU. It repacks the weights into the order in which they are read; the stages of a layer's blocks
// share one team of threads. Each kind of mixer that it knows (CpuMixers) has its block, pack() and mix() here.
// A token's numbers do not depend, to the bit, on what is computed beside it, on the pages that hold its sequence, or
// on whether the tokens before it came one by one or together: so neither do samples. Legend: N rows (tokens), E hidden
// size, V vocabulary, H query heads, Hkv key/value heads, D head size.
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

using CpuMixers = MixerKinds<Attention, GatedMlp, Experts, GatedDeltaNet>;
/// All of them; of norms over the heads of several ranks see has_cpu_decoder().
inline constexpr Features kCpuFeatures = {
    Feature::kWindow,     Feature::kSoftCap,    Feature::kScoreScale, Feature::kTurning,     Feature::kWideHeadNorm,
    Feature::kNormOffset, Feature::kNormBehind, Feature::kActivation, Feature::kBranchScale, Feature::kEmbeddingScale,
    Feature::kLogitScale, Feature::kLogitCap,   Feature::kOutputGate, Feature::kRecurrence};

/// Whether one of them runs the model: float32 or bfloat16 on the CPU, with mixers that it knows.
bool has_cpu_decoder(const Transformer& model);

/// Rows in memory of a tensor that outlives them: what threads use, to whom a tensor's own ways are long.
template <class Number>
struct RowsOf {
  Number* data = nullptr;
  int64_t stride = 0;
  Number* operator[](int64_t row) const { return data + row * stride; }
};

/// T: float or c10::BFloat16, the model's numbers, in which products' inputs and pages are, and weights unless 8 bits
/// are asked for. Sums, norms and the residual stream are float32.
template <class T>
class CpuDecoder : public Decoder {
 public:
  /// `model` is of T, and must outlive it.
  CpuDecoder(const Transformer& model, const DecoderSizes& sizes);

  void copy_page(int64_t from, int64_t to) override;
  const ExpertRecord& experts() const override { return record_; }
  LogitRows run(std::span<const DecoderRow> rows, std::span<const int64_t> wanted) override;

  /// Bytes of the experts' weights that the last run() read: of those that its tokens go through.
  int64_t expert_bytes() const { return expert_bytes_; }

 private:
  static constexpr at::ScalarType kDtype = c10::CppTypeToScalarType<T>::value;
  at::ScalarType packed_dtype() const { return sizes_.int8_weights ? at::kChar : kDtype; }

  // Norms and biases are float32, and undefined where the model has none.
  struct AttentionBlock {
    int64_t heads, kv_heads, head_dim;  // of this rank
    PackedWeight qkv, o;                // behind queries, keys and values the gate of what heads read, where it is
    at::Tensor keys, values;
    at::Tensor q_norm, k_norm, qkv_bias;
    bool is_gated = false;
    Turning turning;
    int64_t window = 0;
    bool norms_together = false;  // over all heads
    float scale = 1, cap = 0;     // of scores

    int64_t qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
  };
  struct GatedBlock {
    int64_t inner;  // of this rank
    PackedWeight gate, up, down;
    at::Tensor gate_bias, up_bias;
    Activation activation = Activation::kSilu;
  };
  struct ExpertsBlock {
    RoutingRule routing;
    int64_t number;
    at::Tensor bias;      // float32; undefined: there is none
    PackedWeight router;  // float32; below its rows that of the shared expert's gate, where it has one
    bool gates_shared;
    std::vector<PackedWeight> gates, ups, downs;  // of each expert
    int64_t inner;                                // of this rank
    std::optional<GatedBlock> shared;
  };
  struct DeltaBlock {
    DeltaHeads heads;
    int64_t num_taps;
    PackedWeight qkvz, ba, o;   // ba: float32
    at::Tensor taps;            // [taps, q k v]
    at::Tensor a_log, dt_bias;  // [Hv]
    at::Tensor norm;            // [Dv]
    at::Tensor states, tails;   // of each page: [P, Hv, Dk, Dv], [P, taps - 1, q k v]
  };
  using MixerBlock = std::variant<AttentionBlock, GatedBlock, ExpertsBlock, DeltaBlock>;
  struct DecoderBlock {
    at::Tensor norm;
    MixerBlock mixer;
    at::Tensor out_bias;  // of what the mixer adds to the residual stream
    at::Tensor after;     // the norm of that
    float scale = 1;      // and what it is multiplied by
  };
  using Rows = RowsOf<float>;
  using Inputs = RowsOf<T>;
  /// Rows of one sequence that attend together.
  struct Run {
    int64_t first = 0, count = 0;
  };
  using Member = ThreadTeam::Member;

  int64_t room_of(const Linear& linear) const;
  /// A weight of its own, or of products that are made as one: [all their outputs, inputs].
  PackedWeight packed_together(const std::vector<Linear>& linears, StreamedMemory& memory) const;
  int64_t room_for(const Attention& attention, const LayerWeights& weights) const;
  int64_t room_for(const GatedMlp& mlp, const LayerWeights& weights) const;
  void add_block(const Attention& attention, const Block& block, const LayerWeights& weights, StreamedMemory& memory);
  void add_block(const GatedMlp& mlp, const Block& block, const LayerWeights& weights, StreamedMemory& memory);
  void push_block(MixerBlock own, const Block& block, const LayerWeights& weights, const at::Tensor& out_bias);
  GatedBlock packed_mlp(const GatedMlp& mlp, const LayerWeights& weights, StreamedMemory& memory) const;
  // Of experts: decode/cpu_experts.cpp.
  int64_t room_for(const Experts& experts, const LayerWeights& weights) const;
  void add_block(const Experts& experts, const Block& block, const LayerWeights& weights, StreamedMemory& memory);
  // Of gated delta nets: decode/cpu_delta.cpp.
  int64_t room_for(const GatedDeltaNet& net, const LayerWeights& weights) const;
  void add_block(const GatedDeltaNet& net, const Block& block, const LayerWeights& weights, StreamedMemory& memory);
  void pack_weights();
  void make_buffers();
  KvPages<T> pages_of(const AttentionBlock& block) const;

  void run_rows(Member& member);
  void embed(Member& member);
  void add_and_norm(Member& member, const DecoderBlock* last, const at::Tensor& norm);
  void add_branch(const DecoderBlock& block, float* x, float* branch) const;
  void multiply(Member& member, const PackedWeight& weight, Inputs x, int64_t rows, Rows y);
  /// input -> branch, without its bias.
  void mix(Member& member, const AttentionBlock& block);
  void mix(Member& member, const GatedBlock& block);
  void mix(Member& member, const ExpertsBlock& block);
  void mix(Member& member, const DeltaBlock& block);
  struct GatePart {
    const PackedWeight &gate, &up;
    const float *gate_bias, *up_bias;  // or null
    int64_t inner;
    Activation activation;
  };
  /// gated = activation(input gate^T) * (input up^T): a panel of both, rows [begin, end). `next`: the panel after it.
  void gate_panel(const GatePart& part, int64_t panel, int64_t next, Inputs input, Inputs gated, int64_t begin,
                  int64_t end) const;
  void choose(Member& member, const ExpertsBlock& block);
  /// The choices by expert, and the experts that have some.
  void sort_choices(const ExpertsBlock& block);
  void run_experts(Member& member, const ExpertsBlock& block);
  void combine(Member& member, const ExpertsBlock& block);
  /// Sequences of this call, those behind whose states others begin a round before these.
  void lay_out_rounds();
  /// A sequence's rows through a key head and its value heads.
  void recur(const DeltaBlock& block, Run run, int64_t key_head);
  /// A row's numbers behind the convolution through the states [value heads of the key head, Dk, Dv].
  void step_heads(const DeltaBlock& block, int64_t row, int64_t key_head, float* x, float* states);
  void place(Member& member, const AttentionBlock& block);
  void attend(Member& member, const AttentionBlock& block);
  void open(const AttentionBlock& block, Run run, int64_t kv_head);
  void gate(Member& member, const GatedBlock& block);
  void sum_over_ranks(Member& member, const at::Tensor& y);
  template <class Number = float>
  static RowsOf<Number> rows_of(const at::Tensor& tensor) {
    return {tensor.mutable_data_ptr<Number>(), tensor.stride(0)};
  }
  void compute_logits(Member& member);

  const Transformer& model_;
  const Backbone& backbone_;
  DecoderSizes sizes_;
  int64_t hidden_ = 0;
  float eps_ = 0;
  std::vector<DecoderBlock> blocks_;  // of all layers
  PackedWeight lm_head_;
  at::Tensor embedding_, final_norm_;
  std::vector<Angles> angles_;
  ThreadTeam team_;
  // x: the residual stream. branch: what is to be added to it.
  at::Tensor x_, qkv_, branch_, logits_, gathered_;
  at::Tensor input_, mixed_, gated_;  // of T: what products read

  ExpertRecord record_;
  // Of experts: the router's logits; of each choice, sorted by expert, input, gated and result.
  at::Tensor router_logits_, spread_, expert_gated_, expert_results_;
  at::Tensor rates_;  // of delta nets: b and a

  // State of the call of run() that runs.
  std::vector<int32_t> choices_;        // [N, K]: experts of each row
  std::vector<float> choice_weights_;   // [N, K]
  std::vector<int64_t> choice_places_;  // [N, K]: sorted
  struct ExpertRows {
    int64_t expert = 0, first = 0, count = 0;
  };
  std::vector<ExpertRows> expert_rows_;
  int64_t expert_bytes_ = 0;
  std::span<const DecoderRow> rows_;
  std::span<const int64_t> wanted_;
  std::vector<Run> runs_;
  std::vector<std::vector<Run>> rounds_;  // empty of a model without delta nets
};

}  // namespace roll
