// Distributed requests, for RewardModels and JudgeEngine: any rank may have questions, which the ranks of a role
// answer. Each question goes straight to the group that answers it, and its answer straight back; no rank holds all of
// them. Questions and answers are messages (base/message.h).
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

/// Returns the indices of the questions that each group of the role answers. A question may be in one group or in none.
/// `lengths` [Q]: length() of the questions of all ranks, rank 0's first. It must return the same on every rank.
using AssignRequests = std::function<Partition(const std::vector<int64_t>& lengths)>;

template <class Question, class Answer>
struct RequestHandler {
  AssignRequests share_out;
  /// Answers the questions of this rank's group, in the order of its share. Called on all of the role's ranks; the
  /// answers of a group's first rank count.
  std::function<std::vector<Answer>(const std::vector<Question>& questions)> answer;
};

/// An encoded question or answer.
struct Packet {
  std::string bytes;
  int64_t length = 0;  // length() of a question
};
using AnswerPackets = std::function<std::vector<Packet>(const std::vector<Packet>& questions)>;
/// Does the work of request_answers(), on encoded messages. **Collective** over the role's world.
std::vector<std::optional<Packet>> request_packets(const std::vector<Packet>& local, RoleMesh& role,
                                                   const AssignRequests& share_out, const AnswerPackets& answer,
                                                   std::string_view name);

/// Returns the answers to this rank's questions, in order; nullopt if no group answers. `name`: for error messages. A
/// question must have a length(). **Collective** over the role's world.
template <class Question, class Answer>
std::vector<std::optional<Answer>> request_answers(const std::vector<Question>& local, RoleMesh& role,
                                                   const RequestHandler<Question, Answer>& answering,
                                                   std::string_view name) {
  std::vector<Packet> asked;
  for (const Question& question : local) asked.push_back({encode_message(question), question.length()});
  const auto answer = [&](const std::vector<Packet>& packets) {
    std::vector<Question> questions;
    for (const Packet& packet : packets) questions.push_back(decode_message<Question>(packet.bytes));
    std::vector<Packet> encoded;
    for (const Answer& reply : answering.answer(questions)) encoded.push_back({encode_message(reply)});
    return encoded;
  };
  std::vector<std::optional<Answer>> answers;
  for (const auto& packet : request_packets(asked, role, answering.share_out, answer, name))
    answers.push_back(packet ? std::optional(decode_message<Answer>(packet->bytes)) : std::nullopt);
  return answers;
}

}  // namespace roll
