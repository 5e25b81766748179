// Data rows: JSON lines in ROLL's columns (id, source, difficulty, prompt, messages, ground_truth, tag, domain, ...).
//
// Goal: every row that a run will see is checked when the file is opened, and an error names file and line.
// Non-goal: other containers (parquet, arrow, JSON arrays); they are converted once, outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace roll {

struct Row {
  std::string id;                   // column `id` (a number is written as text); else "file name:line"
  std::string origin;               // "file:line", for errors
  std::string source;               // column `source` or ""
  double difficulty = 0;            // column `difficulty` (a number, or one in a string) or 0
  std::string tag;                  // column `tag` or ""
  std::string domain;               // column `domain` or "": see assign_domains
  std::string ground_truth;         // a string, a number's text or an object's JSON; "" when the column is missing
  std::optional<Json> messages;     // list of {role, content}: the prompt goes through the chat template
  std::string prompt;               // raw prompt text, when there are no messages
  Json raw;                         // the whole line, for rewards that read further columns
  std::vector<int64_t> prompt_ids;  // filled by tokenise_rows (tokenise.h)
};

/// Names of the two columns that hold a prompt.
struct PromptColumns {
  std::optional<std::string> messages, prompt;
};

/// The files that `patterns` (paths and globs) name, each pattern's matches sorted by name.
/// UserError: a pattern matches nothing, a file is named twice.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns);

/// One checked row; `origin` is its "file:line". A row's prompt is the messages column where the row has it, else the
/// prompt column; columns that are not named are called "messages" and "prompt". UserError: neither is there, a column
/// of the wrong type, an empty message list.
Row parse_row(const Json& line, const std::string& origin, const PromptColumns& columns);

/// All rows of all files, in order. UserError: parse_row's; a file without rows.
std::vector<Row> read_rows(const std::vector<std::string>& patterns, const PromptColumns& columns);

/// `value` as a list of {role, content} with string contents; a string is parsed as JSON first. UserError names
/// `origin` and `column`.
Json parse_messages(const Json& value, const std::string& origin, const std::string& column);

}  // namespace roll
