#include "device/operator_trace.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "device/cuda_library.h"

namespace roll {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType, torch::profiler::impl::ProfilerConfig, torch::profiler::impl::ProfilerState;

OperatorTrace::OperatorTrace(std::filesystem::path file) : file_(std::move(file)) {
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (cuda_library_is_loaded()) activities.insert(ActivityType::CUDA);
  const ProfilerConfig config(ProfilerState::KINETO);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
}

OperatorTrace::~OperatorTrace() {
  if (is_recording_) profiler::disableProfiler();
}

void OperatorTrace::save() {
  is_recording_ = false;
  const auto recorded = profiler::disableProfiler();
  make_folder(file_.has_parent_path() ? file_.parent_path() : ".");
  recorded->save(file_.string());
  if (!std::filesystem::exists(file_)) throw SystemError(file_.string() + ": cannot be written");
}

}  // namespace roll
