// Launches the sampler's kernels on a GPU, for lib/decode: those of decode_kernels.h, attend_pages.h, combine_parts.h,
// expert_choice.h, expert_products.h, sample_rows.h and advance_slots.h. Depends on no tensor library; takes device
// pointers. In a program built without CUDA all functions throw SystemError.
#pragma once

#include <variant>

#include "cuda/advance_slots.h"
#include "cuda/attend_pages.h"
#include "cuda/combine_parts.h"
#include "cuda/expert_products.h"

namespace roll {

/// A kernel of the sampler with its arguments. T: type of weights, GEMM inputs and outputs, and KV cache. The second
/// parameter of AttendPages is the largest head size, that of MultiplyGroups the entries per tile.
template <class T>
using AnyKernelOf =
    std::variant<UpdateSlots, CopyPages, StartRows<T>, AddNorm<T>, PlaceHeads<T>, AttendPages<T, 64>,
                 AttendPages<T, 128>, AttendPages<T, 256>, CombineParts<T>, Gate<T>, ChooseExperts, SortChoices,
                 MultiplyGroups<T, 16>, MultiplyGroups<T, 64>, CombineExperts, SampleRows, AdvanceSlots>;

namespace cuda {

/// Launches the kernel, for SampleRows its four kernels, on `stream`, a cudaStream_t of the thread's current device.
/// Does not wait. Throws std::runtime_error if the launch fails.
void launch_kernel(const AnyKernelOf<float>& kernel, void* stream);
void launch_kernel(const AnyKernelOf<Bf16>& kernel, void* stream);
void launch_kernel(const AnyKernelOf<Fp16>& kernel, void* stream);

/// Returns the number of multiprocessors of the thread's current CUDA device.
int count_processors();

}  // namespace cuda

}  // namespace roll
