// CUDA's runtime, as far as starting a kernel asks for it: while a FakeRuntime lives, kernels of cuda/ are noted
// instead of started. The linker sends their calls here (CMakeLists.txt), and without one they go on to CUDA's own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

namespace roll::test {

class FakeRuntime {
 public:
  struct Launch {
    std::string kernel;  // "void roll::cuda::run_kernel<roll::SumParts>(roll::SumParts)"
    dim3 grid, block;
    size_t shared = 0;
    const void* stream = nullptr;
    const void* argument = nullptr;  // while it is launched
  };

  FakeRuntime();
  FakeRuntime(const FakeRuntime&) = delete;
  ~FakeRuntime();

  /// Null: there is none.
  static FakeRuntime*& current();

  std::vector<Launch> launches;
  std::vector<std::string> arguments;  // their bytes, of as many as `argument_bytes` says
  size_t argument_bytes = 0;
  cudaError_t error = cudaSuccess;  // of the next launch
  int num_processors = 0;
};

}  // namespace roll::test
