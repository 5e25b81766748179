// Parses and checks data rows (JSON objects) for training, validation and previews. The columns are ROLL's (id, source,
// difficulty, prompt, messages, ground_truth, tag, domain, ...), or those that the configuration names (row_columns.h).
// Errors name file and line.
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

/// Mark in RowColumns::prompt_template; dressed_text() and dress_messages() put the row's text in its place.
constexpr std::string_view kPromptMark = "{prompt}";

/// A checked data row.
struct Row {
  std::string id;                // column `id` (a number as text); if missing, "file name:line"
  std::string origin;            // "file:line" ("file:row" for Parquet and arrays), for errors
  std::string source;            // column `source` or ""
  double difficulty = 0;         // column `difficulty` (a number, also as a string) or 0
  std::string tag;               // column `tag` or ""
  std::string domain;            // column `domain`; if missing, "" until assign_domains() (domains.h) fills it
  std::string ground_truth;      // a string, a number as text, or an object as JSON; "" if missing
  std::optional<Json> messages;  // list of {role, content} for the chat template; unset: `prompt` is used
  Json tools;                    // tool schemas for the chat template; null if there are none
  std::string prompt;            // raw prompt text; "" if there are messages
  Json raw;  // all columns, for rewards; configured columns also under the names ground_truth, tag, domain
  std::vector<int64_t> prompt_ids;  // prompt tokens; empty until tokenise_rows() (tokenise.h) fills them

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

/// Returns a shared_ptr that does not own the row; the row must outlive it.
inline std::shared_ptr<const Row> borrowed(const Row& row) {
  return {std::shared_ptr<const Row>(), &row};
}

/// Parses and checks a row. `line`: the row, a JSON object. `origin`: its place, "file:line". The prompt is the first
/// of these columns that the row has: columns.messages, columns.question, columns.prompt; if `columns` names none of
/// them, "messages" and "prompt". Then adds the configured template and system message to the prompt (dress_messages(),
/// dressed_text()). Throws UserError if there is no prompt column, a column is mistyped, the message list is empty, or
/// a raw prompt should get a system message. Throws it, too, if a configured column is missing (null is allowed except
/// for the prompt), or the ground truth lacks the configured part.
Row parse_row(const Json& line, const std::string& origin, const RowColumns& columns);

/// Returns columns.prompt_template with the raw prompt `text` in place of {prompt}; `text` itself if there is no
/// template. Throws UserError "origin: ..." if columns.system is set, which raw text cannot have.
std::string dressed_text(const std::string& text, const RowColumns& columns, const std::string& origin);
/// Applies columns.prompt_template (if set) to the last user message, and inserts columns.system (if set) at the front
/// unless a system or developer message is there. Throws UserError "origin: ..." if there is a template but no user
/// message. `messages` must not be empty.
void dress_messages(Json& messages, const RowColumns& columns, const std::string& origin);

/// Returns the row as a JSON object that parse_row() reads without configured columns: prompt, ground truth, tag and
/// domain get roll's names; other columns are kept. `columns`: the argument with which the row was parsed.
Json own_columns(const Row& row, const RowColumns& columns);

/// Parses a list of {role, content} with string contents, for a prompt; a string is parsed as JSON first. `column`:
/// name of the column with `value`. Throws UserError "origin: column...: ..." if it is malformed or empty.
Json parse_messages(const Json& value, const std::string& origin, const std::string& column);

}  // namespace roll
