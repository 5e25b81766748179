// Devices and number formats by the names that users write.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>

#include "model/config.h"

namespace roll {

/// The CUDA devices that this process can use; 0 where the machine or this build has none.
int64_t num_cuda_devices();

/// "cpu", "cuda", "cuda:1", or "auto": the first GPU where there is one. UserError: another word, or a device that this
/// machine or this build does not have.
at::Device parse_device(const std::string& name, const std::string& origin);

/// Makes `device` the one on which this thread's kernels run where no tensor says otherwise, and a GPU's products of
/// narrow floats sum in float32; where a process starts.
void use_device(at::Device device);

/// From now on the results of a GPU's kernels have the same bits in every run: the backward pass of FlashAttention and
/// sums into rows (index_add) no longer depend on timing, at the price of speed; what LibTorch cannot compute so
/// throws. Nothing changes on the CPU, where they never do. To be called before the first kernel.
void use_deterministic_kernels();

/// What models compute in where nobody says: bf16 on a GPU, fp32 on the CPU.
at::ScalarType default_dtype(at::DeviceType device);
/// What a role's model computes in. UserError: fp16 on the CPU.
at::ScalarType model_dtype(const ModelArgs& args, at::Device device);
/// Bytes of one of its numbers.
int64_t bytes_per_number(const ModelArgs& args, at::DeviceType device);

/// "fp32", "bf16", "fp16" (and torch's long names); "auto" is default_dtype(). UserError: another
/// word; fp16 on the CPU, which has no products of it.
at::ScalarType parse_compute_dtype(const std::string& name, at::Device device, const std::string& origin);

/// "fp32", "bf16", "fp16": how weights are stored.
at::ScalarType parse_storage_dtype(const std::string& name, const std::string& origin);

/// The name that parse_storage_dtype() reads. Bug: another dtype.
const char* compute_dtype_name(at::ScalarType dtype);

/// Bytes of a device that nothing uses.
struct UnusedBytes {
  int64_t free = 0;  // any tensor may have them
  int64_t kept = 0;  // the allocator's, between tensors: only what is no larger than a gap may have them
  int64_t all() const { return free + kept; }
};

/// After memory that is only kept for later was given back as far as it can be. Zeros on the CPU, where nobody can say.
UnusedBytes unused_device_bytes(at::Device device);

}  // namespace roll
