#include "job/threads.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "base/env.h"
#include "job/control_group.h"

namespace roll {

namespace {

// libgomp's two variables (the first prevails), and those of Intel's and LLVM's runtime.
constexpr const char* kWaitVariables[] = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME", "KMP_LIBRARY"};

}  // namespace

bool settles_waiting(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::find(std::begin(kWaitVariables), std::end(kWaitVariables), name) != std::end(kWaitVariables) ||
         variable == "OMP_NUM_THREADS=1";
}

int num_allowed_cores() {
  // The kernel refuses a mask that is too small for the machine's processors.
  for (int size = CPU_SETSIZE; size <= 1 << 20; size *= 2) {
    cpu_set_t* const mask = CPU_ALLOC(size);
    const size_t bytes = CPU_ALLOC_SIZE(size);
    const bool is_known = ::sched_getaffinity(0, bytes, mask) == 0;
    const int error = errno;
    const int count = is_known ? CPU_COUNT_S(bytes, mask) : 1;
    CPU_FREE(mask);
    if (is_known || error != EINVAL) return count;
  }
  return 1;
}

int num_usable_cores() {
  const double quota = control_group().cores.value_or(num_allowed_cores());
  return std::max(1, static_cast<int>(std::min<double>(num_allowed_cores(), quota)));
}

void keep_threads_to_quota() {
  if (!env_count("OMP_NUM_THREADS") && num_usable_cores() < at::get_num_threads())
    at::set_num_threads(num_usable_cores());
}

int set_threads_per_rank(const World& world) {
  if (!env_count("OMP_NUM_THREADS")) at::set_num_threads(std::max(1, num_usable_cores() / world.local_size));
  return at::get_num_threads();
}

std::string threads_text() {
  const int num_threads = at::get_num_threads();
  if (num_threads == 1) return "1 thread";
  for (const char* name : kWaitVariables) {
    const auto value = env(name);
    if (!value) continue;
    const std::string setting = fmt::format("{}={}", name, *value);
    if (setting == kShortSpin) return fmt::format("{} threads, short spin ({})", num_threads, setting);
    return fmt::format("{} threads, {}", num_threads, setting);
  }
  return fmt::format("{} threads, waiting as OpenMP does by default", num_threads);
}

}  // namespace roll
