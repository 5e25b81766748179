// Launches the kernels of decode_kernels.h, attend_pages.h and sample_rows.h on a GPU, for lib/decode. Depends on no
// tensor library; takes device pointers and a stream. SystemError: built without CUDA.
#pragma once

#include <variant>

#include "cuda/attend_pages.h"
#include "cuda/combine_parts.h"
#include "cuda/move_slots.h"

namespace roll {

template <class T>
using AnyKernelOf =
    std::variant<UpdateSlots, CopyPages, StartRows<T>, AddNorm<T>, PlaceHeads<T>, AttendPages<T, 64>,
                 AttendPages<T, 128>, AttendPages<T, 256>, CombineParts<T>, Gate<T>, SampleRows, MoveSlots>;

namespace cuda {

void launch_kernel(const AnyKernelOf<float>& kernel, void* stream);
void launch_kernel(const AnyKernelOf<Bf16>& kernel, void* stream);
void launch_kernel(const AnyKernelOf<Fp16>& kernel, void* stream);

/// Returns the number of multiprocessors of the thread's device.
int count_processors();

}  // namespace cuda

}  // namespace roll
