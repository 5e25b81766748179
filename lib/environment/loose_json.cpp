#include "environment/loose_json.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/trim.h"

namespace roll {

namespace {

constexpr std::string_view kOpenBrackets = "{[(", kCloseBrackets = "}])";

/// Takes a string up to the closing `mark`; the opening one has been taken.
std::optional<std::string> take_raw_text(CallText& in, std::string_view mark) {
  const auto text = in.up_to(mark);
  return text ? std::optional(to_line(Json(*text))) : std::nullopt;
}

/// Takes a string in the quotes that begin here.
std::optional<std::string> take_escaped_text(CallText& in) {
  const std::string_view text = in.rest();
  std::string json = "\"";
  for (size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == text[0]) {
      in.move(i + 1);
      return json + '"';
    }
    if (c == '\\' && i + 1 < text.size()) {
      if (text[++i] != '\'') json += c;
      json += text[i];
    } else if (c == '"') {
      json += "\\\"";
    } else if (static_cast<unsigned char>(c) < ' ') {
      json += fmt::format("\\u{:04x}", c);
    } else {
      json += c;
    }
  }
  return std::nullopt;
}

bool spells_number(std::string_view word) {
  double value = 0;
  const char* const end = word.data() + word.size();
  return std::from_chars(word.data(), end, value).ptr == end && !std::isalpha(static_cast<unsigned char>(word.back()));
}

std::string word_json(std::string_view word, bool is_key) {
  if (!is_key && (word == "true" || word == "True")) return "true";
  if (!is_key && (word == "false" || word == "False")) return "false";
  if (!is_key && (word == "null" || word == "None")) return "null";
  return !is_key && spells_number(word) ? std::string(word) : to_line(Json(std::string(word)));
}

std::string take_word(CallText& in) {
  const std::string_view word = in.rest().substr(0, in.rest().find_first_of(",:={}[]()"));
  in.move(word.size());
  return word_json(trimmed_text(word), in.sees(":") || in.sees("="));
}

}  // namespace

std::optional<std::string> take_loose_json(CallText& in) {
  std::string json, closes, json_closes;  // closing brackets of the open ones, as written and in JSON
  do {
    if (in.skip_blanks().is_at_end()) return std::nullopt;
    const char c = in.rest().front();
    std::optional<std::string> value;
    if (const size_t open = kOpenBrackets.find(c); open != std::string_view::npos) {
      const bool is_object = c == '{' || (c == '(' && closes.empty());
      closes += kCloseBrackets[open];
      json_closes += is_object ? '}' : ']';
      value = is_object ? "{" : "[";
      in.move(1);
    } else if (closes.empty()) {
      return std::nullopt;
    } else if (c == closes.back()) {
      value = std::string(1, json_closes.back());
      closes.pop_back();
      json_closes.pop_back();
      in.move(1);
    } else if (c == ',' || c == ':' || c == '=') {
      value = c == ',' ? "," : ":";
      in.move(1);
    } else if (kCloseBrackets.find(c) != std::string_view::npos) {
      return std::nullopt;
    } else if (c == '"' || c == '\'') {
      value = take_escaped_text(in);
    } else if (in.take("<|\"|>")) {
      value = take_raw_text(in, "<|\"|>");
    } else if (in.take("<escape>")) {
      value = take_raw_text(in, "<escape>");
    } else {
      value = take_word(in);
    }
    if (!value) return std::nullopt;
    json += *value;
  } while (!closes.empty());
  return json;
}

}  // namespace roll
