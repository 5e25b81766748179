// StepModel whose state stays on the GPU: kernels advance tokens, positions, pages, RNG counters and penalty counts.
// The host sends only the changes of the plan (seats, pages, copies, prompt pieces, decoding slots). It reads drawn
// tokens one launch late, so that the GPU never waits for the host. Decode-only steps are padded to powers of two and
// run as CUDA graphs.
#pragma once

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"
#include "device/device_graph.h"
#include "rollout/step_model.h"

namespace roll {

/// Returns the steps of a model for which has_device_kernels() (device_decoder.h) is true. `model` must outlive the
/// result. Null `recorder`: no CUDA graphs. **Collective** over the tensor-parallel ranks, as are all calls of the
/// result: every rank records and replays the same steps, because they depend only on the calls.
std::unique_ptr<StepModel> make_device_steps(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots,
                                             std::unique_ptr<KernelLauncher> launcher,
                                             std::unique_ptr<GraphRecorder> recorder);

}  // namespace roll
