#include "data/learnt_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "data/row_files.h"
#include "data/row_reader.h"

namespace roll {

namespace {

constexpr size_t kMostRows = 1024, kMostBytes = 32 << 20;  // at once; bytes of their prompts and responses, about

size_t text_bytes(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size();
  size_t sum = sizeof(Json);
  if (value.is_structured())
    for (const Json& inner : value) sum += text_bytes(inner);
  return sum;
}

bool has_form(const Json& row) {
  return std::ranges::any_of(std::array{"messages", "conversations", "prompt", "text"},
                             [&](const char* name) { return row.contains(name); });
}

void read_file(const std::filesystem::path& path, const DataArgs& data, LearntRows kind,
               const std::function<void(std::vector<Row>& rows, const RowColumns& columns)>& take) {
  const std::string name = path.string();
  const auto reader = open_rows(path);
  RowColumns columns = columns_of(data);
  std::vector<Row> rows;
  size_t bytes = 0;
  int64_t count = 0;
  const auto pass_on = [&] {
    if (!rows.empty()) take(rows, columns);
    rows.clear();
    bytes = 0;
  };
  for (Json json; reader->next(json); ++count) {
    if (count == 0 && !columns.names_prompt()) columns = learnt_columns(json, name, kind);
    bytes += text_bytes(json);
    rows.push_back(parse_learnt_row(json, fmt::format("{}:{}", name, reader->number()), columns));
    if (rows.size() == kMostRows || bytes > kMostBytes) pass_on();
  }
  if (count == 0) throw user_error("{}: holds no row", name);
  pass_on();
}

}  // namespace

RowColumns learnt_columns(const Json& row, const std::string& file, LearntRows kind) {
  if (kind == LearntRows::kPairs || has_form(row)) return {};
  const auto layout = recognise_layout(row, file);
  return layout ? RowColumns{.question = layout->columns.question} : RowColumns{};
}

void read_learnt_rows(const DataArgs& data, LearntRows kind,
                      const std::function<void(std::vector<Row>& rows, const RowColumns& columns)>& take) {
  for (const std::filesystem::path& path : expand_files(data.file_name, data.split)) read_file(path, data, kind, take);
}

}  // namespace roll
