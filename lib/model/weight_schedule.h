// Who sends which part of the trainer's weights to whom, so that the sampler has them under a layout and on ranks of
// its own. All follows from sizes: nobody is asked, nothing is gathered, and a rank computes its own messages alone.
// What one tensor rank of the sampler wants of what one tensor rank of the trainer holds is a stream of rows. Each
// receiver of a stream needs all of it; its holders (the trainer's data and context ranks, and tensor ranks with
// copies) cut these needs evenly between them, so that each element is sent once to each rank that lacks it, and all
// holders send as much, to a row.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/parameter_shards.h"
#include "model/spec.h"
#include "pipeline/stage_split.h"

namespace roll {

/// The ranks of a role, ascending. Tensor ranks stand next to each other (dist/mesh.h).
struct WeightLayout {
  std::vector<int> ranks;
  int64_t tp = 1;
  // Of the trainer; the sampler's ranks hold all experts and layers.
  int64_t ep = 1;
  int64_t cp = 1;
  StageSplit stages{};  // each has cp * tp ranks of each data rank

  int64_t stage_of(int64_t place) const { return place / (cp * tp) % stages.num_stages(); }
  int64_t expert_rank_of(int64_t place) const {
    return (place / (stages.num_stages() * cp * tp) * cp + place / tp % cp) % ep;
  }
};

/// Rows and columns of a whole parameter; a vector is one column, and what has more dimensions a row of the first.
struct WeightBlock {
  int64_t parameter = 0;  // place in the list
  int64_t row = 0, num_rows = 0, column = 0, num_columns = 0;
  int64_t numel() const { return num_rows * num_columns; }
  bool operator==(const WeightBlock&) const = default;
};
using WeightBlocks = std::vector<WeightBlock>;

/// Which of the trainer's ranks have a parameter.
struct WeightOwner {
  int64_t expert = -1;  // those of that expert rank; -1: all
  int64_t stage = 0;    // of that stage; of an embedding that the last one has, too, the first
  auto operator<=>(const WeightOwner&) const = default;
};

/// Parameters that travel together, as the same ranks hold them.
struct WeightKind {
  int64_t copies = 1;  // of each of the trainer's parts, among its tensor ranks
  WeightOwner owner{};
  auto operator<=>(const WeightKind&) const = default;
};

/// What a rank does.
struct WeightMoves {
  std::map<int, WeightBlocks> sends, receives;  // by the other rank, in the same order on both sides
  WeightBlocks kept;                            // of the sampler's part: what the trainer's part here has already
};

/// WeightMoves in numbers of elements.
struct WeightElements {
  int64_t sent = 0, received = 0, kept = 0;
};

class WeightSchedule {
 public:
  /// `parameters`: of the model, in the order that blocks name. Ranks of both layouts are those of one communicator.
  WeightSchedule(const ModelSpec& spec, const std::vector<ParameterShape>& parameters, WeightLayout trainer,
                 WeightLayout sampler);

  WeightMoves of(int rank) const;
  /// The numbers of elements of all ranks up to the highest one.
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
  /// Without blocks.
  Stream ranks_of_stream(const WeightKind& kind, int64_t group, int64_t sampler_tp) const;
  /// Those with blocks whose ranks are wanted.
  template <class W, class F>
  void for_each_stream(const W& is_wanted, const F& use) const;

  WeightLayout trainer_, sampler_;
  std::vector<Parameter> parameters_;
  std::map<WeightKind, std::vector<int64_t>> kinds_;  // places in the list
};

}  // namespace roll
