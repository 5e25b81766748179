// Weight sync: copies trained weights, all or only adapters, from the trainer's to the sampler's model, each element
// straight from a rank that has it (model/weight_schedule.h), in buckets of bounded size. Each message carries the bit
// sum of the sender's parameters, which the receiver's parameters must have afterwards. At the end the sampler's whole
// model must have the trainer's sum.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/transformer.h"
#include "model/weight_schedule.h"

namespace roll {

constexpr int64_t kBucketElements = 16 << 20;  // 64 MiB of float32
constexpr int64_t kWeightSum_bytes = 8;        // at the start of a message

/// Cuts blocks for one rank into messages of at most `most_elements` elements, or of one row. Sender and receiver cut
/// alike.
std::vector<WeightBlocks> weight_messages(const WeightBlocks& blocks, int64_t most_elements);
/// Returns the elements per message if no rank sends to, or receives from, more than `most_peers` others.
int64_t message_elements(int64_t most_peers, int64_t bucket_elements = kBucketElements);

class WeightTransfer {
 public:
  /// `ranks`: the communicator of the schedule's ranks; must outlive this. About `bucket_elements` are in transit on a
  /// rank at a time, in each direction. **Collective**.
  WeightTransfer(const WeightSchedule& schedule, Communicator& ranks, int64_t bucket_elements = kBucketElements);

  /// Copies the weights. `from`: null on ranks that do not train. `to`: null on ranks that do not sample, or sample
  /// with the trainer's tensors. Both have one dtype. **Collective**. Bug: received bits differ from the trainer's.
  void run(const Transformer* from, const Transformer* to);

 private:
  using Pieces = std::map<int, std::vector<WeightBlocks>>;  // by peer rank: blocks of each bucket
  void move_bucket(size_t bucket, const Transformer* from, const Transformer* to);
  void check_whole(const Transformer* from, const Transformer* to);

  Communicator& ranks_;
  int source_;  // rank whose model's sum all others must have
  Pieces sends_, receives_;
  WeightBlocks kept_;
  int64_t num_buckets_ = 0;
};

}  // namespace roll
