// Compiled with --fmad=false (CMakeLists.txt).
#include "cuda/sample_rows.h"

#include "cuda/device_lanes.cuh"
#include "cuda/sample_row_text.h"

namespace roll::cuda {

void sample_rows(const SampleRows& rows, void* stream) {
  each_sampling_kernel(rows, [&](const auto& kernel) { start_kernel(kernel, stream, "sample_rows"); });
}

}  // namespace roll::cuda
