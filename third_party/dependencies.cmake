# Where every dependency comes from; scripts/setup.sh installs them. See third_party/README.md for the why.

# LibTorch: the PyPI wheel unpacked by scripts/setup.sh, unless Torch_DIR / CMAKE_PREFIX_PATH name another one.
set(ROLL_DEPS_DIR "${CMAKE_SOURCE_DIR}/.deps" CACHE PATH "Folder that scripts/setup.sh filled")
find_path(ROLL_TORCH_INCLUDE ATen/ATen.h
  HINTS "${Torch_DIR}/../../../include" ENV TORCH_HOME PATH_SUFFIXES include torch/include
  PATHS "${ROLL_DEPS_DIR}/torch/include")
if(NOT ROLL_TORCH_INCLUDE)
  message(FATAL_ERROR "LibTorch not found: run scripts/setup.sh, or give -DTorch_DIR=<libtorch>/share/cmake/Torch")
endif()
get_filename_component(ROLL_TORCH_ROOT "${ROLL_TORCH_INCLUDE}/.." ABSOLUTE)
message(STATUS "LibTorch: ${ROLL_TORCH_ROOT}")

# CUDA: only when a compiler is there and LibTorch was built with CUDA.
set(ROLL_CUDA OFF)
if(ROLL_WITH_CUDA)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(ROLL_NVCC nvcc HINTS /usr/local/cuda/bin)
    if(ROLL_NVCC)
      set(CMAKE_CUDA_COMPILER "${ROLL_NVCC}")
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER AND EXISTS "${ROLL_TORCH_ROOT}/lib/libtorch_cuda.so")
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real)
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(ROLL_CUDA ON)
    message(STATUS "CUDA ${CUDAToolkit_VERSION}: the CUDA part is built for ${CMAKE_CUDA_ARCHITECTURES}")
  else()
    message(STATUS "No nvcc (or a LibTorch without CUDA): building for the CPU only; devices named cuda will be refused")
  endif()
endif()

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(OpenMP REQUIRED COMPONENTS CXX)  # at::parallel_for is a header: without it our loops run on one core
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(ICU REQUIRED IMPORTED_TARGET icu-uc)
find_package(CLI11 REQUIRED)

add_library(roll_cli_deps INTERFACE)
target_link_libraries(roll_cli_deps INTERFACE CLI11::CLI11)

add_library(roll_deps INTERFACE)
# After the system's own folders: the wheel brings a copy of fmt (and more) that must not shadow the one we link.
target_compile_options(roll_deps INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${ROLL_TORCH_INCLUDE}>"
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${ROLL_TORCH_INCLUDE}/torch/csrc/api/include>")
# The wheel's own search path ($ORIGIN/../../nvidia/...) finds the NVIDIA wheels unpacked beside it.
target_link_directories(roll_deps INTERFACE ${ROLL_TORCH_ROOT}/lib)
target_link_options(roll_deps INTERFACE -Wl,-rpath,${ROLL_TORCH_ROOT}/lib -Wl,--allow-shlib-undefined)
target_link_libraries(roll_deps INTERFACE torch_cpu c10 fmt::fmt nlohmann_json::nlohmann_json yaml-cpp
  MPI::MPI_C OpenMP::OpenMP_CXX PkgConfig::PCRE2 PkgConfig::ICU pthread dl)
if(ROLL_CUDA)
  # --no-as-needed: libtorch_cuda registers its kernels when loaded; nothing refers to it by name.
  target_compile_definitions(roll_deps INTERFACE USE_C10D_NCCL)
  target_include_directories(roll_deps SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_options(roll_deps INTERFACE -Wl,-rpath,${CUDAToolkit_LIBRARY_DIR})
  target_link_libraries(roll_deps INTERFACE -Wl,--no-as-needed torch_cuda c10_cuda -Wl,--as-needed CUDA::cudart)
endif()

find_program(ROLL_MOLD mold)
if(ROLL_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
  add_link_options(-fuse-ld=mold)
endif()
find_program(ROLL_CCACHE ccache)
if(ROLL_CCACHE)
  # Precompiled headers need both sloppiness words; -fpch-preprocess makes ccache see through them.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${ROLL_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${ROLL_CCACHE})
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
