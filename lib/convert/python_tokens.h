// The words, numbers, texts and signs of a Python script, without comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct PythonToken {
  enum class Kind { kName, kNumber, kText, kSign };
  Kind kind = Kind::kSign;
  std::string text;  // of a text without quotes, with \n and its like read
  int line = 1;
  bool begins_line = false;  // and no bracket is open
  bool is_format = false;    // f"..."
};

std::vector<PythonToken> python_tokens(std::string_view text);

}  // namespace roll
