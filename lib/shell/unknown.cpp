#include "shell/unknown.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace roll::shell {

namespace {

constexpr char kOpen = '\x01', kClose = '\x02';

std::string mark_text(size_t index) {
  return kOpen + std::to_string(index) + kClose;
}

}  // namespace

bool has_unknown(std::string_view text) {
  return text.find(kOpen) != text.npos;
}

bool is_always_set(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kNames{"HOME", "USER", "LOGNAME",  "PATH",   "PWD",     "OLDPWD",
                                                           "UID",  "EUID", "HOSTNAME", "RANDOM", "SECONDS", "SHELL"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool Unknown::may_be_set() const {
  return (kind == Kind::kVariable || kind == Kind::kBlank) && !is_always_set(text);
}

std::string Unknowns::mark(const Unknown& unknown) {
  const auto [known, is_new] =
      index_.try_emplace({unknown.kind, unknown.place.file, unknown.place.line, unknown.text}, all_.size());
  if (is_new) all_.push_back(unknown);
  return mark_text(known->second);
}

std::string Unknowns::filled(std::string_view text, const std::function<std::string(const Unknown&)>& piece) const {
  std::string result;
  for (;;) {
    const size_t open = std::min(text.find(kOpen), text.size()), close = text.find(kClose, open);
    result += text.substr(0, open);
    if (close == text.npos) return result;
    size_t index = all_.size();
    std::from_chars(text.data() + open + 1, text.data() + close, index);
    if (index < all_.size()) result += piece(all_[index]);
    text.remove_prefix(close + 1);
  }
}

std::string Unknowns::without(std::string_view text, const std::string& name) const {
  return filled(text, [&](const Unknown& unknown) {
    const bool is_named = unknown.kind == Unknown::Kind::kVariable && unknown.text == name;
    return is_named ? std::string() : mark_text(static_cast<size_t>(&unknown - all_.data()));
  });
}

std::optional<std::string> Unknowns::known(std::string_view text) const {
  bool is_known = true;
  std::string result = filled(text, [&](const Unknown& unknown) {
    is_known = is_known && unknown.may_be_set();
    return std::string();
  });
  return is_known ? std::optional(result) : std::nullopt;
}

std::optional<bool> Unknowns::is_empty(std::string_view text) const {
  if (const auto known_text = known(text)) return known_text->empty();
  bool has_set_variable = false;
  const std::string rest = filled(text, [&](const Unknown& unknown) {
    has_set_variable = has_set_variable || (unknown.kind == Unknown::Kind::kVariable && is_always_set(unknown.text));
    return std::string();
  });
  return has_set_variable || !rest.empty() ? std::optional(false) : std::nullopt;
}

}  // namespace roll::shell
