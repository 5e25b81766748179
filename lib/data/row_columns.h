// Says what the columns of data rows mean, by configuration or by recognising known layouts of public data sets; also
// holds the texts that are added to every prompt.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/names.h"
#include "data/config.h"

namespace roll {

/// Names of the columns, or paths into objects such as `reward_model.ground_truth`; DataArgs (data/config.h) says what
/// they hold. If messages, question and prompt are all unset, the prompt is in the column messages or prompt. Unset
/// ground_truth, tag and domain mean the columns with these names.
struct RowColumns {
  std::optional<std::string> messages{}, question{}, query{}, prompt{}, ground_truth{}, tag{}, domain{};
  GroundTruthPart ground_truth_part = GroundTruthPart::kWhole;
  std::optional<std::string> system{}, prompt_template{};  // literal texts, not column names

  /// True if a column with the prompt is named.
  bool names_prompt() const { return messages || question || prompt; }
  /// True if a text is added to every prompt.
  bool dresses_prompts() const { return system || prompt_template; }
  bool operator==(const RowColumns&) const = default;
};

/// Returns the configured columns.
RowColumns configured_columns(const DataArgs& data);

/// Formats the columns that are set as keys of data_args: "messages: prompt, ground_truth: reward_model.ground_truth".
std::string to_text(const RowColumns& columns, const std::string& separator = ", ");

/// Returns the column named `path`, or else the value at that path of objects; nullptr if there is neither. The result
/// is part of `row`, and may be a JSON null.
const Json* find_column(const Json& row, const std::string& path);

/// Returns the keys of a JSON object as "a, b, c"; "none" if it is empty.
std::string column_names(const Json& row);

/// A layout of public data sets.
struct KnownLayout {
  std::string name;  // for messages: "verl's"
  RowColumns columns;
};
/// Recognises the layout of a file by its first row. Call it only if no key names the prompt. Returns nullopt if the
/// row has roll's own columns (messages, or a raw prompt with ground_truth) or the layout is unknown. Throws UserError
/// "file: ..." if two layouts match; the message lists columns and keys to set.
std::optional<KnownLayout> recognise_layout(const Json& row, const std::string& file);

/// Returns the end of a message about a row without a prompt, such as "; the nearest known layout, MATH's (problem,
/// solution), also has solution"; "" if no layout is close.
std::string nearest_layout(const Json& row);

}  // namespace roll
