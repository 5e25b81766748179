// Generates command-line flags from a struct's fields(): the key top_p becomes --top-p, with the key's description,
// default, choices and range.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "config/flag.h"
#include "config/writer.h"

namespace roll {

/// Returns a key's flag: "--top-p" for top_p.
inline std::string flag_of(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

/// Adds one key's flag, which passes its text to `set`; --help shows description, choices, range and default. The
/// hidden spelling --top_p works too.
template <class M>
void add_flag_of(CLI::App& sub, const std::string& key, const M& member, const std::string& doc, const Range& range,
                 const std::function<void(const std::string&)>& set) {
  const bool has_spelling = flag_of(key) != "--" + key;
  if constexpr (std::is_same_v<M, bool>) {
    const auto flip = [set](int64_t count) { set(yaml_scalar(count > 0)); };
    sub.add_flag_function(flag_of(key), flip, doc);
    if (has_spelling) sub.add_flag_function("--" + key, flip)->group("");
  } else {
    const std::string words = fmt::format("{}", fmt::join(WordsOf<M>::all(), " | "));
    const std::string allowed = words.empty() ? range.brief() : words;
    sub.add_option_function<std::string>(flag_of(key), set, allowed.empty() ? doc : doc + " [" + allowed + "]")
        ->default_str(yaml_scalar(member))
        ->take_last();
    if (has_spelling) sub.add_option_function<std::string>("--" + key, set)->take_last()->group("");
  }
}

/// Maps a key to its flag's name without dashes.
using FlagNames = std::string(const std::string& key);

class FieldFlags {
 public:
  /// left_out: keys without a flag. given: if set, values are only collected there. named: names the flags; nullptr: by
  /// their keys.
  FieldFlags(CLI::App& sub, std::set<std::string> left_out, Node* given = nullptr, FlagNames* named = nullptr)
      : sub_(sub), left_out_(std::move(left_out)), given_(given), named_(named) {}

  template <class M>
  void operator()(const char* key, M& member, const char* doc, const Range& range = finite()) {
    if (left_out_.contains(key)) return;
    const auto set = [given = given_, key = std::string(key), &member, range](const std::string& text) {
      given ? give_flag(*given, key, scalar_of_flag(text)) : read_flag(flag_of(key), text, member, range);
    };
    if constexpr (requires { yaml_scalar(member); })  // scalars only
      add_flag_of(sub_, named_ ? named_(key) : key, member, doc, range, set);
  }
  void bool_or_text(const char*, std::string&, const char*) {}
  void noted(KeyList, const char*) {}
  void refused(KeyList, const char*) {}
  void refused_above_one(KeyList, const char*) {}

 private:
  CLI::App& sub_;
  std::set<std::string> left_out_;
  Node* given_;
  FlagNames* named_;
};

/// Adds flags that set the fields of `args`, which must outlive the parsing.
template <HasFields T>
void add_field_flags(CLI::App& sub, T& args, std::set<std::string> left_out = {}) {
  FieldFlags flags(sub, std::move(left_out));
  args.fields(flags);
}

/// Adds flags of a struct in which one key decides which other keys exist. Values are collected in `given`, which must
/// outlive the parsing; read_flags() then fills the struct.
template <HasFields T>
void gather_field_flags(CLI::App& sub, Node& given, std::set<std::string> left_out = {}, FlagNames* named = nullptr) {
  FieldFlags flags(sub, std::move(left_out), &given, named);
  T defaults;
  defaults.fields(flags);
}

}  // namespace roll
