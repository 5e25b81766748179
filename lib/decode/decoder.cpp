#include "decode/decoder.h"

#include "decode/cpu_decoder.h"
#include "decode/tensor_decoder.h"

namespace roll {

int64_t page_bytes(const Transformer& model, int64_t page_size) {
  return layer_cost(model.spec().layers(), model.parallel().tp_size())
      .page_bytes(page_size, static_cast<int64_t>(at::elementSize(model.dtype())));
}

std::unique_ptr<Decoder> make_decoder(const Transformer& model, const DecoderSizes& sizes) {
  if (!has_cpu_decoder(model)) return std::make_unique<TensorDecoder>(model, sizes);
  if (model.dtype() == at::kFloat) return std::make_unique<CpuDecoder<float>>(model, sizes);
  return std::make_unique<CpuDecoder<c10::BFloat16>>(model, sizes);
}

}  // namespace roll
