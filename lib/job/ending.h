// How a job ends after an error: what is said, the exit code, and that no rank waits for ever. app/main.cpp uses the
// two functions in this order; the library only throws.
//
//   who dies                  who notices               within                     exit code       words
//   a rank throws             itself, then all others   5 s (MPI_Abort and time    2 user, 1       its own line, with
//                             (agree.h, MPI_Abort)      for leaving)               system, 70 bug  "[rank 3]"
//   a rank is killed          mpirun, told to           seconds                    1               "rank 3 on host h2
//                             stand_by.h                                                           was killed by signal
//                             9"
//   a rank hangs, or its      every rank that waits     backend_timeout, in each   1               "waited 30 min and
//   nothing host is out of reach      for it (transport/wait)   collective                                 came from
//   rank 8" mpirun loses a host       stand_by.h                8 s after the first word   1               "the
//   connection to host h2
//                                                       of a failure, then mpirun                  is lost"
//                                                       is killed
//   a rank does not start     stand_by.h                backend_timeout + 30 s     1               "the ranks did not
//   all
//                                                                                                  start in time"
//   a rank does not come to   deadline.h (SIGALRM,      backend_timeout; 30 s      the error's     "not all other ranks
//   came" the end, or its           also where MPI waits)     while it unwinds, 5 s destructors wait on its way out
//   Ctrl-C, SIGTERM           every rank at the next    the current token or       130, 143        "stopped by Ctrl-C"
//                             safe place (base/stop.h)  micro-batch; at the second
//                                                       signal at once
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
