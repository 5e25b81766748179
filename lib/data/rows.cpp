#include "data/rows.h"

#include <glob.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "data/columns.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> expand_glob(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<fs::path> files;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (files.empty())
    throw user_error("{}: no such file; give the path of a JSON-lines file, a list, or a glob", pattern);
  return files;
}

double number_column(const Json& line, const std::string& name, const std::string& origin) {
  const std::string text = text_column(line, name, origin);
  if (text.empty()) return 0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    throw wrong_column(origin, name, line[name], "a number, or a string that holds one");
  return number;
}

std::string column_names(const Json& line) {
  std::string names;
  for (const auto& item : line.items()) names += (names.empty() ? "" : ", ") + item.key();
  return names.empty() ? "none" : names;
}

void read_prompt(Row& row, PromptColumns columns) {
  if (!columns.messages && !columns.prompt) columns = {"messages", "prompt"};
  if (const Json* value = columns.messages ? column(row.raw, *columns.messages) : nullptr) {
    row.messages = parse_messages(*value, row.origin, *columns.messages);
    return;
  }
  if (columns.prompt && column(row.raw, *columns.prompt) != nullptr) {
    row.prompt = string_column(row.raw, *columns.prompt, row.origin);
    return;
  }
  std::string wanted = columns.messages.value_or("");
  if (columns.prompt) wanted += (wanted.empty() ? "" : "' or '") + *columns.prompt;
  throw user_error(
      "{}: the row has no column '{}' for its prompt; it has: {}; name the right one in data_args.messages (a "
      "list of messages) or data_args.prompt (text)",
      row.origin, wanted, column_names(row.raw));
}

}  // namespace

std::vector<fs::path> expand_files(const std::vector<std::string>& patterns) {
  if (patterns.empty()) throw UserError("[]: names no file; give a JSON-lines file, a list, or a glob");
  std::vector<fs::path> files;
  std::set<fs::path> seen;
  for (const std::string& pattern : patterns) {
    for (const fs::path& file : expand_glob(pattern)) {
      std::error_code ec;
      const fs::path place = fs::weakly_canonical(file, ec);
      if (ec == std::errc::too_many_symbolic_link_levels)
        throw user_error("{}: a circle of symbolic links; give a JSON-lines file", file.string());
      if (ec) throw user_error("{}: cannot be looked at ({})", file.string(), ec.message());
      if (!fs::is_regular_file(file, ec) && !fs::is_directory(file, ec) && fs::exists(file, ec))
        throw user_error("{}: is a pipe or device, and rows are read twice; write it to a file first", file.string());
      if (!seen.insert(place).second)
        throw user_error("{}: names {} a second time; its rows would count twice", pattern, file.string());
      files.push_back(file);
    }
  }
  return files;
}

Json parse_messages(const Json& value, const std::string& origin, const std::string& column) {
  const Json messages =
      value.is_string() ? parse_json(value.get_ref<const std::string&>(), origin + ": " + column) : value;
  if (!messages.is_array()) throw wrong_column(origin, column, messages, "a list of {role, content}");
  if (messages.empty()) throw user_error("{}: {} = []: holds no message; a prompt needs one", origin, column);
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string key = fmt::format("{}[{}]", column, i);
    if (!messages[i].is_object()) throw wrong_column(origin, key, messages[i], "an object {role, content}");
    for (const char* part : {"role", "content"}) {
      if (!messages[i].contains(part)) throw user_error("{}: {}: has no '{}'", origin, key, part);
      if (!messages[i][part].is_string()) throw wrong_column(origin, key + "." + part, messages[i][part], "a string");
    }
  }
  return messages;
}

Row parse_row(const Json& line, const std::string& origin, const PromptColumns& columns) {
  Row row;
  row.origin = origin;
  row.raw = line;
  row.id = text_column(line, "id", origin);
  if (row.id.empty()) row.id = fs::path(origin).filename().string();
  row.source = string_column(line, "source", origin);
  row.difficulty = number_column(line, "difficulty", origin);
  row.tag = string_column(line, "tag", origin);
  row.domain = string_column(line, "domain", origin);
  row.ground_truth = ground_truth_column(line, origin);
  read_prompt(row, columns);
  return row;
}

std::vector<Row> read_rows(const std::vector<std::string>& patterns, const PromptColumns& columns) {
  std::vector<Row> rows;
  for (const fs::path& file : expand_files(patterns)) {
    if (is_folder(file))
      throw user_error("{}: is a folder; name the files in it, or give {}/*.jsonl", file.string(), file.string());
    std::ifstream in = open_to_read(file);
    const size_t before = rows.size();
    for_each_json_line(in, file.string(), [&](int64_t number, const Json& line) {
      rows.push_back(parse_row(line, fmt::format("{}:{}", file.string(), number), columns));
    });
    if (rows.size() == before) throw user_error("{}: holds no row; every line is blank", file.string());
  }
  return rows;
}

}  // namespace roll
