// Sequences over which statistics are taken: one domain of a step, or the whole step. Each rank has the tokens of its
// own sequences and the facts of all. Numbers that all ranks need are float64 and take few collectives, or none on a
// single rank.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/communicator.h"
#include "experience/experience.h"

namespace roll {

struct Part {
  Experience here;             // sequences of this rank
  StepFacts all;               // facts of all ranks' sequences
  std::vector<int64_t> place;  // [sequences of this rank] index in `all`
  Communicator& ranks;         // ranks that share the part's sequences

  /// Makes a part whose sequences are all on this rank.
  explicit Part(Experience whole);
  Part(Experience own, StepFacts facts, std::vector<int64_t> places, Communicator& among)
      : here(std::move(own)), all(std::move(facts)), place(std::move(places)), ranks(among) {}

  /// Returns one number per sequence of the part, given those of the own sequences. **Collective** over the ranks.
  std::vector<double> all_gather(const std::vector<double>& local_values) const;
  /// Returns the elements that belong to the own sequences.
  template <class T>
  std::vector<T> own(const std::vector<T>& all_values) const {
    return picked(all_values, place);
  }
};

}  // namespace roll
