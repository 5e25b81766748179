// Copies what is trained, all weights or the adapters, into the sampler's model, each element straight from a rank that
// has it (model/weight_schedule.h), in buckets of bounded size. Each message carries the sum of the bits that the
// sender's own parameters hold, which must be that of the receiver's own once they are there; at the end the sampler's
// model as a whole must have the sum of the trainer's.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/transformer.h"
#include "model/weight_schedule.h"

namespace roll {

constexpr int64_t kBucketElements = 16 << 20;  // 64 MiB of float32
constexpr int64_t kWeightSum_bytes = 8;        // before the elements of a message

/// Blocks for one rank in messages of at most so many elements, or of one row. Sender and receiver cut alike.
std::vector<WeightBlocks> weight_messages(const WeightBlocks& blocks, int64_t most_elements);
/// How many elements a message has where no rank sends to, or gets from, more than `most_peers` others.
int64_t message_elements(int64_t most_peers, int64_t bucket_elements = kBucketElements);

class WeightTransfer {
 public:
  /// `ranks`: the communicator whose ranks the schedule names; must outlive this. About `bucket_elements` lie between
  /// models at a time on a rank, in each direction. **Collective**.
  WeightTransfer(const WeightSchedule& schedule, Communicator& ranks, int64_t bucket_elements = kBucketElements);

  /// `from`, `to`: null on ranks that do not train, and on those that do not sample or sample with the trainer's own
  /// tensors. Both of one dtype. **Collective**. Bug: what arrived is not what the trainer has, to the bit.
  void run(const Transformer* from, const Transformer* to);

 private:
  using Pieces = std::map<int, std::vector<WeightBlocks>>;  // by the other rank: what goes in each bucket
  void move_bucket(size_t bucket, const Transformer* from, const Transformer* to);
  void check_whole(const Transformer* from, const Transformer* to);

  Communicator& ranks_;
  int source_;  // the rank whose model's sum all others must have
  Pieces sends_, receives_;
  WeightBlocks kept_;
  int64_t num_buckets_ = 0;
};

}  // namespace roll
