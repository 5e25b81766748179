// Steps whose state stays on the device: tokens, positions, pages, random names and what penalties count are moved on
// by its kernels. The host sends what the plan changes (seats, pages, copies, pieces, who decodes) and hears of drawn
// tokens one launch late, so that the device never waits for it. Steps that only decode are padded to powers of two,
// recorded and replayed.
#pragma once

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"
#include "device/device_graph.h"
#include "rollout/step_model.h"

namespace roll {

/// A model with has_device_kernels() (device_decoder.h), which must outlive the result. Null `recorder`: nothing is
/// recorded. Under tensor parallelism all ranks make the same calls; they record and replay the same steps, as these
/// follow from the calls alone.
std::unique_ptr<StepModel> make_device_steps(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots,
                                             std::unique_ptr<KernelLauncher> launcher,
                                             std::unique_ptr<GraphRecorder> recorder);

}  // namespace roll
