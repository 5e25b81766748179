// Sets the number of compute threads, and how idle ones wait.
//
// libgomp's default is to spin for milliseconds, which takes the core from other threads and programs: beside other
// work, everything takes 3 to 16 times as long. Not spinning costs small models two thirds of their speed. A short spin
// costs nothing in either case, so it is our default. libgomp reads it from the environment before main;
// app/cli/short_spin.cpp puts it there.
#pragma once

#include <string>
#include <string_view>

#include "job/world.h"

namespace roll {

/// Setting that asks libgomp for a short spin, in execve's form.
inline constexpr const char* kShortSpin = "GOMP_SPINCOUNT=3000";

/// Returns true if `variable` ("NAME=value") already sets how idle threads wait, or sets a single thread; then we
/// change nothing.
bool settles_waiting(std::string_view variable);

/// Returns the number of processors that this process may run on.
int num_allowed_cores();

/// Returns how many processors it can keep busy within its control group's CPU quota; at least 1.
int num_usable_cores();

/// Limits torch's threads to num_usable_cores(), unless OMP_NUM_THREADS is set. Torch starts one per visible core,
/// while a container may have the time of two. UserError: OMP_NUM_THREADS is not a number.
void keep_threads_to_quota();

/// Splits the host's cores over its ranks for torch, unless OMP_NUM_THREADS is set. Returns threads per rank.
int set_threads_per_rank(const World& world);

/// Returns text for people: "2 threads, short spin (GOMP_SPINCOUNT=3000)".
std::string threads_text();

}  // namespace roll
