// Includes MPI's header and turns its error codes into errors.
#pragma once

#define OMPI_SKIP_MPICXX 1  // Open MPI's old C++ bindings cause warnings
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string_view>

namespace roll {

/// Checks an MPI call. SystemError "<where>: MPI_Test failed: ...": `code` is not MPI_SUCCESS.
void check_mpi(int code, std::string_view call, std::string_view where);

}  // namespace roll
