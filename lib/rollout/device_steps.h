// Creates a StepModel (step_model.h) that keeps its sampling state on the GPU: kernels advance tokens, positions, RNG
// counters and penalty counts. The host sends only changes: new sequences, pages, page copies, prompt chunks and the
// slots that decode. It reads drawn tokens one launch late, so that the GPU never waits for the host, except for the
// experts of a response that ends (routing_replay). Steps that only decode run as CUDA graphs, padded to a power of two
// of rows. Used by make_step_model().
#pragma once

#include <memory>

#include "decode/decoder.h"
#include "decode/kernel_launcher.h"
#include "device/device_graph.h"
#include "rollout/step_model.h"

namespace roll {

/// Returns the StepModel. `model`: must satisfy has_device_kernels() (device_decoder.h) and outlive the result.
/// `sizes`: sizes of the KV cache and of a step. `num_slots`: sequences that run together. `launcher`: starts kernels
/// on the model's GPU. `recorder`: records CUDA graphs; null: every step launches its kernels one by one.
/// **Collective** over the tensor-parallel ranks, like launch() and collect() of the result.
std::unique_ptr<StepModel> make_device_steps(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots,
                                             std::unique_ptr<KernelLauncher> launcher,
                                             std::unique_ptr<GraphRecorder> recorder);

}  // namespace roll
