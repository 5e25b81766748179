// Questions with known answers, from a file or made from seeds, for the environment type `tools` (tool_use.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace roll {

/// A question and its answer.
struct Question {
  std::string text;
  std::string answer;  // the right answer, for is_answer()
};

/// Loads a file of JSON lines with "question" and "answer", each a string or a number. Throws UserError if the file is
/// missing or has no questions, or if a line lacks a field.
std::vector<Question> load_questions(const std::filesystem::path& file);

/// Returns a question that asks for the value of an expression, such as 37 * 49 + 12: three numbers, each from `least`
/// to `greatest`, with two operators of + - *. The same arguments give the same question.
Question arithmetic_question(uint64_t seed, int64_t least, int64_t greatest);

/// Returns true if `given_answer` equals `answer`. Two numbers are compared by value (1,813 is 1813), other texts
/// without outer blanks and without regard to ASCII case.
bool is_answer(const std::string& given_answer, const std::string& answer);

}  // namespace roll
