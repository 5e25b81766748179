// Distributed questions and answers, for RewardModels and JudgeEngine: any rank of the run may have questions, and the
// ranks of one model (a role) answer them. A group is the set of ranks that hold one copy of the model. Each question
// is sent to the group that answers it, and the answer back to the asking rank; no rank receives all questions.
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

/// Distributes the questions of all ranks over the role's groups. `lengths` [number of questions]: length() of each
/// question, rank 0's first. Returns, for each group, indices into `lengths`. Each index is in at most one group; a
/// question in no group gets no answer. Called on every rank of the world, and must return the same on all.
using AssignRequests = std::function<Partition(const std::vector<int64_t>& lengths)>;

/// Functions with which a role answers questions.
template <class Question, class Answer>
struct RequestHandler {
  AssignRequests share_out;  // chooses the group that answers each question
  /// Returns one answer for each question of this rank's group, in order. Called on all of the role's ranks, even
  /// without questions; only the result of the group's first rank is used.
  std::function<std::vector<Answer>(const std::vector<Question>& questions)> answer;
};

/// An encoded question or answer.
struct Packet {
  std::string bytes;
  int64_t length = 0;  // length() of a question; 0 for an answer
};
/// Like RequestHandler::answer, for encoded questions and answers.
using AnswerPackets = std::function<std::vector<Packet>(const std::vector<Packet>& questions)>;
/// Like request_answers(), for encoded questions and answers. **Collective** over role.world(), all ranks of the run.
std::vector<std::optional<Packet>> request_packets(const std::vector<Packet>& local, RoleMesh& role,
                                                   const AssignRequests& share_out, const AnswerPackets& answer,
                                                   std::string_view name);

/// Returns the answers to `local`, this rank's questions (maybe none), in order; nullopt for a question that share_out
/// gives to no group. Question, Answer: message types of base/message.h. Question also has a member length(), in a unit
/// that share_out understands. `role`: ranks of the answering model. `name`: describes the questions in error messages.
/// Throws Bug if answering.answer returns another number of answers than of questions. **Collective** over
/// role.world(), all ranks of the run.
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
