#include "base/shell.h"

#include <cstdio>

#include "base/error.h"

using namespace roll;

namespace {

const std::vector<std::string> kOdd = {
    "plain-1.5_/:=@%", "", "a b", "it's", "\"", "\\", "$HOME", "`x`", "*", "a\tb", "\xC3\xA4;&|<>(){}#!~"};

/// What a real shell makes of the line: its words, each ended by a newline.
std::string read_by_shell(const std::string& line) {
  const std::string command = fmt::format("printf '%s\\n' {}", line);
  std::FILE* shell = ::popen(command.c_str(), "r");
  std::string text;
  for (int c = std::fgetc(shell); c != EOF; c = std::fgetc(shell)) text += static_cast<char>(c);
  ::pclose(shell);
  return text;
}

}  // namespace

TEST_CASE("a quoted line is read back by a shell and by us, word for word") {
  const std::string line = shell_line(kOdd);
  CHECK(read_by_shell(line) == fmt::format("{}\n", fmt::join(kOdd, "\n")));
  CHECK(shell_words(line) == kOdd);
  CHECK(shell_line({"roll", "train", "--config", "a.yaml", "x=1"}) == "roll train --config a.yaml x=1");
}

TEST_CASE("words are split as a shell splits them") {
  for (const std::string line : {R"(--mca a  b)", R"(a\ b "c \"d\" \e" 'f\g' h"i"'j')", R"("" '' x)", "  a \tb "})
    CHECK(fmt::format("{}\n", fmt::join(shell_words(line), "\n")) == read_by_shell(line));
  CHECK(shell_words("").empty());
  CHECK(shell_words(" ").empty());
  CHECK_THROWS_WITH(shell_words("a 'b"), "the quote ' is not closed");
  CHECK_THROWS_WITH(shell_words("a \"b"), "the quote \" is not closed");
}
