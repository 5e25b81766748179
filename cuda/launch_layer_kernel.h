// Starts the kernels of training on a GPU: of layers (layer_kernels.h, head_kernels.h), and the optimizer's. Leaf:
// plain pointers and a stream. Without CUDA the function throws SystemError.
#pragma once

#include <variant>

#include "cuda/adamw_step.h"
#include "cuda/head_kernels.h"
#include "cuda/layer_kernels.h"

namespace roll {

template <class T>
using LayerKernelOf = std::variant<NormRows<T>, NormRowsBackward<T>, TurnHeads<T>, TurnHeadsBackward<T>, GateRows<T>,
                                   GateRowsBackward<T>, AddToRows<T>, SumParts, AdamWSlice>;

namespace cuda {

void launch_layer_kernel(const LayerKernelOf<float>& kernel, void* stream);
void launch_layer_kernel(const LayerKernelOf<Bf16>& kernel, void* stream);

/// Of the thread's device: 90 of an H100.
int compute_capability();

}  // namespace cuda

}  // namespace roll
