// Decoder built from LibTorch operators, for any device, dtype and model; slower than the specialized decoders.
#pragma once

#include <ATen/core/Tensor.h>

#include "decode/decoder.h"
#include "decode/expert_record.h"
#include "model/transformer.h"

namespace roll {

class TensorDecoder : public Decoder {
 public:
  TensorDecoder(const Transformer& model, const DecoderSizes& sizes);

  void copy_page(int64_t from, int64_t to) override;
  const ExpertRecord& experts() const override { return record_; }
  LogitRows run(std::span<const DecoderRow> rows, std::span<const int64_t> logit_rows) override;

 private:
  void record(std::span<const DecoderRow> rows, const at::Tensor& experts);
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
