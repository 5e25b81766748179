// Launches the training kernels on a GPU: layers (layer_kernels.h, head_kernels.h) and AdamW (adamw_step.h). Depends on
// no tensor library; takes device pointers and a stream. SystemError: built without CUDA.
#pragma once

#include <variant>

#include "cuda/adamw_step.h"
#include "cuda/head_kernels.h"
#include "cuda/layer_kernels.h"

namespace roll {

template <class T>
using LayerKernelOf = std::variant<NormRows<T>, NormRowsBackward<T>, RotateHeads<T>, RotateHeadsBackward<T>,
                                   GateRows<T>, GateRowsBackward<T>, AddToRows<T>, SumParts, AdamWSlice>;

namespace cuda {

void launch_layer_kernel(const LayerKernelOf<float>& kernel, void* stream);
void launch_layer_kernel(const LayerKernelOf<Bf16>& kernel, void* stream);

/// Returns the compute capability of the thread's device, e.g. 90 for an H100.
int compute_capability();

}  // namespace cuda

}  // namespace roll
