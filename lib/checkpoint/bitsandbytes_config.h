// Parses the section quantization_config of a config.json, which says how bitsandbytes quantised the folder's weights.
// bitsandbytes.h reads the weights.
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

/// The settings: how, and which linear layers are quantised. Those are all but the ones that llm_int8_skip_modules
/// names.
struct BitsandbytesConfig {
  Quantisation kind = Quantisation::kNf4;
  at::ScalarType from = at::kFloat;                     // kNf4: dtype before quantisation (QuantisedMatrix::from)
  std::vector<std::shared_ptr<const Regex>> skipped{};  // entries of llm_int8_skip_modules, as patterns
  std::vector<std::string> skipped_ends{};              // the same entries, as texts

  /// Returns true if the weight of the linear layer with this full name is quantised, by transformers' rule
  /// (should_convert_module). An entry excludes a layer if the layer's name ends in the entry's text. It also does if
  /// its pattern matches the name, or a prefix of the name that ends at a dot.
  bool covers(const std::string& module) const;
  bool operator==(const BitsandbytesConfig&) const = default;
};

/// Returns the settings in a config.json; nullopt if it has no quantization_config. Throws UserError "origin: ..." for
/// another kind of quantisation; `origin`: path of the file.
std::optional<BitsandbytesConfig> bitsandbytes_config(const Json& config, const std::string& origin);

/// Parts that only bitsandbytes_config.cpp and bitsandbytes.cpp use. Messages begin with `where` ("file: key") or
/// `origin` (file).
namespace bitsandbytes {

inline constexpr const char *kSection = "quantization_config", *kSkipped = "llm_int8_skip_modules";
inline constexpr const char* kGivePlain = "use the unquantised model instead";  // advice that ends messages

/// Returns the value of `key`, or `absent` if it is absent or null. T: string, bool, double or vector of strings.
/// Throws UserError "where: key = ..." if the value has another type than T.
template <class T>
T typed_value(const Json& section, const std::string& where, const char* key, T absent);

/// Parses "float32", "bfloat16" or "float16". Throws UserError "where = ..." for another name.
at::ScalarType float_named(const std::string& name, const std::string& where);

/// Returns the dtype in a config.json (dtype, else torch_dtype, else float32), which the weights had before
/// quantisation. Throws UserError if float_named() does not know it.
at::ScalarType stored_dtype(const Json& config, const std::string& origin);

}  // namespace bitsandbytes

}  // namespace roll
