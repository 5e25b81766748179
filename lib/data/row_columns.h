// Maps the columns of rows to their meaning, by configuration or by recognising known layouts; also holds the texts
// that are added to every prompt.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/names.h"
#include "data/config.h"

namespace roll {

/// Column names, or paths into objects such as `reward_model.ground_truth`. Defaults: messages, prompt, ground_truth,
/// tag, domain.
struct RowColumns {
  std::optional<std::string> messages{}, question{}, query{}, prompt{}, ground_truth{}, tag{}, domain{};
  GroundTruthPart ground_truth_part = GroundTruthPart::kWhole;
  std::optional<std::string> system{}, prompt_template{};  // literal texts, not column names

  bool names_prompt() const { return messages || question || prompt; }
  bool dresses_prompts() const { return system || prompt_template; }
  bool operator==(const RowColumns&) const = default;
};

/// Returns the configured columns.
RowColumns configured_columns(const DataArgs& data);

/// Formats the keys of data_args: "messages: prompt, ground_truth: reward_model.ground_truth".
std::string to_text(const RowColumns& columns, const std::string& separator = ", ");

/// Returns the column of that name, or else the value at that path; nullptr if there is neither.
const Json* find_column(const Json& row, const std::string& path);

/// Returns the keys of an object, "a, b, c", or "none".
std::string column_names(const Json& row);

/// A layout of public data sets.
struct KnownLayout {
  std::string name;  // "verl's"
  RowColumns columns;
};

/// Recognises the layout of a file by its first row, if no key names the prompt. nullopt: the row has roll's own
/// columns, or the layout is unknown. UserError "file: ...": two layouts match; lists columns and keys to set.
std::optional<KnownLayout> recognise_layout(const Json& row, const std::string& file);

/// Returns e.g. "; the nearest known layout, MATH's (problem, solution), also has solution"; "" if none is close.
std::string nearest_layout(const Json& row);

}  // namespace roll
