// Decoder built from LibTorch operators, for any device, dtype and model; slower than CpuDecoder and DeviceDecoder.
// make_decoder() makes it for models that CpuDecoder does not support.
#pragma once

#include <ATen/core/Tensor.h>

#include "decode/decoder.h"
#include "decode/expert_record.h"
#include "model/transformer.h"

namespace roll {

class TensorDecoder : public Decoder {
 public:
  /// `model` must outlive the decoder, which uses its weights without copies. Allocates the cache on the model's
  /// device.
  TensorDecoder(const Transformer& model, const DecoderSizes& sizes);

  void copy_page(int64_t from, int64_t to) override;
  const ExpertRecord& experts() const override { return record_; }
  LogitRows run(std::span<const DecoderRow> rows, std::span<const int64_t> logit_rows) override;

 private:
  /// Stores in record_ the experts of the rows, [rows, record_.width()].
  void record(std::span<const DecoderRow> rows, const at::Tensor& experts);
  /// Returns the rows as input of Transformer::extend().
  CachedTokens lay_out_rows(std::span<const DecoderRow> rows) const;
  /// Splits the rows by sequence and page, so that each page keeps the delta-net states after its last token.
  std::vector<StateRound> lay_out_states(std::span<const DecoderRow> rows) const;

  const Transformer& model_;
  DecoderSizes sizes_;
  KvRows cache_;
  ExpertRecord record_;
  at::Tensor logits_;
};

}  // namespace roll
