// Includes MPI's header, and turns MPI's error codes into exceptions. All code that calls MPI includes this file.
#pragma once

#define OMPI_SKIP_MPICXX 1  // Open MPI's old C++ bindings cause warnings
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string_view>

namespace roll {

/// Throws SystemError "WHERE: CALL failed: ..." if `code` is not MPI_SUCCESS. code: the result of the MPI function
/// `call`, such as "MPI_Test"; where: Wait::where().
void check_mpi(int code, std::string_view call, std::string_view where);

}  // namespace roll
