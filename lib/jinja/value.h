// Values of the Jinja interpreter: Python's types, as far as chat templates use them. All but namespaces are immutable,
// as in Hugging Face's sandbox.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

namespace roll::jinja {

/// Error while a template renders; Template::render() turns it into a UserError with the line.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Longest text (in bytes) and list (in elements) that a template may make.
constexpr size_t kMaxLength = 16 << 20;

/// Throws Failure if `length` exceeds kMaxLength.
void check_length(size_t length);

class Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in order of insertion

/// Arguments of a call.
struct Arguments {
  List positional;
  Dict named;

  /// Returns the argument of the parameter `name`, which is number `index` (from 0); nullopt if it is not given.
  std::optional<Value> find(size_t index, std::string_view name) const;
  /// Like find(), but throws Failure if the argument is not given.
  Value need(size_t index, std::string_view name) const;
};

using Function = std::function<Value(const Arguments&)>;

/// Python's None.
struct None {};

/// Missing variable, attribute or item: prints as nothing and is false; other uses fail.
struct Undefined {
  std::string what;  // description for messages, such as "'name'"
};

/// A value of any type; copies share the data. Constructors charge the Budget (budget.h), and throw Failure if it is
/// used up, or if the value is too long (kMaxLength) or nested too deep.
class Value {
 public:
  Value() : data_(Undefined{"value"}) {}
  Value(None) : data_(None{}) {}
  Value(Undefined undefined);
  Value(bool b) : data_(b) {}
  Value(int64_t i) : data_(i) {}
  Value(double d) : data_(d) {}
  Value(std::string s);
  Value(std::string_view s) : Value(std::string(s)) {}
  Value(const char* s) : Value(std::string(s)) {}
  Value(List list);
  Value(Dict dict);
  Value(Function function);
  template <class T>
  Value(T*) = delete;

  /// Makes the result of `namespace(...)`, the only value whose members a template may set.
  static Value make_namespace(Dict members);
  /// Makes a function that holds a copy of `object`; `object` counts in the limit on nesting.
  static Value make_method(const Value& object, Function function);
  /// Converts JSON; objects become dicts. Throws Failure like the constructors.
  static Value from_json(const Json& json);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<int64_t>(data_); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  bool is_string() const { return std::holds_alternative<StringPointer>(data_); }
  bool is_list() const { return std::holds_alternative<ListPointer>(data_); }
  bool is_dict() const { return std::holds_alternative<DictPointer>(data_); }
  bool is_namespace() const { return std::holds_alternative<NamespacePointer>(data_); }
  bool is_function() const { return std::holds_alternative<FunctionPointer>(data_); }

  /// Return the value in one type; throw Failure if it has another. dict() also returns a namespace's members. The
  /// message about an undefined value contains Undefined::what.
  const std::string& string() const;
  const List& list() const;
  const Dict& dict() const;
  const Function& function() const;
  int64_t integer() const;  // a bool is 0 or 1
  double number() const;    // an integer or bool is converted
  /// Sets a member of a namespace; throws Failure for other types.
  void set_member(const std::string& name, Value value) const;

  /// Returns a member of a dict or namespace; nullptr if there is none, or for other types.
  const Value* member(std::string_view name) const;

  /// Returns Python's bool(value).
  bool truthy() const;
  /// Returns the output of {{ value }}: Python's str().
  std::string text() const;
  /// Returns Python's repr(), as printed inside lists.
  std::string representation() const;
  /// Returns "string", "list", ... for messages.
  std::string type_name() const;
  /// Returns the elements of a list, keys of a dict or characters of a string; empty for an undefined value. Throws
  /// Failure for other types.
  List elements() const;
  /// Returns the number of characters, elements or members; 0 for an undefined value. Throws Failure for other types.
  int64_t length() const;

 private:
  using StringPointer = std::shared_ptr<const std::string>;
  using ListPointer = std::shared_ptr<const List>;
  using DictPointer = std::shared_ptr<const Dict>;
  struct NamespacePointer {
    std::shared_ptr<Dict> members;
  };
  using FunctionPointer = std::shared_ptr<const Function>;

  static Value from_json(const Json& json, int depth);
  void nest(const Value& child);
  template <class T>
  const T& get(std::string_view needed) const;
  [[noreturn]] void wrong_type(std::string_view needed) const;

  std::variant<None, Undefined, bool, int64_t, double, StringPointer, ListPointer, DictPointer, NamespacePointer,
               FunctionPointer>
      data_;
  int depth_ = 0;
  bool holds_namespace_ = false;
};

/// Returns Python's a == b.
bool equal(const Value& a, const Value& b);

/// Compares two numbers, two strings or two lists; returns a negative number if a < b, 0 if equal, a positive one if
/// a > b. Throws Failure for other types.
int compare(const Value& a, const Value& b);

/// Returns Python's `item in container`.
bool contains(const Value& container, const Value& item);

/// Returns Python's json.dumps(value, ensure_ascii=False, indent=indent); a negative `indent` gives one line.
std::string dump_json(const Value& value, int indent);

}  // namespace roll::jinja
