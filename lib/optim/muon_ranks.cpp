#include "optim/muon_ranks.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "packing/partition.h"

namespace roll {

namespace {

/// Buckets whose matrices the ranks share among each other: those of a gathered layer, or all others.
class SharedBuckets {
 public:
  SharedBuckets(const FlatOptimizer& optimizer, const MuonRanks& ranks, std::vector<int64_t> buckets)
      : optimizer_(optimizer), ranks_(ranks), buckets_(std::move(buckets)) {
    for (const int64_t b : buckets_) {
      const at::Tensor gradient = optimizer.is_gathered(b) ? at::empty({optimizer.layout().buckets[b].size},
                                                                       optimizer.gradient_slice(b).options())
                                                           : optimizer.gradient(b);
      gradients_.push_back(gradient);
      add_matrices(b, gradient);
    }
  }

  void make_updates(int64_t num_steps) {
    if (ranks_.shares_optimizer) gather_slices();
    update_matrices(num_steps);
    if (ranks_.shards.communicates()) return_updates();
  }

 private:
  struct Matrix {
    const std::string& name;
    at::Tensor local;  // this rank's shard in the whole gradient
  };

  void add_matrices(int64_t bucket, const at::Tensor& gradient) {
    const FlatLayout& layout = optimizer_.layout();
    for (const int64_t i : layout.buckets[bucket].members) {
      const at::IntArrayRef shape = optimizer_.shape(i);
      const int64_t begin = layout.offsets[i] - layout.buckets[bucket].begin;
      matrices_.push_back(
          {optimizer_.names()[i], gradient.narrow(0, begin, c10::multiply_integers(shape)).view(shape)});
    }
  }

  void gather_slices() {
    if (!ranks_.shards.communicates()) return;
    std::vector<std::unique_ptr<Pending>> sent;
    for (size_t k = 0; k < buckets_.size(); ++k)
      sent.push_back(
          ranks_.shards.start_all_gather(optimizer_.gradient_slice(buckets_[k]), gradients_[k], "directions of Muon"));
    for (const auto& pending : sent) pending->wait();
  }

  /// Returns the tensor rank that updates each matrix; -1 for matrices of other data ranks.
  std::vector<int64_t> find_owners(int64_t num_steps, int64_t tensor_ranks) const {
    std::vector<double> flops;
    for (const Matrix& matrix : matrices_) {
      const std::vector<int64_t>& shape = ranks_.parts.shape(matrix.name);
      flops.push_back(muon_flops(shape[0], shape[1], num_steps));
    }
    const Partition shares = karmarkar_karp(flops, ranks_.shards.size() * tensor_ranks);
    std::vector<int64_t> owners(matrices_.size(), -1);
    for (int64_t r = 0; r < tensor_ranks; ++r)
      for (const int64_t i : shares[ranks_.shards.rank() * tensor_ranks + r]) owners[i] = r;
    return owners;
  }

  /// Leaves updates in the matrices of this data rank, and zeros in the others.
  void update_matrices(int64_t num_steps) {
    Communicator* const tp = ranks_.parts.is_whole() ? nullptr : ranks_.parts.tp();
    const std::vector<int64_t> owners = find_owners(num_steps, tp ? tp->size() : 1);
    const int64_t own = tp ? tp->rank() : 0;
    std::vector<at::Tensor> wholes(matrices_.size());  // matrices that this tensor rank updates
    for (size_t i = 0; i < matrices_.size(); ++i)
      if (owners[i] < 0) {
        matrices_[i].local.zero_();
      } else {
        const at::Tensor whole = ranks_.parts.gather(matrices_[i].name, matrices_[i].local);
        if (owners[i] == own) wholes[i] = whole;
      }
    // All are updated before the first one is sent, so that no tensor rank waits for another one's.
    for (size_t i = 0; i < matrices_.size(); ++i) {
      if (owners[i] != own) continue;
      wholes[i] = muon_update(wholes[i], num_steps);
      if (!tp) matrices_[i].local.copy_(std::exchange(wholes[i], {}));
    }
    for (size_t i = 0; tp && i < matrices_.size(); ++i) {
      const auto& [name, local] = matrices_[i];
      if (owners[i] < 0) continue;
      at::Tensor update = owners[i] == own ? std::exchange(wholes[i], {}).contiguous()
                                           : at::empty(ranks_.parts.shape(name), local.options());
      tp->broadcast(update, static_cast<int>(owners[i]), name);
      local.copy_(ranks_.parts.cut(name, update));
    }
  }

  /// Adds up the data ranks' updates, and gives each rank its slices.
  void return_updates() {
    std::vector<std::unique_ptr<Pending>> sent;
    for (size_t k = 0; k < buckets_.size(); ++k)
      sent.push_back(ranks_.shares_optimizer
                         ? ranks_.shards.start_reduce_scatter(gradients_[k], optimizer_.gradient_slice(buckets_[k]),
                                                              "updates of Muon")
                         : ranks_.shards.start_all_reduce(gradients_[k], "updates of Muon"));
    for (const auto& pending : sent) pending->wait();
  }

  const FlatOptimizer& optimizer_;
  const MuonRanks& ranks_;
  std::vector<int64_t> buckets_;
  std::vector<at::Tensor> gradients_;  // whole, by bucket
  std::vector<Matrix> matrices_;
};

}  // namespace

void make_muon_updates(const FlatOptimizer& optimizer, int64_t num_steps, const MuonRanks& ranks) {
  const at::NoGradGuard no_grad;
  const std::vector<Bucket>& buckets = optimizer.layout().buckets;
  std::vector<int64_t> together;
  for (int64_t b = 0; b < std::ssize(buckets); ++b) {
    if (!buckets[b].uses_muon) continue;
    together.push_back(b);
    const bool ends = b + 1 == std::ssize(buckets) || buckets[b + 1].unit != buckets[b].unit;
    if (ends) SharedBuckets(optimizer, ranks, std::exchange(together, {})).make_updates(num_steps);
  }
}

}  // namespace roll
