// Replaces log_prob_rows.cu in builds without CUDA.
#include "base/error.h"
#include "cuda/log_prob_rows.h"

namespace roll::cuda {

void log_prob_rows_forward(const LogProbRows&, const float*, float*, float*, float*, void*) {
  throw SystemError("log_prob_rows_forward: this program was built without CUDA");
}

void log_prob_rows_backward(const LogProbRows&, const float*, float*, const float*, const float*, const float*,
                            const float*, void*) {
  throw SystemError("log_prob_rows_backward: this program was built without CUDA");
}

void log_prob_rows_backward(const LogProbRows&, const float*, Bf16*, const float*, const float*, const float*,
                            const float*, void*) {
  throw SystemError("log_prob_rows_backward: this program was built without CUDA");
}

}  // namespace roll::cuda
