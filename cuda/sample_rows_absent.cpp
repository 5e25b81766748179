// Replaces sample_rows.cu in builds without CUDA.
#include "cuda/sample_rows.h"

#include "base/error.h"

namespace roll::cuda {

void sample_rows(const SampleRows&, void*) {
  throw SystemError("sample_rows: this program was built without CUDA");
}

}  // namespace roll::cuda
