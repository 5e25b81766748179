#include "model/device.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

int64_t num_cuda_devices() {
  return at::hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0;
}

at::Device parse_device(const std::string& name, const std::string& origin) {
  if (name == "cpu" || (name == "auto" && num_cuda_devices() == 0)) return at::kCPU;
  const bool is_cuda = name == "cuda" || name == "auto" ||
                       (name.starts_with("cuda:") && name.size() > 5 && name.size() < 8 &&
                        name.find_first_not_of("0123456789", 5) == std::string::npos);
  if (!is_cuda)
    throw user_error("{} = {}: must be auto, cpu, cuda or cuda:N{}", origin, name,
                     did_you_mean(name, {"auto", "cpu", "cuda"}));
  const int64_t index = !name.starts_with("cuda:") ? 0 : std::stol(name.substr(5));
  const int64_t count = num_cuda_devices();
  if (index >= count)
    throw user_error(
        "{} = {}: {}", origin, name,
        count > 0 ? fmt::format("this machine has {} CUDA device(s), numbered from 0", count)
                  : "no CUDA device is usable on this machine (`roll --version` shows how roll was built); use cpu");
  return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

void use_device(at::Device device) {
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  if (!device.is_cuda()) return;
  // cuBLAS keeps partial sums in float32 if it splits a sum over blocks.
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
  at::globalContext().setAllowFP16ReductionCuBLAS(false);
}

void use_deterministic_kernels() {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);  // nothing here reads uninitialised memory
}

namespace {

at::ScalarType tensor_type(Dtype dtype) {
  ROLL_CHECK(weight_bits(dtype) == 0, "the configuration was checked");
  return dtype == Dtype::kFp32 ? at::kFloat : dtype == Dtype::kBf16 ? at::kBFloat16 : at::kHalf;
}

at::ScalarType configured_dtype(const ModelArgs& args, at::DeviceType device) {
  return args.dtype ? tensor_type(*args.dtype) : default_dtype(device);
}

}  // namespace

at::ScalarType default_dtype(at::DeviceType device) {
  return device == at::kCUDA ? at::kBFloat16 : at::kFloat;
}

at::ScalarType model_dtype(const ModelArgs& args, at::Device device) {
  const at::ScalarType dtype = configured_dtype(args, device.type());
  if (device.is_cpu() && dtype == at::kHalf)
    throw UserError("model_args.dtype = fp16: must be fp32 or bf16 on the CPU");
  return dtype;
}

int64_t bytes_per_number(const ModelArgs& args, at::DeviceType device) {
  return static_cast<int64_t>(c10::elementSize(configured_dtype(args, device)));
}

at::ScalarType parse_storage_dtype(const std::string& name, const std::string& origin) {
  for (const auto& known : enum_names(Dtype()))
    if (name == known.name && weight_bits(known.value) == 0) return tensor_type(known.value);
  throw user_error("{} = {}: must be fp32, bf16 or fp16{}", origin, name, did_you_mean(name, {"fp32", "bf16", "fp16"}));
}

const char* compute_dtype_name(at::ScalarType dtype) {
  if (dtype == at::kFloat) return "fp32";
  if (dtype == at::kBFloat16) return "bf16";
  ROLL_CHECK(dtype == at::kHalf, "models are of no other dtype");
  return "fp16";
}

at::ScalarType parse_compute_dtype(const std::string& name, at::Device device, const std::string& origin) {
  if (name == "auto") return default_dtype(device.type());
  const at::ScalarType dtype = parse_storage_dtype(name, origin);
  if (device.is_cpu() && dtype == at::kHalf)
    throw user_error("{} = {}: the CPU computes in fp32 or bf16 (files of any dtype are converted when read)", origin,
                     name);
  return dtype;
}

UnusedBytes unused_device_bytes(at::Device device) {
  if (device.is_cpu() || device.is_meta()) return {};
  c10::DeviceAllocator& allocator = *at::getDeviceAllocator(device.type());
  const c10::DeviceIndex index = device.index() < 0 ? c10::DeviceIndex{0} : device.index();
  allocator.emptyCache();
  const auto stats = allocator.getDeviceStats(index);
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return {.free = static_cast<int64_t>(allocator.getMemoryInfo(index).first),
          .kept = stats.reserved_bytes[kAll].current - stats.allocated_bytes[kAll].current};
}

}  // namespace roll
