// Shapes of well-known models, for planning without a model folder.
#pragma once

#include <string>
#include <vector>

#include "model/spec.h"

namespace roll {

/// Sizes from the model's config.json on the Hub. Keys that change neither FLOPs nor memory keep their defaults.
struct KnownShape {
  std::string name;  // "Qwen2.5-7B"
  ModelSpec spec;
};

/// Returns all known shapes, by family, then size.
const std::vector<KnownShape>& known_shapes();

/// Finds a shape by the last part of a Hub name or folder, ignoring fine-tuning suffixes:
/// "Qwen/Qwen2.5-Math-7B-Instruct" is Qwen2.5-7B, "meta-llama/Meta-Llama-3-8B" is Llama-3-8B. nullptr: none.
const KnownShape* find_known_shape(const std::string& name);

/// Returns the spec of `text`: a config.json, a folder with one, or the name of a known shape. UserError: none of
/// these; it names the nearest known shape.
ModelSpec known_shape(const std::string& text);

}  // namespace roll
