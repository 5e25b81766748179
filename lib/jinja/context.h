// State of a Jinja template while it renders: variables, output, and the current line; and the compiled form of
// templates, which are closures that take this state.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace roll::jinja {

/// Serves one call of Template::render(), on one thread.
class Context {
 public:
  /// `variables` join the global functions (functions.h) in the outermost scope, and override them.
  explicit Context(Dict variables);

  /// Returns the variable of the innermost scope that has it, or an undefined Value with its name.
  Value get(const std::string& name) const;

  /// Sets a variable in the innermost scope.
  void set(const std::string& name, Value value);

  /// Calls body() in a new innermost scope and returns its result. The scope's variables disappear afterwards.
  template <class Body>
  auto in_scope(const Body& body) {
    scopes_.emplace_back();
    const AtEnd pop([this] { scopes_.pop_back(); });
    return body();
  }

  /// Calls body() in a new scope that sees only the outermost scope, and returns the text that it writes. Throws
  /// Failure if macro calls are nested more than 50 deep.
  template <class Body>
  std::string in_macro(const Body& body) {
    std::vector<Scope> hidden_scopes(std::make_move_iterator(scopes_.begin() + 1),
                                     std::make_move_iterator(scopes_.end()));
    scopes_.resize(1);
    scopes_.emplace_back();
    ++depth_;
    const AtEnd restore([&] {
      scopes_.resize(1);
      std::ranges::move(hidden_scopes, std::back_inserter(scopes_));
      --depth_;
    });
    check_depth();
    return captured(body);
  }

  /// Calls body() and returns the text that it writes, which is not added to written().
  template <class Body>
  std::string captured(const Body& body) {
    std::string outer = std::exchange(out_, {});
    body();
    std::swap(outer, out_);
    return outer;
  }

  /// Appends to the output. Throws Failure if it becomes longer than kMaxLength or the Budget is used up.
  void write(std::string_view text);
  /// Returns the output so far.
  const std::string& written() const { return out_; }

  /// Sets the current line and charges kStepBytes; every expression and statement calls it. Throws Failure if the
  /// Budget is used up.
  void begin_step(int line);
  /// Line of the newest step, for messages.
  int line() const { return line_; }

 private:
  /// Undoes a change at the end of a block, also after an exception.
  template <class Undo>
  struct AtEnd {
    explicit AtEnd(Undo undo) : undo_(std::move(undo)) {}
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() { undo_(); }
    Undo undo_;
  };
  void check_depth() const;

  using Scope = std::map<std::string, Value>;

  std::vector<Scope> scopes_;
  std::string out_;
  int line_ = 1, depth_ = 0;
};

/// Result of a statement: says what runs next.
enum class Flow {
  kNext,      // the following statement
  kBreak,     // the statement after the innermost loop
  kContinue,  // the next iteration of the innermost loop
};

/// Compiled expression and statement. Both throw Failure if an error occurs while the template renders.
using Expression = std::function<Value(Context&)>;
using Statement = std::function<Flow(Context&)>;

}  // namespace roll::jinja
