#include "dist/collectives.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace roll::test {

namespace {

/// Another tensor on every rank, whole numbers so that bfloat16 sums are exact.
at::Tensor sample(int rank, int64_t numel, at::ScalarType dtype, at::Device device) {
  return ((at::arange(numel, at::kLong) * (rank + 3)) % 7 - rank).to(dtype).to(device);
}

at::Tensor reduced(int num_ranks, int64_t numel, at::ScalarType dtype, at::Device device, Reduce op) {
  at::Tensor total = sample(0, numel, dtype, device);
  for (int rank = 1; rank < num_ranks; ++rank) {
    const at::Tensor next = sample(rank, numel, dtype, device);
    total = op == Reduce::kSum   ? total + next
            : op == Reduce::kMax ? at::maximum(total, next)
                                 : at::minimum(total, next);
  }
  return total;
}

std::string check_reduce(Communicator& ranks, at::ScalarType dtype, int64_t numel, at::Device device) {
  for (const Reduce op : {Reduce::kSum, Reduce::kMax, Reduce::kMin}) {
    at::Tensor tensor = sample(ranks.rank(), numel, dtype, device);
    ranks.all_reduce(tensor, op, "test tensor");
    if (!at::equal(tensor, reduced(ranks.size(), numel, dtype, device, op)))
      return fmt::format("reduce {} of {} {} is wrong; ", static_cast<int>(op), numel, c10::toString(dtype));
  }
  return "";
}

std::string check_views(Communicator& ranks, at::Device device) {
  const at::Tensor whole = at::full({6, 8}, double(ranks.rank() + 1), at::kFloat).to(device);
  at::Tensor columns = whole.slice(1, 2, 5);
  ranks.all_reduce_sum(columns, "columns of a matrix");
  const double sum = ranks.size() * (ranks.size() + 1) / 2;
  const double rest = whole.sum().item<double>() - 18 * sum;
  return (columns == sum).all().item<bool>() && rest == 30.0 * (ranks.rank() + 1) ? "" : "a view is reduced wrongly; ";
}

std::string check_scalars(Communicator& ranks) {
  const int n = ranks.size();
  const bool right = ranks.all_reduce_sum(int64_t{1} << (40 + ranks.rank()), "bits") == ((int64_t{1} << n) - 1) << 40 &&
                     ranks.all_reduce_max(int64_t{-5} + ranks.rank(), "top") == n - 6 &&
                     ranks.all_reduce_sum(0.5, "halves") == 0.5 * n && ranks.all_reduce_max(-1.5, "level") == -1.5;
  return right ? "" : "a scalar is reduced wrongly; ";
}

std::string check_broadcast(Communicator& ranks, at::Device device) {
  const int root = ranks.size() - 1;
  for (const int64_t numel : {0, 1, 100000}) {
    at::Tensor tensor = sample(ranks.rank(), numel, at::kFloat, device);
    ranks.broadcast(tensor, root, "weights");
    if (!at::equal(tensor, sample(root, numel, at::kFloat, device))) return "a broadcast is wrong; ";
  }
  const at::Tensor whole = at::full({6, 8}, double(ranks.rank()), at::kFloat).to(device);
  at::Tensor columns = whole.slice(1, 2, 5);
  ranks.broadcast(columns, root, "columns of a matrix");
  if (!(columns == root).all().item<bool>()) return "a view is broadcast wrongly; ";
  const std::string mine = ranks.rank() == root ? std::string("a\0b", 3) : "other";
  return ranks.broadcast_bytes(mine, root, "words") == std::string("a\0b", 3) ? "" : "broadcast_bytes is wrong; ";
}

std::string check_gathers(Communicator& ranks, at::Device device) {
  const auto all = ranks.all_gather(sample(ranks.rank(), 12, at::kBFloat16, device).view({3, 4}), "rows");
  const auto bytes = ranks.all_gather_bytes(std::string(static_cast<size_t>(ranks.rank()) * 70000, 'x'), "words");
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const auto i = static_cast<size_t>(rank);
    if (!at::equal(all[i], sample(rank, 12, at::kBFloat16, device).view({3, 4}))) return "all_gather is wrong; ";
    if (bytes[i] != std::string(i * 70000, 'x')) return "all_gather_bytes is wrong; ";
  }
  return "";
}

}  // namespace

std::string check_collectives(Communicator& ranks, at::Device device) {
  std::string wrong;
  for (const auto dtype : {at::kFloat, at::kDouble, at::kLong, at::kBFloat16})
    for (const int64_t numel : {0, 1, 5, 4096, 4097, 8193, 100001}) wrong += check_reduce(ranks, dtype, numel, device);
  wrong += check_views(ranks, device) + check_scalars(ranks) + check_broadcast(ranks, device);
  wrong += check_gathers(ranks, device);
  ranks.barrier("end of the test");
  return wrong;
}

std::string check_sum_order(Communicator& ranks) {
  const auto value = [](int rank) { return rank == 0 ? 1e8f : rank == 1 ? 3.0f : rank == 2 ? -1e8f : 0.25f; };
  float expected = value(0);
  for (int rank = 1; rank < ranks.size(); ++rank) expected += value(rank);
  for (const int64_t numel : {3, 50001}) {
    at::Tensor tensor = at::full({numel}, value(ranks.rank()), at::kFloat);
    ranks.all_reduce_sum(tensor, "order");
    if (!(tensor == expected).all().item<bool>()) return fmt::format("a sum of {} is not in rank order; ", numel);
  }
  // bfloat16: 256 + 1 + 1 + ... is 256 when each addition is rounded, and right when only the last is.
  at::Tensor narrow = at::full({4}, ranks.rank() == 0 ? 256.0 : 1.0, at::kBFloat16);
  ranks.all_reduce_sum(narrow, "narrow");
  const at::Tensor right = at::full({4}, 255.0 + ranks.size(), at::kFloat).to(at::kBFloat16);
  return at::equal(narrow, right) ? "" : "bfloat16 is rounded more than once; ";
}

}  // namespace roll::test
