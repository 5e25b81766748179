// Launches the training kernels on a GPU: layers (layer_kernels.h, head_kernels.h) and AdamW (adamw_step.h). Depends on
// no tensor library; takes device pointers. In a program built without CUDA all functions throw SystemError.
#pragma once

#include <variant>

#include "cuda/adamw_step.h"
#include "cuda/head_kernels.h"
#include "cuda/layer_kernels.h"

namespace roll {

/// A training kernel with its arguments. T: type of activations and weights.
template <class T>
using LayerKernelOf = std::variant<NormRows<T>, NormRowsBackward<T>, RotateHeads<T>, RotateHeadsBackward<T>,
                                   GateRows<T>, GateRowsBackward<T>, AddToRows<T>, SumParts, AdamWSlice>;

namespace cuda {

/// Launches the kernel on `stream`, a cudaStream_t of the thread's current device, and does not wait. Throws
/// std::runtime_error if the launch fails.
void launch_layer_kernel(const LayerKernelOf<float>& kernel, void* stream);
void launch_layer_kernel(const LayerKernelOf<Bf16>& kernel, void* stream);

/// Returns the compute capability of the thread's current CUDA device, e.g. 90 for an H100.
int compute_capability();

}  // namespace cuda

}  // namespace roll
