// One rank of several whose others do and have what it does: for what is to be known of one rank's memory.
#pragma once

#include <ATen/ATen.h>

#include "dist/immediate.h"
#include "dist/single.h"

namespace roll::test {

class MirrorRanks : public ImmediateCommunicator {
 public:
  explicit MirrorRanks(Membership own) : ImmediateCommunicator(std::move(own)) {}
  explicit MirrorRanks(int size) : MirrorRanks(Membership{.rank = 0, .size = size}) {}

  std::string_view kind() const override { return "mirror"; }
  std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view) override {
    return {static_cast<size_t>(size()), std::string(local)};
  }
  std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) override {
    return all_gather_bytes(local, name);
  }
  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    Membership own = membership_in(members, group);
    if (members.size() == 1) return make_single_communicator(std::move(own));
    return std::make_unique<MirrorRanks>(std::move(own));
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view) override {
    if (op == Reduce::kSum) tensor.mul_(size());
  }
  void broadcast_dense(at::Tensor&, int, std::string_view) override {}
  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view) override {
    for (at::Tensor row : all.view({size(), -1}).unbind(0))
      if (row.data_ptr() != tensor.data_ptr()) row.copy_(tensor.view({-1}));
  }
  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view) override {
    local.view({-1}).copy_(all.view({size(), -1})[rank()]).mul_(size());
  }
  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view) override {
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank() && in[peer].numel() > 0) at::Tensor(in[peer]).copy_(out[peer]);
  }
};

}  // namespace roll::test
