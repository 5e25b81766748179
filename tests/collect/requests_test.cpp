#include "collect/requests.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "dist/local_ranks.h"

namespace roll {
namespace {

struct Question {
  static constexpr MessageKind kMessage{"QUES", 1, "a question"};
  std::vector<int32_t> words;
  int64_t length() const { return std::ssize(words); }
  int32_t sum() const { return std::accumulate(words.begin(), words.end(), 0); }
  template <class F>
  void fields(F& field) {
    field("words", words);
  }
};

struct Answer {
  static constexpr MessageKind kMessage{"ANSW", 1, "an answer"};
  int32_t sum = 0;
  std::string words;  // as many letters as the question has words, so that answers end anywhere
  bool operator==(const Answer&) const = default;
  template <class F>
  void fields(F& field) {
    field("sum", sum), field("words", words);
  }
};

Answer answer_to(const Question& question) {
  return {question.sum(), std::string(question.words.size(), 'x')};
}

/// Rank r asks r + 1 times: {r, 0}, {r, 1, 1}, ... The last rank asks something that nobody answers as well.
std::vector<Question> questions_of(int rank, int size) {
  std::vector<Question> questions;
  for (int i = 0; i <= rank; ++i) {
    questions.push_back({std::vector<int32_t>(i + 2, i)});
    questions.back().words[0] = rank;
  }
  if (rank == size - 1) questions.insert(questions.begin() + 1, {std::vector<int32_t>(100, rank)});
  return questions;
}

/// In turn to the groups, all but the longest.
Partition in_turn(const std::vector<int64_t>& lengths, int64_t num_groups) {
  Partition shares(num_groups);
  int64_t turn = 0;
  for (int64_t i = 0; i < std::ssize(lengths); ++i)
    if (lengths[i] < 100) shares[turn++ % num_groups].push_back(i);
  return shares;
}

/// The sum of a question's words; other ranks than a group's first one say something else.
std::string ask(Communicator& world, const std::vector<int>& ranks, const MeshShape& shape) {
  Meshes meshes(world);
  RoleMesh& role = meshes.of(ranks, shape);
  int64_t answered = 0;
  const RequestHandler<Question, Answer> answering{
      .share_out = [&](const std::vector<int64_t>& lengths) { return in_turn(lengths, role.dp_size()); },
      .answer =
          [&](const std::vector<Question>& questions) {
            std::vector<Answer> answers;
            for (const Question& question : questions) {
              answers.push_back(answer_to(question));
              if (!role.mesh().is_leader()) answers.back().sum += 1000;
            }
            answered += std::ssize(answers);
            return answers;
          }};
  const auto local = questions_of(world.rank(), world.size());
  const auto answers = request_answers(local, role, answering, "questions");
  if (answers.size() != local.size()) return "not every question is answered; ";
  for (size_t i = 0; i < local.size(); ++i) {
    const bool is_long = local[i].length() == 100;
    if (answers[i].has_value() == is_long) return "another question is left out; ";
    if (!is_long && *answers[i] != answer_to(local[i]))
      return fmt::format("question {} got the answer of another; ", i);
  }
  const int64_t each = 10 / role.dp_size();
  return role.is_here() && (answered < each || answered > each + 1) ? "answers are not shared out; " : "";
}

}  // namespace

TEST_CASE("questions go to the ranks of a role that answer them, and answers back to who asked", "[train][dist]") {
  const auto said = test::run_local_ranks(4, [](Communicator& world) {
    return ask(world, {0, 1, 2, 3}, {}) + ask(world, {1, 3}, {}) + ask(world, {2}, {}) +
           ask(world, {0, 1, 2, 3}, {.cp = 1, .tp = 2}) + ask(world, {1, 2}, {.cp = 2, .tp = 1});
  });
  CHECK(said == std::vector<std::string>(4));
}

TEST_CASE("nobody asks anything", "[train][dist]") {
  const auto said = test::run_local_ranks(2, [](Communicator& world) {
    Meshes meshes(world);
    const RequestHandler<Question, Answer> answering{
        .share_out = [](const auto&) { return Partition(1); },
        .answer = [](const std::vector<Question>&) { return std::vector<Answer>(); }};
    return request_answers({}, meshes.of({1}, {}), answering, "questions").empty() ? "" : "an answer; ";
  });
  CHECK(said == std::vector<std::string>(2));
}

}  // namespace roll
