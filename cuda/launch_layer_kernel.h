// Starts the kernels of layer_kernels.h and head_kernels.h on a GPU. Leaf: plain pointers and a stream.
// Without CUDA the function throws SystemError.
#pragma once

#include <variant>

#include "cuda/head_kernels.h"
#include "cuda/layer_kernels.h"

namespace roll {

template <class T>
using LayerKernelOf = std::variant<NormRows<T>, NormRowsBackward<T>, TurnHeads<T>, TurnHeadsBackward<T>, GateRows<T>,
                                   GateRowsBackward<T>, AddToRows<T>, SumParts>;

namespace cuda {

void launch_layer_kernel(const LayerKernelOf<float>& kernel, void* stream);
void launch_layer_kernel(const LayerKernelOf<Bf16>& kernel, void* stream);

}  // namespace cuda

}  // namespace roll
