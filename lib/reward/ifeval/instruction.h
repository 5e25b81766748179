// Kinds of instructions: a name and the check that belongs to it.
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
  /// Reads all arguments, whatever the text: UserError where they are no use.
  bool (*follows)(const CheckedText& text, const Arguments& args);
};

/// The functions that ROLL's rows name, and the instructions of IFEval, of AllenAI's training sets and of IFBench.
std::span<const InstructionKind> roll_functions();
std::span<const InstructionKind> ifeval_instructions();
std::span<const InstructionKind> allenai_instructions();
std::span<const InstructionKind> ifbench_instructions();
std::span<const InstructionKind> ifbench_formats();

struct Instruction {
  const InstructionKind* kind;
  Json args;
  std::string column;  // where the arguments stand: "ground_truth", "kwargs[1]"
};

/// A row's instructions; `ground_truth` is its column of this name as text. UserError "column = value: rule; remedy".
std::vector<Instruction> instructions_of(const Json& row, const std::string& ground_truth);

/// A text follows no instruction while it is blank.
bool follows(const Instruction& instruction, std::string_view text, Expressions& expressions);

/// `text`, and those in which loose checks look as well: without its first line, its last, both; each without
/// asterisks.
std::vector<std::string> loose_texts(const std::string& text);

}  // namespace roll::ifeval
