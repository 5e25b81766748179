// Includes MPI's header, and turns MPI's error codes into exceptions.
#pragma once

#define OMPI_SKIP_MPICXX 1  // Open MPI's old C++ bindings cause warnings
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string_view>

namespace roll {

/// Throws SystemError "WHERE: MPI_Test failed: ..." if `code`, the result of the MPI function named `call`, is not
/// MPI_SUCCESS.
void check_mpi(int code, std::string_view call, std::string_view where);

}  // namespace roll
