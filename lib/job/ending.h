// How a process ends after an error: what it says, its exit code, and that no other rank waits for it for ever.
// app/main.cpp uses the three in this order; the library only throws.
#pragma once

#include <exception>
#include <string>

#include "dist/agree.h"

namespace roll {

/// The line for standard error, with the rank where there are several; "" where another rank speaks (AnotherRankFailed,
/// and Stopped on all ranks but the first).
std::string error_line(const std::exception& error);

/// Ends every rank with the error's exit code when this process is part of an MPI job that has begun and not ended
/// (then it does not return). A rank that has nothing to say first waits for the one that speaks. In any case this
/// process has only seconds left from here on, whatever MPI_Abort or a destructor waits for.
void abort_all_ranks(const std::exception& error);

}  // namespace roll
