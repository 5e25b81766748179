#include "model/weight_schedule.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <tuple>

#include "base/error.h"

namespace roll {

namespace {

/// Returns a rank's index in a layout; -1: it is not in it.
int64_t layout_index(int rank, const WeightLayout& layout) {
  const auto found = std::ranges::lower_bound(layout.ranks, rank);
  return found == layout.ranks.end() || *found != rank ? -1 : found - layout.ranks.begin();
}

}  // namespace

/// A stream: blocks end to end, and the ranks that have or need them.
struct WeightSchedule::Stream {
  WeightBlocks blocks;
  std::vector<int64_t> begins;  // first element of each block
  int64_t numel = 0;
  std::vector<int> holders;    // each has the whole stream
  std::vector<int> receivers;  // each needs the whole stream
  std::vector<int> keepers;    // each needs and already has it

  void add(const WeightBlock& block) {
    if (block.numel() == 0) return;
    blocks.push_back(block), begins.push_back(numel);
    numel += block.numel();
  }

  /// Returns the last start of a row at or before `element`.
  int64_t row_begin(int64_t element) const {
    const auto block = std::ranges::upper_bound(begins, element) - begins.begin() - 1;
    return element - (element - begins[block]) % blocks[block].num_columns;
  }

  /// Returns the first element that a holder sends, counted over all receivers' needs end to end.
  int64_t send_begin(int64_t holder) const {
    const int64_t needed = numel * std::ssize(receivers);
    const int64_t elements_per_holder = needed / std::ssize(holders), remainder = needed % std::ssize(holders);
    const int64_t begin = elements_per_holder * holder + std::min(holder, remainder);
    return begin / numel * numel + row_begin(begin % numel);
  }

  /// Appends the blocks between two starts of rows.
  void cut(int64_t begin, int64_t end, WeightBlocks& target) const {
    for (auto i = std::ranges::upper_bound(begins, begin) - begins.begin() - 1; begin < end; ++i) {
      WeightBlock block = blocks[i];
      const int64_t until = std::min(end, begins[i] + block.numel());
      block.row += (begin - begins[i]) / block.num_columns;
      block.num_rows = (until - begin) / block.num_columns;
      target.push_back(block);
      begin = until;
    }
  }

  /// Adds what a holder sends to a receiver, if anything.
  void add_message(int64_t holder, int64_t receiver, int peer, std::map<int, WeightBlocks>& messages) const {
    const int64_t base = receiver * numel;
    const int64_t begin = std::max(send_begin(holder), base), end = std::min(send_begin(holder + 1), base + numel);
    if (begin < end) cut(begin - base, end - base, messages[peer]);
  }

  void add_sends(int64_t holder, std::map<int, WeightBlocks>& sends) const {
    const int64_t end = send_begin(holder + 1);
    for (int64_t receiver = send_begin(holder) / numel; receiver * numel < end; ++receiver)
      add_message(holder, receiver, receivers[receiver], sends);
  }

  void add_receives(int64_t receiver, std::map<int, WeightBlocks>& receives) const {
    for (int64_t holder = 0; holder < std::ssize(holders) && send_begin(holder) < (receiver + 1) * numel; ++holder)
      add_message(holder, receiver, holders[holder], receives);
  }
};

WeightSchedule::WeightSchedule(const ModelSpec& spec, const std::vector<ParameterShape>& parameters,
                               WeightLayout trainer, WeightLayout sampler)
    : trainer_(std::move(trainer)), sampler_(std::move(sampler)) {
  for (const WeightLayout* layout : {&trainer_, &sampler_}) {
    ROLL_CHECK_EQ(tensor_parallel_rule(spec, layout->tp), "", "the configuration was checked");
    ROLL_CHECK_EQ(std::ssize(layout->ranks) % layout->tp, 0, "tensor ranks are complete");
  }
  for (const ParameterShape& whole : parameters) {
    const auto& [shape, cut] = std::tie(whole.shape, whole.cut);
    Parameter& parameter = parameters_.emplace_back();
    parameter.num_rows = shape[0];
    parameter.num_columns = std::reduce(shape.begin() + 1, shape.end(), int64_t{1}, std::multiplies());
    for (int64_t rank = 0; rank < trainer_.tp; ++rank)
      parameter.trainer.push_back(make_tensor_shard(cut, rank, trainer_.tp));
    for (int64_t rank = 0; rank < sampler_.tp; ++rank)
      parameter.sampler.push_back(make_tensor_shard(cut, rank, sampler_.tp));
    WeightKind kind{.copies = parameter.trainer[0].copies,
                    .owner = {.stage = trainer_.stages.layer_stage(whole.layer)}};
    if (whole.expert && trainer_.ep > 1) kind.owner.expert = whole.expert->owner(trainer_.ep);
    kinds_[kind].push_back(std::ssize(parameters_) - 1);
  }
}

WeightBlock WeightSchedule::overlap(int64_t index, int64_t trainer_tp, int64_t sampler_tp) const {
  const Parameter& parameter = parameters_[index];
  const TensorShard &from = parameter.trainer[trainer_tp], &to = parameter.sampler[sampler_tp];
  WeightBlock block{index, 0, parameter.num_rows, 0, parameter.num_columns};
  if (from.dim < 0) return block;
  const int64_t begin = std::max(from.begin, to.begin), size = std::max(std::min(from.end, to.end) - begin, int64_t{0});
  if (from.dim == 0) {
    block.row = begin;
    block.num_rows = size;
  } else {
    block.column = begin;
    block.num_columns = size;
  }
  return block;
}

WeightSchedule::Stream WeightSchedule::make_stream(const WeightKind& kind, int64_t group, int64_t sampler_tp) const {
  Stream stream;
  const int64_t copies = kind.copies;
  const WeightOwner& owner = kind.owner;
  const auto is_owner = [&](int64_t place) {
    return (owner.expert < 0 || trainer_.expert_rank_at(place) == owner.expert) &&
           trainer_.stage_at(place) == owner.stage;
  };
  const auto holds = [&](int64_t place) {
    return place >= 0 && is_owner(place) && place % trainer_.tp / copies == group;
  };
  for (int64_t first = group * copies; first < std::ssize(trainer_.ranks); first += trainer_.tp)
    for (int64_t copy = 0; is_owner(first) && copy < copies; ++copy)
      stream.holders.push_back(trainer_.ranks[first + copy]);
  for (int64_t place = sampler_tp; place < std::ssize(sampler_.ranks); place += sampler_.tp) {
    const int rank = sampler_.ranks[place];
    (holds(layout_index(rank, trainer_)) ? stream.keepers : stream.receivers).push_back(rank);
  }
  return stream;
}

template <class W, class F>
void WeightSchedule::for_each_stream(const W& is_wanted, const F& use) const {
  for (const auto& [kind, members] : kinds_)
    for (int64_t group = 0; group < trainer_.tp / kind.copies; ++group)
      for (int64_t sampler_tp = 0; sampler_tp < sampler_.tp; ++sampler_tp) {
        Stream stream = make_stream(kind, group, sampler_tp);
        if (!is_wanted(stream)) continue;
        for (const int64_t i : members) stream.add(overlap(i, group * kind.copies, sampler_tp));
        if (stream.numel > 0) use(stream);
      }
}

WeightMoves WeightSchedule::moves(int rank) const {
  WeightMoves moves;
  const auto find = [&](const std::vector<int>& ranks, const auto& use) {
    if (const auto found = std::ranges::lower_bound(ranks, rank); found != ranks.end() && *found == rank)
      use(found - ranks.begin());
  };
  const auto involves_rank = [&](const Stream& stream) {
    return std::ranges::any_of(std::array{&stream.holders, &stream.receivers, &stream.keepers},
                               [&](const auto* ranks) { return std::ranges::binary_search(*ranks, rank); });
  };
  for_each_stream(involves_rank, [&](const Stream& stream) {
    find(stream.holders, [&](int64_t holder) { stream.add_sends(holder, moves.sends); });
    find(stream.receivers, [&](int64_t receiver) { stream.add_receives(receiver, moves.receives); });
    find(stream.keepers, [&](int64_t) { stream.cut(0, stream.numel, moves.kept); });
  });
  return moves;
}

std::vector<WeightElements> WeightSchedule::elements() const {
  std::vector<WeightElements> all(1 + std::max(trainer_.ranks.back(), sampler_.ranks.back()));
  const auto all_streams = [](const Stream&) { return true; };
  for_each_stream(all_streams, [&](const Stream& stream) {
    for (int64_t holder = 0; holder < std::ssize(stream.holders); ++holder)
      all[stream.holders[holder]].sent += stream.send_begin(holder + 1) - stream.send_begin(holder);
    for (const int receiver : stream.receivers) all[receiver].received += stream.numel;
    for (const int keeper : stream.keepers) all[keeper].kept += stream.numel;
  });
  return all;
}

}  // namespace roll
