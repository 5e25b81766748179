#include "step/redistribution.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"

namespace roll {

namespace {

/// Masks that are computed and not derived from facts.
constexpr std::array kComputedMasks = {"final_response_mask", "positive_response_mask"};

/// Packs the tokens of columns [T] or [T, N] into messages: per sequence, one column after the other.
class ColumnBytes {
 public:
  explicit ColumnBytes(const std::vector<at::Tensor>& columns) {
    for (const at::Tensor& column : columns) {
      ROLL_CHECK(column.is_cpu() && column.is_contiguous(), "a column's bytes can be sent");
      const int64_t bytes_per_token = column.element_size() * (column.dim() == 1 ? 1 : column.size(1));
      columns_.push_back({static_cast<std::byte*>(column.data_ptr()), bytes_per_token});
      bytes_per_token_ += bytes_per_token;
    }
  }

  int64_t bytes_per_token() const { return bytes_per_token_; }
  void write(int64_t begin, int64_t count, std::byte* message) const {
    for (const auto& [data, bytes_per_token] : columns_) {
      std::memcpy(message, data + begin * bytes_per_token, count * bytes_per_token);
      message += count * bytes_per_token;
    }
  }
  void read(int64_t begin, int64_t count, const std::byte* message) const {
    for (const auto& [data, bytes_per_token] : columns_) {
      std::memcpy(data + begin * bytes_per_token, message, count * bytes_per_token);
      message += count * bytes_per_token;
    }
  }

 private:
  struct Column {
    std::byte* data;
    int64_t bytes_per_token;
  };
  std::vector<Column> columns_;
  int64_t bytes_per_token_ = 0;
};

std::vector<int64_t> find_offsets(const std::vector<int64_t>& sequences, const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets = {0};
  for (const int64_t s : sequences) offsets.push_back(offsets.back() + lengths[s]);
  return offsets;
}

}  // namespace

const std::vector<int64_t>& Distribution::rank_share(int rank) const {
  static const std::vector<int64_t> none;
  for (size_t group = 0; group < ranks.size(); ++group)
    if (std::ranges::find(ranks[group], rank) != ranks[group].end()) return shares[group];
  return none;
}

std::vector<std::vector<int>> mesh_groups(int64_t num_ranks, const MeshShape& shape) {
  std::vector<std::vector<int>> groups(num_ranks / shape.model_ranks());
  for (int64_t rank = 0; rank < num_ranks; ++rank) groups[mesh_place(rank, shape).dp].push_back(static_cast<int>(rank));
  return groups;
}

std::vector<std::vector<int>> world_groups(const std::vector<int>& ranks, const MeshShape& shape) {
  auto groups = mesh_groups(std::ssize(ranks), shape);
  for (auto& group : groups)
    for (int& rank : group) rank = ranks[rank];
  return groups;
}

namespace {

/// Chooses the rank that sends a sequence to another rank.
class Senders {
 public:
  Senders(const Distribution& from, size_t num_sequences) : from_(from), holding_group_(num_sequences, -1) {
    for (size_t group = 0; group < from.shares.size(); ++group)
      for (const int64_t sequence : from.shares[group]) holding_group_.at(sequence) = static_cast<int64_t>(group);
  }

  /// Returns the sender of a sequence to rank `to`: `to` itself if it holds the sequence.
  int operator()(int64_t sequence, int to) const {
    ROLL_CHECK(holding_group_[sequence] >= 0, "some rank holds each wanted sequence");
    const std::vector<int>& holding_ranks = from_.ranks[holding_group_[sequence]];
    if (std::ranges::find(holding_ranks, to) != holding_ranks.end()) return to;
    return holding_ranks[static_cast<size_t>(to) % holding_ranks.size()];
  }

 private:
  const Distribution& from_;
  std::vector<int64_t> holding_group_;  // [B] group of `from`; -1: no rank holds it
};

}  // namespace

std::vector<at::Tensor> redistribute(const std::vector<at::Tensor>& columns, const std::vector<int64_t>& lengths,
                                     const Distribution& from, const Distribution& to, Communicator& ranks,
                                     std::string_view name) {
  const Senders sender(from, lengths.size());
  const int own_rank = ranks.rank();
  const std::vector<int64_t>& local = from.rank_share(own_rank);
  const std::vector<int64_t> offsets = find_offsets(local, lengths);
  std::vector<int64_t> source_offsets(lengths.size(), -1);
  for (size_t i = 0; i < local.size(); ++i) source_offsets[local[i]] = offsets[i];
  for (const at::Tensor& column : columns)
    ROLL_CHECK_EQ(column.size(0), offsets.back(), "a column covers this rank's sequences");
  const ColumnBytes source_bytes(columns);
  // Message format: the receiver's sequences in order, each column by column.
  std::vector<at::Tensor> out(ranks.size());
  std::vector<at::Tensor> in(ranks.size());
  for (size_t group = 0; group < to.ranks.size(); ++group)
    for (const int rank : to.ranks[group]) {
      int64_t num_tokens = 0;
      for (const int64_t s : to.shares[group]) num_tokens += sender(s, rank) == own_rank ? lengths[s] : 0;
      if (num_tokens == 0) continue;
      out[rank] = at::empty({num_tokens * source_bytes.bytes_per_token()}, at::kByte);
      auto* message = static_cast<std::byte*>(out[rank].mutable_data_ptr());
      for (const int64_t s : to.shares[group]) {
        if (sender(s, rank) != own_rank) continue;
        source_bytes.write(source_offsets[s], lengths[s], message);
        message += lengths[s] * source_bytes.bytes_per_token();
      }
    }
  const std::vector<int64_t>& target_share = to.rank_share(own_rank);
  std::vector<int64_t> num_bytes(ranks.size());
  for (const int64_t s : target_share) num_bytes[sender(s, own_rank)] += lengths[s] * source_bytes.bytes_per_token();
  for (int rank = 0; rank < ranks.size(); ++rank)
    if (num_bytes[rank] > 0) in[rank] = at::empty({num_bytes[rank]}, at::kByte);
  ranks.exchange(out, in, name);
  std::vector<at::Tensor> redistributed;
  const std::vector<int64_t> target_offsets = find_offsets(target_share, lengths);
  for (const at::Tensor& column : columns) {
    std::vector<int64_t> sizes = column.sizes().vec();
    sizes[0] = target_offsets.back();
    redistributed.push_back(at::empty(sizes, column.options()));
  }
  const ColumnBytes target_bytes(redistributed);
  std::vector<int64_t> num_read(ranks.size());
  for (size_t i = 0; i < target_share.size(); ++i) {
    const int source_rank = sender(target_share[i], own_rank);
    target_bytes.read(target_offsets[i], lengths[target_share[i]],
                      static_cast<const std::byte*>(in[source_rank].const_data_ptr()) + num_read[source_rank]);
    num_read[source_rank] += lengths[target_share[i]] * target_bytes.bytes_per_token();
  }
  return redistributed;
}

Experience redistribute(const Experience& experience, const StepFacts& step, const Distribution& from,
                        const Distribution& to, Communicator& ranks) {
  if (from == to) return experience;
  // A rank without sequences does not know which tensors are defined.
  int64_t defined = 0;
  const bool has_sequences = experience.num_sequences() > 0;
  for (size_t i = 0; has_sequences && i < Experience::kTokenTensors.size(); ++i)
    if ((experience.*Experience::kTokenTensors[i]).defined()) defined |= int64_t{1} << i;
  for (size_t i = 0; has_sequences && i < kComputedMasks.size(); ++i)
    if (experience.masks.contains(kComputedMasks[i])) defined |= int64_t{1} << (32 + i);
  defined = ranks.all_reduce_max(defined, "defined tensors of a step");
  const auto is_defined = [&](size_t bit) { return (defined >> bit & 1) != 0; };

  const at::Tensor no_tokens = at::empty({0}, at::kFloat);
  std::vector<at::Tensor> columns = {has_sequences ? experience.tokens.ids.to(at::kInt) : at::empty({0}, at::kInt)};
  for (size_t i = 0; i < Experience::kTokenTensors.size(); ++i)
    if (is_defined(i)) columns.push_back(has_sequences ? experience.*Experience::kTokenTensors[i] : no_tokens);
  for (size_t i = 0; i < kComputedMasks.size(); ++i)
    if (is_defined(32 + i)) columns.push_back(has_sequences ? experience.mask(kComputedMasks[i]) : no_tokens);
  const at::Tensor& experts = experience.tokens.routed_experts;  // [0, N] on a rank without sequences
  if (experts.defined()) columns.push_back(experts);
  const std::vector<int64_t> lengths = step.lengths();
  const std::vector<at::Tensor> redistributed = redistribute(columns, lengths, from, to, ranks, "sequences");

  auto next_column = redistributed.begin();
  Experience moved = make_experience(step, to.rank_share(ranks.rank()), (next_column++)->to(at::kLong));
  for (size_t i = 0; i < Experience::kTokenTensors.size(); ++i)
    if (is_defined(i)) moved.*Experience::kTokenTensors[i] = *next_column++;
  for (size_t i = 0; i < kComputedMasks.size(); ++i)
    if (is_defined(32 + i)) moved.masks[kComputedMasks[i]] = *next_column++;
  if (experts.defined()) moved.tokens.routed_experts = *next_column++;
  return moved;
}

}  // namespace roll
