// Questions that any rank may have for the ranks of a role: each goes straight to those that answer it, and its answer
// straight back. Nobody holds all of them. Questions and answers are messages (base/message.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/message.h"
#include "dist/mesh.h"
#include "packing/partition.h"

namespace roll {

/// [group of the role] which questions it answers; none may be in two groups, some may be in none. `lengths` [Q]: what
/// the questions of all ranks say of themselves, those of rank 0 first. Every rank gives the same.
using ShareOut = std::function<Partition(const std::vector<int64_t>& lengths)>;

template <class Question, class Answer>
struct Answering {
  ShareOut share_out;
  /// Of the questions that are for this rank's group, in the order of its share. Called on all of the role's ranks;
  /// what a group's first rank says counts.
  std::function<std::vector<Answer>(const std::vector<Question>& questions)> answer;
};

/// A question or an answer as it travels.
struct Letter {
  std::string bytes;
  int64_t length = 0;  // of a question
};
using AnswerLetters = std::function<std::vector<Letter>(const std::vector<Letter>& questions)>;
std::vector<std::optional<Letter>> inquire_letters(const std::vector<Letter>& mine, RoleMesh& role,
                                                   const ShareOut& share_out, const AnswerLetters& answer,
                                                   std::string_view name);

/// Answers to this rank's questions, in their order; nullopt where no group answers. `name` is for errors. A question
/// has a length(). **Collective** over the role's world.
template <class Question, class Answer>
std::vector<std::optional<Answer>> inquire(const std::vector<Question>& mine, RoleMesh& role,
                                           const Answering<Question, Answer>& answering, std::string_view name) {
  std::vector<Letter> asked;
  for (const Question& question : mine) asked.push_back({encode_message(question), question.length()});
  const auto answer = [&](const std::vector<Letter>& letters) {
    std::vector<Question> questions;
    for (const Letter& letter : letters) questions.push_back(decode_message<Question>(letter.bytes));
    std::vector<Letter> given;
    for (const Answer& said : answering.answer(questions)) given.push_back({encode_message(said)});
    return given;
  };
  std::vector<std::optional<Answer>> answers;
  for (const auto& letter : inquire_letters(asked, role, answering.share_out, answer, name))
    answers.push_back(letter ? std::optional(decode_message<Answer>(letter->bytes)) : std::nullopt);
  return answers;
}

}  // namespace roll
