// Where parameters lie in flat buffers. A bucket is a run of the buffers that is reduced in one collective while
// backward still runs, and of which each data rank owns one equal slice (ZeRO stage 1, Rajbhandari et al. 2020).
#pragma once

#include <cstdint>
#include <vector>

#include "model/spec.h"

namespace roll {

struct FlatParameter {
  int64_t numel = 0;
  bool is_matrix = false;  // matrices decay, vectors (norms, biases) never do
  int64_t unit = -1;   // what is gathered at once, with its neighbours of the same one (gathered_layers.h); -1: never
  int64_t copies = 1;  // tensor ranks that hold the same numbers; their gradients are added before all else
};

/// What tensor rank `rank` of `size` trains of a parameter, from shapes alone.
FlatParameter flat_shard(const ParameterShape& parameter, int64_t rank, int64_t size);

struct Bucket {
  int64_t begin = 0, size = 0;  // elements; size is a multiple of the number of slices: the end may be padding
  bool is_matrix = false;
  int64_t unit = -1, copies = 1;
  std::vector<int64_t> members;  // parameters, in order
};

struct FlatLayout {
  std::vector<int64_t> offsets;       // of each parameter
  std::vector<int64_t> bucket_of;     // of each parameter
  std::vector<Bucket> buckets;        // parameters of one kind each, in the buffers' order
  std::vector<int64_t> reduce_order;  // of buckets: as backward is through with them; those with copies last
  int64_t total = 0;                  // elements of a buffer
};

/// Parameters in model order, matrices before vectors, those with copies last. A bucket takes whole parameters until it
/// holds `bucket_elements`, and begins where kernels' vectors may, whatever is before it.
FlatLayout plan_flat_layout(const std::vector<FlatParameter>& parameters, int64_t num_slices, int64_t bucket_elements);

/// About a sixteenth of a model, but no less than pays for a collective and no more than 40 M.
int64_t bucket_elements_for(int64_t num_parameters);

}  // namespace roll
