// Python's and Jinja's built-in filters, tests, methods and operators that chat templates use, for expressions.cpp. All
// throw Failure (value.h) for arguments of a wrong type or value, and for an unknown filter or test.
#pragma once

#include <optional>
#include <string>

#include "jinja/value.h"

namespace roll::jinja {

/// Returns the result of `value | name(arguments)`. Filters: abs capitalize count d default dictsort first float indent
/// int items join last length list lower map max min reject rejectattr replace reverse round safe select selectattr
/// sort string sum tojson trim unique upper.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments);

/// Returns the result of `value is name(arguments)`. Tests: boolean callable defined divisibleby eq equalto even false
/// float ge gt in integer iterable le lower lt mapping ne none number odd sameas sequence string true undefined upper.
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments);

/// Returns the method `object.name`, a function that holds `object`; nullopt if there is none. Strings: capitalize
/// count endswith find join lower lstrip replace rsplit rstrip split splitlines startswith strip title upper. Dicts:
/// get items keys values. Lists: count index.
std::optional<Value> find_method(const Value& object, std::string_view name);

/// Returns the global functions: range, dict, namespace, raise_exception, strftime_now.
Dict global_functions();

/// Returns the result of `a op b`, where `op` is one of + - * / // % ** ~.
Value arithmetic(const std::string& op, const Value& a, const Value& b);

/// Returns -a.
Value negative(const Value& a);

/// Returns object[index] of a list, string or dict; an undefined value if there is no such item.
Value get_item(const Value& object, const Value& index);

/// Returns object[begin:end:step] of a list or string, as Python does; nullopt stands for an omitted bound.
Value get_slice(const Value& object, const std::optional<int64_t>& begin, const std::optional<int64_t>& end,
                int64_t step);

}  // namespace roll::jinja
