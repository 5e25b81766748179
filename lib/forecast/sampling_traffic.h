// What tensor ranks that sample send each other (decode/cpu_decoder.h, decode/device_decoder.h): who decodes which
// tokens together is decided while they sample, so this is no run of it.
#pragma once

#include "forecast/thin_step.h"
#include "model/transformer.h"

namespace roll {

/// Sums of all layers' outputs, float32 whatever the weights are, and the logits, of sampling these sequences with a
/// model without data: all at a time, each prompt once a group. `on_device`: by the device's decoder. **Collective**
/// over tp.
void add_sampling_traffic(const Transformer& model, bool on_device, Communicator& tp, const ThinStep& step,
                          const std::vector<int64_t>& sequences);

}  // namespace roll
