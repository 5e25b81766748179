#include "data/row_source.h"

#include "data/row_reader.h"
#include "data/rows.h"

namespace roll {

RowSource json_lines(std::istream& in, const std::string& origin) {
  return [&in, origin](const auto& take) {
    for_each_json_line(in, origin,
                       [&](int64_t line, const Json& row) { take(row, fmt::format("{}:{}", origin, line)); });
  };
}

RowSource read_row_file(const std::filesystem::path& file, const std::function<bool(const Json& row)>& has_roll_columns,
                        const std::function<void(const std::string& text)>& note) {
  return [=](const auto& take) {
    const auto rows = open_rows(file);
    std::optional<KnownLayout> layout;
    bool is_first = true;
    for (Json row; rows->next(row);) {
      if (std::exchange(is_first, false) && !has_roll_columns(row) && (layout = recognise_layout(row, file.string())))
        note(fmt::format("{}: read as {}: {}", file.string(), layout->name, to_text(layout->columns)));
      const std::string origin = fmt::format("{}:{}", file.string(), rows->number());
      take(layout ? own_columns(parse_row(row, origin, layout->columns), layout->columns) : row, origin);
    }
  };
}

}  // namespace roll
