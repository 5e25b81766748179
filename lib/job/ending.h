// Ends a job after an error, so that its message is printed once and no rank waits for ever. In a process that ends by
// an exception, app/main.cpp prints error_line() and calls abort_all_ranks(). The table lists the ways in which a job
// ends early: the rank, program or file that notices it; the time until the job ends; its exit code and message.
//
// clang-format off
//  case                         noticed by                 the job ends within       exit code   message
//  ---------------------------- -------------------------- ------------------------- ----------- ---------------------
//  a rank throws                the rank, then all others  5 s, the limit for        user 2      the error, with
//                               (agree.h, MPI_Abort)       MPI_Abort, destructors,   system 1    "[rank 3]"
//                                                          exit handlers             bug 70
//  destructors hang after an    deadline.h                 30 s for the exception to the error's the error
//  error                                                   unwind, then the 5 s
//                                                          above
//  a rank is killed             mpirun, read by            seconds                   1           "rank 3 on host h2
//                               supervisor.h                                                     was killed by signal
//                                                                                                9"
//  a rank hangs, or its host is out of reach:
//    before all ranks have met  supervisor.h               backend_timeout + 30 s    1           "the ranks did not
//                                                                                                all start in time"
//    during the work            every rank that waits for  backend_timeout, counted  1           "waited 30 min and
//                               it (transport/wait)        in each collective                    nothing came from
//                                                                                                rank 8"
//    after the work             every rank that waits for  backend_timeout           1           "waited 30 min and
//                               it, by SIGALRM, also in                                          not all other ranks
//                               MPI (deadline.h)                                                 came"
//  mpirun loses a host          supervisor.h               8 s after the first sign  1           "the connection to
//                                                          of a failure; then mpirun             host h2 is lost"
//                                                          is killed
//  mpirun is killed             supervisor.h, which kills  at once                   1           "mpirun was killed by
//                               the ranks                                                        signal 9"
//  the supervisor is killed     the kernel, which ends     seconds                   none        none
//                               mpirun or the only rank
//  Ctrl-C, SIGTERM, SIGHUP      all ranks together         the current token while   SIGINT 130  "stopped by SIGTERM"
//                               (process/stop.h,           sampling, the current     SIGTERM 143
//                               stop_agreed())             step while training       SIGHUP 129
//    before a rank catches      mpirun, whose end launch.h at once; the signal kills as above    "stopped by SIGTERM"
//    these signals              reads                      the rank
//    a second Ctrl-C or         every rank, supervisor.h   at once                   that of the "ended at once by the
//    SIGTERM, not SIGHUP                                                             first       second signal"
//                                                                                    signal
//  SIGUSR1, or the time limit   as for Ctrl-C              as for Ctrl-C             75          "stopped by the time
//  (time_limit.h)                                                                                limit"
//
// With max_restarts, a job is started again (launch.h, restart.h) unless its exit code is 0, 2, 75, 129, 130 or 143.
// clang-format on
#pragma once

#include <exception>
#include <string>

#include "dist/agree.h"

namespace roll {

/// Returns the error's line for standard error, with this rank's number unless it is 0. Returns "" if another rank
/// prints the error: for AnotherRankFailed (dist/agree.h), and for Stopped on all ranks but the first.
std::string error_line(const std::exception& error);

/// In a running MPI job, ends every rank with the error's exit code by MPI_Abort and does not return. A rank whose
/// error_line() is "" first waits 3 s for the rank that prints the error. Without MPI it returns, but this process has
/// only 5 s left (end_within() in deadline.h), even if a destructor hangs.
void abort_all_ranks(const std::exception& error);

}  // namespace roll
