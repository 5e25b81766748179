// Python's and Jinja's ready-made functions, as far as chat templates use them. All throw Failure.
#pragma once

#include <optional>
#include <string>

#include "jinja/value.h"

namespace roll::jinja {

/// value | name(arguments): abs capitalize count d default dictsort first float indent int items join last length list
/// lower map max min reject rejectattr replace reverse round safe select selectattr sort string sum tojson trim unique
/// upper.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments);

/// value is name(arguments): boolean callable defined divisibleby eq equalto even false float ge gt in integer iterable
/// le lower lt mapping ne none number odd sameas sequence string true undefined upper.
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments);

/// A method of a string (capitalize count endswith find join lower lstrip replace rsplit rstrip split splitlines
/// startswith strip title upper), a dict (get items keys values) or a list (count index), bound to `object`; empty when
/// there is none.
std::optional<Value> find_method(const Value& object, std::string_view name);

/// range, dict, namespace, raise_exception, strftime_now.
Dict global_functions();

/// a OP b of + - * / // % ** ~.
Value arithmetic(const std::string& op, const Value& a, const Value& b);

/// -a.
Value negative(const Value& a);

/// object[index], of a list, string or dict; undefined when there is none.
Value item_of(const Value& object, const Value& index);

/// object[begin:end:step]; empty ones are left out.
Value slice_of(const Value& object, const std::optional<int64_t>& begin, const std::optional<int64_t>& end,
               int64_t step);

}  // namespace roll::jinja
