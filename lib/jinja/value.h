// Values of the Jinja interpreter: Python's, as far as chat templates see them. Immutable but for namespaces, as in the
// sandbox in which Hugging Face runs these templates.
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

/// Something in the template went wrong; the interpreter adds the place and makes it a UserError.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// No text or list of a template may be longer (bytes, elements): it would only be a way to exhaust memory.
constexpr size_t kMaxLength = 16 << 20;

/// Throws Failure when `length` is more.
void check_length(size_t length);

class Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in order of insertion

/// The arguments of a call.
struct Arguments {
  List positional;
  Dict named;

  /// The argument at `index`, else the one named `name`, else empty.
  std::optional<Value> find(size_t index, std::string_view name) const;
  /// find(); throws Failure when it is missing.
  Value need(size_t index, std::string_view name) const;
};

using Function = std::function<Value(const Arguments&)>;

/// Python's None.
struct None {};

/// A missing variable, attribute or item: prints as nothing, is false, and fails when it is used otherwise.
struct Undefined {
  std::string what;
};

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

  /// `namespace(...)`: the one thing whose members templates may set.
  static Value make_namespace(Dict members);
  /// A function that keeps `object`.
  static Value make_method(const Value& object, Function function);
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

  /// These throw Failure when the value is of another type (an undefined one says what is missing).
  const std::string& string() const;
  const List& list() const;
  const Dict& dict() const;
  const Function& function() const;
  int64_t integer() const;  // a bool counts as 0 or 1
  double number() const;
  void set_member(const std::string& name, Value value) const;  // of a namespace

  /// The member of a dict or namespace; null when there is none.
  const Value* member(std::string_view name) const;

  bool truthy() const;
  /// What {{ value }} prints: Python's str().
  std::string text() const;
  /// Python's repr(), as it stands within lists.
  std::string representation() const;
  /// "string", "list", ... for messages.
  std::string type_name() const;
  /// Elements of a list, keys of a dict, characters of a string, nothing of an undefined value. Throws Failure.
  List elements() const;
  /// Characters of a string, elements of a list, members of a dict. Throws Failure.
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

bool equal(const Value& a, const Value& b);

/// Negative, 0 or positive; two numbers, two strings or two lists. Throws Failure for others.
int compare(const Value& a, const Value& b);

/// Python's `item in container`.
bool contains(const Value& container, const Value& item);

/// json.dumps(value, ensure_ascii=False, indent=indent); indent < 0: one line.
std::string dump_json(const Value& value, int indent);

}  // namespace roll::jinja
