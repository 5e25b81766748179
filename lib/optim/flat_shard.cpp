#include "optim/flat_shard.h"

#include "model/parameter_shards.h"

namespace roll {

FlatParameter flat_shard(const ParameterShape& parameter, int64_t rank, int64_t size) {
  const TensorShard part = shard_of(parameter.cut, rank, size);
  FlatParameter own{.numel = 1, .is_matrix = parameter.shape.size() >= 2, .copies = part.copies};
  for (int64_t dim = 0; dim < std::ssize(parameter.shape); ++dim)
    own.numel *= dim == part.dim ? part.end - part.begin : parameter.shape[static_cast<size_t>(dim)];
  return own;
}

}  // namespace roll
