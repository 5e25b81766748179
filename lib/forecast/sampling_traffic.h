// Counts the data that the sampler's tensor-parallel ranks send each other, for planned_step.h. The real batches depend
// on the run, so this code imitates the collectives of decode/cpu_decoder.h and decode/device_decoder.h instead of
// running them.
#pragma once

#include "forecast/thin_step.h"
#include "model/transformer.h"

namespace roll {

/// Calls the collectives of sampling on `tp`, a communicator that counts (planned_ranks.h): all-reduces of all layers'
/// outputs (float32 for any weights), and the exchange of logits. `model`: its tensors need no data. `sequences`:
/// indices in `step` of the sequences that these tensor ranks sample, all at once, ascending; a group's prompt is
/// computed once. `on_device`: true: as the device decoder does; false: as the CPU decoder does. **Collective** over
/// `tp`.
void add_sampling_traffic(const Transformer& model, bool on_device, Communicator& tp, const ThinStep& step,
                          const std::vector<int64_t>& sequences);

}  // namespace roll
