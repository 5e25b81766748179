// Loads LibTorch's CUDA libraries at run time, only on machines with an NVIDIA driver; called by main().
#pragma once

namespace roll {

/// Loads libtorch_cuda.so (with cuBLAS, cuDNN and NCCL) if the machine has NVIDIA's driver, else does nothing, which
/// saves 0.1 s and 340 MB. Call it once, before any use of torch. Throws SystemError if the driver exists, but the
/// library cannot be loaded.
void load_cuda_library();

/// Returns true if load_cuda_library() has loaded the library; always false in a build without CUDA.
bool cuda_library_is_loaded();

}  // namespace roll
