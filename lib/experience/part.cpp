#include "experience/part.h"

#include <ATen/ATen.h>

#include <memory>

#include "dist/single.h"

namespace roll {

namespace {

Communicator& alone() {
  static const std::unique_ptr<Communicator> communicator = make_single_communicator({});
  return *communicator;
}

}  // namespace

Part::Part(Experience whole)
    : here(std::move(whole)), all(step_facts(here)), place(first_numbers(here.num_sequences())), ranks(alone()) {}

std::vector<double> Part::all_gather(const std::vector<double>& local_values) const {
  at::Tensor numbers = at::zeros({all.num_sequences()}, at::kDouble);
  for (size_t b = 0; b < local_values.size(); ++b) numbers.mutable_data_ptr<double>()[place[b]] = local_values[b];
  ranks.all_reduce_sum(numbers, "a number of each response");
  return {numbers.const_data_ptr<double>(), numbers.const_data_ptr<double>() + numbers.numel()};
}

}  // namespace roll
