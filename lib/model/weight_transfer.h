// Weight sync: copies the trained weights (all, or only adapters) from the trainer's to the sampler's model, by the
// schedule of model/weight_schedule.h. A rank exchanges one message with each of its peers at a time; these messages
// together are a bucket, of bounded size. Each message carries the bit sum (bit_sum() in parameter_shards.h) of its
// blocks in the sender's model, which the receiver's blocks must have afterwards. At the end the checksum of the
// sampler's whole model must equal the trainer's.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/transformer.h"
#include "model/weight_schedule.h"

namespace roll {

constexpr int64_t kBucketElements = 16 << 20;  // elements of a bucket: 64 MiB of float32
constexpr int64_t kWeightSumBytes = 8;         // bytes of the bit sum at the start of a message

/// Cuts the blocks that one rank sends to another into messages of at most `most_elements` elements, or of a single row
/// if a row is larger. Sender and receiver get the same messages.
std::vector<WeightBlocks> weight_messages(const WeightBlocks& blocks, int64_t most_elements);
/// Returns the size limit of a message, in elements, for a sync in which no rank sends to, or receives from, more than
/// `most_peers` others.
int64_t message_elements(int64_t most_peers, int64_t bucket_elements = kBucketElements);

class WeightTransfer {
 public:
  /// `ranks`: the communicator of the schedule's ranks; must outlive this. At most about `bucket_elements` elements are
  /// in transit on a rank at a time, in each direction. **Collective** over `ranks`.
  WeightTransfer(const WeightSchedule& schedule, Communicator& ranks, int64_t bucket_elements = kBucketElements);

  /// Copies the weights; may be called again after each update. `from`: the trainer's model, null on ranks that do not
  /// train. `to`: the sampler's model, which is written; null on ranks that do not sample, or whose sampler uses the
  /// trainer's tensors. Both have the same dtypes. **Collective** over `ranks`. Throws Bug if the bits received differ
  /// from the trainer's.
  void run(const Transformer* from, const Transformer* to);

 private:
  using Pieces = std::map<int, std::vector<WeightBlocks>>;  // by peer rank: blocks of each bucket
  void move_bucket(size_t bucket, const Transformer* from, const Transformer* to);
  void check_whole(const Transformer* from, const Transformer* to);

  Communicator& ranks_;
  int source_;  // trainer rank whose model's checksum the sampler must have
  Pieces sends_, receives_;
  WeightBlocks kept_;
  int64_t num_buckets_ = 0;
};

}  // namespace roll
