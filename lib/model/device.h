// Devices and dtypes by the names that users write in flags and YAML.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>

#include "model/config.h"

namespace roll {

/// Returns the number of CUDA devices that this process can use; 0 if the machine or this build has none.
int64_t num_cuda_devices();

/// Parses "cpu", "cuda", "cuda:1" or "auto": the first GPU if there is one. UserError: another word, or a device that
/// this machine or this build does not have.
at::Device parse_device(const std::string& name, const std::string& origin);

/// Sets this thread's default device, and lets a GPU sum products of 16-bit floats in float32. Call it at process
/// start.
void use_device(at::Device device);

/// Makes a GPU's results bit-equal in every run, at the price of speed: FlashAttention's backward and sums into rows
/// (index_add) no longer depend on timing; LibTorch operators that cannot do so throw. The CPU is always deterministic.
/// Call it before the first kernel.
void use_deterministic_kernels();

/// Returns the default compute dtype: bf16 on a GPU, fp32 on the CPU.
at::ScalarType default_dtype(at::DeviceType device);
/// Returns the compute dtype of a role's model. UserError: fp16 on the CPU.
at::ScalarType model_dtype(const ModelArgs& args, at::Device device);
/// Returns the bytes per element in that dtype.
int64_t bytes_per_number(const ModelArgs& args, at::DeviceType device);

/// Parses "fp32", "bf16" or "fp16" (or torch's long names); "auto" gives default_dtype(). UserError: another word, or
/// fp16 on the CPU, which cannot compute in it.
at::ScalarType parse_compute_dtype(const std::string& name, at::Device device, const std::string& origin);

/// Parses "fp32", "bf16" or "fp16", the dtype of stored weights. UserError: another word.
at::ScalarType parse_storage_dtype(const std::string& name, const std::string& origin);

/// Returns the name that parse_storage_dtype() reads. Bug: another dtype.
const char* compute_dtype_name(at::ScalarType dtype);

/// Unused memory of a device.
struct UnusedBytes {
  int64_t free = 0;  // bytes available to any tensor
  int64_t kept = 0;  // bytes cached by the allocator; only for tensors that fit a gap
  int64_t all() const { return free + kept; }
};

/// Releases as much of the allocator's cache as possible, then returns the unused bytes. Zeros on the CPU (unknown).
UnusedBytes unused_device_bytes(at::Device device);

}  // namespace roll
