// What starting a kernel asks CUDA's runtime for, which here is a fake: the kernel of this type, as many blocks and
// lanes as its text wants, its arguments, and the stream of its device. Compiled only with CUDA.
#include <cxxabi.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <typeinfo>

#include "cuda/fake_runtime.h"
#include "cuda/launch_layer_kernel.h"
#include "cuda/log_prob_rows.h"
#include "cuda/log_prob_text.h"
#include "cuda/sample_row_text.h"
#include "decode/kernel_launcher.h"
#include "device/two_devices.h"

namespace {

std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

/// By the address of the host's half of a kernel; they register before main().
std::map<const void*, std::string>& kernel_names() {
  static std::map<const void*, std::string> names;
  return names;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): as the linker and nvcc call them.
extern "C" {

void __real___cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __wrap___cudaRegisterFunction(void** file, const char* host, char* device, const char* name, int limit,
                                   uint3* thread, uint3* block, dim3* lanes, dim3* blocks, int* words) {
  kernel_names()[host] = readable(name);
  __real___cudaRegisterFunction(file, host, device, name, limit, thread, block, lanes, blocks, words);
}

cudaError_t __real___cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __wrap___cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  const cudaError_t error = __real___cudaGetKernel(kernel, host);
  if (error != cudaSuccess) *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));  // no GPU is here
  kernel_names()[*kernel] = kernel_names().at(host);
  return cudaSuccess;
}

cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                      cudaStream_t stream) {
  auto* const fake = roll::test::FakeRuntime::current();
  if (!fake) return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
  fake->launches.push_back({kernel_names().at(kernel), grid, block, shared, stream});
  fake->arguments.emplace_back(static_cast<const char*>(arguments[0]), fake->argument_bytes);
  return fake->error;
}

cudaError_t __real_cudaGetLastError();
cudaError_t __wrap_cudaGetLastError() {
  auto* const fake = roll::test::FakeRuntime::current();
  return fake ? std::exchange(fake->error, cudaSuccess) : __real_cudaGetLastError();
}

cudaError_t __real_cudaGetDevice(int*);
cudaError_t __wrap_cudaGetDevice(int* device) {
  if (!roll::test::FakeRuntime::current()) return __real_cudaGetDevice(device);
  *device = roll::test::TwoDevices::current;
  return cudaSuccess;
}

cudaError_t __real_cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  auto* const fake = roll::test::FakeRuntime::current();
  if (!fake) return __real_cudaDeviceGetAttribute(value, attribute, device);
  *value = attribute == cudaDevAttrMultiProcessorCount ? 100 + device : 0;
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)

namespace roll {

namespace {

using test::FakeRuntime;
using test::TwoDevices;

/// A kernel of some blocks, whatever it points to. Its bytes are 1 otherwise, so that all of them are seen to arrive.
template <class Kernel>
Kernel some_kernel() {
  Kernel kernel;
  std::memset(static_cast<void*>(&kernel), 1, sizeof kernel);
  const auto few = [](auto&... counts) { ((counts = 24), ...); };
  if constexpr (requires { kernel.cut; }) kernel.cut = make_row_cut(1000, 1, 2);
  if constexpr (requires { kernel.shape; }) few(kernel.shape.rows);
  if constexpr (requires { kernel.shape.heads; }) few(kernel.shape.heads, kernel.shape.kv_heads);
  if constexpr (requires { kernel.layer; }) few(kernel.layer.kv_heads);
  if constexpr (requires { kernel.rows = 1; }) few(kernel.rows);
  if constexpr (requires { kernel.num_rows; }) few(kernel.num_rows);
  if constexpr (requires { kernel.heads; }) few(kernel.heads);
  if constexpr (requires { kernel.splits; }) few(kernel.splits);
  if constexpr (requires { kernel.rows_per_block; }) few(kernel.rows_per_block);
  if constexpr (requires { kernel.inner; }) few(kernel.inner);
  if constexpr (requires { kernel.width; }) few(kernel.width);
  if constexpr (requires { kernel.num_moves; }) few(kernel.num_moves, kernel.num_tensors);
  if constexpr (requires { kernel.max_tiles; }) few(kernel.max_tiles);
  if constexpr (requires { kernel.outputs; }) few(kernel.outputs);
  if constexpr (requires { kernel.n; }) kernel.n = 3 * Kernel::kElements + 1;
  return kernel;
}

/// But for what lies between fields.
template <class Kernel>
std::string bytes_of(const Kernel&, std::string bytes) {
  if constexpr (requires(Kernel kernel) { kernel.shape.inverse_temperature; })
    bytes.erase(offsetof(cuda::LogProbRows, inverse_temperature) + sizeof(float), 4);
  if constexpr (requires(Kernel kernel) { kernel.launch; }) bytes.resize(offsetof(SampleRows, advances_slots) + 1);
  return bytes;
}

/// What launching `kernel` must have asked for.
template <class Kernel>
void check_launch(const FakeRuntime& fake, size_t i, const Kernel& kernel, const void* stream) {
  const std::string type = readable(typeid(Kernel).name());
  INFO(type);
  REQUIRE(i < fake.launches.size());
  const FakeRuntime::Launch& launch = fake.launches[i];
  CHECK(launch.kernel == "void roll::cuda::run_kernel<" + type + (type.ends_with('>') ? " " : "") + ">(" + type + ")");
  CHECK(kernel.num_blocks() > 0);
  CHECK((launch.grid.x == kernel.num_blocks() && launch.grid.y == 1 && launch.grid.z == 1));
  CHECK((launch.block.x == Kernel::kLanes && launch.block.y == 1 && launch.block.z == 1));
  CHECK((launch.shared == 0 && launch.stream == stream));
  const std::string bytes(reinterpret_cast<const char*>(&kernel), sizeof kernel);
  CHECK(bytes_of(kernel, fake.arguments[i]) == bytes_of(kernel, bytes.substr(0, fake.arguments[i].size())));
}

/// Launches one of each kind.
template <class Variant, class Launch, size_t... kIndices>
void launch_all(const Launch& launch, std::index_sequence<kIndices...>) {
  (launch(some_kernel<std::variant_alternative_t<kIndices, Variant>>()), ...);
}

template <class Variant, class Launch>
void launch_all(const Launch& launch) {
  launch_all<Variant>(launch, std::make_index_sequence<std::variant_size_v<Variant>>());
}

}  // namespace

namespace test {

FakeRuntime*& FakeRuntime::current() {
  static FakeRuntime* fake = nullptr;
  return fake;
}

FakeRuntime::FakeRuntime() {
  current() = this;
}

FakeRuntime::~FakeRuntime() {
  current() = nullptr;
}

}  // namespace test

TEMPLATE_TEST_CASE("kernels of decoding start as their texts say, on their device, in its stream", "[cuda]", float,
                   Bf16, Fp16) {
  const test::KnownDevices known;
  FakeRuntime fake;
  TwoDevices::current = 0;
  const auto launcher = make_cuda_launcher(test::device_number(1));
  CHECK(launcher->num_processors() == 101);
  launch_all<AnyKernelOf<TestType>>([&](const auto& kernel) {
    fake.launches.clear(), fake.arguments.clear();
    fake.argument_bytes = sizeof kernel;
    launcher->launch(AnyKernelOf<TestType>(kernel));
    size_t launches = 0;
    const auto expect = [&](const auto& one) { check_launch(fake, launches++, one, &TwoDevices::handles[1]); };
    if constexpr (std::is_same_v<decltype(kernel), const SampleRows&>)
      each_sampling_kernel(kernel, expect);
    else
      expect(kernel);
    CHECK(fake.launches.size() == launches);
    CHECK(TwoDevices::current == 0);
  });
}

TEMPLATE_TEST_CASE("kernels of training start as their texts say, in the stream that they are given", "[cuda]", float,
                   Bf16) {
  FakeRuntime fake;
  int stream = 0;
  launch_all<LayerKernelOf<TestType>>([&](const auto& kernel) {
    fake.launches.clear(), fake.arguments.clear();
    fake.argument_bytes = sizeof kernel;
    cuda::launch_layer_kernel(LayerKernelOf<TestType>(kernel), &stream);
    check_launch(fake, 0, kernel, &stream);
    CHECK(fake.launches.size() == 1);
  });
}

TEST_CASE("kernels of log-probs start as their texts say, in the stream that they are given", "[cuda]") {
  FakeRuntime fake;
  int stream = 0;
  int64_t label = 0;
  float numbers[7] = {};
  Bf16 narrow{};
  const cuda::LogProbRows shape{&label, 3, 1000, 0.5F};
  const LogProbForward forward{shape, &numbers[0], &numbers[1], &numbers[2], &numbers[3]};
  const LogProbBackward<float> wide{shape,       &numbers[0], &numbers[1], &numbers[3],
                                    &numbers[2], &numbers[4], &numbers[5]};
  const LogProbBackward<Bf16> small{shape, &numbers[0], &narrow, &numbers[3], &numbers[2], &numbers[4], &numbers[5]};
  fake.argument_bytes = sizeof forward;
  cuda::log_prob_rows_forward(shape, forward.logits, forward.log_probs, forward.entropy, forward.logsumexp, &stream);
  fake.argument_bytes = sizeof wide;
  cuda::log_prob_rows_backward(shape, wide.logits, wide.gradient, wide.logsumexp, wide.entropy, wide.d_log_probs,
                               wide.d_entropy, &stream);
  cuda::log_prob_rows_backward(shape, small.logits, small.gradient, small.logsumexp, small.entropy, small.d_log_probs,
                               small.d_entropy, &stream);
  check_launch(fake, 0, forward, &stream);
  check_launch(fake, 1, wide, &stream);
  check_launch(fake, 2, small, &stream);
}

TEST_CASE("a kernel without a block is not started, and one that CUDA refuses is an error that says why", "[cuda]") {
  const test::KnownDevices known;
  FakeRuntime fake;
  const auto launcher = make_cuda_launcher(test::device_number(0));
  launcher->launch(AnyKernelOf<float>(AddNorm<float>{}));
  cuda::launch_layer_kernel(LayerKernelOf<float>(GateRows<float>{}), nullptr);
  CHECK(fake.launches.empty());
  const auto refuse = [&](cudaError_t error) { fake.error = error; };
  refuse(cudaErrorInvalidConfiguration);
  CHECK_THROWS_WITH(launcher->launch(AnyKernelOf<Bf16>(some_kernel<AddNorm<Bf16>>())),
                    "decoding: invalid configuration argument");
  CHECK(TwoDevices::current == 0);
  refuse(cudaErrorIllegalAddress);  // of an earlier kernel
  CHECK_THROWS_WITH(cuda::launch_layer_kernel(LayerKernelOf<float>(some_kernel<SumParts>()), nullptr),
                    "a layer: an illegal memory access was encountered");
  refuse(cudaErrorNoDevice);
  CHECK_THROWS_WITH(make_cuda_launcher(test::device_number(0)), "count_processors: no CUDA-capable device is detected");
  launcher->launch(AnyKernelOf<Bf16>(some_kernel<AddNorm<Bf16>>()));  // an error is told once
}

}  // namespace roll
