// Which columns of a row are what: as the configuration says, or as a layout that is known by its columns; and what
// every prompt of them gets beside.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/names.h"
#include "data/config.h"

namespace roll {

/// Columns by name, or by a path into objects, `reward_model.ground_truth`. A column that is not named has its own
/// name: messages, prompt, ground_truth, tag, domain.
struct RowColumns {
  std::optional<std::string> messages{}, question{}, query{}, prompt{}, ground_truth{}, tag{}, domain{};
  GroundTruthPart ground_truth_part = GroundTruthPart::kWhole;
  std::optional<std::string> system{}, prompt_template{};  // texts, not columns

  bool names_prompt() const { return messages || question || prompt; }
  bool dresses_prompts() const { return system || prompt_template; }
  bool operator==(const RowColumns&) const = default;
};

RowColumns columns_of(const DataArgs& data);

/// "messages: prompt, ground_truth: reward_model.ground_truth": the keys of data_args.
std::string to_text(const RowColumns& columns, const std::string& separator = ", ");

/// The column of that name, else what the path leads to; nullptr where there is neither.
const Json* find_column(const Json& row, const std::string& path);

/// "a, b, c" of an object; "none".
std::string column_names(const Json& row);

/// A layout that data sets of others have.
struct KnownLayout {
  std::string name;  // "verl's"
  RowColumns columns;
};

/// Of a file whose first row is `row` and of which no key names the prompt. Nothing: this program's own columns, or
/// none that are known. UserError "file: ...": two layouts at once, with the columns and the keys to set.
std::optional<KnownLayout> recognise_layout(const Json& row, const std::string& file);

/// "; the nearest layout that is known is MATH's (problem, solution), which lacks solution"; "" where none is near.
std::string nearest_layout(const Json& row);

}  // namespace roll
