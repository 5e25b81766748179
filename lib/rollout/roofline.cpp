#include "rollout/roofline.h"

#include <algorithm>
#include <cmath>

namespace roll {

namespace {

/// Expected number of expert weights that `tokens` tokens leave unread, if the router picks experts uniformly.
double unread_weights(const std::vector<Layer>& layers, int64_t tokens) {
  double unread = 0;
  for (const Layer& layer : layers)
    for_each_part(layer, [&](const auto& part) {
      if constexpr (requires { part.share; })
        if (part.expert)
          unread +=
              static_cast<double>(part.outputs * part.inputs) * std::pow(1 - part.share, static_cast<double>(tokens));
    });
  return unread;
}

}  // namespace

DecodingCost step_cost(const ModelSpec& spec, NumberBytes bytes, int64_t count, int64_t begin, int64_t end) {
  const int64_t embedding = spec.tied_head ? 0 : spec.vocab_size * spec.hidden_size;
  const int64_t rows = spec.tied_head ? 0 : count * (end - begin) * spec.hidden_size;
  const std::vector<Layer> all_layers = spec.layers();
  const LayerCost layers = layer_cost(all_layers);
  const int64_t states = 2 * count * layers.page_bytes(0, bytes.cached);  // read and written
  const double read = bytes.weights * static_cast<double>(spec.num_parameters() - embedding + rows) +
                      static_cast<double>(bytes.cached * count * end * layers.cached + states);
  const double flops = spec.forward_flops(end, 1) - spec.forward_flops(begin, 0);
  const double unread = bytes.weights * unread_weights(all_layers, count * (end - begin));
  return {.bytes = read - unread, .flops = static_cast<double>(count) * flops};
}

double least_seconds(const DecodingCost& cost, const MachineSpeed& machine) {
  return std::max(cost.bytes / machine.bytes_per_s, cost.flops / machine.flops_per_s);
}

bool is_bound_by_memory(const DecodingCost& cost, const MachineSpeed& machine) {
  return cost.bytes / machine.bytes_per_s > cost.flops / machine.flops_per_s;
}

}  // namespace roll
