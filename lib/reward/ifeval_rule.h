// Reward type ifeval: checks by program whether a response follows the instructions of its data row, such as "write at
// least three sentences".
//
// Rows have one of three formats:
//   ROLL's    ground_truth is the JSON {"func_name": "verify_keywords", "keyword_list": [...]} of one instruction;
//             ifeval/roll_functions.cpp has its 25 kinds
//   IFEval's  columns instruction_id_list ["keywords:existence", ...] and kwargs [{"keywords": [...]}, ...]; their 25
//             kinds are in ifeval/instructions.cpp (Zhou et al. 2023, arXiv 2311.07911), IFBench's 55 in
//             ifeval/ifbench_instructions.cpp and ifbench_formats.cpp
//   AllenAI's ground_truth is [{"instruction_id": [...], "kwargs": [...]}], as JSON or as Python prints it, with
//             IFEval's kinds and the 29 of ifeval/allenai_instructions.cpp
// Only the response's text after </think> is checked. For a row with an unknown instruction or invalid arguments,
// check_row() throws UserError, and score() returns a failed reward (reward.h) instead of a score of 0.
#pragma once

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

/// Key `score`: 1 only if every instruction is followed, or the share of followed instructions.
enum class InstructionShare { kAll, kShare };
constexpr auto enum_names(InstructionShare) {
  return std::to_array<Named<InstructionShare>>({{InstructionShare::kAll, "all"}, {InstructionShare::kShare, "share"}});
}

/// Keys of the type.
struct IfevalArgs {
  bool strict = true;
  InstructionShare score = InstructionShare::kAll;

  void fields(Keys& v) {
    v("strict", strict,
      "false: an instruction also counts as followed if the response follows it without its first line, its last "
      "line, both, or its asterisks");
    v("score", score, "all: 1 if every instruction is followed, else 0; share: the share of followed instructions");
  }
};

/// Makes the reward. Each result's detail has "followed": one boolean per instruction, in the row's order.
std::unique_ptr<RewardFunction> make_ifeval(const IfevalArgs& args, const RuleContext& context);

}  // namespace roll
