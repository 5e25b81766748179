# Where every dependency comes from; scripts/setup.sh installs them. See third_party/README.md for the why.

# LibTorch: the one that Torch_DIR or CMAKE_PREFIX_PATH names (as -D or in the environment), else the wheel that
# scripts/setup.sh unpacked. Never a distribution's own package, which is years older.
set(ROLL_DEPS_DIR "${CMAKE_SOURCE_DIR}/.deps" CACHE PATH "Folder that scripts/setup.sh filled")
foreach(torch_dir "${Torch_DIR}" "$ENV{Torch_DIR}")
  if(torch_dir)
    list(APPEND torch_hints "${torch_dir}/../../../include")
  endif()
endforeach()
find_path(ROLL_TORCH_INCLUDE ATen/ATen.h HINTS ${torch_hints} PATHS "${ROLL_DEPS_DIR}/torch/include"
  NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH)
if(NOT ROLL_TORCH_INCLUDE)
  message(FATAL_ERROR "LibTorch not found: run scripts/setup.sh, or give -DTorch_DIR=<libtorch>/share/cmake/Torch")
endif()
get_filename_component(ROLL_TORCH_ROOT "${ROLL_TORCH_INCLUDE}/.." ABSOLUTE)
if(NOT EXISTS "${ROLL_TORCH_INCLUDE}/torch/headeronly/version.h")
  message(FATAL_ERROR "${ROLL_TORCH_ROOT}: this LibTorch is too old; 2.11 is the one this program is written for")
endif()
file(STRINGS "${ROLL_TORCH_INCLUDE}/torch/headeronly/version.h" torch_version REGEX "TORCH_VERSION_M[A-Z]+ [0-9]+$")
string(REGEX REPLACE "#define TORCH_VERSION_[A-Z]+ " "" torch_version "${torch_version}")
string(REPLACE ";" "." torch_version "${torch_version}")
message(STATUS "LibTorch ${torch_version}: ${ROLL_TORCH_ROOT}")

# CUDA: only when a compiler is there, of the major version that LibTorch was built with.
set(ROLL_CUDA OFF)
set(no_cuda_because "ROLL_WITH_CUDA is off")
if(ROLL_WITH_CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(ROLL_NVCC nvcc HINTS /usr/local/cuda/bin)
    if(ROLL_NVCC)
      set(CMAKE_CUDA_COMPILER "${ROLL_NVCC}")
    endif()
  endif()
  find_package(CUDAToolkit QUIET)
  set(torch_cudart "")
  if(EXISTS "${ROLL_TORCH_ROOT}/lib/libc10_cuda.so")
    file(STRINGS "${ROLL_TORCH_ROOT}/lib/libc10_cuda.so" torch_cudart REGEX "libcudart\\.so\\.[0-9]+" LIMIT_COUNT 1)
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    set(no_cuda_because "no CUDA compiler (nvcc) was found")
  elseif(NOT torch_cudart)
    set(no_cuda_because "this LibTorch was built without CUDA")
  elseif(NOT torch_cudart MATCHES "libcudart\\.so\\.${CUDAToolkit_VERSION_MAJOR}([^0-9]|$)")
    set(no_cuda_because "nvcc is of CUDA ${CUDAToolkit_VERSION} and LibTorch wants ${torch_cudart}")
  else()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real)
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    enable_language(CUDA)
    set(ROLL_CUDA ON)
  endif()
endif()
if(ROLL_CUDA)
  message(STATUS "CUDA ${CUDAToolkit_VERSION}: the CUDA part is built for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "Building for the CPU only, as ${no_cuda_because}; devices named cuda will be refused")
endif()

# Apache Arrow: the pyarrow that scripts/setup.sh installed, or the one whose folder ROLL_ARROW_ROOT names (it holds
# include/ and libarrow.so.*).
set(ROLL_ARROW_VERSION 26.0.1)
set(ROLL_ARROW_ROOT "${ROLL_DEPS_DIR}/arrow" CACHE PATH "Folder of a pyarrow ${ROLL_ARROW_VERSION}")
set(ROLL_ARROW OFF)
file(GLOB arrow_libraries "${ROLL_ARROW_ROOT}/libparquet.so.*" "${ROLL_ARROW_ROOT}/libarrow.so.*")
if(arrow_libraries AND EXISTS "${ROLL_ARROW_ROOT}/include/parquet/arrow/reader.h")
  set(ROLL_ARROW ON)
  message(STATUS "Apache Arrow: ${ROLL_ARROW_ROOT}")
else()
  message(STATUS "Apache Arrow not found in ${ROLL_ARROW_ROOT}: Parquet and compressed files will be refused")
endif()

# xgrammar: the sources that scripts/setup.sh unpacked, or those in the folder that ROLL_XGRAMMAR_ROOT names.
set(ROLL_XGRAMMAR_ROOT "${ROLL_DEPS_DIR}/xgrammar" CACHE PATH "Folder of xgrammar's sources")
set(ROLL_XGRAMMAR OFF)
if(EXISTS "${ROLL_XGRAMMAR_ROOT}/include/xgrammar/xgrammar.h")
  set(ROLL_XGRAMMAR ON)
  message(STATUS "xgrammar: ${ROLL_XGRAMMAR_ROOT}")
else()
  message(STATUS "xgrammar not found in ${ROLL_XGRAMMAR_ROOT}: roll serve will refuse response_format")
endif()

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(OpenMP REQUIRED COMPONENTS CXX)  # at::parallel_for is a header: without it our loops run on one core
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(ICU REQUIRED IMPORTED_TARGET icu-uc)
find_package(CURL REQUIRED)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
find_path(ROLL_XXHASH xxhash.h REQUIRED)
find_path(ROLL_CLD2 cld2/public/compact_lang_det.h REQUIRED)
find_package(CLI11 REQUIRED)

if(ROLL_ARROW)
  add_library(roll_arrow_deps INTERFACE)
  target_include_directories(roll_arrow_deps SYSTEM INTERFACE ${ROLL_ARROW_ROOT}/include)
  target_link_libraries(roll_arrow_deps INTERFACE ${arrow_libraries} fmt::fmt nlohmann_json::nlohmann_json)
  target_link_options(roll_arrow_deps INTERFACE -Wl,-rpath,${ROLL_ARROW_ROOT})
endif()

if(ROLL_XGRAMMAR)
  file(GLOB xgrammar_sources ${ROLL_XGRAMMAR_ROOT}/cpp/*.cc ${ROLL_XGRAMMAR_ROOT}/cpp/support/*.cc)
  add_library(roll_xgrammar STATIC EXCLUDE_FROM_ALL ${xgrammar_sources})
  target_include_directories(roll_xgrammar SYSTEM PUBLIC ${ROLL_XGRAMMAR_ROOT}/include
    ${ROLL_XGRAMMAR_ROOT}/3rdparty/picojson ${ROLL_XGRAMMAR_ROOT}/3rdparty/dlpack/include)
  target_compile_definitions(roll_xgrammar PRIVATE XGRAMMAR_ENABLE_CPPTRACE=0 XGRAMMAR_ENABLE_INTERNAL_CHECK=0)
  target_compile_options(roll_xgrammar PRIVATE -w -O1)
  set_target_properties(roll_xgrammar PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 9)
  target_link_libraries(roll_xgrammar PUBLIC pthread)
endif()

add_library(roll_cli_deps INTERFACE)
target_link_libraries(roll_cli_deps INTERFACE CLI11::CLI11)

add_library(roll_deps INTERFACE)
# After the system's own folders: the wheel brings a copy of fmt (and more) that must not shadow the one we link.
target_compile_options(roll_deps INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter '${ROLL_TORCH_INCLUDE}'>"
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter '${ROLL_TORCH_INCLUDE}/torch/csrc/api/include'>")
# The wheel's own search path ($ORIGIN/../../nvidia/...) finds the NVIDIA wheels unpacked beside it.
target_link_directories(roll_deps INTERFACE ${ROLL_TORCH_ROOT}/lib)
target_link_options(roll_deps INTERFACE -Wl,-rpath,${ROLL_TORCH_ROOT}/lib -Wl,--allow-shlib-undefined)
target_link_libraries(roll_deps INTERFACE torch_cpu c10 fmt::fmt nlohmann_json::nlohmann_json yaml-cpp
  MPI::MPI_C OpenMP::OpenMP_CXX PkgConfig::PCRE2 PkgConfig::ICU PkgConfig::SECCOMP PkgConfig::CRYPTO CURL::libcurl PkgConfig::MICROHTTPD cld2 pthread dl)
if(ROLL_CUDA)
  # -z lazy: link_cuda_late needs it, and some systems bind all at the start by default.
  target_compile_definitions(roll_deps INTERFACE USE_C10D_NCCL)
  target_include_directories(roll_deps SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_options(roll_deps INTERFACE -Wl,-rpath,${CUDAToolkit_LIBRARY_DIR} -Wl,-z,lazy)
  target_link_libraries(roll_deps INTERFACE torch_cuda c10_cuda CUDA::cudart)
endif()

# link_cuda_late(target): the linker has checked what we call of libtorch_cuda; the loader is not to load it, as
# device/cuda_library.h does so where there is a GPU.
function(link_cuda_late target)
  if(ROLL_CUDA)
    find_program(ROLL_PATCHELF patchelf REQUIRED)
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND ${ROLL_PATCHELF} --remove-needed libtorch_cuda.so $<TARGET_FILE:${target}>)
  endif()
endfunction()

find_program(ROLL_LLD ld.lld)
if(ROLL_LLD)
  add_link_options(-fuse-ld=lld)
endif()
find_program(ROLL_CCACHE ccache)
if(ROLL_CCACHE)
  # Precompiled headers need both sloppiness words; -fpch-preprocess makes ccache see through them. Paths
  # below the root count as relative ones, so that the cache of one checkout serves the others.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${ROLL_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${ROLL_CCACHE})
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
