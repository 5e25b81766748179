// Creates a StepModel (step_model.h) whose sampling state stays on the GPU: kernels advance tokens, positions, RNG
// counters and penalty counts. The host sends only changes: new sequences, pages, page copies, prompt chunks and the
// slots that decode. It reads drawn tokens one launch late, so that the GPU never waits for the host. Steps that only
// decode are padded to a power of two of rows and run as CUDA graphs. Used by make_step_model().
#pragma once

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"
#include "device/device_graph.h"
#include "rollout/step_model.h"

namespace roll {

/// `model`: must satisfy has_device_kernels() (device_decoder.h) and outlive the result. `sizes`: of the KV cache and
/// of a step. `launcher`: starts kernels on the model's GPU. `recorder`: records CUDA graphs; null: none are used.
/// **Collective** over the tensor-parallel ranks, as are launch() and collect() of the result: all ranks must make the
/// same calls.
std::unique_ptr<StepModel> make_device_steps(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots,
                                             std::unique_ptr<KernelLauncher> launcher,
                                             std::unique_ptr<GraphRecorder> recorder);

}  // namespace roll
