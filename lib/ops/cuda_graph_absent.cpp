// The twin of cuda_graph.cpp where CUDA is not built.
#include "base/error.h"
#include "ops/device_graph.h"

namespace roll {

std::unique_ptr<DeviceGraph> record_graph(at::Device, const std::function<void()>&) {
  throw SystemError("record_graph: this program was built without CUDA");
}

}  // namespace roll
