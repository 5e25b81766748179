#include "model/decoder.h"

#include "model/cpu_decoder.h"
#include "model/tensor_decoder.h"

namespace roll {

int64_t page_bytes(const Transformer& model, int64_t page_size) {
  const ModelSpec local = model.cache_spec();
  return 2 * local.num_layers * page_size * local.num_kv_heads * local.head_dim *
         static_cast<int64_t>(at::elementSize(model.dtype()));
}

std::unique_ptr<Decoder> make_decoder(const Transformer& model, const DecoderSizes& sizes) {
  if (!has_cpu_decoder(model)) return std::make_unique<TensorDecoder>(model, sizes);
  if (model.dtype() == at::kFloat) return std::make_unique<CpuDecoder<float>>(model, sizes);
  return std::make_unique<CpuDecoder<c10::BFloat16>>(model, sizes);
}

}  // namespace roll
