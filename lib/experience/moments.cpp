#include "experience/moments.h"

#include <ATen/ATen.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {
namespace {

at::Tensor summed(at::Tensor local, const AllReduce& all_reduce) {
  if (all_reduce) all_reduce(local);
  return local;
}

}  // namespace

double Moments::variance() const {
  return count < 2 ? 0 : squares / (count - 1);
}
double Moments::deviation() const {
  return std::sqrt(variance());
}

Moments global_moments(const at::Tensor& values, const at::Tensor& mask, const AllReduce& all_reduce) {
  ROLL_CHECK(values.sizes() == mask.sizes(), "every value has its mask");
  const at::Tensor chosen = values.detach().to(at::kCPU, at::kDouble).masked_select(mask.ne(0).to(at::kCPU));
  const at::Tensor local = at::zeros({2}, at::kDouble);
  local[0] = static_cast<double>(chosen.numel());
  local[1] = chosen.sum();
  const at::Tensor first = summed(local, all_reduce);
  Moments moments;
  moments.count = first[0].item<double>();
  moments.mean = moments.count > 0 ? first[1].item<double>() / moments.count : 0;
  moments.squares = summed((chosen - moments.mean).square().sum().reshape({1}), all_reduce).item<double>();
  return moments;
}

at::Tensor whiten(const at::Tensor& values, const at::Tensor& mask, const AllReduce& all_reduce) {
  const Moments moments = global_moments(values, mask, all_reduce);
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
