#include "job/threads.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/env.h"

namespace roll {

namespace {

// libgomp's two, of which the first prevails, and those of the runtime that Intel's and LLVM's compilers bring.
constexpr const char* kWaiting[] = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME", "KMP_LIBRARY"};

}  // namespace

bool settles_waiting(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::find(std::begin(kWaiting), std::end(kWaiting), name) != std::end(kWaiting) ||
         variable == "OMP_NUM_THREADS=1";
}

int set_threads_per_rank(const World& world) {
  if (!env_count("OMP_NUM_THREADS")) at::set_num_threads(std::max(1, num_usable_cores() / world.local_size));
  return at::get_num_threads();
}

std::string threads_text() {
  const int num_threads = at::get_num_threads();
  if (num_threads == 1) return "1 thread";
  for (const char* name : kWaiting) {
    const auto value = env(name);
    if (!value) continue;
    const std::string setting = fmt::format("{}={}", name, *value);
    if (setting == kShortSpin) return fmt::format("{} threads, short spin ({})", num_threads, setting);
    return fmt::format("{} threads, {}", num_threads, setting);
  }
  return fmt::format("{} threads, waiting as OpenMP does by default", num_threads);
}

}  // namespace roll
