// Data rows, in ROLL's columns (id, source, difficulty, prompt, messages, ground_truth, tag, domain, ...) or in
// configured ones (row_columns.h).
//
// Goal: every row is checked when the file is opened; errors name file and line.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/message.h"
#include "data/row_columns.h"

namespace roll {

/// Place of the row's text in DataArgs::prompt_template.
constexpr std::string_view kPromptMark = "{prompt}";

/// A checked data row.
struct Row {
  std::string id;                   // column `id` (numbers as text); else "file name:line"
  std::string origin;               // "file:line" ("file:row" for Parquet and arrays), for errors
  std::string source;               // column `source` or ""
  double difficulty = 0;            // column `difficulty` (a number, also as a string) or 0
  std::string tag;                  // column `tag` or ""
  std::string domain;               // column `domain` or "": see assign_domains
  std::string ground_truth;         // a string, a number as text, or an object as JSON; "" if missing
  std::optional<Json> messages;     // list of {role, content} for the chat template
  Json tools;                       // schemas for the chat template; null if there are none
  std::string prompt;               // raw prompt text, if there are no messages
  Json raw;                         // all columns, for rewards; the configured ground truth as ground_truth
  std::vector<int64_t> prompt_ids;  // set by tokenise_rows (tokenise.h)

  static constexpr MessageKind kMessage{"DROW", 2, "a data row"};  // prompt_ids are not sent
  template <class F>
  void fields(F& field) {
    field("id", id);
    field("origin", origin);
    field("source", source);
    field("difficulty", difficulty);
    field("tag", tag);
    field("domain", domain);
    field("ground_truth", ground_truth);
    field("messages", messages);
    field("tools", tools);
    field("prompt", prompt);
    field("raw", raw);
  }
};

/// Wraps a row in a non-owning shared_ptr; the owner must outlive it.
inline std::shared_ptr<const Row> borrowed(const Row& row) {
  return {std::shared_ptr<const Row>(), &row};
}

/// Parses and checks a row; `origin` is "file:line". The prompt is the messages column, else question, else prompt; by
/// default "messages", else "prompt". UserError: no prompt column, a mistyped column, an empty message list, a raw
/// prompt with a system message, a configured column that is missing (null is allowed except for the prompt), or a
/// ground truth without the configured part.
Row parse_row(const Json& line, const std::string& origin, const RowColumns& columns);

/// Inserts a raw prompt into columns.prompt_template. UserError "origin: ...": columns.system is set, which raw text
/// cannot have.
std::string dressed_text(const std::string& text, const RowColumns& columns, const std::string& origin);

/// Applies columns.prompt_template to the last user message, and inserts columns.system unless a system or developer
/// message comes first. UserError "origin: ...": a template without a user message.
void dress_messages(Json& messages, const RowColumns& columns, const std::string& origin);

/// Converts the row to roll's own columns, so that it reads the same without configuration: prompt, ground truth, tag
/// and domain are renamed; other columns are kept.
Json own_columns(const Row& row, const RowColumns& columns);

/// Parses a list of {role, content} with string contents; a string is parsed as JSON first. UserError: malformed; names
/// `origin` and `column`.
Json parse_messages(const Json& value, const std::string& origin, const std::string& column);

}  // namespace roll
