// The decoder of the CPU. It repacks the weights into the order in which they are read; a layer's stages share one team
// of threads.
// A token's numbers do not depend, to the bit, on what is computed beside it, on the pages that hold its sequence, or
// on whether the tokens before it came one by one or together: so neither do samples. Legend: N rows (tokens), E hidden
// size, V vocabulary, H query heads, Hkv key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoder.h"
#include "model/transformer.h"
#include "ops/packed_weight.h"
#include "ops/paged_attention_cpu.h"
#include "ops/thread_team.h"

namespace roll {

/// Whether one of them runs the model: float32 or bfloat16 on the CPU.
bool has_cpu_decoder(const Transformer& model);

/// T: float or c10::BFloat16, the model's numbers, in which weights, products' inputs and pages are. Sums, norms and
/// the residual stream are float32.
template <class T>
class CpuDecoder : public Decoder {
 public:
  /// `model` is of T, and must outlive it.
  CpuDecoder(const Transformer& model, const DecoderSizes& sizes);

  void copy_page(int64_t from, int64_t to) override;
  LogitRows run(std::span<const DecoderRow> rows, std::span<const int64_t> wanted) override;

 private:
  static constexpr at::ScalarType kDtype = c10::CppTypeToScalarType<T>::value;

  struct Layer {
    PackedWeight qkv, o, gate, up, down;
    at::Tensor keys, values;
    // float32; undefined where the model has none.
    at::Tensor input_norm{}, post_norm{}, q_norm{}, k_norm{};
    at::Tensor qkv_bias{}, o_bias{}, gate_bias{}, up_bias{}, down_bias{};
  };
  /// Rows in memory of a tensor that outlives them: what threads use, to whom a tensor's own ways are long.
  template <class Number>
  struct RowsOf {
    Number* data = nullptr;
    int64_t stride = 0;
    Number* operator[](int64_t row) const { return data + row * stride; }
  };
  using Rows = RowsOf<float>;
  using Inputs = RowsOf<T>;
  /// Rows of one sequence that attend together.
  struct Run {
    int64_t first = 0, count = 0;
  };
  using Member = ThreadTeam::Member;

  void make_memory();
  void make_buffers();
  void pack_weights();
  void pack_layer(Layer& layer, const LayerWeights& weights);
  KvPages<T> pages_of(const Layer& layer) const;

  void run_rows(Member& member);
  void embed(Member& member);
  void add_and_norm(Member& member, const at::Tensor* bias, const at::Tensor& norm);
  void multiply(Member& member, const PackedWeight& weight, Inputs x, int64_t rows, Rows y);
  void place(Member& member, const Layer& layer);
  void attend(Member& member, const Layer& layer);
  void gate(Member& member, const Layer& layer);
  void sum_over_ranks(Member& member, const at::Tensor& y);
  template <class Number = float>
  static RowsOf<Number> rows_of(const at::Tensor& tensor) {
    return {tensor.mutable_data_ptr<Number>(), tensor.stride(0)};
  }
  void compute_logits(Member& member);

  const Transformer& model_;
  const Backbone& backbone_;
  DecoderSizes sizes_;
  int64_t heads_ = 0, kv_heads_ = 0, head_dim_ = 0, inner_ = 0;  // of this rank
  std::vector<Layer> layers_;
  PackedWeight lm_head_;
  at::Tensor final_norm_;
  at::Tensor cos_, sin_;  // [max_length, D/2] float32
  ThreadTeam team_;
  // x: the residual stream. branch: what is to be added to it.
  at::Tensor x_, qkv_, branch_, logits_, gathered_;
  at::Tensor input_, mixed_, gated_;  // of T: what products read
  int64_t hidden_ = 0;
  float eps_ = 0;

  // Of the call that runs.
  std::span<const DecoderRow> rows_;
  std::span<const int64_t> wanted_;
  std::vector<Run> runs_;
};

}  // namespace roll
