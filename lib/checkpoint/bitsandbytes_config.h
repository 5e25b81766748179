// Parses quantization_config of a config.json for weights that bitsandbytes quantised (read by bitsandbytes.h).
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

/// Settings in quantization_config.
struct BitsandbytesConfig {
  Quantisation kind = Quantisation::kNf4;
  at::ScalarType from = at::kFloat;                     // QuantisedMatrix::from
  std::vector<std::shared_ptr<const Regex>> skipped{};  // llm_int8_skip_modules as prefixes of names
  std::vector<std::string> skipped_ends{};              // and as suffixes

  /// Returns true if the module's weight is quantised, by transformers' rule (should_convert_module).
  bool covers(const std::string& module) const;
  bool operator==(const BitsandbytesConfig&) const = default;
};

/// Returns the settings; nullopt if `config` has none. UserError "origin: ...": another kind of quantisation.
std::optional<BitsandbytesConfig> bitsandbytes_config(const Json& config, const std::string& origin);

namespace bitsandbytes {

inline constexpr const char *kSection = "quantization_config", *kSkipped = "llm_int8_skip_modules";
inline constexpr const char* kGivePlain = "use the unquantised model instead";

/// Returns a key's value, or `absent`. UserError "where: key = ...": the value has another type.
template <class T>  // string, bool, double or list of strings
T typed_value(const Json& section, const std::string& where, const char* key, T absent);

/// Parses float32, bfloat16 or float16. UserError "where = ...": another name.
at::ScalarType float_named(const std::string& name, const std::string& where);

/// Returns the dtype before quantisation, from config.json. UserError: it is not one of float_named().
at::ScalarType stored_dtype(const Json& config, const std::string& origin);

}  // namespace bitsandbytes

}  // namespace roll
