// MPI's header, and its error codes as errors.
#pragma once

#define OMPI_SKIP_MPICXX 1  // its old C++ bindings do not compile without warnings
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string_view>

namespace roll {

/// SystemError "<where>: MPI_Test failed: ..." unless `code` is MPI_SUCCESS.
void check_mpi(int code, std::string_view call, std::string_view where);

}  // namespace roll
