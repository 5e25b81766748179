#include "model/weight_transfer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/error.h"

namespace roll {

std::vector<WeightBlocks> weight_messages(const WeightBlocks& blocks, int64_t most_elements) {
  std::vector<WeightBlocks> messages;
  int64_t room = 0;
  for (WeightBlock block : blocks)
    while (block.num_rows > 0) {
      if (room < block.num_columns) {
        messages.emplace_back();
        room = std::max(most_elements, block.num_columns);
      }
      WeightBlock& piece = messages.back().emplace_back(block);
      piece.num_rows = std::min(block.num_rows, room / block.num_columns);
      room -= piece.numel();
      block.row += piece.num_rows;
      block.num_rows -= piece.num_rows;
    }
  return messages;
}

int64_t message_elements(int64_t most_peers, int64_t bucket_elements) {
  return bucket_elements / std::max<int64_t>(1, most_peers);
}

namespace {

const at::Tensor& trained_tensor(const Transformer& model, const WeightBlock& block) {
  return model.trained()[model.parts().trained_index(block.parameter)].second;
}

/// Returns a block as this rank's parameters hold it: a view.
at::Tensor block_view(const Transformer& model, const WeightBlock& block) {
  const auto& [name, tensor] = model.trained()[model.parts().trained_index(block.parameter)];
  const TensorShard& part = model.parts().part(name);
  const at::Tensor matrix = tensor.dim() == 1 ? tensor.detach().unsqueeze(1) : tensor.detach().flatten(1);
  return matrix.narrow(0, block.row - (part.dim == 0 ? part.begin : 0), block.num_rows)
      .narrow(1, block.column - (part.dim == 1 ? part.begin : 0), block.num_columns);
}

/// Returns the offset of a block in a message after its first `end` bytes, aligned to the elements of `tensor`.
int64_t aligned_offset(int64_t end, const at::Tensor& tensor) {
  const auto size = static_cast<int64_t>(tensor.element_size());
  return (end + size - 1) / size * size;
}

int64_t message_bytes(const Transformer& model, const WeightBlocks& blocks) {
  int64_t end = kWeightSumBytes;
  for (const WeightBlock& block : blocks) {
    const at::Tensor tensor = trained_tensor(model, block);
    end = aligned_offset(end, tensor) + block.numel() * static_cast<int64_t>(tensor.element_size());
  }
  return end;
}

/// Returns the bit sum of blocks as the parameters hold them, not as a message does.
at::Tensor block_sum(const Transformer& model, const WeightBlocks& blocks) {
  at::Tensor sum = at::zeros({}, at::TensorOptions(model.device()).dtype(at::kLong));
  for (const WeightBlock& block : blocks) sum += bit_sum(block_view(model, block));
  return sum;
}

/// Messages without data share a tensor with the previous one of equal size: a plan has millions of messages.
class EmptyMessages {
 public:
  at::Tensor of(const Transformer& model, const WeightBlocks& blocks) {
    const int64_t bytes = message_bytes(model, blocks);
    if (!last_.defined() || !last_.is_meta() || last_.numel() != bytes)
      last_ = at::empty({bytes}, at::TensorOptions(model.device()).dtype(at::kByte));
    return last_;
  }

 private:
  at::Tensor last_;
};

at::Tensor message_sum(const at::Tensor& message) {
  return message.narrow(0, 0, kWeightSumBytes).view(at::kLong)[0];
}

/// Calls use(matrix in the message, view in the model) for each block.
template <class F>
void for_each_block(const Transformer& model, const WeightBlocks& blocks, const at::Tensor& message, const F& use) {
  int64_t end = kWeightSumBytes;
  for (const WeightBlock& block : blocks) {
    const at::Tensor parameter_view = block_view(model, block);
    const int64_t begin = aligned_offset(end, parameter_view),
                  bytes = block.numel() * static_cast<int64_t>(parameter_view.element_size());
    use(message.narrow(0, begin, bytes).view(parameter_view.scalar_type()).view({block.num_rows, block.num_columns}),
        parameter_view);
    end = begin + bytes;
  }
}

void pack(const Transformer& model, const WeightBlocks& blocks, const at::Tensor& message) {
  if (message.is_meta()) return;
  message_sum(message).copy_(block_sum(model, blocks));
  for_each_block(model, blocks, message,
                 [](const at::Tensor& in_message, const at::Tensor& in_model) { in_message.copy_(in_model); });
}

void unpack(const Transformer& model, const WeightBlocks& blocks, const at::Tensor& message, int sender) {
  if (message.is_meta()) return;
  for_each_block(model, blocks, message,
                 [](const at::Tensor& in_message, const at::Tensor& in_model) { in_model.copy_(in_message); });
  ROLL_CHECK_EQ(block_sum(model, blocks).item<int64_t>(), message_sum(message).item<int64_t>(),
                fmt::format("{} and the weights after it arrive unchanged from rank {} of the weight sync",
                            model.trained()[blocks.front().parameter].first, sender));
}

}  // namespace

WeightTransfer::WeightTransfer(const WeightSchedule& schedule, Communicator& ranks, int64_t bucket_elements)
    : ranks_(ranks), source_(schedule.trainer().ranks.front()) {
  WeightMoves moves = schedule.moves(ranks.rank());
  kept_ = std::move(moves.kept);
  // Sender and receiver must agree on what goes in a bucket, whatever their other peers.
  const auto most_peers = static_cast<int64_t>(std::max(moves.sends.size(), moves.receives.size()));
  const int64_t limit = message_elements(ranks.all_reduce_max(most_peers, "peers of the weight sync"), bucket_elements);
  for (const auto& [peer, blocks] : moves.sends) sends_[peer] = weight_messages(blocks, limit);
  for (const auto& [peer, blocks] : moves.receives) receives_[peer] = weight_messages(blocks, limit);
  for (const auto& [peer, pieces] : sends_) num_buckets_ = std::max(num_buckets_, std::ssize(pieces));
  num_buckets_ = ranks.all_reduce_max(num_buckets_, "buckets of weights");
}

void WeightTransfer::run(const Transformer* from, const Transformer* to) {
  const at::NoGradGuard no_grad;
  ROLL_CHECK(from || (sends_.empty() && kept_.empty()), "a rank that sends weights has a model");
  ROLL_CHECK(to || receives_.empty(), "a rank that receives weights has a model");
  if (to && !to->device().is_meta())
    for (const WeightBlock& block : kept_) block_view(*to, block).copy_(block_view(*from, block));
  for (int64_t bucket = 0; bucket < num_buckets_; ++bucket) move_bucket(bucket, from, to);
  check_whole(from, to);
}

void WeightTransfer::move_bucket(size_t bucket, const Transformer* from, const Transformer* to) {
  const at::Tensor nothing = at::empty({0}, at::TensorOptions((from ? from : to)->device()).dtype(at::kByte));
  std::vector<at::Tensor> out(ranks_.size(), nothing), in(ranks_.size(), nothing);
  EmptyMessages messages;
  for (const auto& [peer, pieces] : sends_)
    if (bucket < pieces.size()) {
      out[peer] = messages.of(*from, pieces[bucket]);
      pack(*from, pieces[bucket], out[peer]);
    }
  for (const auto& [peer, pieces] : receives_)
    if (bucket < pieces.size()) in[peer] = messages.of(*to, pieces[bucket]);
  ranks_.exchange(out, in, "weights for the sampler");
  for (const auto& [peer, pieces] : receives_)
    if (bucket < pieces.size()) unpack(*to, pieces[bucket], in[peer], peer);
}

/// Checks the sampler's whole model against the first replica, although several replicas sent parts.
void WeightTransfer::check_whole(const Transformer* from, const Transformer* to) {
  const int64_t local_sum = from ? from->parts().checksum(from->parameters()) : 0;
  const int64_t sum = ranks_.all_reduce_sum(ranks_.rank() == source_ ? local_sum : int64_t{0}, "checksum of weights");
  if (to) ROLL_CHECK_EQ(to->parts().checksum(to->parameters()), sum, "the sampler has the trainer's weights");
}

}  // namespace roll
