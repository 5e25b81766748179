// The sequences over which statistics are taken: a domain of a step, or all of it. They are distributed over ranks,
// each of which knows the facts of all and has the tokens of its own. Numbers that all ranks need are float64 and come
// from few collectives, or from none where one rank has everything.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/communicator.h"
#include "experience/experience.h"

namespace roll {

struct Part {
  Experience here;             // the sequences of this rank
  StepFacts all;               // of every rank
  std::vector<int64_t> place;  // [sequences of this rank] where each is in `all`
  Communicator& ranks;         // that share out the part's sequences

  /// A part of which this rank has every sequence.
  explicit Part(Experience whole);
  Part(Experience own, StepFacts facts, std::vector<int64_t> places, Communicator& among)
      : here(std::move(own)), all(std::move(facts)), place(std::move(places)), ranks(among) {}

  /// From one number for each own sequence to those of all sequences. **Collective** over the ranks.
  std::vector<double> all_gather(const std::vector<double>& of_here) const;
  /// The elements of the own sequences.
  template <class T>
  std::vector<T> own(const std::vector<T>& of_all) const {
    return picked(of_all, place);
  }
};

}  // namespace roll
