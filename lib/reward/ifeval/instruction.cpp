#include "reward/ifeval/instruction.h"

#include "base/error.h"
#include "base/nearest.h"
#include "environment/loose_json.h"
#include "reward/row_columns.h"
#include "reward/text_measures.h"

namespace roll::ifeval {

namespace {

/// IFBench's instructions that need a trained model, a dictionary or another program's table.
constexpr std::pair<std::string_view, std::string_view> kUnchecked[] = {
    {"words:start_verb", "a trained model of parts of speech (NLTK's tagger)"},
    {"words:odd_even_syllables", "a dictionary of syllables (syllapy's)"},
    {"format:emoji", "the table of emojis of one version of a package (emoji)"}};

const InstructionKind& find_kind(std::initializer_list<std::span<const InstructionKind>> tables, const Json& name,
                                 const std::string& column) {
  std::vector<std::string> known;
  for (const auto& kinds : tables)
    for (const InstructionKind& kind : kinds) {
      if (name == kind.name) return kind;
      known.emplace_back(kind.name);
    }
  for (const auto& [unchecked, needed] : kUnchecked)
    if (name == unchecked)
      throw user_error("{} = {}: its check needs {}, which this program does not have; leave such rows out", column,
                       shown_text(to_line(name)), needed);
  throw user_error("{} = {}: unknown instruction{}", column, shown_text(to_line(name)),
                   did_you_mean(name.is_string() ? name.get<std::string>() : "", known));
}

Instruction roll_instruction(const std::string& ground_truth) {
  const char* const needed =
      "must be the JSON of an object with a func_name, such as {\"func_name\": \"validate_title\"}, or of a list of "
      "one object with instruction_id and kwargs; or give the row instruction_id_list and kwargs";
  if (is_blank(ground_truth)) throw user_error("ground_truth: missing; it {}", needed);
  Json object;
  try {
    object = parse_json(ground_truth, "");
  } catch (const UserError&) {
    // `object` stays null: the error below names the required form, which helps more than the JSON error.
  }
  if (!object.is_object() || !object.contains("func_name"))
    throw user_error("ground_truth = {}: {}", shown_text(ground_truth), needed);
  const InstructionKind& kind = find_kind({roll_functions()}, object["func_name"], "ground_truth: func_name");
  return {&kind, std::move(object), "ground_truth"};
}

/// Returns the object in "[{...}]", as JSON or as Python prints it; null if there is none.
Json listed_object(const std::string& text) {
  CallText call(text, 0);
  if (!call.skip_blanks().take("[") || !call.skip_blanks().sees("{")) return nullptr;
  const auto object = take_loose_json(call);
  if (!object || !call.skip_blanks().take("]") || !call.skip_blanks().is_at_end()) return nullptr;
  try {
    return parse_json(*object, "");
  } catch (const UserError&) {
    return nullptr;
  }
}

/// Pairs a list of names with a list of arguments. `names_column` and `kwargs_column` name the columns in errors.
std::vector<Instruction> listed_instructions(const Json& names, const Json& kwargs, const std::string& names_column,
                                             const std::string& kwargs_column) {
  if (!names.is_array() || names.empty())
    throw user_error("{} = {}: must be a list of instructions", names_column, shown_text(to_line(names)));
  if (!kwargs.is_array() || kwargs.size() != names.size())
    throw user_error("{} = {}: must be a list of {} objects, one for each instruction", kwargs_column,
                     shown_text(to_line(kwargs)), names.size());
  std::vector<Instruction> instructions;
  for (size_t i = 0; i < names.size(); ++i)
    instructions.push_back(
        {&find_kind({ifeval_instructions(), allenai_instructions(), ifbench_instructions(), ifbench_formats()},
                    names[i], fmt::format("{}[{}]", names_column, i)),
         kwargs[i], fmt::format("{}[{}]", kwargs_column, i)});
  return instructions;
}

}  // namespace

std::vector<Instruction> read_instructions(const Json& row, const std::string& ground_truth) {
  if (const Json names = column_json(row, "instruction_id_list"); !names.is_null())
    return listed_instructions(names, column_json(row, "kwargs"), "instruction_id_list", "kwargs");
  if (const Json listed = listed_object(ground_truth); listed.is_object() && listed.contains("instruction_id"))
    return listed_instructions(listed["instruction_id"], listed.value("kwargs", Json()), "ground_truth: instruction_id",
                               "ground_truth: kwargs");
  return {roll_instruction(ground_truth)};
}

bool follows(const Instruction& instruction, std::string_view text, Expressions& expressions) {
  try {
    const bool is_followed = instruction.kind->follows(CheckedText(text, expressions), Arguments(instruction.args));
    return is_followed && !is_blank(text);
  } catch (const UserError& error) {
    throw user_error("{}: {}: {}", instruction.column, instruction.kind->name, error.what());
  }
}

std::vector<std::string> loose_texts(const std::string& text) {
  const size_t first = text.find('\n'), last = text.rfind('\n');
  const auto lines = [&](size_t begin, size_t end) {
    return begin < end ? std::string(trimmed(std::string_view(text).substr(begin, end - begin))) : "";
  };
  std::vector<std::string> texts{text};
  if (first != std::string::npos) {
    texts.push_back(lines(first + 1, text.size()));
    texts.push_back(lines(0, last));
    texts.push_back(lines(first + 1, last));
  }
  for (size_t i = 0, n = texts.size(); i < n; ++i) {
    texts.push_back(texts[i]);
    std::erase(texts.back(), '*');
  }
  return texts;
}

}  // namespace roll::ifeval
