#include "dist/communicator.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"

namespace roll {

std::string to_string(const Whereabouts& place) {
  const std::string step = place.step < 0 ? "" : fmt::format(", step {}", place.step);
  return fmt::format("rank {} of {}{}", place.rank, place.size, step);
}

Communicator::Communicator(Membership membership) : membership_(std::move(membership)) {
  if (!membership_.traffic) membership_.traffic = std::make_shared<Traffic>();
}

Whereabouts Communicator::place() const {
  return {membership_.world.rank, membership_.world.size, membership_.traffic->step()};
}

Membership Communicator::membership_in(const std::vector<int>& members, const std::string& group) const {
  const auto found = std::find(members.begin(), members.end(), rank());
  ROLL_CHECK(found != members.end(), "a rank belongs to the group that it creates");
  return {.rank = static_cast<int>(found - members.begin()),
          .size = static_cast<int>(members.size()),
          .world = membership_.world,
          .group = group,
          .traffic = membership_.traffic};
}

bool is_narrow(at::ScalarType dtype) {
  return dtype == at::kBFloat16 || dtype == at::kHalf;
}

namespace {

void check_summable(const at::Tensor& tensor, std::string_view name) {
  const at::ScalarType dtype = tensor.scalar_type();
  const bool known = dtype == at::kFloat || dtype == at::kDouble || dtype == at::kLong || is_narrow(dtype);
  ROLL_CHECK(known, fmt::format("'{}' cannot be reduced: its dtype is {}", name, c10::toString(dtype)));
}

}  // namespace

void Communicator::all_reduce(at::Tensor& tensor, Reduce op, std::string_view name) {
  check_summable(tensor, name);
  at::Tensor dense = tensor.detach().contiguous();
  reduce_dense(dense, op, name);
  if (dense.data_ptr() != tensor.data_ptr()) tensor.detach().copy_(dense);
}

double Communicator::all_reduce(double value, Reduce op, std::string_view name) {
  at::Tensor tensor = at::full({1}, value, at::kDouble);
  all_reduce(tensor, op, name);
  return tensor.item<double>();
}

int64_t Communicator::all_reduce(int64_t value, Reduce op, std::string_view name) {
  at::Tensor tensor = at::full({1}, value, at::kLong);
  all_reduce(tensor, op, name);
  return tensor.item<int64_t>();
}

void Communicator::broadcast(at::Tensor& tensor, int root, std::string_view name) {
  at::Tensor dense = tensor.detach().contiguous();
  broadcast_dense(dense, root, name);
  if (dense.data_ptr() != tensor.data_ptr()) tensor.detach().copy_(dense);
}

std::vector<at::Tensor> Communicator::all_gather(const at::Tensor& tensor, std::string_view name) {
  const at::Tensor dense = tensor.detach().contiguous();
  std::vector<int64_t> shape = dense.sizes().vec();
  shape.insert(shape.begin(), size());
  at::Tensor all = at::empty(shape, dense.options());
  gather_dense(dense, all, name);
  return all.unbind(0);
}

at::Tensor Communicator::all_gather_rows(const at::Tensor& tensor, std::string_view name) {
  const at::Tensor dense = tensor.detach().contiguous();
  std::vector<int64_t> shape = dense.sizes().vec();
  shape.at(0) *= size();
  at::Tensor all = at::empty(shape, dense.options());
  gather_dense(dense, all, name);
  return all;
}

at::Tensor Communicator::reduce_scatter_rows(const at::Tensor& all, std::string_view name) {
  check_summable(all, name);
  ROLL_CHECK_EQ(all.size(0) % size(), 0, "every rank gets the same number of rows");
  std::vector<int64_t> shape = all.sizes().vec();
  shape[0] /= size();
  at::Tensor local = at::empty(shape, all.options().requires_grad(false));
  reduce_scatter_dense(all.detach().contiguous(), local, name);
  return local;
}

std::unique_ptr<Pending> Communicator::start_reduce_scatter(const at::Tensor& all, const at::Tensor& local,
                                                            std::string_view name) {
  check_summable(all, name);
  return start([this, all, local = at::Tensor(local), owned_name = std::string(name)]() mutable {
    reduce_scatter_dense(all, local, owned_name);
  });
}

std::unique_ptr<Pending> Communicator::start_all_reduce(const at::Tensor& tensor, std::string_view name) {
  check_summable(tensor, name);
  return start([this, tensor = at::Tensor(tensor), owned_name = std::string(name)]() mutable {
    reduce_dense(tensor, Reduce::kSum, owned_name);
  });
}

std::unique_ptr<Pending> Communicator::start_broadcast(const at::Tensor& tensor, int root, std::string_view name) {
  return start([this, tensor = at::Tensor(tensor), root, owned_name = std::string(name)]() mutable {
    broadcast_dense(tensor, root, owned_name);
  });
}

std::unique_ptr<Pending> Communicator::start_all_gather(const at::Tensor& local, const at::Tensor& all,
                                                        std::string_view name) {
  return start([this, local, all = at::Tensor(all), owned_name = std::string(name)]() mutable {
    gather_dense(local, all, owned_name);
  });
}

std::unique_ptr<Pending> Communicator::start_all_to_all(const at::Tensor& out, const at::Tensor& in,
                                                        std::string_view name) {
  return start([this, out, in = at::Tensor(in), owned_name = std::string(name)]() mutable {
    all_to_all_dense(out, in, owned_name);
  });
}

void Communicator::all_to_all_dense(const at::Tensor& out, at::Tensor& in, std::string_view name) {
  exchange(out.view({size(), -1}).unbind(0), in.view({size(), -1}).unbind(0), name);
}

void Communicator::exchange(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                            std::string_view name) {
  ROLL_CHECK(std::ssize(out) == size() && std::ssize(in) == size(), "an exchange has a tensor for every rank");
  std::vector<at::Tensor> all_out = out, all_in = in;
  at::Device device = at::kCPU;
  for (const std::vector<at::Tensor>* tensors : {&in, &out})
    for (const at::Tensor& tensor : *tensors)
      if (tensor.defined()) device = tensor.device();
  for (std::vector<at::Tensor>* tensors : {&all_out, &all_in})
    for (at::Tensor& tensor : *tensors) {
      if (!tensor.defined()) tensor = at::empty({0}, at::TensorOptions(device).dtype(at::kByte));
      ROLL_CHECK(tensor.is_contiguous(), "exchanged tensors are contiguous");
    }
  if (in[rank()].defined() && in[rank()].numel() > 0) at::Tensor(in[rank()]).copy_(out[rank()]);
  exchange_dense(all_out, all_in, name);
}

std::unique_ptr<Pending> Communicator::start_exchange(const std::vector<at::Tensor>& out,
                                                      const std::vector<at::Tensor>& in, std::string_view name) {
  return start([this, out, in, owned_name = std::string(name)] { exchange(out, in, owned_name); });
}

std::string Communicator::broadcast_bytes(std::string_view local, int root, std::string_view name) {
  return all_gather_bytes(rank() == root ? local : std::string_view(), name)[static_cast<size_t>(root)];
}

}  // namespace roll
