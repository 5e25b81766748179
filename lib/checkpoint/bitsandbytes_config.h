// What a config.json says of weights that bitsandbytes quantised (bitsandbytes.h reads these).
#pragma once

#include <c10/core/ScalarType.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "ops/quantised.h"

namespace roll {

class Regex;

/// What quantization_config of a config.json says.
struct BitsandbytesConfig {
  Quantisation kind = Quantisation::kNf4;
  at::ScalarType from = at::kFloat;                     // QuantisedMatrix::from
  std::vector<std::shared_ptr<const Regex>> skipped{};  // llm_int8_skip_modules: beginnings of names
  std::vector<std::string> skipped_ends{};              // and ends

  /// Whether the module's weight is quantised; transformers' rule (should_convert_module).
  bool covers(const std::string& module) const;
  bool operator==(const BitsandbytesConfig&) const = default;
};

/// None: `config` says nothing. UserError "origin: ...": another quantisation.
std::optional<BitsandbytesConfig> bitsandbytes_config(const Json& config, const std::string& origin);

namespace bitsandbytes {

inline constexpr const char *kSection = "quantization_config", *kSkipped = "llm_int8_skip_modules";
inline constexpr const char* kGivePlain = "give the model that was not quantised";

/// A key's value, or `absent`. UserError "where: key = ...": of another type.
template <class T>  // a text, truth, number or list of texts
T value_of(const Json& section, const std::string& where, const char* key, T absent);

/// bitsandbytes' and transformers' words. UserError "where = ...".
at::ScalarType float_named(const std::string& name, const std::string& where);

/// What the model was before, as its config.json says. UserError.
at::ScalarType stored_dtype(const Json& config, const std::string& origin);

}  // namespace bitsandbytes

}  // namespace roll
