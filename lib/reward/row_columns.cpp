#include "reward/row_columns.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utf8.h"

namespace roll {

std::string column_text(const Json& row, const char* name) {
  const auto column = row.is_object() ? row.find(name) : row.end();
  if (column == row.end() || column->is_null()) return "";
  return column->is_string() ? column->get<std::string>() : to_line(*column);
}

Json column_json(const Json& row, const char* name) {
  const auto column = row.is_object() ? row.find(name) : row.end();
  if (column == row.end() || column->is_null() || *column == "") return {};
  if (!column->is_string()) return *column;
  return parse_json(column->get_ref<const std::string&>(),
                    fmt::format("{} = {}", name, shown_text(column->get<std::string>())));
}

std::string shown_text(std::string_view text) {
  constexpr size_t kShown = 200;
  if (text.size() <= kShown) return std::string(text);
  return std::string(whole_characters(text, kShown)) + " ...";
}

}  // namespace roll
