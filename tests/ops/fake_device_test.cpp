#include "ops/fake_device.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>

namespace roll {

namespace {

std::mutex counts_mutex;
test::DeviceCounts device_counts;

void count(std::map<std::string, int64_t> test::DeviceCounts::*kind, const std::string& name) {
  const std::lock_guard lock(counts_mutex);
  ++(device_counts.*kind)[name];
}

/// Bytes of the device's memory as long as it lives.
class Counted {
 public:
  explicit Counted(int64_t bytes) : bytes_(bytes) {
    const int64_t live = live_ += bytes;
    for (int64_t peak = peak_; peak < live && !peak_.compare_exchange_weak(peak, live);) continue;
  }
  Counted(const Counted&) = delete;
  ~Counted() { live_ -= bytes_; }
  static int64_t live() { return live_; }
  static int64_t take_peak() { return peak_.exchange(live_); }

 private:
  static inline std::atomic<int64_t> live_, peak_;
  int64_t bytes_;
};

struct HostMemory : c10::Allocator {
  struct Block {
    explicit Block(size_t size) : bytes(static_cast<int64_t>(size)) {
      if (size) memory = std::aligned_alloc(64, (size + 63) / 64 * 64);
    }
    Block(const Block&) = delete;
    ~Block() { std::free(memory); }
    Counted bytes;
    void* memory = nullptr;
  };
  c10::DataPtr allocate(size_t bytes) override {
    auto* const block = new Block(bytes);
    return {block->memory, block, [](void* p) { delete static_cast<Block*>(p); },
            c10::Device(c10::DeviceType::PrivateUse1, 0)};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

/// Page-locked memory, in blocks of powers of two, as LibTorch's allocator for GPUs gives it.
std::mutex pinned_mutex;
std::map<const char*, int64_t> pinned_blocks;

struct PinnedMemory : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    const size_t rounded = std::bit_ceil(std::max<size_t>(bytes, 64));
    void* const memory = std::aligned_alloc(64, rounded);
    const std::lock_guard lock(pinned_mutex);
    pinned_blocks[static_cast<char*>(memory)] = static_cast<int64_t>(rounded);
    return {memory, memory, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  static void release(void* memory) {
    const std::lock_guard lock(pinned_mutex);
    pinned_blocks.erase(static_cast<char*>(memory));
    std::free(memory);
  }
};

bool is_pinned(const void* data) {
  const std::lock_guard lock(pinned_mutex);
  const auto next = pinned_blocks.upper_bound(static_cast<const char*>(data));
  if (next == pinned_blocks.begin()) return false;
  const auto& [begin, bytes] = *std::prev(next);
  return static_cast<const char*>(data) < begin + bytes;
}

/// Copies in a stream that is not the default one, in which all else runs at once: they run when another stream, or the
/// host, is made to wait for them, and no sooner.
std::mutex streams_mutex;
thread_local c10::StreamId current_stream = 0;
std::deque<std::function<void()>> delayed;  // in all streams but the default one
int64_t num_run = 0;

void run_delayed(int64_t until) {
  for (; num_run < until; ++num_run, delayed.pop_front()) delayed.front()();
}

struct FakeGuard : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  c10::Device getDevice() const override { return {type(), 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, current_stream);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, 1);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return c10::Stream(c10::Stream::UNSAFE, stream.device(), std::exchange(current_stream, stream.id()));
  }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex, c10::EventFlag) const override {
    const std::lock_guard lock(streams_mutex);
    delete static_cast<int64_t*>(*event);
    *event = new int64_t(stream.id() ? num_run + std::ssize(delayed) : 0);
  }
  void block(void* event, const c10::Stream&) const override {
    const std::lock_guard lock(streams_mutex);
    run_delayed(*static_cast<int64_t*>(event));
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { delete static_cast<int64_t*>(event); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void synchronizeEvent(void* event) const override {
    const std::lock_guard lock(streams_mutex);
    run_delayed(*static_cast<int64_t*>(event));
  }
};

struct FakeHooks : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    static PinnedMemory memory;
    return &memory;
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {  // which at::manual_seed() seeds
    return at::detail::getDefaultCPUGenerator();
  }
};

const c10::Device kFake{c10::DeviceType::PrivateUse1, 0};
HostMemory host_memory;
constexpr c10::DispatchKeySet kFakeKeys(c10::DispatchKey::PrivateUse1);

// Before autograd counts the devices for which it starts threads.
const struct Registered {
  Registered() { c10::SetAllocator(c10::DeviceType::PrivateUse1, &host_memory); }
} registered;
C10_REGISTER_GUARD_IMPL(PrivateUse1, FakeGuard);

/// A tensor of the host as one of the device, over the same memory.
at::Tensor on_fake(const at::Tensor& x) {
  struct Kept {
    at::Tensor tensor;
    Counted bytes;
  };
  auto* const kept = new Kept{x, Counted(static_cast<int64_t>(x.storage().nbytes()))};
  c10::DataPtr data(
      x.storage().mutable_data(), kept, [](void* p) { delete static_cast<Kept*>(p); }, kFake);
  c10::Storage storage(c10::Storage::use_byte_size_t{}, x.storage().nbytes(), std::move(data), &host_memory, false);
  at::Tensor there = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), kFakeKeys, x.dtype());
  there.unsafeGetTensorImpl()->set_sizes_and_strides(x.sizes(), x.strides(), x.storage_offset());
  return there;
}

/// Runs an operator on the host over the device's memory.
class HostRun {
 public:
  at::Tensor lend(const at::Tensor& x) {
    if (!x.defined() || x.device().type() != at::kPrivateUse1) return x;
    lent_.emplace_back(x, x.numel() ? test::memory_of(x) : at::empty(x.sizes(), at::TensorOptions(x.scalar_type())));
    return lent_.back().second;
  }
  c10::IValue lend(const c10::IValue& value) {
    if (value.isTensor()) return lend(value.toTensor());
    if (value.isDevice()) return c10::Device(at::kCPU);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& x : value.toTensorVector()) list.push_back(lend(x));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& x : value.toOptionalTensorVector())
        list.push_back(x ? std::optional(lend(*x)) : x);
      return list;
    }
    return value;
  }
  /// Memory that the operator made for results that had none.
  void resize() const {
    for (const auto& [there, here] : lent_) {
      if (there.numel() == here.numel()) continue;
      there.unsafeGetTensorImpl()->set_storage_keep_dtype(on_fake(here).storage());
      there.unsafeGetTensorImpl()->set_sizes_and_strides(here.sizes(), here.strides(), here.storage_offset());
    }
  }
  c10::IValue give_back(const c10::IValue& value) const {
    if (value.isTensor() && value.toTensor().defined()) return give_back(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> list;
    for (const at::Tensor& x : value.toTensorVector()) list.push_back(give_back(x));
    return list;
  }

 private:
  at::Tensor give_back(const at::Tensor& x) const {
    for (const auto& [there, here] : lent_)
      if (here.is_same(x)) return there;
    return on_fake(x);
  }
  std::vector<std::pair<at::Tensor, at::Tensor>> lent_;
};

/// Operators whose results' sizes or numbers the host must hear of.
bool waits(const std::string& name) {
  static const std::set<std::string> known = {"aten::_local_scalar_dense", "aten::nonzero",
                                              "aten::masked_select",       "aten::equal",
                                              "aten::repeat_interleave",   "aten::_unique2"};
  return known.contains(name);
}

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  count(waits(op.schema().name()) ? &test::DeviceCounts::waits : &test::DeviceCounts::launches, op.schema().name());
  HostRun run;
  const size_t first = stack->size() - op.schema().arguments().size();
  for (size_t i = first; i < stack->size(); ++i) (*stack)[i] = run.lend((*stack)[i]);
  op.callBoxed(stack);
  run.resize();
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i)
    (*stack)[i] = run.give_back((*stack)[i]);
}

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &host_memory, kFakeKeys, dtype.value_or(at::kFloat),
                                   format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &host_memory,
                                           kFakeKeys, dtype.value_or(at::kFloat));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const bool leaves = from.device().type() == at::kPrivateUse1, comes = to.device().type() == at::kPrivateUse1;
  const bool waits = leaves && !(non_blocking && is_pinned(to.const_data_ptr()));
  count(leaves && comes ? &test::DeviceCounts::launches
        : comes         ? &test::DeviceCounts::copies_in
        : waits         ? &test::DeviceCounts::waits
                        : &test::DeviceCounts::copies_out,
        "copy");
  const auto copy = [from, to] {
    HostRun run;
    at::Tensor target = run.lend(to);
    target.copy_(run.lend(from));
  };
  if (current_stream == 0) {
    copy();
  } else {
    const std::lock_guard lock(streams_mutex);
    delayed.emplace_back(copy);
  }
  return to;
}

/// A GPU multiplies bfloat16 and adds in float32; the host's operators do not.
at::Tensor& addmm_wide(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, at::ScalarType dtype,
                       const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  count(&test::DeviceCounts::launches, "aten::addmm");
  using test::memory_of;
  memory_of(out).copy_(at::addmm(memory_of(self), memory_of(a).to(dtype), memory_of(b).to(dtype), beta, alpha));
  return out;
}

at::Tensor mm_wide(const at::Tensor& a, const at::Tensor& b, at::ScalarType dtype) {
  count(&test::DeviceCounts::launches, "aten::mm");
  return on_fake(at::mm(test::memory_of(a).to(dtype), test::memory_of(b).to(dtype)));
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("addmm.dtype_out", &addmm_wide);
  m.impl("mm.dtype", &mm_wide);
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
}

}  // namespace

namespace test {

at::Device fake_device() {
  static const bool is_known = [] {
    static FakeHooks hooks;
    at::RegisterPrivateUse1HooksInterface(&hooks);
    c10::register_privateuse1_backend("fake");
    return true;
  }();
  (void)is_known;
  return kFake;
}

int64_t DeviceCounts::sum(const std::map<std::string, int64_t>& counts) {
  int64_t all = 0;
  for (const auto& [name, times] : counts) all += times;
  return all;
}

DeviceCounts take_device_counts() {
  const std::lock_guard lock(counts_mutex);
  return std::exchange(device_counts, {});
}

int64_t live_device_bytes() {
  return Counted::live();
}

int64_t take_peak_device_bytes() {
  return Counted::take_peak();
}

int64_t pinned_bytes() {
  const std::lock_guard lock(pinned_mutex);
  int64_t bytes = 0;
  for (const auto& [begin, size] : pinned_blocks) bytes += size;
  return bytes;
}

void count_launch(const std::string& name) {
  count(&DeviceCounts::launches, name);
}

at::Tensor memory_of(const at::Tensor& x) {
  return at::from_blob(
      x.numel() ? const_cast<void*>(x.const_data_ptr()) : nullptr, x.sizes(), x.strides(), [x](void*) {},
      at::TensorOptions(x.scalar_type()));
}

}  // namespace test

TEST_CASE("the fake device computes as the host, and counts what a device is asked for", "[ops]") {
  const at::Tensor a = at::arange(12, at::kFloat).view({3, 4});
  test::take_device_counts();
  const at::Tensor there = a.to(test::fake_device()).requires_grad_();
  test::DeviceCounts counts = test::take_device_counts();
  CHECK(counts.copies_in == std::map<std::string, int64_t>{{"copy", 1}});
  CHECK(counts.waits.empty());
  CHECK(counts.launches.empty());
  const at::Tensor sum = (there.t().narrow(0, 1, 2) * 2).sum();
  counts = test::take_device_counts();
  CHECK(counts.launches == std::map<std::string, int64_t>{{"aten::mul", 1}, {"aten::sum", 1}});
  sum.backward();
  CHECK(test::DeviceCounts::sum(test::take_device_counts().waits) == 0);
  CHECK(sum.item<float>() == Approx((a.t().narrow(0, 1, 2) * 2).sum().item<float>()));
  CHECK(there.grad().cpu().sum().item<float>() == 12);
  (void)there.nonzero();
  counts = test::take_device_counts();
  CHECK(counts.waits ==
        std::map<std::string, int64_t>{{"aten::_local_scalar_dense", 1}, {"aten::nonzero", 1}, {"copy", 1}});
}

}  // namespace roll
