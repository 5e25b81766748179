// The twin of adamw_step.cu where no CUDA compiler was found.
#include "base/error.h"
#include "cuda/adamw_step.h"

namespace roll::cuda {

void adamw_step(const AdamWStep&, const AdamWArrays&, void*) {
  throw SystemError("adamw_step: this program was built without CUDA");
}

}  // namespace roll::cuda
