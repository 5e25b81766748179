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

/// Parses "cpu", "cuda" (the first GPU), "cuda:1", or "auto" (the first GPU, or else the CPU). Throws UserError, which
/// begins with `origin` (the flag or key), for another word or a device that this machine or this build does not have.
at::Device parse_device(const std::string& name, const std::string& origin);

/// Makes `device` this thread's current device, and makes matrix products of 16-bit floats on a GPU keep their partial
/// sums in float32. Call it at process start.
void use_device(at::Device device);

/// Makes a GPU's results bit-equal in every run, at the price of speed: FlashAttention's backward and sums into rows
/// (index_add) no longer depend on timing. Other LibTorch operators whose results depend on timing then throw
/// c10::Error. The CPU is always deterministic. Call it before the first kernel.
void use_deterministic_kernels();

/// Returns the default compute dtype: bf16 on a GPU, fp32 on the CPU.
at::ScalarType default_dtype(at::DeviceType device);
/// Returns the compute dtype of a role's model: args.dtype, or default_dtype(). Throws UserError for fp16 on the CPU,
/// Bug for int8 and int4.
at::ScalarType model_dtype(const ModelArgs& args, at::Device device);
/// Returns the bytes per element in model_dtype(), without its check for fp16.
int64_t bytes_per_number(const ModelArgs& args, at::DeviceType device);

/// Parses "fp32", "bf16" or "fp16" (or torch's long names); "auto" gives default_dtype(). Throws UserError, which
/// begins with `origin`, for another word, or for fp16 on the CPU, which cannot compute in it.
at::ScalarType parse_compute_dtype(const std::string& name, at::Device device, const std::string& origin);

/// Parses "fp32", "bf16" or "fp16", the dtype of stored weights. Throws UserError for another word.
at::ScalarType parse_storage_dtype(const std::string& name, const std::string& origin);

/// Returns "fp32", "bf16" or "fp16". Throws Bug for another dtype.
const char* compute_dtype_name(at::ScalarType dtype);

/// Unused memory of a device.
struct UnusedBytes {
  int64_t free = 0;  // bytes that the device has free; any tensor can use them
  int64_t kept = 0;  // bytes that LibTorch's allocator holds without a tensor; usable for tensors that fit in a gap
  int64_t all() const { return free + kept; }
};

/// Releases as much of the allocator's cache as possible, then returns the unused bytes. Zeros on the CPU (unknown).
UnusedBytes unused_device_bytes(at::Device device);

}  // namespace roll
