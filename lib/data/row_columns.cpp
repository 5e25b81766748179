#include "data/row_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"

namespace roll {

namespace {

using Part = GroundTruthPart;

/// A known layout; it matches if the first row has all `needed` columns and `fits`.
struct Preset {
  const char* name;
  std::vector<std::string> needed;
  RowColumns columns;
  bool (*fits)(const Json& row) = [](const Json&) { return true; };  // extra condition
};

bool holds_text(const Json& row, const char* column, const char* text) {
  return row[column].is_string() && row[column].get_ref<const std::string&>().find(text) != std::string::npos;
}

bool has_chat(const Json& row) {
  return row["prompt"].is_array();
}

/// A layout whose columns include another's wins over it, in any order.
const std::vector<Preset>& presets() {
  static const std::vector<Preset> list{
      {"verl's",
       {"prompt", "reward_model"},
       {.messages = "prompt", .ground_truth = "reward_model.ground_truth", .tag = "data_source"},
       [](const Json& row) { return has_chat(row) && find_column(row, "reward_model.ground_truth"); }},
      {"chats as prompts", {"prompt"}, {.messages = "prompt"}, has_chat},
      {"TRL's with chats", {"prompt", "answer"}, {.messages = "prompt", .ground_truth = "answer"}, has_chat},
      {"TRL's with chats", {"prompt", "solution"}, {.messages = "prompt", .ground_truth = "solution"}, has_chat},
      {"TRL's",
       {"prompt", "answer"},
       {.prompt = "prompt", .ground_truth = "answer"},
       [](const Json& row) { return !has_chat(row); }},
      {"TRL's",
       {"prompt", "solution"},
       {.prompt = "prompt", .ground_truth = "solution"},
       [](const Json& row) { return !has_chat(row); }},
      {"GSM8K's",
       {"question", "answer"},
       {.question = "question", .ground_truth = "answer", .ground_truth_part = Part::kAfterHashes},
       [](const Json& row) { return holds_text(row, "answer", "####"); }},
      {"questions and answers",
       {"question", "answer"},
       {.question = "question", .ground_truth = "answer"},
       [](const Json& row) { return !holds_text(row, "answer", "####"); }},
      {"DeepMath's", {"question", "final_answer"}, {.question = "question", .ground_truth = "final_answer"}},
      {"MATH's",
       {"problem", "solution"},
       {.question = "problem", .ground_truth = "solution", .ground_truth_part = Part::kLastBoxed},
       [](const Json& row) { return holds_text(row, "solution", "\\boxed"); }},
      {"problems and answers", {"problem", "answer"}, {.question = "problem", .ground_truth = "answer"}},
      {"MATH-500's", {"problem", "solution", "answer"}, {.question = "problem", .ground_truth = "answer"}},
  };
  return list;
}

std::vector<std::string> missing_columns(const Preset& preset, const Json& row) {
  std::vector<std::string> missing;
  for (const std::string& name : preset.needed)
    if (!row.contains(name)) missing.push_back(name);
  return missing;
}

bool has_all(const std::vector<std::string>& columns, const std::vector<std::string>& needed) {
  return std::ranges::all_of(needed,
                             [&](const auto& name) { return std::ranges::find(columns, name) != columns.end(); });
}

std::vector<const Preset*> fitting_presets(const Json& row) {
  std::vector<const Preset*> fitting;
  for (const Preset& preset : presets())
    if (missing_columns(preset, row).empty() && preset.fits(row)) fitting.push_back(&preset);
  const auto is_contained_in_another = [&](const Preset* preset) {
    return std::ranges::any_of(fitting, [&](const Preset* other) {
      return other->needed.size() > preset->needed.size() && has_all(other->needed, preset->needed);
    });
  };
  std::vector<const Preset*> remaining;
  std::ranges::remove_copy_if(fitting, std::back_inserter(remaining), is_contained_in_another);
  return remaining;
}

/// Returns true for roll's own columns: messages, or a raw prompt with a ground_truth. Messages beside problem and
/// answer without ground_truth (open-r1's) contain the answer, so they do not count.
bool has_own_columns(const Json& row) {
  if (row.contains("ground_truth")) return row.contains("messages") || (row.contains("prompt") && !has_chat(row));
  return row.contains("messages") && !(row.contains("problem") && row.contains("answer"));
}

}  // namespace

RowColumns configured_columns(const DataArgs& data) {
  return {.messages = data.messages,
          .question = data.question,
          .query = data.query,
          .prompt = data.prompt,
          .ground_truth = data.ground_truth,
          .tag = data.tag,
          .domain = data.domain,
          .ground_truth_part = data.ground_truth_part,
          .system = data.system,
          .prompt_template = data.prompt_template};
}

std::string to_text(const RowColumns& columns, const std::string& separator) {
  std::vector<std::string> keys;
  const auto add = [&](const char* key, const std::optional<std::string>& column) {
    if (column) keys.push_back(fmt::format("{}: {}", key, *column));
  };
  add("messages", columns.messages);
  add("question", columns.question);
  add("query", columns.query);
  add("prompt", columns.prompt);
  add("ground_truth", columns.ground_truth);
  if (columns.ground_truth_part != Part::kWhole)
    add("ground_truth_part", std::string(enum_name(columns.ground_truth_part)));
  add("tag", columns.tag);
  add("domain", columns.domain);
  return fmt::format("{}", fmt::join(keys, separator));
}

const Json* find_column(const Json& row, const std::string& path) {
  if (!row.is_object()) return nullptr;
  if (const auto found = row.find(path); found != row.end()) return &*found;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
    if (const auto found = row.find(path.substr(0, dot)); found != row.end())
      if (const Json* inner = find_column(*found, path.substr(dot + 1))) return inner;
  return nullptr;
}

std::string column_names(const Json& row) {
  std::string names;
  for (const auto& item : row.items()) names += (names.empty() ? "" : ", ") + item.key();
  return names.empty() ? "none" : names;
}

std::optional<KnownLayout> recognise_layout(const Json& row, const std::string& file) {
  if (has_own_columns(row)) return std::nullopt;
  const std::vector<const Preset*> fitting = fitting_presets(row);
  if (fitting.empty()) return std::nullopt;
  if (fitting.size() > 1) {
    std::vector<std::string> choices;
    for (const Preset* preset : fitting)
      choices.push_back(fmt::format("{} ({})", preset->name, to_text(preset->columns)));
    throw user_error("{}: its columns ({}) match more than one layout: {}; set the keys of one layout in data_args",
                     file, column_names(row), fmt::join(choices, " or "));
  }
  KnownLayout layout{fitting[0]->name, fitting[0]->columns};
  if (layout.columns.tag && !row.contains(*layout.columns.tag)) layout.columns.tag.reset();
  return layout;
}

std::string nearest_layout(const Json& row) {
  const Preset* nearest = nullptr;
  size_t most_present = 0;
  for (const Preset& preset : presets()) {
    const size_t present = preset.needed.size() - missing_columns(preset, row).size();
    if (present > most_present && present < preset.needed.size()) {
      nearest = &preset;
      most_present = present;
    }
  }
  if (!nearest) return "";
  return fmt::format("; the nearest known layout, {} ({}), also has {}", nearest->name,
                     fmt::join(nearest->needed, ", "), fmt::join(missing_columns(*nearest, row), ", "));
}

}  // namespace roll
