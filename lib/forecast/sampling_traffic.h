// Counts what the sampler's tensor ranks send each other (decode/cpu_decoder.h, decode/device_decoder.h). Batches
// depend on the run, so this is a model and runs no decoder.
#pragma once

#include "forecast/thin_step.h"
#include "model/transformer.h"

namespace roll {

/// Counts the all-reduces of all layers' outputs (float32 for any weights) and the logits for sampling `sequences` with
/// a model without data. All sequences run at once, and each group computes its prompt once. `on_device`: with the
/// device decoder. **Collective** over tp.
void add_sampling_traffic(const Transformer& model, bool on_device, Communicator& tp, const ThinStep& step,
                          const std::vector<int64_t>& sequences);

}  // namespace roll
