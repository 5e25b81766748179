// Plans the weight sync: which rank sends which part of the trainer's weights to which rank of the sampler, whose
// layout and ranks may differ. All follows from sizes: no rank asks or gathers, and each computes its own messages
// alone. For each pair (trainer TP rank, sampler TP rank), the rows in both shards form one stream. Each receiver needs
// the whole stream. Its holders (the trainer's data and context ranks, and tensor ranks with copies) share the sending
// evenly: each element is sent once to each rank that lacks it, and all holders send equally much, to a row.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/parameter_shards.h"
#include "model/spec.h"
#include "pipeline/stage_split.h"

namespace roll {

/// The ranks of a role, ascending. Tensor ranks are adjacent (dist/mesh.h).
struct WeightLayout {
  std::vector<int> ranks;
  int64_t tp = 1;
  // For the trainer; the sampler's ranks hold all experts and layers.
  int64_t ep = 1;
  int64_t cp = 1;
  StageSplit stages{};  // each data rank has cp * tp ranks per stage

  int64_t stage_at(int64_t index) const { return index / (cp * tp) % stages.num_stages(); }
  int64_t expert_rank_at(int64_t index) const {
    return (index / (stages.num_stages() * cp * tp) * cp + index / tp % cp) % ep;
  }
};

/// Rows and columns of a whole parameter as a matrix: its first dimension is the rows, all others the columns.
struct WeightBlock {
  int64_t parameter = 0;  // index in the list
  int64_t row = 0, num_rows = 0, column = 0, num_columns = 0;
  int64_t numel() const { return num_rows * num_columns; }
  bool operator==(const WeightBlock&) const = default;
};
using WeightBlocks = std::vector<WeightBlock>;

/// The trainer's ranks that have a parameter.
struct WeightOwner {
  int64_t expert = -1;  // only this expert rank; -1: all
  int64_t stage = 0;    // stage that holds it; an embedding of first and last stage counts as the first's
  auto operator<=>(const WeightOwner&) const = default;
};

/// Parameters that the same ranks hold, and that travel together.
struct WeightKind {
  int64_t copies = 1;  // trainer tensor ranks that hold the same shard
  WeightOwner owner{};
  auto operator<=>(const WeightKind&) const = default;
};

/// Blocks that one rank sends, receives and keeps.
struct WeightMoves {
  std::map<int, WeightBlocks> sends, receives;  // by peer rank, in the same order on both sides
  WeightBlocks kept;                            // sampler's blocks that the trainer's shard on this rank already has
};

/// WeightMoves, counted in elements.
struct WeightElements {
  int64_t sent = 0, received = 0, kept = 0;
};

class WeightSchedule {
 public:
  /// `parameters`: the model's; WeightBlock::parameter is an index of this list. Ranks of both layouts are those of one
  /// communicator.
  WeightSchedule(const ModelSpec& spec, const std::vector<ParameterShape>& parameters, WeightLayout trainer,
                 WeightLayout sampler);

  /// Returns the moves of a rank.
  WeightMoves of(int rank) const;
  /// Returns the element counts of all ranks up to the highest one.
  std::vector<WeightElements> elements() const;

  const WeightLayout& trainer() const { return trainer_; }
  const WeightLayout& sampler() const { return sampler_; }

 private:
  struct Parameter {
    int64_t num_rows, num_columns;
    std::vector<TensorShard> trainer, sampler;
  };
  struct Stream;
  WeightBlock overlap(int64_t parameter, int64_t trainer_tp, int64_t sampler_tp) const;
  /// Returns a stream's ranks, without blocks.
  Stream make_stream(const WeightKind& kind, int64_t group, int64_t sampler_tp) const;
  /// Calls use(stream) for streams with blocks for which is_wanted(stream).
  template <class W, class F>
  void for_each_stream(const W& is_wanted, const F& use) const;

  WeightLayout trainer_, sampler_;
  std::vector<Parameter> parameters_;
  std::map<WeightKind, std::vector<int64_t>> kinds_;  // parameters' indices in the list
};

}  // namespace roll
