// Ends a job after an error, so that its message is printed once and no rank waits for ever. In a process that ends by
// an exception, app/main.cpp prints error_line() and calls abort_all_ranks(). The table says what happens in each case
// and which file sees to it ("itself" is the rank).
//
// clang-format off
//  what happens               who notices                within                     exit code   message
//  a rank throws              itself, then all others    5 s: MPI_Abort, and time   2 user, 1   its own line, with
//                             (agree.h, MPI_Abort)       for leaving                system, 70  "[rank 3]"
//                                                                                   bug
//  a rank is killed           mpirun, read by            seconds                    1           "rank 3 on host h2 was
//                             supervisor.h                                                      killed by signal 9"
//  a rank hangs, or its host  every rank that waits for  backend_timeout, in each   1           "waited 30 min and
//  is out of reach            it (transport/wait)        collective                             nothing came from rank
//                                                                                               8"
//  mpirun loses a host        supervisor.h               8 s after the first word   1           "the connection to host
//                                                        of a failure; then mpirun              h2 is lost"
//                                                        is killed
//  a rank does not start      supervisor.h               backend_timeout + 30 s     1           "the ranks did not all
//                                                                                               start in time"
//  a rank does not come to    deadline.h (SIGALRM, also  backend_timeout; 30 s      the         "not all other ranks
//  the end, or its            where MPI waits)           while it unwinds, 5 s on   error's     came"
//  destructors wait                                      its way out
//  mpirun is killed           supervisor.h, which ends   at once                    1           "mpirun was killed by
//                             the ranks                                                         signal 9"
//  the supervisor is killed   the kernel ends mpirun,    seconds                    -           -
//                             or the only rank
//  Ctrl-C, SIGTERM, SIGHUP    all ranks, together        the current token; the     130, 143,   "stopped by SIGTERM"
//  (process/stop.h)              (stop_agreed)              step, once it trains       129
//  a stop signal comes to a   mpirun, read by            at once                    130, 143,   "stopped by SIGTERM"
//  rank without its handler   launch.h                                              129
//  Ctrl-C, SIGTERM again      every rank, supervisor.h   at once                    130, 143    "ended at once by
//                                                                                               the second signal"
//  SIGUSR1, the time limit    as Ctrl-C                  as Ctrl-C                  75          "stopped by the time
//  (time_limit.h)                                                                               limit"
//
// With max_restarts, a job that ends with none of 0, 2, 75, 129, 130, 143 is started again (launch.h, restart.h).
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
