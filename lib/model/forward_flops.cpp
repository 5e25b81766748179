#include "model/forward_flops.h"

namespace roll {

ForwardFlops::ForwardFlops(const ModelSpec& spec)
    : layers_(cost_of(spec.layers())), head_row_(2.0 * static_cast<double>(spec.vocab_size * spec.hidden_size)) {}

double ForwardFlops::operator()(int64_t length, int64_t head_rows) const {
  const auto n = static_cast<double>(length);
  return layers_.flops * n + layers_.square_flops * n * n + static_cast<double>(head_rows) * head_row_;
}

}  // namespace roll
