// Sets the number of this process's compute threads (torch's, by libgomp), and how idle ones wait for work.
//
// libgomp's default is to spin for milliseconds, which takes the core from other threads and programs: beside other
// work, everything takes 3 to 16 times as long. Not spinning costs small models two thirds of their speed. A short spin
// costs nothing in either case, so it is our default. libgomp reads the number of spins from the environment before
// main(); app/cli/short_spin.cpp sets it there.
#pragma once

#include <string>
#include <string_view>

#include "job/world.h"

namespace roll {

/// Environment variable, as "NAME=value" for execve(2), that asks libgomp for a short spin.
inline constexpr const char* kShortSpin = "GOMP_SPINCOUNT=3000";

/// Returns true if `variable` ("NAME=value", of this process's environment) already decides how idle threads wait, or
/// asks for a single thread. kShortSpin is then not added.
bool settles_waiting(std::string_view variable);

/// Returns the number of processors that this process may run on.
int num_allowed_cores();

/// Returns how many processors this process can keep busy: num_allowed_cores(), or fewer if its control group has a CPU
/// quota (rounded down); at least 1.
int num_usable_cores();

/// Limits torch's threads to num_usable_cores(), unless OMP_NUM_THREADS is set. By default torch starts a thread for
/// each core that it sees, but a container may have the CPU time of only two. main() calls it. Throws UserError if
/// OMP_NUM_THREADS is not a number.
void keep_threads_to_quota();

/// Sets torch's threads to this rank's share of the usable cores, num_usable_cores() / world.local_size, unless
/// OMP_NUM_THREADS is set. Returns the number of threads.
int set_threads_per_rank(const World& world);

/// Returns the number of torch's threads and how idle ones wait, for logs: "2 threads, short spin
/// (GOMP_SPINCOUNT=3000)".
std::string threads_text();

}  // namespace roll
