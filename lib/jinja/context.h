// What a template carries along while it renders: variables, output, and the line it is at.
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

  /// A variable, else an undefined value that knows its name.
  Value get(const std::string& name) const;

  /// Sets it in the innermost scope.
  void set(const std::string& name, Value value);

  /// Variables set while `body` runs are gone after it.
  template <class Body>
  auto in_scope(const Body& body) {
    scopes_.emplace_back();
    const AtEnd pop([this] { scopes_.pop_back(); });
    return body();
  }

  /// Runs `body` in a scope in which only the template's outermost variables are seen; returns what `body` wrote.
  /// Throws Failure when macros call each other too deeply.
  template <class Body>
  std::string in_macro(const Body& body) {
    std::vector<Scope> hidden(std::make_move_iterator(scopes_.begin() + 1), std::make_move_iterator(scopes_.end()));
    scopes_.resize(1);
    scopes_.emplace_back();
    ++depth_;
    const AtEnd back([&] {
      scopes_.resize(1);
      std::ranges::move(hidden, std::back_inserter(scopes_));
      --depth_;
    });
    check_depth();
    return captured(body);
  }

  /// What `body` writes.
  template <class Body>
  std::string captured(const Body& body) {
    std::string outer = std::exchange(out_, {});
    body();
    std::swap(outer, out_);
    return outer;
  }

  void write(std::string_view text);
  const std::string& written() const { return out_; }

  /// Every expression and statement passes here, and pays for a step.
  void at(int line);
  int line() const { return line_; }

 private:
  /// Undoes a change when a block ends, also by an exception.
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

/// How a statement ended.
enum class Flow { kNext, kBreak, kContinue };

/// Templates are compiled to closures: one per expression or statement.
using Expression = std::function<Value(Context&)>;
using Statement = std::function<Flow(Context&)>;

}  // namespace roll::jinja
