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
/// the questions of all ranks say of themselves, those of rank 0 first. It must return the same on every rank.
using AssignRequests = std::function<Partition(const std::vector<int64_t>& lengths)>;

template <class Question, class Answer>
struct RequestHandler {
  AssignRequests share_out;
  /// Of the questions that are for this rank's group, in the order of its share. Called on all of the role's ranks;
  /// what a group's first rank says counts.
  std::function<std::vector<Answer>(const std::vector<Question>& questions)> answer;
};

/// A question or an answer as it travels.
struct Packet {
  std::string bytes;
  int64_t length = 0;  // of a question
};
using AnswerPackets = std::function<std::vector<Packet>(const std::vector<Packet>& questions)>;
std::vector<std::optional<Packet>> request_packets(const std::vector<Packet>& mine, RoleMesh& role,
                                                   const AssignRequests& share_out, const AnswerPackets& answer,
                                                   std::string_view name);

/// Answers to this rank's questions, in their order; nullopt where no group answers. `name` is for errors. A question
/// has a length(). **Collective** over the role's world.
template <class Question, class Answer>
std::vector<std::optional<Answer>> request_answers(const std::vector<Question>& mine, RoleMesh& role,
                                                   const RequestHandler<Question, Answer>& answering,
                                                   std::string_view name) {
  std::vector<Packet> asked;
  for (const Question& question : mine) asked.push_back({encode_message(question), question.length()});
  const auto answer = [&](const std::vector<Packet>& packets) {
    std::vector<Question> questions;
    for (const Packet& packet : packets) questions.push_back(decode_message<Question>(packet.bytes));
    std::vector<Packet> given;
    for (const Answer& said : answering.answer(questions)) given.push_back({encode_message(said)});
    return given;
  };
  std::vector<std::optional<Answer>> answers;
  for (const auto& packet : request_packets(asked, role, answering.share_out, answer, name))
    answers.push_back(packet ? std::optional(decode_message<Answer>(packet->bytes)) : std::nullopt);
  return answers;
}

}  // namespace roll
