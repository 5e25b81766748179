#include "rollout/roofline.h"

#include <algorithm>

namespace roll {

DecodingCost step_cost(const ModelSpec& spec, NumberBytes bytes, int64_t count, int64_t begin, int64_t end) {
  const int64_t embedding = spec.tied_head ? 0 : spec.vocab_size * spec.hidden_size;
  const int64_t rows = spec.tied_head ? 0 : count * (end - begin) * spec.hidden_size;
  const LayerCost layers = cost_of(spec.layers());
  const int64_t states = 2 * count * layers.page_bytes(0, bytes.cached);  // read and written
  const int64_t read =
      bytes.weights * (spec.num_parameters() - embedding + rows) + bytes.cached * count * end * layers.cached + states;
  const double flops = spec.forward_flops(end, 1) - spec.forward_flops(begin, 0);
  return {.bytes = static_cast<double>(read), .flops = static_cast<double>(count) * flops};
}

double least_seconds(const DecodingCost& cost, const MachineSpeed& machine) {
  return std::max(cost.bytes / machine.bytes_per_s, cost.flops / machine.flops_per_s);
}

bool is_bound_by_memory(const DecodingCost& cost, const MachineSpeed& machine) {
  return cost.bytes / machine.bytes_per_s > cost.flops / machine.flops_per_s;
}

}  // namespace roll
