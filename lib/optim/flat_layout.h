// Plans where the parameters of a model lie in flat buffers, for FlatOptimizer (optimizer.h). A bucket is a section of
// the buffers that one collective reduces while backward runs. Each data-parallel rank owns one of num_slices equal
// slices of each bucket, and keeps the optimizer state for it (ZeRO stage 1, Rajbhandari et al. 2020). A unit is a
// layer whose matrices are gathered together (ZeRO stage 3, gathered_layers.h).
#pragma once

#include <cstdint>
#include <vector>

#include "model/spec.h"

namespace roll {

/// A parameter, or the part that this tensor-parallel rank holds.
struct FlatParameter {
  int64_t numel = 0;       // elements
  bool is_matrix = false;  // weight decay applies to matrices, never to vectors (norms, biases)
  int64_t unit = -1;       // number of the layer that is gathered together; -1: the parameter is always whole
  int64_t copies = 1;      // tensor-parallel ranks that hold the same elements; their gradients must be summed first
  bool uses_muon = false;  // Muon updates it (muon.h), and AdamW otherwise
};

/// Returns the part of a parameter that tensor-parallel rank `rank` of `size` ranks trains; `unit` and `uses_muon` are
/// not set.
FlatParameter flat_shard(const ParameterShape& parameter, int64_t rank, int64_t size);

/// Elements [begin, begin + size) of the buffers.
struct Bucket {
  int64_t begin = 0;
  int64_t size = 0;               // a multiple of num_slices, so the last elements may be padding
  bool is_matrix = false;         // FlatParameter::is_matrix of all members
  int64_t unit = -1, copies = 1;  // FlatParameter::unit and copies of all members
  bool uses_muon = false;         // FlatParameter::uses_muon of all members
  std::vector<int64_t> members;   // indices of the parameters, in the order of their elements
};

/// Layout of all parameters. Buffers of parameters and gradients have `total` elements.
struct FlatLayout {
  std::vector<int64_t> offsets;           // [parameter] index of its first element in the buffers
  std::vector<int64_t> bucket_by_tensor;  // [parameter] index of its bucket
  std::vector<Bucket> buckets;            // in the order of the buffers
  std::vector<int64_t> reduce_order;  // bucket indices in the order in which backward completes them; copies > 1 last
  int64_t total = 0;                  // elements of a buffer, padding included

  /// Returns the first element of the parameters that Muon updates, which come last; `total` if there are none.
  int64_t muon_begin() const;
};

/// Plans the layout of `parameters`, given in model order. In the buffers, AdamW's parameters come before Muon's.
/// Within each of these parts, matrices come before vectors, parameters with copies > 1 last, and otherwise the order
/// stays. A bucket takes whole parameters until it holds at least bucket_elements. It begins at a multiple of 8 *
/// num_slices, because kernels access 8 elements at once.
FlatLayout plan_flat_layout(const std::vector<FlatParameter>& parameters, int64_t num_slices, int64_t bucket_elements);

/// Returns the bucket_elements to use for a model with num_parameters elements: a sixteenth, but at least 65,536, so
/// that a collective pays, and at most 40 x 2^20.
int64_t bucket_elements_for(int64_t num_parameters);

}  // namespace roll
