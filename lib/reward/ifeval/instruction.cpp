#include "reward/ifeval/instruction.h"

#include "base/error.h"
#include "base/nearest.h"
#include "reward/row_columns.h"
#include "reward/text_measures.h"

namespace roll::ifeval {

namespace {

const InstructionKind& kind_of(std::span<const InstructionKind> kinds, const Json& name, const std::string& column) {
  std::vector<std::string> known;
  for (const InstructionKind& kind : kinds) {
    if (name == kind.name) return kind;
    known.emplace_back(kind.name);
  }
  throw user_error("{} = {}: no such instruction here{}", column, shown_text(to_line(name)),
                   did_you_mean(name.is_string() ? name.get<std::string>() : "", known));
}

Instruction roll_instruction(const std::string& ground_truth) {
  const char* const needed =
      "must be the JSON of an object with a func_name, as {\"func_name\": \"validate_title\"}, or the row needs "
      "instruction_id_list and kwargs";
  if (is_blank(ground_truth)) throw user_error("ground_truth: missing; it {}", needed);
  Json object;
  try {
    object = parse_json(ground_truth, "");
  } catch (const UserError&) {
    // `object` stays null: what is needed says more than where the JSON breaks off.
  }
  if (!object.is_object() || !object.contains("func_name"))
    throw user_error("ground_truth = {}: {}", shown_text(ground_truth), needed);
  const InstructionKind& kind = kind_of(roll_functions(), object["func_name"], "ground_truth: func_name");
  return {&kind, std::move(object), "ground_truth"};
}

}  // namespace

std::vector<Instruction> instructions_of(const Json& row, const std::string& ground_truth) {
  const Json names = json_of_column(row, "instruction_id_list"), kwargs = json_of_column(row, "kwargs");
  if (names.is_null()) return {roll_instruction(ground_truth)};
  if (!names.is_array() || names.empty())
    throw user_error("instruction_id_list = {}: must be a list of instructions", shown_text(to_line(names)));
  if (!kwargs.is_array() || kwargs.size() != names.size())
    throw user_error("kwargs = {}: must be a list of {} objects, one for each instruction", shown_text(to_line(kwargs)),
                     names.size());
  std::vector<Instruction> instructions;
  for (size_t i = 0; i < names.size(); ++i)
    instructions.push_back({&kind_of(ifeval_instructions(), names[i], fmt::format("instruction_id_list[{}]", i)),
                            kwargs[i], fmt::format("kwargs[{}]", i)});
  return instructions;
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
