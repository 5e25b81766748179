// Instructions of data rows for the reward type ifeval (ifeval_rule.h), and the tables of the known kinds of
// instructions. An instruction is a kind, such as "keywords:existence", with arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reward/ifeval/arguments.h"
#include "reward/ifeval/checked_text.h"

namespace roll::ifeval {

/// A kind of instruction.
struct InstructionKind {
  std::string_view name;  // such as "keywords:existence"
  /// Returns whether the text follows the instruction. Reads all arguments for any text, also an empty one, and throws
  /// UserError if one is missing or invalid.
  bool (*follows)(const CheckedText& text, const Arguments& args);
};

/// Return the tables of kinds: ROLL's functions, the instructions of IFEval and AllenAI's training sets, and IFBench's
/// instructions (in two tables).
std::span<const InstructionKind> roll_functions();
std::span<const InstructionKind> ifeval_instructions();
std::span<const InstructionKind> allenai_instructions();
std::span<const InstructionKind> ifbench_instructions();
std::span<const InstructionKind> ifbench_formats();

/// An instruction of a row.
struct Instruction {
  const InstructionKind* kind;  // in a table above; never null
  Json args;                    // object name -> value, or null: no arguments
  std::string column;           // source of the arguments, for messages: "ground_truth", "kwargs[1]"
};

/// Reads a row's instructions, at least one, in the row's order. `ground_truth`: text of the column of that name.
/// Throws UserError "column = value: rule; remedy" if the row has no instruction, or one of an unknown kind. Only
/// follows() checks arguments.
std::vector<Instruction> read_instructions(const Json& row, const std::string& ground_truth);

/// Returns whether the text (valid UTF-8) follows the instruction; false if it is blank. Throws UserError if the
/// arguments are invalid, for any text, and MatchFailed if the time limit of `expressions` is exceeded.
bool follows(const Instruction& instruction, std::string_view text, Expressions& expressions);

/// Returns the eight variants of a response for loose checks (the key strict is false): the whole text, the text
/// without its first line, without its last line, without both; then these four without asterisks.
std::vector<std::string> loose_texts(const std::string& text);

}  // namespace roll::ifeval
