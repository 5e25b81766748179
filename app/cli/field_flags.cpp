#include "app/cli/field_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "config/flag.h"
#include "config/walk.h"
#include "config/writer.h"

namespace roll {

namespace {

using SetText = std::function<void(const std::string& text)>;

/// "--top-p"
std::string flag_name(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

/// Adds a key's flag, which calls `set` with its text. --help shows meaning, words, range and default.
void add_flag(CLI::App& sub, const std::string& name, const KeyInfo& info, const AnyMember& member,
              const SetText& set) {
  const bool has_underscore_name = flag_name(name) != "--" + name;
  if (member.type->id == typeid(bool)) {
    const auto set_bool = [set](int64_t count) { set(count > 0 ? "true" : "false"); };
    sub.add_flag_function(flag_name(name), set_bool, info.doc);
    if (has_underscore_name) sub.add_flag_function("--" + name, set_bool)->group("");
    return;
  }
  const std::string words = fmt::format("{}", fmt::join(member.words(), " | "));
  const std::string allowed = words.empty() ? info.range.brief() : words;
  sub.add_option_function<std::string>(flag_name(name), set,
                                       allowed.empty() ? info.doc : info.doc + " [" + allowed + "]")
      ->default_str(yaml_value(member))
      ->take_last();
  if (has_underscore_name) sub.add_option_function<std::string>("--" + name, set)->take_last()->group("");
}

/// Calls f(info, member) for the keys that have flags.
void for_each_flag(const AnyMember& group, const std::set<std::string>& left_out, const VisitKey& f) {
  walk(group, WalkDepth::kTop, [&](const KeyInfo& info, const AnyMember& member) {
    if (info.kind == KeyInfo::Kind::kKey && !left_out.contains(info.key)) f(info, member);
  });
}

}  // namespace

void add_field_flags(CLI::App& sub, const AnyMember& args, const std::set<std::string>& left_out) {
  for_each_flag(args, left_out, [&](const KeyInfo& info, const AnyMember& member) {
    add_flag(sub, info.key, info, member, [flag = flag_name(info.key), member, range = info.range](const auto& text) {
      read_flag(flag, text, member, range);
    });
  });
}

void gather_field_flags(CLI::App& sub, const AnyMember& defaults, Node& given, const std::set<std::string>& left_out,
                        FlagNames& flag_name_without_dashes) {
  for_each_flag(defaults, left_out, [&](const KeyInfo& info, const AnyMember& member) {
    add_flag(sub, flag_name_without_dashes(info.key), info, member,
             [&given, key = info.key](const auto& text) { set_flag(given, key, flag_scalar(text)); });
  });
}

}  // namespace roll
