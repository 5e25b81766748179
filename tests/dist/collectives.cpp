#include "dist/collectives.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include <memory>
#include <thread>

namespace roll::test {

namespace {

/// Another tensor on every rank, whole numbers so that 16-bit sums are exact; they repeat, so that large ones are
/// quick.
at::Tensor sample(int rank, int64_t numel, at::ScalarType dtype, at::Device device) {
  const at::Tensor first = ((at::arange(7, at::kLong) * (rank + 3)) % 7 - rank).to(dtype);
  return first.repeat({numel / 7 + 1}).narrow(0, 0, numel).contiguous().to(device);
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
  const std::string local = ranks.rank() == root ? std::string("a\0b", 3) : "other";
  return ranks.broadcast_bytes(local, root, "words") == std::string("a\0b", 3) ? "" : "broadcast_bytes is wrong; ";
}

std::string check_gathers(Communicator& ranks, at::Device device) {
  const auto all = ranks.all_gather(sample(ranks.rank(), 12, at::kBFloat16, device).view({3, 4}), "rows");
  const auto bytes = ranks.all_gather_bytes(std::string(static_cast<size_t>(ranks.rank()) * 70000, 'x'), "words");
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const auto i = static_cast<size_t>(rank);
    if (!at::equal(all[i], sample(rank, 12, at::kBFloat16, device).view({3, 4}))) return "all_gather is wrong; ";
    if (bytes[i] != std::string(i * 70000, 'x')) return "all_gather_bytes is wrong; ";
  }
  const auto at_first = ranks.gather_bytes(std::string(static_cast<size_t>(ranks.rank()) * 70000, 'x'), "words");
  if (at_first != (ranks.is_first() ? bytes : std::vector<std::string>())) return "gather_bytes is wrong; ";
  const auto news = std::make_shared<std::vector<std::string>>();
  const auto pending = ranks.start_all_gather_bytes(std::string(static_cast<size_t>(ranks.rank()), 'y'), news, "news");
  while (!pending->is_done()) std::this_thread::yield();
  pending->wait();
  for (size_t i = 0; i < bytes.size(); ++i)
    if (news->at(i) != std::string(i, 'y')) return "start_all_gather_bytes is wrong; ";
  return "";
}

/// Rows [n, 3] of every rank, gathered; rows [size * n, 3], summed and scattered.
std::string check_rows(Communicator& ranks, at::ScalarType dtype, int64_t n, at::Device device) {
  const std::string what = fmt::format("of {} rows {} is wrong; ", n, c10::toString(dtype));
  const at::Tensor gathered = ranks.all_gather_rows(sample(ranks.rank(), n * 3, dtype, device).view({n, 3}), "rows");
  for (int rank = 0; rank < ranks.size(); ++rank)
    if (!at::equal(gathered.narrow(0, rank * n, n), sample(rank, n * 3, dtype, device).view({n, 3})))
      return "all_gather_rows " + what;
  const at::Tensor all = sample(ranks.rank(), ranks.size() * n * 3, dtype, device).view({ranks.size() * n, 3});
  const at::Tensor before = all.clone();
  const at::Tensor local = ranks.reduce_scatter_rows(all, "partial rows");
  const at::Tensor sums = reduced(ranks.size(), all.numel(), dtype, device, Reduce::kSum).view({-1, 3});
  if (!at::equal(local, sums.narrow(0, ranks.rank() * n, n))) return "reduce_scatter_rows " + what;
  return at::equal(all, before) ? "" : "what was given to reduce_scatter_rows " + what;
}

std::string check_transposed_rows(Communicator& ranks, at::Device device) {
  const at::Tensor local = sample(ranks.rank(), 12, at::kFloat, device).view({3, 4}).t();
  const at::Tensor all = ranks.all_gather_rows(local, "transposed rows");
  const at::Tensor own = ranks.reduce_scatter_rows(all.t().contiguous().t(), "transposed sums");
  const bool right = at::equal(all.narrow(0, ranks.rank() * 4, 4), local) && at::equal(own, local * ranks.size());
  return right ? "" : "rows that are not contiguous are sent wrongly; ";
}

/// Each pair of ranks exchanges another number of elements, some nothing; 80 MiB go in pieces.
std::string check_exchange(Communicator& ranks, at::ScalarType dtype, int64_t unit, at::Device device) {
  const auto part = [&](int from, int to) {
    return sample(7 * from + to, unit * ((from + 2 * to) % 3), dtype, device);
  };
  std::vector<at::Tensor> out, in;
  for (int peer = 0; peer < ranks.size(); ++peer) {
    out.push_back(part(ranks.rank(), peer));
    in.push_back(at::zeros_like(part(peer, ranks.rank())));
    if (in.back().numel() == 0) in.back() = at::Tensor();
  }
  ranks.exchange(out, in, "parts");
  for (int peer = 0; peer < ranks.size(); ++peer)
    if (in[peer].defined() && !at::equal(in[peer], part(peer, ranks.rank())))
      return fmt::format("an exchange of {} {} is wrong; ", unit, c10::toString(dtype));
  return "";
}

void wait_for(std::vector<std::unique_ptr<Pending>>& started) {
  for (const auto& pending : started) pending->wait();
  started.clear();
}

/// Several collectives at once, in place on views of one buffer, while another group of the same ranks is used.
std::string check_started(Communicator& ranks, at::ScalarType dtype, at::Device device) {
  constexpr int64_t kBuckets = 3, kOwn = 5001;
  std::vector<int> everyone(static_cast<size_t>(ranks.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  const auto other = ranks.split(everyone, "other");
  const int64_t width = ranks.size() * kOwn;
  const at::Tensor buffer = sample(ranks.rank(), kBuckets * width, dtype, device);
  const at::Tensor sums = reduced(ranks.size(), kBuckets * width, dtype, device, Reduce::kSum);
  at::Tensor whole = buffer.clone();
  const auto bucket = [&](int64_t i) { return buffer.narrow(0, i * width, width); };
  const auto own = [&](int64_t i) { return bucket(i).narrow(0, ranks.rank() * kOwn, kOwn); };
  std::vector<std::unique_ptr<Pending>> started;
  for (int64_t i = 0; i < kBuckets; ++i) started.push_back(ranks.start_reduce_scatter(bucket(i), own(i), "bucket"));
  started.push_back(ranks.start_all_reduce(whole, "whole buffer"));
  for (int64_t i = 0; i < 20; ++i)
    if (other->all_reduce_sum(i, "beside") != i * ranks.size()) return "a sum beside started ones is wrong; ";
  wait_for(started);
  for (int64_t i = 0; i < kBuckets; ++i)
    if (!at::equal(own(i), sums.narrow(0, i * width + ranks.rank() * kOwn, kOwn)))
      return "a started reduce-scatter is wrong; ";
  if (!at::equal(whole, sums)) return "a started all-reduce is wrong; ";
  for (int64_t i = 0; i < kBuckets; ++i) started.push_back(ranks.start_all_gather(own(i), bucket(i), "bucket"));
  const at::Tensor elsewhere = at::zeros_like(bucket(1));
  started.push_back(ranks.start_all_gather(own(1).clone(), elsewhere, "bucket"));
  wait_for(started);
  return at::equal(buffer, sums) && at::equal(elsewhere, bucket(1)) ? "" : "a started all-gather is wrong; ";
}

}  // namespace

std::string check_collectives(Communicator& ranks, at::Device device) {
  std::string wrong;
  for (const auto dtype : {at::kFloat, at::kDouble, at::kLong, at::kBFloat16, at::kHalf})
    for (const int64_t numel : {0, 1, 5, 4096, 4097, 8193, 100001}) wrong += check_reduce(ranks, dtype, numel, device);
  wrong += check_views(ranks, device) + check_scalars(ranks) + check_broadcast(ranks, device);
  wrong += check_gathers(ranks, device) + check_transposed_rows(ranks, device);
  for (const auto dtype : {at::kFloat, at::kDouble, at::kLong, at::kBFloat16, at::kHalf})
    for (const int64_t rows : {0, 1, 1365, 1366, 33334}) wrong += check_rows(ranks, dtype, rows, device);
  for (const int64_t unit : {0, 1, 70001}) wrong += check_exchange(ranks, at::kFloat, unit, device);
  wrong += check_exchange(ranks, at::kByte, 40 << 20, device);
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf}) wrong += check_started(ranks, dtype, device);
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
  // 256 + 1 + 1 + ... in bfloat16 (2048 + ... in float16) stays as it is when each addition is rounded, and is right
  // when only the last is.
  for (const auto& [dtype, large] : {std::pair(at::kBFloat16, 256.0), std::pair(at::kHalf, 2048.0)}) {
    at::Tensor narrow = at::full({4}, ranks.rank() == 0 ? large : 1.0, dtype);
    ranks.all_reduce_sum(narrow, "narrow");
    const at::Tensor right = at::full({4}, large - 1 + ranks.size(), at::kFloat).to(dtype);
    if (!at::equal(narrow, right)) return fmt::format("{} is rounded more than once; ", c10::toString(dtype));
  }
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf})
    for (const int64_t rows : {3, 1024, 50001}) {
      const at::Tensor all = at::sin(at::arange(ranks.size() * rows, at::kFloat) * (ranks.rank() + 1.37)).to(dtype);
      at::Tensor sums = all.clone();
      ranks.all_reduce_sum(sums, "sums");
      const at::Tensor local = ranks.reduce_scatter_rows(all, "own sums");
      if (!at::equal(local, sums.narrow(0, ranks.rank() * rows, rows)))
        return fmt::format("reduce_scatter_rows of {} {} has other bits than all_reduce; ", rows, c10::toString(dtype));
    }
  return "";
}

}  // namespace roll::test
