#include "experience/part.h"

#include <ATen/ATen.h>

#include <memory>

#include "dist/single.h"

namespace roll {

namespace {

Communicator& single_rank() {
  static const std::unique_ptr<Communicator> communicator = make_single_communicator({});
  return *communicator;
}

}  // namespace

Part::Part(Experience whole)
    : experience(std::move(whole)),
      facts(step_facts(experience)),
      global_index(first_numbers(experience.num_sequences())),
      ranks(single_rank()) {}

std::vector<double> Part::all_gather(const std::vector<double>& local_values) const {
  at::Tensor numbers = at::zeros({facts.num_sequences()}, at::kDouble);
  for (size_t b = 0; b < local_values.size(); ++b)
    numbers.mutable_data_ptr<double>()[global_index[b]] = local_values[b];
  ranks.all_reduce_sum(numbers, "a number of each response");
  return {numbers.const_data_ptr<double>(), numbers.const_data_ptr<double>() + numbers.numel()};
}

}  // namespace roll
