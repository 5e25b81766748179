// Computes for the weight sync which trainer rank sends which part of the weights to which sampler rank; used by
// weight_transfer.h and forecasts. Trainer and sampler may have different layouts and ranks. The schedule follows from
// sizes alone, so each rank computes its own messages without communication. For each pair (trainer tensor rank,
// sampler tensor rank), the rows that both shards have form one stream. All sampler ranks with that tensor rank need
// the whole stream. Its holders are the trainer's data and context ranks with that tensor rank, and tensor ranks with
// copies; they share the sending. Each element is sent once to each rank that lacks it, and the amounts that holders
// send differ by at most about a row.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/parameter_shards.h"
#include "model/spec.h"
#include "pipeline/stage_split.h"

namespace roll {

/// Layout of the trainer or the sampler: its ranks in the order of dist/mesh.h, with tensor ranks innermost, then
/// context ranks, stages and data ranks.
struct WeightLayout {
  std::vector<int> ranks;  // ascending
  int64_t tp = 1;          // number of tensor ranks
  // Only of the trainer: each group of tp sampler ranks holds all experts and layers.
  int64_t ep = 1;       // number of expert ranks
  int64_t cp = 1;       // number of context ranks
  StageSplit stages{};  // layers of each pipeline stage

  /// Return the pipeline stage and the expert rank of ranks[index].
  int64_t stage_at(int64_t index) const { return index / (cp * tp) % stages.num_stages(); }
  int64_t expert_rank_at(int64_t index) const {
    return (index / (stages.num_stages() * cp * tp) * cp + index / tp % cp) % ep;
  }
};

/// A block of a whole parameter, seen as a matrix: its first dimension is the rows, all others together the columns.
struct WeightBlock {
  int64_t parameter = 0;                // index in the list given to WeightSchedule
  int64_t row = 0, num_rows = 0;        // first row, and number of rows
  int64_t column = 0, num_columns = 0;  // first column, and number of columns
  int64_t numel() const { return num_rows * num_columns; }
  bool operator==(const WeightBlock&) const = default;
};
using WeightBlocks = std::vector<WeightBlock>;

/// The trainer's ranks that have a parameter, apart from its sharding over tensor ranks.
struct WeightOwner {
  int64_t expert = -1;  // the expert rank that alone has it; -1: all have it
  int64_t stage = 0;    // the pipeline stage that has it; for a tied embedding the first
  auto operator<=>(const WeightOwner&) const = default;
};

/// Parameters of one kind are held by the same trainer ranks, and go into the same streams.
struct WeightKind {
  int64_t copies = 1;  // trainer tensor ranks that hold the same shard
  WeightOwner owner{};
  auto operator<=>(const WeightKind&) const = default;
};

/// Blocks that one rank sends and receives, and that it needs as a sampler and already has as a trainer (kept).
struct WeightMoves {
  std::map<int, WeightBlocks> sends, receives;  // by the other rank; sender and receiver list them in the same order
  WeightBlocks kept;
};

/// Numbers of elements that a rank sends, receives and keeps.
struct WeightElements {
  int64_t sent = 0, received = 0, kept = 0;
};

class WeightSchedule {
 public:
  /// `parameters`: those to copy, with whole shapes (all of the model, or the adapters). Ranks of both layouts are
  /// ranks of one communicator. Throws Bug if a layout cannot hold the model.
  WeightSchedule(const ModelSpec& spec, const std::vector<ParameterShape>& parameters, WeightLayout trainer,
                 WeightLayout sampler);

  /// Returns the blocks that a rank moves; empty lists for a rank in neither layout.
  WeightMoves moves(int rank) const;
  /// Returns the numbers of elements by rank, from rank 0 to the highest rank of both layouts.
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
