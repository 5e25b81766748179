#include "app/cli/config_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "settings/key_lists.h"

namespace roll {

namespace {

constexpr const char* kOverrides = "overrides";

bool is_yaml_name(const std::string& word) {
  return word.find('=') == std::string::npos && (word.ends_with(".yaml") || word.ends_with(".yml"));
}

bool is_key(const std::string& name) {
  const auto keys = all_keys();
  return std::ranges::any_of(keys, [&](const SharedKey& key) {
    const auto paths = key.paths();
    return std::ranges::find(paths, name) != paths.end();
  });
}

}  // namespace

void add_config_flags(CLI::App& sub, std::string& file, std::vector<std::string>& overrides, const std::string& help,
                      const InsteadOfFile& alternative) {
  sub.add_option("--config", file, help);
  sub.add_option(kOverrides, overrides, "key=value pairs that replace values of the file");
  sub.parse_complete_callback([&, alternative] {
    const auto yaml_word =
        file.empty() ? std::find_if(overrides.begin(), overrides.end(), is_yaml_name) : overrides.end();
    if (yaml_word != overrides.end()) {
      file = *yaml_word;
      overrides.erase(yaml_word);
    } else if (!file.empty() && !is_there(file)) {
      throw user_error("--config = {}: no such file; give the path of a configuration", file);
    }
    const bool is_broken = sub.remaining_size() > 0;  // an unknown flag is reported instead
    const bool needs_no_file = alternative.flags && alternative.are_given();
    if (!file.empty() && needs_no_file)
      throw user_error(
          "{} replace a configuration file, but {} is given; override its keys instead, such as pretrain=MODEL",
          alternative.flags, file);
    if (file.empty() && !is_broken && !needs_no_file)
      throw user_error("--config FILE.yaml{} is missing; `roll {} --help` says more",
                       alternative.flags ? fmt::format(", or {},", alternative.flags) : "", sub.get_name());
  });
}

std::string override_hint(const CLI::App& sub, const std::string& flag, const std::string& next) {
  if (!sub.get_option_no_throw(kOverrides)) return "";
  const size_t equals = std::min(flag.find('='), flag.size());
  std::string name = flag.substr(0, equals);
  name.erase(0, name.find_first_not_of('-'));
  std::replace(name.begin(), name.end(), '-', '_');
  if (!is_key(name)) return "";
  const std::string value = equals < flag.size() ? flag.substr(equals + 1) : next;
  return fmt::format("; it is a key of the configuration: write {}={}", name,
                     value.empty() || value.starts_with("--") ? "..." : value);
}

}  // namespace roll
