// Starts the kernels of decode_kernels.h and sample_rows.h on a GPU. Leaf: plain pointers and a stream.
// Without CUDA the function throws SystemError.
#pragma once

#include <variant>

#include "cuda/attend_pages.h"

namespace roll {

template <class T>
using AnyKernelOf =
    std::variant<UpdateSlots, CopyPages, StartRows<T>, AddNorm<T>, PlaceHeads<T>, AttendPages<T, 1>, AttendPages<T, 2>,
                 AttendPages<T, 4>, AttendPages<T, 8>, CombineParts<T>, Gate<T>, SampleRows>;

namespace cuda {

void launch_kernel(const AnyKernelOf<float>& kernel, void* stream);
void launch_kernel(const AnyKernelOf<Bf16>& kernel, void* stream);

}  // namespace cuda

}  // namespace roll
