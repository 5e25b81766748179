// The twin of sample_rows.cu where no CUDA compiler was found.
#include "cuda/sample_rows.h"

#include "base/error.h"

namespace roll::cuda {

void sample_rows(const SampleRows&, void*) {
  throw SystemError("sample_rows: this program was built without CUDA");
}

}  // namespace roll::cuda
