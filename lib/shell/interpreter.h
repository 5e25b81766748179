// What a shell script would run, found out without running anything: the words of each command, with the line that each
// comes from.
//
// Goals: bash's reading of quotes, variables, arrays, arithmetic, tests, branches, loops and functions. Commands are
// never started; what they would print is unknown, and so is all that depends on it. Where a condition is unknown both
// ways are gone, and what they leave differently is unknown. Non-goals: patterns of file names, associative arrays.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shell/syntax.h"
#include "shell/unknown.h"

namespace roll::shell {

struct Field {
  std::string text;  // may have unknown pieces
  Place place;
};

/// A command that is no part of the shell itself.
struct Call {
  std::vector<Field> words;
  std::string condition;  // empty: it is reached for certain
};

/// The text of a file that a script sources; nullopt: it is not there.
using ReadScript = std::function<std::optional<std::string>(const std::string& path)>;

struct Reading {
  std::string path = {};                                // of the script, for $0 and what it sources
  ReadScript read = {};                                 // may be empty: nothing is sourced
  std::map<std::string, std::string> environment = {};  // variables that are known
  std::vector<std::string> arguments = {};              // $1, $2, ...
  bool has_more_arguments = false;                      // more arguments follow, which nobody said: $# is unknown
  std::set<std::string> given = {};                     // variables of the environment whose values nobody said
};

enum class Truth { kNo, kYes, kUnknown };

class Interpreter {
 public:
  explicit Interpreter(Reading reading);

  /// Goes through the whole of `text`, which messages call `origin` and whose first line they count as `first_line`.
  /// UserError: what no shell would read; what takes too long, grows too large or is nested too deep.
  void run(std::string_view text, const std::string& origin, int first_line = 1);
  /// The work done so far, of which an interpreter does no more than kMostWork.
  size_t work() const { return work_; }
  static constexpr size_t kMostWork = 24 << 20;

  const std::vector<Call>& calls() const { return calls_; }
  const Unknowns& unknowns() const { return unknowns_; }
  /// "run.sh:12".
  std::string text_of(Place place) const;
  /// What was noticed: files that are not there, lines that no command takes.
  const std::vector<std::string>& notes() const { return notes_; }
  /// "run.sh:4" of the `exit` that ended the script; empty: its end did.
  const std::string& exit_place() const { return exit_place_; }
  /// Variables of the environment that were not set where the script last found one to be empty.
  const std::set<std::string>& missing() const { return missing_; }

 private:
  struct Variable {
    std::vector<Field> fields;  // one, or an array's
    bool is_array = false;
  };
  struct Arguments {
    std::vector<Field> given;  // $1, $2, ...
    bool has_more = false;     // more follow, whose values are unknown
    int64_t num_shifted = 0;   // `shift` has taken so many from the front
  };
  struct State {
    std::map<std::string, Variable> variables;
    std::map<std::string, NodePtr> functions;
    Arguments arguments;
    std::string folder;  // empty: where the script was started
    std::string doubt;   // a condition under which the rest may not run

    size_t size() const;
  };
  enum class Flow { kOn, kBreak, kContinue, kReturn, kExit };
  using Fields = std::vector<Field>;
  class Deeper;
  class Assigned;

  // ---- run.cpp: commands of commands
  Truth run(const NodePtr& node);
  Truth run_node(const Node& node);
  Truth run_sequence(const Node& node);
  Truth run_and_or(const Node& node);
  Truth run_if(const Node& node, size_t from);
  Truth run_while(const Node& node);
  Truth run_for(const Node& node);
  Truth run_counted_for(const Node& node);
  Truth run_case(const Node& node, size_t from);
  bool run_body(const NodePtr& body);  // of a loop; false: it ends
  /// In a state of its own.
  Truth run_apart(const std::function<Truth()>& what);
  /// Both ways that a condition may go.
  Truth run_either(const std::function<Truth()>& yes, const std::function<Truth()>& no, const std::string& condition,
                   Place place);
  void merge(const State& other, const std::string& condition, Place place);
  Truth run_text(const std::string& text, const std::string& origin, int file, int line);

  // ---- commands.cpp: what the shell does itself
  Truth run_command(const Node& node);
  Truth call_function(const NodePtr& body, const Fields& words);
  std::optional<Truth> run_builtin(const Fields& words, const Node& node);
  std::optional<Truth> run_builtin_redirected(const Fields& words, const Node& node);
  std::optional<Truth> run_declaration(const Node& node);
  Truth run_output(const Fields& words);
  Truth run_set(const Fields& words);
  Truth run_read(const Fields& words, const Node& node);
  Truth run_source(const Fields& words);
  Truth run_cd(const Fields& words);
  std::optional<Truth> run_nested_shell(const Fields& words);
  void print(const std::string& text);

  // ---- variables.cpp
  void assign(const Word& word);
  void set(const std::string& name, Variable value);
  void set(const std::string& name, const std::string& text, Place place) { set(name, Variable{{{text, place}}}); }
  std::string without_itself(const std::string& name, const std::string& text) const;
  const Variable* find(const std::string& name) const;
  std::optional<int64_t> number_of(const std::string& expression, Place place);
  std::optional<size_t> index_of(const std::string& subscript, size_t size, Place place);
  std::string environment(const std::string& name, Place place);

  // ---- expand.cpp
  struct Builder;
  /// The signs that words without quotes are split at.
  std::string separators() const;
  Fields split(const std::string& text, Place place);
  Fields expand(const std::vector<Word>& words);
  Fields expand(const Word& word);
  /// Without splitting; of [[ x == PATTERN ]] quoted pieces match themselves.
  std::string expand_one(const Word& word, bool as_pattern = false);
  /// As between double quotes.
  std::string expand_quoted(std::string_view text, Place place);
  void expand_into(Builder& builder, std::string_view text, Place place, bool in_quotes);
  void expand_dollar(Builder& builder, std::string_view piece, Place place, bool in_quotes);
  void expand_braces(Builder& builder, std::string_view inside, Place place, bool in_quotes);
  std::string output_of(std::string_view command, const std::string& written, Place place);

  // ---- parameters.cpp: ${NAME...}
  struct Parameter;
  Fields values_of(const Parameter& parameter, Place place);
  bool expand_default(Builder& builder, const Parameter& parameter, const Fields& values, Place place, bool in_quotes);
  void slice(Fields& values, const Parameter& parameter, Place place);
  void keep(Builder& builder, const Parameter& parameter, const Fields& values, bool in_quotes);
  std::string changed(const std::string& value, std::string_view operation, Place place);
  std::string cut(const std::string& value, std::string_view operation, Place place);
  std::string replaced(const std::string& value, std::string_view operation, Place place);
  std::string substring(const std::string& value, std::string_view operation, Place place);
  std::string unknown_text(const std::string& why, Place place);

  // ---- conditions.cpp
  Truth test(const Fields& words);                   // of [ ]
  Truth test_words(const std::vector<Word>& words);  // of [[ ]]
  Truth compare(const std::string& left, const std::string& sign, const std::string& right, Place place);
  Truth check(const std::string& sign, const std::string& operand);
  class TestReader;

  void spend(size_t work, Place place);
  const std::string& origin_of(int file) const { return files_.at(static_cast<size_t>(file)); }

  Reading reading_;
  State state_;
  Unknowns unknowns_;
  std::vector<Call> calls_;
  std::vector<std::string> notes_;
  std::vector<std::map<std::string, std::optional<Variable>>>
      locals_;                      // of each function that runs: values from before
  std::vector<std::string> files_;  // names, by Place::file
  std::string exit_place_;
  std::set<std::string> missing_;
  Flow flow_ = Flow::kOn;
  size_t work_ = 0;
  int depth_ = 0;
  std::string* output_ = nullptr;  // where a substitution collects what is printed
  bool output_is_known_ = true;
};

}  // namespace roll::shell
