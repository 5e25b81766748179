#include "data/rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/json_object.h"
#include "base/trim.h"
#include "data/chats.h"
#include "data/columns.h"
#include "data/learnt_rows.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

double number_column(const Json& line, const std::string& name, const std::string& origin) {
  const std::string text = text_column(line, name, origin);
  if (text.empty()) return 0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    throw wrong_column(origin, name, line[name], "a number, or a string with a number");
  return number;
}

/// Returns a configured column; nullptr if it is null. UserError: it is missing.
const Json* named_column(const Json& line, const std::string& path, const char* key, const std::string& origin) {
  const Json* value = find_column(line, path);
  if (!value)
    throw user_error("{}: the row has no column '{}', which data_args.{} names; it has: {}", origin, path, key,
                     column_names(line));
  return value->is_null() ? nullptr : value;
}

/// Returns the text up to the brace that closes an earlier one; nullopt if it is unbalanced.
std::optional<std::string> within_braces(std::string_view text) {
  int depth = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '{')
      ++depth;
    else if (text[i] == '}' && --depth == 0)
      return std::string(text.substr(0, i));
  }
  return std::nullopt;
}

/// Returns the requested part of a ground truth; nullopt if it is missing.
std::optional<std::string> extract_part(const std::string& text, GroundTruthPart part) {
  if (part == GroundTruthPart::kWhole) return text;
  const std::string_view mark = part == GroundTruthPart::kAfterHashes ? "####" : "\\boxed{";
  const size_t found = text.rfind(mark);
  if (found == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(found + mark.size());
  return part == GroundTruthPart::kAfterHashes ? std::string(trimmed_text(rest)) : within_braces(rest);
}

/// Copies configured columns to their standard names.
void name_columns(Json& line, const RowColumns& columns, const std::string& origin) {
  const std::string truth = columns.ground_truth.value_or("ground_truth");
  Json value;
  if (const Json* found =
          columns.ground_truth ? named_column(line, truth, "ground_truth", origin) : column(line, truth))
    value = *found;
  if (columns.ground_truth_part != GroundTruthPart::kWhole && !value.is_null()) {
    if (!value.is_string()) throw wrong_column(origin, truth, value, "a string");
    const auto part = extract_part(value.get_ref<const std::string&>(), columns.ground_truth_part);
    if (!part || part->empty())
      throw wrong_column(origin, truth, value,
                         columns.ground_truth_part == GroundTruthPart::kAfterHashes
                             ? "a text with the answer after ####"
                             : "a text with the answer in \\boxed{}");
    value = *part;
  }
  if (columns.ground_truth || !value.is_null()) line["ground_truth"] = value;
  // A list in the column domain (Big-Math's rows) is no reward domain.
  if (!columns.domain && columns.names_prompt() && line.contains("domain") && line["domain"].is_array())
    line.erase("domain");
  for (const auto& [path, key] : {std::pair(&columns.tag, "tag"), std::pair(&columns.domain, "domain")})
    if (*path) {
      const Json* found = named_column(line, **path, key, origin);
      line[key] = found ? Json(*found) : Json();
    }
}

/// Returns the column; nullptr if it is missing or null.
const Json* prompt_column(const Row& row, const std::optional<std::string>& path) {
  const Json* value = path ? find_column(row.raw, *path) : nullptr;
  return value && !value->is_null() ? value : nullptr;
}

std::string prompt_column_text(const Row& row, const std::string& path, const Json& value) {
  if (!value.is_string())
    throw wrong_column(row.origin, path, value,
                       value.is_array() ? "a string (name a list of messages in data_args.messages)" : "a string");
  return value.get<std::string>();
}

void read_prompt(Row& row, RowColumns columns) {
  if (!columns.names_prompt()) {
    columns.messages = "messages";
    columns.prompt = "prompt";
  }
  if (const Json* chat = prompt_column(row, columns.messages)) {
    row.messages = parse_messages(*chat, row.origin, *columns.messages);
  } else if (const Json* question = prompt_column(row, columns.question)) {
    std::string content = prompt_column_text(row, *columns.question, *question);
    if (const Json* query = prompt_column(row, columns.query))
      if (const std::string query_text = prompt_column_text(row, *columns.query, *query); !query_text.empty())
        content += "\n" + query_text;
    row.messages = Json{{{"role", "user"}, {"content", content}}};
  } else if (const Json* text = prompt_column(row, columns.prompt)) {
    row.prompt = prompt_column_text(row, *columns.prompt, *text);
  } else {
    std::string expected_columns;
    for (const auto* path : {&columns.messages, &columns.question, &columns.prompt})
      if (*path) expected_columns += (expected_columns.empty() ? "" : "' or '") + **path;
    throw user_error(
        "{}: the row has no column '{}' for its prompt; it has: {}; name the right one in data_args.messages (a list "
        "of messages), data_args.question (the user's text) or data_args.prompt (raw text){}",
        row.origin, expected_columns, column_names(row.raw), nearest_layout(row.raw));
  }
}

/// Replaces the mark {prompt} in `pattern` by `text`.
std::string fill_template(std::string pattern, const std::string& text) {
  const size_t found = pattern.find(kPromptMark);
  if (found == std::string::npos)
    throw user_error("data_args.prompt_template: must contain the mark {} exactly once, where the row's text goes",
                     kPromptMark);
  return pattern.replace(found, kPromptMark.size(), text);
}

/// Adds system message and template to the prompt of a row without an answer.
void dress_row(Row& row, const RowColumns& columns) {
  if (row.messages)
    dress_messages(*row.messages, columns, row.origin);
  else
    row.prompt = dressed_text(row.prompt, columns, row.origin);
}

}  // namespace

Json parse_messages(const Json& value, const std::string& origin, const std::string& column) {
  Json messages = value.is_string() ? parse_json(value.get_ref<const std::string&>(), origin + ": " + column) : value;
  if (!messages.is_array()) throw wrong_column(origin, column, messages, "a list of {role, content}");
  if (messages.empty()) throw user_error("{}: {} = []: has no messages; a prompt needs one", origin, column);
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string key = fmt::format("{}[{}]", column, i);
    if (!messages[i].is_object()) throw wrong_column(origin, key, messages[i], "an object {role, content}");
    messages[i] = normal_message(messages[i]);
    for (const char* part : {"role", "content"}) {
      if (!messages[i].contains(part)) throw user_error("{}: {}: has no '{}'", origin, key, part);
      if (!messages[i][part].is_string()) throw wrong_column(origin, key + "." + part, messages[i][part], "a string");
    }
  }
  return messages;
}

std::string dressed_text(const std::string& text, const RowColumns& columns, const std::string& origin) {
  if (columns.system)
    throw user_error(
        "{}: the prompt is raw text, which cannot have a system message (data_args.system); write the text into "
        "data_args.prompt_template",
        origin);
  return columns.prompt_template ? fill_template(*columns.prompt_template, text) : text;
}

void dress_messages(Json& messages, const RowColumns& columns, const std::string& origin) {
  if (columns.prompt_template) {
    const auto last =
        std::find_if(messages.rbegin(), messages.rend(), [](const Json& m) { return m["role"] == "user"; });
    if (last == messages.rend())
      throw user_error("{}: has no user message, which data_args.prompt_template needs", origin);
    (*last)["content"] = fill_template(*columns.prompt_template, content_text(*last));
  }
  if (columns.system && !is_system(messages.front()))
    messages.insert(messages.begin(), Json{{"role", "system"}, {"content", *columns.system}});
}

Row parse_learnt_row(const Json& input, const std::string& origin, const RowColumns& columns) {
  Row row;
  row.origin = origin;
  row.raw = input;
  name_columns(row.raw, columns, origin);
  const Json& line = row.raw;
  row.id = text_column(line, "id", origin);
  if (row.id.empty()) row.id = fs::path(origin).filename().string();
  row.source = string_column(line, "source", origin);
  row.difficulty = number_column(line, "difficulty", origin);
  row.tag = string_column(line, "tag", origin);
  row.domain = string_column(line, "domain", origin);
  row.ground_truth = ground_truth_column(line, origin);
  return row;
}

Row parse_row(const Json& line, const std::string& origin, const RowColumns& columns) {
  Row row = parse_learnt_row(line, origin, columns);
  read_prompt(row, columns);
  dress_row(row, columns);
  if (row.messages) row.tools = template_variables(line, origin).value("tools", Json());
  return row;
}

Json own_columns(const Row& row, const RowColumns& columns) {
  Json renamed = Json::object();
  std::vector<std::optional<std::string>> handled{"id", row.messages ? "messages" : "prompt"};
  const auto keep = [&](const char* name) {
    if (const Json* value = column(row.raw, name)) renamed[name] = *value;
  };
  keep("id");
  if (row.messages)
    renamed["messages"] = *row.messages;
  else
    renamed["prompt"] = row.prompt;
  handled.insert(handled.end(), {row.messages ? columns.messages : columns.prompt, columns.tag, columns.domain});
  for (const char* name : {"ground_truth", "tag", "domain"}) {
    keep(name);
    handled.emplace_back(name);  // drops null columns too
  }
  if (row.messages && !prompt_column(row, columns.messages)) {
    handled.push_back(columns.question);
    handled.push_back(columns.query);
  }
  if (columns.ground_truth_part == GroundTruthPart::kWhole) handled.push_back(columns.ground_truth);
  for (const auto& [name, value] : row.raw.items())
    if (std::ranges::find(handled, name) == handled.end()) add_new(renamed, name, value);
  return renamed;
}

}  // namespace roll
