// The flags of a small tool, made of a struct's fields(): the key top_p becomes --top-p with the key's meaning,
// default, words and range.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <string>

#include "config/flag.h"
#include "config/writer.h"

namespace roll {

class FieldFlags {
 public:
  /// Keys in `left_out` get no flag.
  FieldFlags(CLI::App& sub, std::set<std::string> left_out) : sub_(sub), left_out_(std::move(left_out)) {}

  template <class M>
  void operator()(const char* key, M& member, const char* doc, const Range& range = finite()) {
    if (left_out_.contains(key)) return;
    const std::string flag = flag_of(key);
    if constexpr (std::is_same_v<M, bool>) {
      sub_.add_flag(flag, member, doc);
    } else if constexpr (requires { yaml_scalar(member); }) {  // a group has no flag
      const auto read = [flag, &member, range](const std::string& text) { read_flag(flag, text, member, range); };
      const std::string words = fmt::format("{}", fmt::join(WordsOf<M>::all(), " | "));
      const std::string allowed = words.empty() ? range.brief() : words;
      sub_.add_option_function<std::string>(flag, read, allowed.empty() ? doc : fmt::format("{} [{}]", doc, allowed))
          ->default_str(yaml_scalar(member))
          ->take_last();
    }
  }
  void bool_or_text(const char*, std::string&, const char*) {}
  void noted(KeyList, const char*) {}
  void refused(KeyList, const char*) {}
  void refused_above_one(KeyList, const char*) {}

 private:
  static std::string flag_of(std::string key) {
    std::ranges::replace(key, '_', '-');
    return "--" + key;
  }

  CLI::App& sub_;
  std::set<std::string> left_out_;
};

/// `args` must outlive the parsing.
template <HasFields T>
void add_field_flags(CLI::App& sub, T& args, std::set<std::string> left_out = {}) {
  FieldFlags flags(sub, std::move(left_out));
  args.fields(flags);
}

}  // namespace roll
