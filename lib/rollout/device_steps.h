// Steps whose state stays on the device: tokens, positions, pages, random names and what penalties count are moved on
// by its kernels. The host sends what the plan changes (seats, pages, copies, pieces, who decodes) and hears of drawn
// tokens one launch late, so that the device never waits for it. Steps that only decode are padded to powers of two,
// and on a GPU recorded and replayed.
#pragma once

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"
#include "rollout/step_model.h"

namespace roll {

/// A model with has_device_kernels() (device_decoder.h); `model` must outlive the result.
std::unique_ptr<StepModel> make_device_steps(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots,
                                             std::unique_ptr<KernelLauncher> launcher);

}  // namespace roll
