// A shell script as a tree. Words stay as they are written: what they become depends on what ran before them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace roll::shell {

struct Place {
  int file = 0;  // a script and what it sources have one number each
  int line = 1;
};

struct Word {
  std::string text;  // with quotes and all; of an array's assignment "NAME=" or "NAME+="
  Place place;
  bool is_array = false;
  std::vector<Word> elements = {};  // of NAME=( ... )
};

struct Redirect {
  std::string op;                     // "<", ">", ">>", "<<", "<<<", "&>", ...
  Word target;                        // of a here-document the word that ends it
  std::shared_ptr<std::string> body;  // a here-document's text
  bool expands = true;                // not where that word is quoted
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

enum class Kind {
  kCommand,     // words
  kSequence,    // parts, one after the other
  kAndOr,       // parts, with a sign of `signs` between each two: '&' or '|'
  kPipeline,    // parts
  kNot,         // parts[0]
  kIf,          // condition, part, condition, part, ..., and the part of `else` where their number is odd
  kWhile,       // condition, body
  kUntil,       // condition, body
  kFor,         // words[0] takes the others' values, or the arguments' where `over_arguments`; body
  kCountedFor,  // words: the three expressions of (( ; ; )); body
  kCase,        // words[0] against patterns[i]: parts[i]
  kFunction,    // words[0] is parts[0]
  kSubshell,    // parts[0]
  kTest,        // words between [[ and ]]
  kArithmetic,  // words[0] between (( and ))
};

struct Node {
  Kind kind = Kind::kSequence;
  Place place;
  std::vector<Word> words = {};
  std::vector<NodePtr> parts = {};
  std::string signs = {};
  std::vector<std::vector<Word>> patterns = {};
  std::vector<Redirect> redirects = {};
  bool over_arguments = false;
};

/// `origin` and `file` name the script in messages and places. UserError "origin:line: ...": what no shell would read,
/// and what is nested too deep.
NodePtr parse(std::string_view text, const std::string& origin, int file, int first_line = 1);

// ---- Where pieces of words end; each returns text.size() where nothing closes them

/// Behind the quote that closes the one at `at`; a backslash escapes in double quotes.
size_t end_of_quotes(std::string_view text, size_t at);
/// Behind what begins with the '$' at `at`: $NAME, ${...}, $(...), $((...)), $'...'; at + 1 where it is a plain sign.
size_t end_of_dollar(std::string_view text, size_t at);
/// Behind the backtick that closes the one at `at`.
size_t end_of_backticks(std::string_view text, size_t at);
/// Behind the bracket that closes the one at `at`, with quotes and what begins with '$' between.
size_t end_of_brackets(std::string_view text, size_t at, char open, char close);

bool is_blank(char c);
bool is_name_char(char c);
bool is_name(std::string_view text);
/// The place of = in "NAME=...", "NAME+=..." and "NAME[...]=..."; npos: no assignment.
size_t assignment_at(std::string_view text);

}  // namespace roll::shell
