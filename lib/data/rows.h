// Data rows, in ROLL's columns (id, source, difficulty, prompt, messages, ground_truth, tag, domain, ...) or in others
// that are named (row_columns.h).
//
// Goal: every row that a run will see is checked when the file is opened, and an error names file and line.
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

/// Where DataArgs::prompt_template has the row's text.
constexpr std::string_view kPromptMark = "{prompt}";

struct Row {
  std::string id;                   // column `id` (a number is written as text); else "file name:line"
  std::string origin;               // "file:line" (of Parquet and arrays "file:row"), for errors
  std::string source;               // column `source` or ""
  double difficulty = 0;            // column `difficulty` (a number, or one in a string) or 0
  std::string tag;                  // column `tag` or ""
  std::string domain;               // column `domain` or "": see assign_domains
  std::string ground_truth;         // a string, a number's text or an object's JSON; "" when the column is missing
  std::optional<Json> messages;     // list of {role, content}: the prompt goes through the chat template
  Json tools;                       // schemas for the chat template; null: none
  std::string prompt;               // raw prompt text, when there are no messages
  Json raw;                         // all columns, for rewards that read further ones; a ground truth of another name
                                    // is ground_truth here
  std::vector<int64_t> prompt_ids;  // filled by tokenise_rows (tokenise.h)

  static constexpr MessageKind kMessage{"DROW", 2, "a data row"};  // without its tokens
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

/// For who shares rows: of one that somebody else owns for long enough.
inline std::shared_ptr<const Row> borrowed(const Row& row) {
  return {std::shared_ptr<const Row>(), &row};
}

/// One checked row; `origin` is its "file:line". A row's prompt is the messages column where the row has it, else the
/// question, else the prompt column; where none is named, "messages", else "prompt". UserError: none is there, a column
/// of the wrong type, an empty message list, a raw prompt where a system message is wanted, a named column that the row
/// lacks (which may be null, but for the prompt), a ground truth without the part that is asked for.
Row parse_row(const Json& line, const std::string& origin, const RowColumns& columns);

/// A raw prompt in columns.prompt_template. UserError "origin: ...": columns.system is set, which raw text has no place
/// for.
std::string dressed_text(const std::string& text, const RowColumns& columns, const std::string& origin);

/// Puts columns.prompt_template around the last message of the user's, and columns.system before messages that begin
/// with no system or developer message. UserError "origin: ...": a template, but no message of the user's.
void dress_messages(Json& messages, const RowColumns& columns, const std::string& origin);

/// The row as a line that is read the same without any key: its prompt, ground truth, tag and domain by their own
/// names, and all other columns as they are.
Json own_columns(const Row& row, const RowColumns& columns);

/// `value` as a list of {role, content} with string contents; a string is parsed as JSON first. UserError names
/// `origin` and `column`.
Json parse_messages(const Json& value, const std::string& origin, const std::string& column);

}  // namespace roll
