#include "checkpoint/bitsandbytes_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/regex.h"
#include "checkpoint/block_floats.h"

namespace roll {

namespace bitsandbytes {

template <class T>
T typed_value(const Json& section, const std::string& where, const char* key, T absent) {
  const auto found = section.find(key);
  if (found == section.end() || found->is_null()) return absent;
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw user_error("{}: {} = {}: is not of this key's type", where, key, to_line(*found));
  }
}

template std::string typed_value(const Json&, const std::string&, const char*, std::string);
template double typed_value(const Json&, const std::string&, const char*, double);
template bool typed_value(const Json&, const std::string&, const char*, bool);
template std::vector<std::string> typed_value(const Json&, const std::string&, const char*, std::vector<std::string>);

at::ScalarType float_named(const std::string& name, const std::string& where) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float16") return at::kHalf;
  throw user_error("{} = {}: must be float32, bfloat16 or float16", where, name);
}

at::ScalarType stored_dtype(const Json& config, const std::string& origin) {
  const char* key = config.contains("dtype") ? "dtype" : "torch_dtype";
  return float_named(typed_value<std::string>(config, origin, key, "float32"), fmt::format("{}: {}", origin, key));
}

}  // namespace bitsandbytes

bool BitsandbytesConfig::covers(const std::string& module) const {
  MatchMemory memory;
  return std::ranges::none_of(skipped, [&](const auto& begin) { return begin->find(module, 0, memory).has_value(); }) &&
         std::ranges::none_of(skipped_ends, [&](const std::string& end) { return module.ends_with(end); });
}

std::optional<BitsandbytesConfig> bitsandbytes_config(const Json& config, const std::string& origin) {
  using namespace bitsandbytes;
  const auto section = config.find(kSection);
  if (section == config.end() || section->is_null()) return {};
  const std::string where = fmt::format("{}: {}", origin, kSection);
  if (!section->is_object()) throw user_error("{}: {} where an object is needed", where, section->type_name());
  if (block_floats(config, origin)) return {};
  const auto method = typed_value<std::string>(*section, where, "quant_method", "(absent)");
  if (method != "bitsandbytes")
    throw user_error("{}: quant_method = {}: roll reads bitsandbytes, mxfp4 and fp8 only; {}", where, method,
                     kGivePlain);
  BitsandbytesConfig found;
  if (typed_value(*section, where, "load_in_8bit", false)) {
    found.kind = Quantisation::kInt8;
  } else {
    const auto require = [&](const char* key, const std::string& absent, const std::string& only) {
      const auto value = typed_value<std::string>(*section, where, key, absent);
      if (value != only) throw user_error("{}: {} = {}: only {} is read; {}", where, key, value, only, kGivePlain);
    };
    require("bnb_4bit_quant_type", "fp4", "nf4"), require("bnb_4bit_quant_storage", "uint8", "uint8");
    found.from = stored_dtype(config, origin);
  }
  for (const std::string& key : typed_value(*section, where, kSkipped, std::vector<std::string>())) {
    found.skipped_ends.push_back(key);
    try {
      found.skipped.push_back(std::make_shared<Regex>(fmt::format(R"(^(?:{})(?:(?<=\.)|(?=\.|$)))", key)));
    } catch (const RegexError& error) {
      throw user_error("{}: {} = {}: is not a regular expression: {}", where, kSkipped, key, error.what());
    }
  }
  return found;
}

}  // namespace roll
