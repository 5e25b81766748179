// A recipe in ROLL's own words, and what texts about it mention.
#pragma once

#include <string>

namespace roll {

inline const std::string kRecipe = std::string(ROLL_SOURCE_DIR) + "/tests/config/roll_recipe.yaml";

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace roll
