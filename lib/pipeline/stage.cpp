#include "pipeline/stage.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

PipelineStage::PipelineStage(StageSplit split, Mesh& mesh)
    : split_(std::move(split)), mesh_(mesh), in_flight_(static_cast<size_t>(split_.num_chunks())) {
  ROLL_CHECK_EQ(split_.num_stages(), mesh.shape().pp, "each stage has ranks");
}

std::vector<at::Tensor> PipelineStage::receive(const std::vector<std::vector<int64_t>>& sizes,
                                               const at::TensorOptions& options) {
  std::vector<at::Tensor> inputs;
  for (const auto& input_sizes : sizes)
    inputs.push_back(await(*mesh_.previous_stage().activations, input_sizes, options, "activations"));
  if (!at::GradMode::is_enabled()) return inputs;
  for (at::Tensor& input : inputs) input.set_requires_grad(true);
  in_flight_[chunk_].push_back({inputs, {}});
  return inputs;
}

void PipelineStage::send(const std::vector<at::Tensor>& outputs) {
  for (const at::Tensor& output : outputs) start(*mesh_.next_stage().activations, output.detach(), "activations");
  if (!at::GradMode::is_enabled()) return;
  if (is_begin()) in_flight_[chunk_].emplace_back();
  in_flight_[chunk_].back().outputs = outputs;
}

void PipelineStage::backward(const at::Tensor& loss) {
  auto& in_flight = in_flight_[chunk_];
  ROLL_CHECK(!in_flight.empty(), "a forward comes before its backward");
  const auto [inputs, outputs] = std::move(in_flight.front());
  in_flight.pop_front();
  std::vector<at::Tensor> trained, gradients;  // outputs that require gradients
  for (const at::Tensor& output : outputs) {
    const at::Tensor gradient =
        await(*mesh_.next_stage().gradients, output.sizes(), output.options().requires_grad(false), "their gradients");
    if (!output.requires_grad()) continue;
    trained.push_back(output);
    gradients.push_back(gradient);
  }
  if (is_end() && loss.defined() && loss.requires_grad()) loss.backward();
  if (!trained.empty()) torch::autograd::backward(trained, gradients);
  for (const at::Tensor& input : inputs) {
    const at::Tensor& gradient = input.grad();
    start(*mesh_.previous_stage().gradients, gradient.defined() ? gradient : at::zeros_like(input), "their gradients");
  }
}

at::Tensor PipelineStage::broadcast_result(const at::Tensor& result) {
  const int root = ranks().size() - 1;
  at::Tensor sizes = is_last() ? at::tensor(result.sizes(), at::kLong) : at::Tensor();
  at::Tensor dims = at::full({1}, is_last() ? result.dim() : 0, at::kLong);
  ranks().broadcast(dims, root, "dimensions of forward results");
  if (!is_last()) sizes = at::empty({dims.item<int64_t>()}, at::kLong);
  ranks().broadcast(sizes, root, "sizes of forward results");
  at::Tensor received_result = result;
  if (!is_last())
    received_result = at::empty({sizes.const_data_ptr<int64_t>(), static_cast<size_t>(sizes.numel())}, at::kFloat);
  ranks().broadcast(received_result, root, "forward results");
  return received_result;
}

void PipelineStage::finish() {
  for (const auto& in_flight : in_flight_) ROLL_CHECK(in_flight.empty(), "each forward has had its backward");
  const Stopwatch watch;
  for (; !sent_.empty(); sent_.pop_front()) sent_.front()->wait();
  waited_s_ += watch.seconds();
}

double PipelineStage::take_waited_s() {
  return std::exchange(waited_s_, 0);
}

void PipelineStage::start(Communicator& channel, const at::Tensor& tensor, const char* name) {
  for (; !sent_.empty() && sent_.front()->is_done(); sent_.pop_front()) sent_.front()->wait();
  sent_.push_back(channel.start_broadcast(tensor.contiguous(), channel.rank(), name));
}

at::Tensor PipelineStage::await(Communicator& channel, at::IntArrayRef sizes, const at::TensorOptions& options,
                                const char* name) {
  const Stopwatch watch;
  const double before_s = thread_cpu_s();
  at::Tensor received = at::empty(sizes, options);
  channel.broadcast(received, 1 - channel.rank(), name);
  waited_s_ += watch.seconds();
  receiving_cpu_s_ += thread_cpu_s() - before_s;
  return received;
}

}  // namespace roll
