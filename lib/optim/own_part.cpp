#include "optim/own_part.h"

#include "model/parameter_parts.h"

namespace roll {

FlatParameter own_part(const ParameterShape& parameter, int64_t rank, int64_t size) {
  const TensorPart part = part_of(parameter.cut, rank, size);
  FlatParameter own{.numel = 1, .is_matrix = parameter.shape.size() >= 2, .copies = part.copies};
  for (int64_t dim = 0; dim < std::ssize(parameter.shape); ++dim)
    own.numel *= dim == part.dim ? part.end - part.begin : parameter.shape[static_cast<size_t>(dim)];
  return own;
}

}  // namespace roll
