// Questions with known answers, one for each seed: arithmetic, or those of a file.
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

/// JSON lines with "question" and "answer", both texts or numbers. UserError: no such file, a line without them, none.
std::vector<Question> load_questions(const std::filesystem::path& file);

/// "What is 37 * 49 + 12?": three numbers of this range, and two of + - *.
Question arithmetic_question(uint64_t seed, int64_t least, int64_t greatest);

/// Numbers by their value, other texts without the blanks around them and in either case.
bool is_answer(const std::string& said, const std::string& answer);

}  // namespace roll
