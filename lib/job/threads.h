// How many threads compute, and how those wait that have nothing to do.
//
// libgomp's default is to spin for milliseconds, which burns the core that the other thread, or another program, needs:
// beside other work everything takes 3 to 16 times as long. Not spinning at all costs small models two thirds of their
// speed. A short spin costs nothing in either case, so it is our default; libgomp reads it from the environment before
// main, so app/cli/short_spin.cpp puts it there.
#pragma once

#include <string>
#include <string_view>

#include "job/world.h"

namespace roll {

/// The variable that asks libgomp for a short spin, as execve takes it.
inline constexpr const char* kShortSpin = "GOMP_SPINCOUNT=3000";

/// Whether `variable` ("NAME=value") already says how idle threads wait, or that there are none: then it stays so.
bool settles_waiting(std::string_view variable);

/// Processors that this process may run on, of those that the machine has.
int num_allowed_cores();

/// How many of them its threads can keep busy: no more than the quota of its control group pays for; at least 1.
int num_usable_cores();

/// Torch starts a thread for each core that it sees, where a container may have the time of two: no more than those,
/// unless OMP_NUM_THREADS says otherwise. UserError: that is no number.
void keep_threads_to_quota();

/// Splits the host's cores over its ranks for torch, unless OMP_NUM_THREADS says otherwise. Returns threads per rank.
int set_threads_per_rank(const World& world);

/// For people: "2 threads, short spin (GOMP_SPINCOUNT=3000)".
std::string threads_text();

}  // namespace roll
