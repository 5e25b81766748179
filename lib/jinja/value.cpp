#include "jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "jinja/budget.h"
#include "jinja/strings.h"
#include "unicode/unicode.h"

namespace roll::jinja {

namespace {

// Limits recursion over nested values, and so the stack.
constexpr int kMaxDepth = 100;

const Value* find_member(const Dict& dict, std::string_view name) {
  charge(kEntryBytes * dict.size());
  const auto entry = std::ranges::find(dict, name, [](const auto& e) { return std::string_view(e.first); });
  return entry == dict.end() ? nullptr : &entry->second;
}

/// Returns Python's repr of a float: the shortest digits that read back exactly, always with '.' or 'e'.
std::string float_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  const std::string text = fmt::format("{}", x);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string quoted(const std::string& s) {
  charge(2 * s.size());
  const char quote = s.find('\'') != std::string::npos && s.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : s) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c == quote || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + quote;
}

std::string json_quoted(const std::string& s) {
  charge(4 * s.size());
  return Json(s).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::optional<Value> Arguments::find(size_t index, std::string_view name) const {
  if (index < positional.size()) return positional[index];
  if (const Value* value = find_member(named, name)) return *value;
  return {};
}

Value Arguments::need(size_t index, std::string_view name) const {
  if (auto value = find(index, name)) return *std::move(value);
  throw Failure(fmt::format("argument '{}' is missing", name));
}

void Value::nest(const Value& child) {
  depth_ = std::max(depth_, child.depth_ + 1);
  if (depth_ > kMaxDepth) throw Failure(fmt::format("a value is nested more than {} deep", kMaxDepth));
  holds_namespace_ |= child.is_namespace() || child.holds_namespace_;
}

void check_length(size_t length) {
  if (length > kMaxLength) throw Failure(fmt::format("a text or list grows beyond {} bytes or items", kMaxLength));
}

// Names can be as long as a text, so cut them for messages.
Value::Value(Undefined undefined) {
  constexpr size_t kMaxShownBytes = 100;
  if (undefined.what.size() > kMaxShownBytes) {
    undefined.what.resize(kMaxShownBytes);
    undefined.what.resize(valid_utf8_prefix(undefined.what));
  }
  data_ = std::move(undefined);
}

Value::Value(std::string s) {
  check_length(s.size());
  charge(sizeof(s) + s.size());
  data_ = std::make_shared<const std::string>(std::move(s));
}

Value::Value(List list) {
  check_length(list.size());
  charge(sizeof(list) + list.size() * sizeof(Value));
  for (const Value& child : list) nest(child);
  data_ = std::make_shared<const List>(std::move(list));
}

Value::Value(Dict dict) {
  charge(sizeof(dict) + dict.size() * sizeof(dict[0]));
  for (const auto& [name, child] : dict) nest(child);
  data_ = std::make_shared<const Dict>(std::move(dict));
}

Value::Value(Function function) : data_(std::make_shared<const Function>(std::move(function))) {}

Value Value::make_method(const Value& object, Function function) {
  Value out(std::move(function));
  out.nest(object);
  return out;
}

Value Value::make_namespace(Dict members) {
  Value out;
  out.data_ = NamespacePointer{std::make_shared<Dict>(std::move(members))};
  return out;
}

Value Value::from_json(const Json& json) {
  return from_json(json, 0);
}

Value Value::from_json(const Json& json, int depth) {
  if (depth > kMaxDepth) throw Failure(fmt::format("a value is nested more than {} deep", kMaxDepth));
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) return json.get<double>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    List list;
    for (const Json& child : json) list.push_back(from_json(child, depth + 1));
    return list;
  }
  Dict dict;
  for (const auto& [key, child] : json.items()) dict.emplace_back(key, from_json(child, depth + 1));
  return dict;
}

std::string Value::type_name() const {
  static constexpr const char* kNames[] = {"none",   "undefined", "boolean",    "integer",   "float",
                                           "string", "list",      "dictionary", "namespace", "function"};
  return kNames[data_.index()];
}

void Value::wrong_type(std::string_view needed) const {
  if (const auto* undefined = std::get_if<Undefined>(&data_))
    throw Failure(fmt::format("{} is undefined; the messages or the template must set it", undefined->what));
  throw Failure(fmt::format("a {} is needed, this is a {}", needed, type_name()));
}

template <class T>
const T& Value::get(std::string_view needed) const {
  if (const T* data = std::get_if<T>(&data_)) return *data;
  wrong_type(needed);
}

const std::string& Value::string() const {
  return *get<StringPointer>("string");
}
const List& Value::list() const {
  return *get<ListPointer>("list");
}
const Function& Value::function() const {
  return *get<FunctionPointer>("function");
}
const Dict& Value::dict() const {
  return is_namespace() ? *std::get<NamespacePointer>(data_).members : *get<DictPointer>("dictionary");
}
int64_t Value::integer() const {
  return is_bool() ? std::get<bool>(data_) : get<int64_t>("integer");
}
double Value::number() const {
  if (is_bool() || is_int()) return static_cast<double>(integer());
  return get<double>("number");
}

void Value::set_member(const std::string& name, Value value) const {
  if (!is_namespace()) throw Failure(fmt::format("only a namespace's members can be set, this is a {}", type_name()));
  // A namespace inside a namespace could form a cycle and would never be freed.
  if (value.is_namespace() || value.holds_namespace_) throw Failure("a namespace cannot be stored in a namespace");
  Dict& members = *std::get<NamespacePointer>(data_).members;
  if (const Value* old = find_member(members, name))
    const_cast<Value&>(*old) = std::move(value);
  else
    members.emplace_back(name, std::move(value));
}

const Value* Value::member(std::string_view name) const {
  return is_dict() || is_namespace() ? find_member(dict(), name) : nullptr;
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return number() != 0;
  if (is_string()) return !string().empty();
  if (is_list()) return !list().empty();
  if (is_dict()) return !dict().empty();
  return true;
}

std::string Value::text() const {
  if (is_string()) charge(string().size());
  return is_string() ? string() : is_undefined() ? std::string() : representation();
}

std::string Value::representation() const {
  charge(kStepBytes);
  if (is_undefined()) return "Undefined";
  if (is_none()) return "None";
  if (is_bool()) return truthy() ? "True" : "False";
  if (is_int()) return std::to_string(integer());
  if (is_float()) return float_text(number());
  if (is_string()) return quoted(string());
  if (!is_list() && !is_dict()) return fmt::format("<{}>", type_name());
  std::string out;
  const auto add = [&out](const std::string& text) {
    charge(text.size());
    check_length(out.append(out.empty() ? "" : ", ").append(text).size());
  };
  if (is_list())
    for (const Value& child : list()) add(child.representation());
  else
    for (const auto& [key, child] : dict()) add(quoted(key) + ": " + child.representation());
  return is_list() ? "[" + out + "]" : "{" + out + "}";
}

List Value::elements() const {
  if (is_list()) return charge(list().size() * sizeof(Value)), list();
  if (is_undefined()) return {};
  List out;
  if (is_dict()) {
    for (const auto& [key, child] : dict()) out.emplace_back(key);
  } else {
    if (!is_string()) wrong_type("list");
    for (size_t pos = 0, begin = 0; pos < string().size(); begin = pos) {
      next_code_point(string(), pos);
      charge(sizeof(Value));
      out.emplace_back(string().substr(begin, pos - begin));
    }
  }
  return out;
}

int64_t Value::length() const {
  if (is_list()) return static_cast<int64_t>(list().size());
  if (is_dict()) return static_cast<int64_t>(dict().size());
  if (is_undefined()) return 0;
  charge(string().size());
  return num_characters(string());
}

bool equal(const Value& a, const Value& b) {
  charge(kStepBytes);
  if (a.is_number() && b.is_number())
    return a.is_float() || b.is_float() ? a.number() == b.number() : a.integer() == b.integer();
  if (a.is_string() && b.is_string()) {
    if (a.string().size() == b.string().size()) charge(a.string().size());
    return a.string() == b.string();
  }
  if (a.is_list() && b.is_list()) return std::ranges::equal(a.list(), b.list(), equal);
  if (a.is_dict() && b.is_dict())
    return a.dict().size() == b.dict().size() && std::ranges::all_of(a.dict(), [&](const auto& entry) {
             const Value* other = b.member(entry.first);
             return other && equal(entry.second, *other);
           });
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

int compare(const Value& a, const Value& b) {
  charge(kStepBytes);
  if (a.is_number() && b.is_number()) return a.number() < b.number() ? -1 : a.number() > b.number();
  if (a.is_list() && b.is_list()) {
    const auto [x, y] = std::ranges::mismatch(a.list(), b.list(), equal);
    if (x != a.list().end() && y != b.list().end()) return compare(*x, *y);
    return static_cast<int>(x != a.list().end()) - static_cast<int>(y != b.list().end());
  }
  charge(std::min(a.string().size(), b.string().size()));
  return a.string().compare(b.string());
}

bool contains(const Value& container, const Value& item) {
  if (container.is_string()) return find_text(container.string(), item.string(), 0) != std::string::npos;
  if (container.is_dict()) return item.is_string() && container.member(item.string());
  return std::ranges::any_of(container.elements(), [&](const Value& element) { return equal(element, item); });
}

namespace {

void dump(const Value& value, int indent, int level, std::string& out);

template <class Range, class DumpItem>
void dump_items(const Range& range, int indent, int level, std::string& out, const DumpItem& dump_item) {
  const auto new_line = [&](int at) {
    if (indent < 0) return;
    const size_t width = static_cast<size_t>(indent) * static_cast<size_t>(at);
    charge(width);
    out.append("\n").append(width, ' ');
  };
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += indent >= 0 ? "," : ", ";
    first = false;
    new_line(level + 1);
    dump_item(item);
  }
  if (!first) new_line(level);
}

void dump(const Value& value, int indent, int level, std::string& out) {
  charge(kStepBytes);
  check_length(out.size());
  if (value.is_none()) {
    out += "null";
  } else if (value.is_bool()) {
    out += value.truthy() ? "true" : "false";
  } else if (value.is_number()) {
    out += value.representation();
  } else if (value.is_string()) {
    out += json_quoted(value.string());
  } else if (value.is_list()) {
    out += "[";
    dump_items(value.list(), indent, level, out, [&](const Value& item) { dump(item, indent, level + 1, out); });
    out += "]";
  } else if (value.is_dict()) {
    out += "{";
    dump_items(value.dict(), indent, level, out, [&](const auto& entry) {
      out += json_quoted(entry.first) + ": ";
      dump(entry.second, indent, level + 1, out);
    });
    out += "}";
  } else {
    throw Failure(fmt::format("tojson: a {} has no JSON form", value.type_name()));
  }
}

}  // namespace

std::string dump_json(const Value& value, int indent) {
  std::string out;
  dump(value, indent, 0, out);
  return out;
}

}  // namespace roll::jinja
