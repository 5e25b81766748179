// Ends a job after an error: its message, its exit code, and that no rank waits for ever. app/main.cpp calls the two
// functions in this order; the library only throws.
//
// clang-format off
//  what happens               who notices                within                     exit code   words
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
//  one of these to a rank     mpirun, read by            at once                    130, 143,   "stopped by SIGTERM"
//  that does not listen yet   launch.h                                              129
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

/// Returns the line for standard error, with the rank if there are several; "" if another rank reports
/// (AnotherRankFailed, and Stopped on all ranks but the first).
std::string error_line(const std::exception& error);

/// Ends every rank with the error's exit code and does not return, if this process is in a running MPI job. A silent
/// rank first waits for the one that reports. In any case, this process has only seconds left, even if MPI_Abort or a
/// destructor hangs.
void abort_all_ranks(const std::exception& error);

}  // namespace roll
