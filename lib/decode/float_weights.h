// Weights and tables in float32 that the decoders of CPU and GPU make of a model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/backbone.h"
#include "model/spec.h"

namespace roll {

/// Returns the tensor detached and as contiguous float32, a copy only if needed; an undefined tensor stays undefined.
at::Tensor as_float(const at::Tensor& tensor);
/// Returns the data of a float32 tensor, which must outlive the use of the pointer; null if undefined.
const float* data_or_null(const at::Tensor& tensor);
/// Returns the factor of an RMS norm as float32: its weight, plus the offset of models that store weight - 1. Undefined
/// if the model has no such norm.
at::Tensor norm_weight(const LayerWeights& weights, const NormShape& norm);

/// Returns the factor of the final norm, with the factor of the logits in it.
at::Tensor final_norm_weight(const Backbone& backbone, const ModelSpec& spec);

/// Tables of one RoPE variant (Rope) of a model, by position. R: rotated elements of a head.
struct Angles {
  at::Tensor cos, sin;  // [max_length, R/2] float32
  at::Tensor growth;    // [max_length] float32: factor of queries by position (Rope::query_growth); undefined: 1
};

/// Returns the tables of all ropes of the model, in the order of spec.ropes(), for positions below max_length.
std::vector<Angles> rope_angles(const ModelSpec& spec, int64_t max_length);

}  // namespace roll
