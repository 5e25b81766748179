// Replaces cuda_graph.cpp in builds without CUDA.
#include "base/error.h"
#include "device/device_graph.h"

namespace roll {

std::unique_ptr<GraphRecorder> make_graph_recorder(at::Device) {
  throw SystemError("make_graph_recorder: this program was built without CUDA");
}

}  // namespace roll
