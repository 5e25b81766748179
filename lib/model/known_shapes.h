// Table of the sizes of well-known models, so that memory and speed can be estimated without a model folder.
#pragma once

#include <string>
#include <vector>

#include "model/spec.h"

namespace roll {

/// A model with the sizes of its config.json on the Hub. Features that change neither FLOPs nor memory are left at
/// their defaults, so the spec is not for loading weights.
struct KnownShape {
  std::string name;  // "Qwen2.5-7B"
  ModelSpec spec;
};

/// Returns all known shapes, grouped by family.
const std::vector<KnownShape>& known_shapes();

/// Finds a shape by the last part of a Hub name or folder, ignoring fine-tuning suffixes:
/// "Qwen/Qwen2.5-Math-7B-Instruct" is Qwen2.5-7B, "meta-llama/Meta-Llama-3-8B" is Llama-3-8B. Returns nullptr if none
/// fits.
const KnownShape* find_known_shape(const std::string& name);

/// Returns the spec that `text` names: the path of a config.json, a model folder, or a name that find_known_shape()
/// finds. Throws UserError, with the nearest known shape, if it is none of these.
ModelSpec known_shape(const std::string& text);

}  // namespace roll
