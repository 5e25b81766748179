#include "pipeline/stage.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

/// Returns the tensors' elements in one tensor.
at::Tensor joined_elements(const std::vector<at::Tensor>& tensors) {
  if (tensors.size() == 1) return tensors.front().detach().contiguous();
  std::vector<at::Tensor> flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.detach().reshape({-1}));
  return at::cat(flat);
}

std::vector<std::vector<int64_t>> sizes_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<int64_t>> sizes;
  for (const at::Tensor& tensor : tensors) sizes.push_back(tensor.sizes().vec());
  return sizes;
}

}  // namespace

PipelineStage::PipelineStage(StageSplit split, Mesh& mesh)
    : split_(std::move(split)), mesh_(mesh), in_flight_(static_cast<size_t>(split_.num_chunks())) {
  ROLL_CHECK_EQ(split_.num_stages(), mesh.shape().pp, "each stage has ranks");
}

std::vector<at::Tensor> PipelineStage::receive(const std::vector<std::vector<int64_t>>& sizes,
                                               const at::TensorOptions& options) {
  const std::vector<at::Tensor> inputs = await(*mesh_.previous_stage().activations, sizes, options, "activations");
  if (!at::GradMode::is_enabled()) return inputs;
  for (const at::Tensor& input : inputs) input.set_requires_grad(true);
  in_flight_[chunk_].push_back({inputs, {}});
  return inputs;
}

void PipelineStage::send(const std::vector<at::Tensor>& outputs) {
  start(*mesh_.next_stage().activations, outputs, "activations");
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
  if (!outputs.empty()) {
    const auto received = await(*mesh_.next_stage().gradients, sizes_of(outputs),
                                outputs.front().options().requires_grad(false), "their gradients");
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].requires_grad()) continue;
      trained.push_back(outputs[i]);
      gradients.push_back(received[i]);
    }
  }
  if (is_end() && loss.defined() && loss.requires_grad()) loss.backward();
  if (!trained.empty()) torch::autograd::backward(trained, gradients);
  if (inputs.empty()) return;
  std::vector<at::Tensor> input_gradients;
  for (const at::Tensor& input : inputs)
    input_gradients.push_back(input.grad().defined() ? input.grad() : at::zeros_like(input));
  start(*mesh_.previous_stage().gradients, input_gradients, "their gradients");
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

void PipelineStage::start(Communicator& channel, const std::vector<at::Tensor>& tensors, const char* name) {
  for (; !sent_.empty() && sent_.front()->is_done(); sent_.pop_front()) sent_.front()->wait();
  sent_.push_back(channel.start_broadcast(joined_elements(tensors), channel.rank(), name));
}

std::vector<at::Tensor> PipelineStage::await(Communicator& channel, const std::vector<std::vector<int64_t>>& sizes,
                                             const at::TensorOptions& options, const char* name) {
  const Stopwatch watch;
  const double before_s = thread_cpu_s();
  std::vector<int64_t> numels;
  for (const auto& shape : sizes) numels.push_back(c10::multiply_integers(shape));
  at::Tensor message =
      sizes.size() == 1 ? at::empty(sizes.front(), options) : at::empty({c10::sum_integers(numels)}, options);
  channel.broadcast(message, 1 - channel.rank(), name);
  std::vector<at::Tensor> received = {message};
  if (sizes.size() > 1) {
    received = message.split_with_sizes(numels);
    for (size_t i = 0; i < sizes.size(); ++i) received[i] = received[i].view(sizes[i]).clone();
  }
  waited_s_ += watch.seconds();
  receiving_cpu_s_ += thread_cpu_s() - before_s;
  return received;
}

}  // namespace roll
