// Shapes of well-known models, for planning where no model is at hand.
#pragma once

#include <string>
#include <vector>

#include "model/spec.h"

namespace roll {

/// Sizes as the model's config.json on the Hub has them; what changes neither FLOPs nor memory is left at its default.
struct KnownShape {
  std::string name;  // "Qwen2.5-7B"
  ModelSpec spec;
};

/// All of them, families by size.
const std::vector<KnownShape>& known_shapes();

/// The one that a Hub name or a folder means by its last part, whatever was trained on top:
/// "Qwen/Qwen2.5-Math-7B-Instruct" is Qwen2.5-7B, "meta-llama/Meta-Llama-3-8B" is Llama-3-8B. nullptr: none.
const KnownShape* find_known_shape(const std::string& name);

/// `text` is a config.json, a folder that holds one, or the name of a known shape. UserError: neither; it names the
/// nearest known shape.
ModelSpec shape_of(const std::string& text);

}  // namespace roll
