// Instructions of ifeval rows and the registry of their kinds (ifeval_rule.h): a name and a check each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reward/ifeval/arguments.h"
#include "reward/ifeval/checked_text.h"

namespace roll::ifeval {

struct InstructionKind {
  std::string_view name;
  /// Checks a text. Reads all arguments, for any text. UserError: arguments are missing or invalid.
  bool (*follows)(const CheckedText& text, const Arguments& args);
};

/// Kinds of ROLL's functions, and of the instructions of IFEval, AllenAI's training sets and IFBench.
std::span<const InstructionKind> roll_functions();
std::span<const InstructionKind> ifeval_instructions();
std::span<const InstructionKind> allenai_instructions();
std::span<const InstructionKind> ifbench_instructions();
std::span<const InstructionKind> ifbench_formats();

struct Instruction {
  const InstructionKind* kind;
  Json args;
  std::string column;  // source of the arguments: "ground_truth", "kwargs[1]"
};

/// Reads a row's instructions; `ground_truth` is the text of that column. UserError "column = value: rule; remedy": the
/// row has no valid instructions.
std::vector<Instruction> read_instructions(const Json& row, const std::string& ground_truth);

/// Returns whether the text follows the instruction; a blank text follows none. UserError: invalid arguments.
bool follows(const Instruction& instruction, std::string_view text, Expressions& expressions);

/// Returns variants for loose checks: `text`, without first line, last line, or both; each also without asterisks.
std::vector<std::string> loose_texts(const std::string& text);

}  // namespace roll::ifeval
