// LibTorch's CUDA half, loaded only where a GPU can be.
#pragma once

namespace roll {

/// Loads libtorch_cuda.so, with cuBLAS, cuDNN and NCCL behind it, where this machine has NVIDIA's driver; to be called
/// at the start of main. A process that can use no GPU saves 0.1 s and 340 MB. SystemError: the driver is here, and the
/// library cannot be loaded.
void load_cuda_library();

/// False also in a build without CUDA.
bool cuda_library_is_loaded();

}  // namespace roll
