// Plans where parameters lie in flat buffers. A bucket is a part of the buffers that one collective reduces while
// backward runs. Each data rank owns an equal slice of the bucket (ZeRO stage 1, Rajbhandari et al. 2020).
#pragma once

#include <cstdint>
#include <vector>

#include "model/spec.h"

namespace roll {

struct FlatParameter {
  int64_t numel = 0;
  bool is_matrix = false;  // weight decay applies to matrices, never to vectors (norms, biases)
  int64_t unit = -1;       // gathered at once with neighbours of the same unit (gathered_layers.h); -1: never
  int64_t copies = 1;      // tensor ranks with the same elements; their gradients are summed first
};

/// Returns the part of a parameter that tensor rank `rank` of `size` trains, from shapes alone.
FlatParameter flat_shard(const ParameterShape& parameter, int64_t rank, int64_t size);

struct Bucket {
  int64_t begin = 0, size = 0;  // elements; size is a multiple of the number of slices: the end may be padding
  bool is_matrix = false;
  int64_t unit = -1, copies = 1;
  std::vector<int64_t> members;  // parameters, in order
};

struct FlatLayout {
  std::vector<int64_t> offsets;           // by parameter
  std::vector<int64_t> bucket_by_tensor;  // by parameter
  std::vector<Bucket> buckets;            // in the buffers' order; the parameters of a bucket are of one kind
  std::vector<int64_t> reduce_order;      // bucket indices in backward's order; those with copies last
  int64_t total = 0;                      // elements of a buffer
};

/// Plans the layout: parameters in model order, matrices before vectors, those with copies last. A bucket takes whole
/// parameters until it holds `bucket_elements`, and begins at a multiple of the kernels' vector size.
FlatLayout plan_flat_layout(const std::vector<FlatParameter>& parameters, int64_t num_slices, int64_t bucket_elements);

/// Returns a sixteenth of the model, but at least what pays for a collective, and at most 40 M.
int64_t bucket_elements_for(int64_t num_parameters);

}  // namespace roll
