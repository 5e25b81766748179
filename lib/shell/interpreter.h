// What a shell script would run, found out without running anything: the words of each command, with the line that each
// comes from.
//
// Goals: bash's reading of quotes, variables, arrays, arithmetic, tests, branches, loops and functions. Commands are
// never started; what they would print is unknown, and so is all that depends on it. Where a condition is unknown both
// ways are gone, and what they leave differently is unknown. Non-goals: patterns of file names, associative arrays.
//
// There is one grammar, and no tree: what reads a text also runs it, and what is not to be run is read without effect.
// A loop or a function reads its text again. bash itself would read it, too, but not say that a value is unknown: what
// depends on one in [[ ]], case, (( )) or ${NAME#...} goes one way there without a word.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shell/builder.h"
#include "shell/cursor.h"
#include "shell/scoped.h"
#include "shell/unknown.h"

namespace roll::shell {

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
  using Fields = std::vector<Field>;
  using Way = std::function<Truth()>;
  using Variables = std::map<std::string, std::optional<Fields>>;  // one, or an array's; nullopt: not set
  struct Arguments {
    Fields given;             // $1, $2, ...
    bool has_more = false;    // more follow, whose values are unknown
    int64_t num_shifted = 0;  // `shift` has taken so many from the front
  };
  struct State {
    std::map<std::string, Fields> variables;
    std::map<std::string, Cursor> functions;  // where their bodies begin
    Arguments arguments;
    std::string folder;  // empty: where the script was started
    std::string doubt;   // a condition under which the rest may not run

    size_t size() const;
  };
  enum class Flow { kOn, kBreak, kContinue, kReturn, kExit };
  /// What has been printed, for the substitution around it.
  struct Output {
    std::string text = {};
    bool is_known = true;
  };
  struct Redirect {
    std::string op;  // "<", "2>", "<<", "<<<", ...
    Cursor target;   // the word; of a here-document its text
    bool is_text = false, expands = true;
  };
  struct Command {
    Fields words = {};
    std::vector<Redirect> redirects = {};
    std::vector<Cursor> assignments = {};  // before its words
  };

  // ---- grammar.cpp: commands of commands
  bool runs() const { return is_live_ && flow_ == Flow::kOn; }
  /// What is read runs only where `condition` holds, too.
  Scoped<bool> only(bool condition) { return {is_live_, is_live_ && condition}; }
  Scoped<int> deeper();
  Truth list();
  Truth and_or();
  Truth pipeline();
  bool take_pipe();
  Truth command();
  std::optional<Truth> compound();
  Truth simple();
  bool read_redirect(std::vector<Redirect>& all);
  Truth branches();
  Truth while_loop(bool is_until);
  Truth for_loop();
  Truth counted_for();
  std::string_view loop_begin();  // through `do`: what ends the loop
  bool body(std::string_view end);
  std::optional<Truth> turn(Truth condition, std::string_view end, Place place);
  Truth patterns_fit(const std::optional<std::string>& subject);
  Truth cases(const std::optional<std::string>& subject);
  Truth define(const std::string& name);

  // ---- words.cpp
  /// The text up to one of `ends`; the cursor stays.
  std::string ahead(std::string_view ends);
  template <class Read>
  auto elsewhere(Cursor there, const Read& read) {
    const Scoped here(cursor_, std::move(there));
    return read();
  }
  Builder builder(bool splits) const;
  void read_word(Builder& builder);
  void read_choices(Builder& builder, const Braces& braces);
  std::string read_value(bool as_pattern = false);  // a word that is not split
  /// Up to one of `ends` that nothing closes: neither quotes nor, where it is given, the bracket `opens`.
  void read_text(Builder& builder, std::string_view ends, bool in_quotes, char opens = '\0');
  std::string quoted_text(std::string_view ends, char opens = '\0');  // as between double quotes
  void read_piece(Builder& builder, bool in_quotes);
  void read_quotes(Builder& builder, char quote);
  void read_dollar(Builder& builder, bool in_quotes, const Cursor& begin);
  void read_output(Builder& builder, bool in_quotes, const Cursor& begin, std::string_view end);
  void add_found(Builder& builder, const std::optional<std::string>& value, bool in_quotes, const Cursor& begin);
  std::optional<std::string> arithmetic();

  // ---- parameters.cpp: $NAME and ${NAME...}
  struct Parameter;
  void read_name(Builder& builder, const std::string& name, bool in_quotes);
  void read_braces(Builder& builder, bool in_quotes);
  bool read_default(Builder& builder, Parameter& parameter, bool in_quotes);
  void read_changes(Parameter& parameter);
  void read_slice(Parameter& parameter);
  void add(Builder& builder, const Parameter& parameter, bool in_quotes);
  Fields values_of(const Parameter& parameter);
  std::string length_of(const Parameter& parameter);
  std::optional<std::string> replaced(const std::string& value, const std::string& from, const std::string& to,
                                      bool is_all);

  // ---- variables.cpp: variables, and states in which they are one thing or another
  void read_assignment();
  void assign(const std::string& name, const std::optional<std::string>& subscript, bool appends, bool is_array,
              Fields added);
  void set(const std::string& name, Fields values);
  void set(const std::string& name, const std::string& text, Place place) { set(name, {{text, place}}); }
  const Fields* find(const std::string& name) const;
  std::optional<Fields> copy_of(const std::string& name) const;
  void restore(const Variables& values);
  std::optional<int64_t> number_of(const std::string& expanded);
  std::optional<size_t> index_of(const std::string& subscript, size_t size);
  Truth apart(const Way& way);
  std::string unknown_text(const std::string& why, Place place);
  std::string environment(const std::string& name, Place place);
  /// `yes` or `no`, which read the text that follows in this order; where the truth is not known, both.
  Truth either(Truth truth, const Way& yes, const Way& no, std::string_view condition, Place place);
  Truth both(const Way& yes, const Way& no, const std::string& why, Place place);
  void merge(const State& other, const std::string& why, Place place);

  // ---- builtins.cpp: what the shell does itself
  Truth run_command(Command command);
  Truth run_program(const Command& command);
  std::optional<Truth> run_builtin(const Command& command);
  Truth call(Cursor body, const Fields& words);
  void read_declared(const std::string& declaration);
  std::optional<std::string> printed(const Fields& words);
  Truth run_print(Fields words);
  Truth run_read(const Command& command);
  Truth run_source(const Fields& words);
  Truth run_cd(const Fields& words);
  std::string folder(Place place);
  std::optional<Truth> run_nested_shell(const Fields& words);
  Truth run_text(const std::string& text, Place begin);

  // ---- conditions.cpp
  class TestReader;
  Truth test(const Fields& words);
  Truth test_words();
  Truth compare(const std::string& left, const std::string& sign, const std::string& right);
  Truth check(const std::string& sign, const std::string& operand);

  const std::string& name_of(Place place) const { return files_.at(static_cast<size_t>(place.file)); }
  void spend(size_t work);

  Reading reading_;
  State state_;
  Cursor cursor_;
  bool is_live_ = true;
  std::vector<Call> calls_;
  std::vector<std::string> notes_;
  std::vector<Variables> locals_;   // of each function that runs: values before
  std::vector<std::string> files_;  // names, by Place::file
  std::string exit_place_;
  std::set<std::string> missing_;
  Unknowns unknowns_;
  Flow flow_ = Flow::kOn;
  size_t work_ = 0;
  int depth_ = 0;
  Output output_;
};

}  // namespace roll::shell
