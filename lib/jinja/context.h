// State of a template while it renders: variables, output, and the current line.
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

class Context {
 public:
  explicit Context(Dict variables);

  /// Returns a variable, or an undefined value that knows the variable's name.
  Value get(const std::string& name) const;

  /// Sets a variable in the innermost scope.
  void set(const std::string& name, Value value);

  /// Runs `body` in a new scope; variables set there disappear afterwards.
  template <class Body>
  auto in_scope(const Body& body) {
    scopes_.emplace_back();
    const AtEnd pop([this] { scopes_.pop_back(); });
    return body();
  }

  /// Runs `body` in a scope that sees only the outermost variables; returns its output. Throws Failure if macro calls
  /// are nested too deep.
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

  /// Runs `body` and returns its output.
  template <class Body>
  std::string captured(const Body& body) {
    std::string outer = std::exchange(out_, {});
    body();
    std::swap(outer, out_);
    return outer;
  }

  void write(std::string_view text);
  const std::string& written() const { return out_; }

  /// Sets the current line and pays for one step; every expression and statement calls it.
  void begin_step(int line);
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

/// Outcome of a statement.
enum class Flow { kNext, kBreak, kContinue };

/// Templates are compiled to closures, one per expression or statement.
using Expression = std::function<Value(Context&)>;
using Statement = std::function<Flow(Context&)>;

}  // namespace roll::jinja
