// A block of threads for each row; see sample_row_text.h. Compiled with --fmad=false (CMakeLists.txt).
#include "cuda/sample_rows.h"

#include "cuda/check_launch.h"
#include "cuda/device_block.cuh"
#include "cuda/sample_row_text.h"

namespace roll::cuda {

namespace {

constexpr int kThreads = 1024;

__global__ void __launch_bounds__(kThreads) sample_rows_kernel(SampleRows rows) {
  __shared__ SampleShared shared;
  sample_row_of(DeviceBlock<kThreads>(), shared, rows, blockIdx.x);
}

}  // namespace

void sample_rows(const SampleRows& rows, void* stream) {
  if (rows.rows == 0) return;
  sample_rows_kernel<<<static_cast<unsigned>(rows.rows), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(rows);
  check_launch("sample_rows");
}

}  // namespace roll::cuda
