// What statistics are taken of, a domain of a step or all of it: its sequences are shared out among ranks, each of
// which knows the facts of all and has the tokens of its own. Numbers that all ranks are to have are float64 and come
// from few collectives; where one rank has everything, from none.
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

  /// Of a part that is here as a whole.
  explicit Part(Experience whole);
  Part(Experience own, StepFacts facts, std::vector<int64_t> places, Communicator& among)
      : here(std::move(own)), all(std::move(facts)), place(std::move(places)), ranks(among) {}

  /// One number of each sequence that is here -> of each of all. **Collective** over the ranks.
  std::vector<double> all_gather(const std::vector<double>& of_here) const;
  /// Of the own sequences.
  template <class T>
  std::vector<T> own(const std::vector<T>& of_all) const {
    return picked(of_all, place);
  }
};

}  // namespace roll
