#include "reward/ifeval/arguments.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "reward/row_columns.h"
#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

namespace {

UserError wrong_argument(const char* key, const Json& value, const std::string& needed) {
  return user_error("{} = {}: must be {}", key, shown_text(to_line(value)), needed);
}

}  // namespace

bool holds(Relation relation, int64_t count, int64_t number, int64_t tolerance) {
  switch (relation) {
    case Relation::kLessThan:
      return count < number;
    case Relation::kAtLeast:
      return count >= number;
    case Relation::kAtMost:
      return count <= number;
    case Relation::kAround:
      return std::abs(count - number) <= tolerance;
  }
  return false;
}

int64_t tenth(int64_t number) {
  return std::max<int64_t>(1, std::llrint(static_cast<double>(number) * 0.1));
}

const Json& Arguments::value(const char* key) const {
  static const Json null;
  if (!values_.is_object()) return null;
  const auto found = values_.find(key);
  return found == values_.end() ? null : *found;
}

int64_t Arguments::whole(const char* key) const {
  constexpr double kMost = 1e15;
  const Json& number = value(key);
  const double x = number.is_number() ? number.get<double>() : -1;
  if (!(x >= 0 && x <= kMost) || x != std::floor(x)) throw wrong_argument(key, number, "a whole number >= 0");
  return static_cast<int64_t>(x);
}

std::string Arguments::exact_text(const char* key) const {
  const Json& text = value(key);
  if (!text.is_string() || text == "") throw wrong_argument(key, text, "a text that is not empty");
  return to_valid_utf8(text.get_ref<const std::string&>());
}

std::string Arguments::text(const char* key) const {
  const std::string whole = exact_text(key);
  if (is_blank(whole)) throw wrong_argument(key, value(key), "a text that is not blank");
  return std::string(trimmed(whole));
}

std::string Arguments::letter(const char* key) const {
  const std::string letter = exact_text(key);
  if (count_characters(letter) != 1) throw wrong_argument(key, value(key), "one character");
  return letter;
}

std::vector<std::string> Arguments::texts(const char* key) const {
  const Json& list = value(key);
  std::vector<std::string> texts;
  if (list.is_array())
    for (const Json& item : list)
      if (item.is_string()) texts.push_back(to_valid_utf8(item.get_ref<const std::string&>()));
  if (texts.empty() || texts.size() != list.size() || std::ranges::any_of(texts, is_blank))
    throw wrong_argument(key, list, "a list of texts that are not blank");
  return texts;
}

std::string Arguments::text_or_first(const char* key) const {
  return value(key).is_array() ? std::string(trimmed(texts(key).front())) : text(key);
}

Relation Arguments::relation(const char* key) const {
  const Json& word = value(key);
  Relation relation{};
  if (!word.is_string() || !Words<Relation>::read(word.get_ref<const std::string&>(), relation))
    throw wrong_argument(key, word, fmt::format("one of \"{}\"", fmt::join(Words<Relation>::all(), "\", \"")));
  return relation;
}

}  // namespace roll::ifeval
