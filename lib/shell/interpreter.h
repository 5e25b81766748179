// Finds the commands that a shell script would run, without running anything: the words of each command, with their
// lines. Used by lib/convert.
//
// Goals: bash's rules for quotes, variables, arrays, arithmetic, tests, branches, loops and functions. Commands are
// never started; their output is unknown, and so is everything that depends on it. If a condition is unknown, both
// branches are followed, and values that differ between them become unknown. Non-goals: globs, associative arrays.
//
// There is no syntax tree: the parser executes commands while it reads them. Code that must not run, such as a branch
// not taken, is parsed with is_live_ = false. Loops and functions parse their text again each time. bash cannot replace
// this: with an unknown value, its [[ ]], case, (( )) and ${NAME#...} would silently take one branch.
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

/// Command that the script would start: a program, not a shell builtin.
struct Call {
  std::vector<Field> words;
  std::string condition;  // text of the unknown condition under which it runs; empty: it runs for certain
};

/// Returns the text of a sourced file; nullopt if it is missing.
using ReadScript = std::function<std::optional<std::string>(const std::string& path)>;

/// Inputs of a script.
struct Reading {
  std::string path = {};                                // the script's path: $0, and base of relative sourced paths
  ReadScript read = {};                                 // reads sourced files; empty: nothing is sourced
  std::map<std::string, std::string> environment = {};  // environment variables with known values
  std::vector<std::string> arguments = {};              // $1, $2, ...
  bool has_more_arguments = false;         // further arguments follow with unknown values, so $# is unknown
  std::set<std::string> assumed_set = {};  // environment variables taken as set, with unknown values
};

/// Interprets the script and collects its commands. Not thread-safe.
class Interpreter {
 public:
  explicit Interpreter(Reading reading);

  /// Interprets `text` and adds its commands to calls(). May be called again: variables and functions stay, and after
  /// an `exit` no more commands are added. Messages name the script `origin`, in which `text` begins at line
  /// `first_line` (from 1). Throws UserError for invalid shell syntax, and for a script that takes too long, grows too
  /// large or is nested too deep.
  void run(std::string_view text, const std::string& origin, int first_line = 1);
  /// Returns the work of all runs so far, roughly in bytes of text processed. Above kMostWork run() throws UserError.
  size_t work() const { return work_; }
  static constexpr size_t kMostWork = 24 << 20;

  /// Commands found, in the order in which the script would start them.
  const std::vector<Call>& calls() const { return calls_; }
  /// Returns the pieces behind the marks (unknown.h) in the words of calls().
  const Unknowns& unknowns() const { return unknowns_; }
  /// Returns "run.sh:12".
  std::string place_text(Place place) const;
  /// Messages for the user, such as about a sourced file that is missing.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Returns "run.sh:4", the place of the `exit` that ended the script; empty if it reached its end.
  const std::string& exit_place() const { return exit_place_; }
  /// Names of the unset environment variables in the last test ([ -z "$NAME" ] and the like) that found its operand
  /// empty: if the script then exits, it needs these.
  const std::set<std::string>& missing() const { return missing_; }

 private:
  using Fields = std::vector<Field>;
  using Branch = std::function<Truth()>;  // parses one branch at cursor_, and runs it if is_live_
  using Variables = std::map<std::string, std::optional<Fields>>;  // values of a variable or array; nullopt: unset
  /// Arguments of the script or of the running function.
  struct Arguments {
    Fields values;            // $1, $2, ...
    bool has_more = false;    // more follow, whose values are unknown
    int64_t num_shifted = 0;  // number of arguments taken by `shift`
  };
  /// Everything that both branches of an unknown condition may change.
  struct State {
    std::map<std::string, Fields> variables;
    std::map<std::string, Cursor> functions;  // beginnings of their bodies
    Arguments arguments;
    std::string folder;  // empty: the folder where the script was started
    std::string doubt;   // unknown condition under which the rest may not run

    size_t size() const;
  };
  /// kOn: the next command runs; else the script is leaving a loop, function or itself.
  enum class Flow { kOn, kBreak, kContinue, kReturn, kExit };
  /// Output of commands so far, for an enclosing substitution.
  struct Output {
    std::string text = {};
    bool is_known = true;
  };
  struct Redirect {
    std::string op;  // "<", "2>", "<<", "<<<", ...
    Cursor target;   // word, or text of a here-document
    bool is_text = false, expands = true;
  };
  struct Command {
    Fields words = {};
    std::vector<Redirect> redirects = {};
    std::vector<Cursor> assignments = {};  // in front of its words
  };

  // Functions that return Truth parse at cursor_ or run a command; the result is its success (exit status 0).
  // compound(), run_builtin() and run_nested_shell() return nullopt if the command is of another kind. A Builder
  // argument gets the words read.

  // ---- grammar.cpp: lists, pipelines, loops, branches and functions
  bool runs() const { return is_live_ && flow_ == Flow::kOn; }
  /// Until the result is destroyed, parsed code runs only if `condition` holds too.
  Scoped<bool> live_if(bool condition) { return {is_live_, is_live_ && condition}; }
  /// Adds a nesting level until the result is destroyed. Throws UserError beyond the deepest one.
  Scoped<int> deeper();
  Truth list();
  Truth and_or();
  Truth pipeline();
  bool take_pipe();
  Truth command();
  std::optional<Truth> compound();
  Truth simple();
  bool read_redirect(std::vector<Redirect>& redirects);
  Truth branches();
  Truth while_loop(bool is_until);
  Truth for_loop();
  Truth counted_for();
  std::string_view loop_begin();  // parses through `do`; returns the loop's closing word
  bool body(std::string_view end);
  std::optional<Truth> run_iteration(Truth condition, std::string_view end, Place place);
  Truth patterns_fit(const std::optional<std::string>& subject);
  Truth cases(const std::optional<std::string>& subject);
  Truth define(const std::string& name);

  // ---- words.cpp
  /// Returns the text up to one of `ends`, without moving the cursor.
  std::string text_ahead(std::string_view ends);
  template <class Read>
  auto at_cursor(Cursor cursor, const Read& read) {
    const Scoped moved_cursor(cursor_, std::move(cursor));
    return read();
  }
  Builder builder(bool splits) const;
  void read_word(Builder& builder);
  void read_choices(Builder& builder, const Braces& braces);
  std::string read_value(bool as_pattern = false);  // without word splitting
  /// Reads up to one of `ends` outside quotes and, if `opens` is given, outside such brackets.
  void read_text(Builder& builder, std::string_view ends, bool in_quotes, char opens = '\0');
  std::string quoted_text(std::string_view ends, char opens = '\0');  // treats the text as double-quoted
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
  Fields parameter_values(const Parameter& parameter);
  std::string parameter_length(const Parameter& parameter);
  std::optional<std::string> replaced(const std::string& value, const std::string& from, const std::string& to,
                                      bool is_all);

  // ---- variables.cpp: variables, and merging the states after unknown conditions
  void read_assignment();
  void assign(const std::string& name, const std::optional<std::string>& subscript, bool appends, bool is_array,
              Fields added);
  void set(const std::string& name, Fields values);
  void set(const std::string& name, const std::string& text, Place place) { set(name, {{text, place}}); }
  const Fields* find(const std::string& name) const;
  std::optional<Fields> copy_variable(const std::string& name) const;
  void restore(const Variables& values);
  std::optional<int64_t> parse_number(const std::string& expanded);
  std::optional<size_t> array_index(const std::string& subscript, size_t size);
  Truth in_subshell(const Branch& branch);
  std::string unknown_text(const std::string& why, Place place);
  std::string environment(const std::string& name, Place place);
  /// Parses `yes`, then `no`, and runs the one that `truth` selects; if unknown, runs both and merges their states.
  Truth run_either(Truth truth, const Branch& yes, const Branch& no, std::string_view condition, Place place);
  Truth run_both(const Branch& yes, const Branch& no, const std::string& why, Place place);
  void merge(const State& other, const std::string& why, Place place);

  // ---- builtins.cpp: shell builtins
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

  const std::string& place_file(Place place) const { return files_.at(static_cast<size_t>(place.file)); }
  /// Adds to work(); throws UserError above kMostWork.
  void spend(size_t work);

  Reading reading_;
  State state_;
  Cursor cursor_;
  bool is_live_ = true;
  std::vector<Call> calls_;
  std::vector<std::string> notes_;
  std::vector<Variables> locals_;   // per running function: earlier values of its local variables
  std::vector<std::string> files_;  // indexed by Place::file
  std::string exit_place_;
  std::set<std::string> missing_;
  Unknowns unknowns_;
  Flow flow_ = Flow::kOn;
  size_t work_ = 0;
  int depth_ = 0;
  Output output_;
};

}  // namespace roll::shell
