// Questions with known answers, one per seed, for tool_use: arithmetic, or from a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace roll {

struct Question {
  std::string text, answer;
};

/// Loads JSON lines with "question" and "answer", both strings or numbers. UserError: the file is missing or has no
/// questions, or a line lacks a field.
std::vector<Question> load_questions(const std::filesystem::path& file);

/// Returns a question that asks for a result, such as that of 37 * 49 + 12: three numbers in [least, greatest], and two
/// of + - *.
Question arithmetic_question(uint64_t seed, int64_t least, int64_t greatest);

/// Returns true if `given_answer` is the answer: numbers by value, other texts without outer blanks and in either case.
bool is_answer(const std::string& given_answer, const std::string& answer);

}  // namespace roll
