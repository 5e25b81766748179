#include "experience/moments.h"

#include <ATen/ATen.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {

double Moments::variance() const {
  return count < 2 ? 0 : squares / (count - 1);
}
double Moments::deviation() const {
  return std::sqrt(variance());
}

Moments masked_moments(const at::Tensor& values, const at::Tensor& mask, Communicator* ranks) {
  const auto sum_over_ranks = [ranks](at::Tensor sums) {
    if (ranks) ranks->all_reduce_sum(sums, "sums of values");
    return sums;
  };
  ROLL_CHECK(values.sizes() == mask.sizes(), "every value has its mask");
  const at::Tensor chosen = values.detach().to(at::kCPU, at::kDouble).masked_select(mask.ne(0).to(at::kCPU));
  const at::Tensor sums =
      sum_over_ranks(at::tensor({static_cast<double>(chosen.numel()), chosen.sum().item<double>()}, at::kDouble));
  Moments moments;
  moments.count = sums[0].item<double>();
  moments.mean = moments.count > 0 ? sums[1].item<double>() / moments.count : 0;
  moments.squares = sum_over_ranks((chosen - moments.mean).square().sum()).item<double>();
  return moments;
}

at::Tensor whiten(const at::Tensor& values, const at::Tensor& mask, Communicator& ranks) {
  const Moments moments = masked_moments(values, mask, &ranks);
  const at::Tensor exact = values.to(at::kDouble);
  const bool enough = moments.count >= 2;
  const at::Tensor whitened = enough ? (exact - moments.mean) / std::sqrt(moments.variance() + 1e-8) : exact;
  return at::where(mask.ne(0), whitened, at::zeros({}, at::kDouble)).to(at::kFloat);
}

void RunningMoments::add(const Moments& batch) {
  if (batch.count == 0) return;
  const double count = moments_.count + batch.count;
  const double delta = batch.mean - moments_.mean;
  moments_.squares += batch.squares + delta * delta * moments_.count * batch.count / count;
  moments_.mean += delta * batch.count / count;
  moments_.count = count;
}

Json RunningMoments::state() const {
  return {{"count", moments_.count}, {"mean", moments_.mean}, {"squares", moments_.squares}};
}

void RunningMoments::load_state(const Json& state) {
  moments_ = {state.at("count").get<double>(), state.at("mean").get<double>(), state.at("squares").get<double>()};
}

}  // namespace roll
