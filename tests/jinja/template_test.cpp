#include "jinja/template.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {
namespace {

using jinja::Dict;
using jinja::Template;
using jinja::Value;

std::string render(const std::string& source, const Json& variables = Json::object()) {
  Dict dict;
  for (const auto& [name, value] : variables.items()) dict.emplace_back(name, Value::from_json(value));
  return Template::parse(source, "test").render(dict);
}

std::string error_of(const std::string& source) {
  try {
    return "no error, but: " + render(source);
  } catch (const UserError& e) {
    return e.what();
  }
}

TEST_CASE("templates render what jinja2 renders, and fail where it fails", "[text]") {
  const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/text/templates.json");
  REQUIRE(golden["cases"].size() > 150);
  for (const Json& one : golden["cases"]) {
    CAPTURE(one["name"].get<std::string>(), one["source"].get<std::string>());
    if (one["text"].is_null())
      CHECK_THROWS_AS(render(one["source"], one["variables"]), UserError);
    else
      CHECK(render(one["source"], one["variables"]) == one["text"].get<std::string>());
  }
}

TEST_CASE("a template's error names file, line and what is wrong", "[text]") {
  CHECK(error_of("a\n{{ x") == "test:2: a tag is not closed by }}");
  CHECK(error_of("\n\n{{ missing.name }}") ==
        "test:3: 'missing' is undefined; the messages or the template must set it");
  CHECK(error_of("{% if 1 %}\n{{ raise_exception('only ' ~ 2 ~ ' roles') }}\n{% endif %}") ==
        "test:2: the template refuses: only 2 roles");
  CHECK(error_of("{{ [1] | lenght }}").ends_with(", upper; did you mean 'length'?"));
  CHECK(error_of("{{ 'abc'[::0] }}") == "test:1: a slice's step is 0");
  CHECK(error_of("{% include 'x' %}").starts_with("test:1: unknown tag"));
  CHECK(error_of("{% for x in y recursive %}{% endfor %}") == "test:1: %} is expected, at 'recursive'");
}

TEST_CASE("break and continue end a loop and a round, and stand in loops only", "[text]") {
  CHECK(render("{% for x in [1, 2, 3] %}{{ x }}{% if x == 2 %}{% break %}{% endif %}.{% endfor %}") == "1.2");
  CHECK(render("{% for x in [1, 2, 3] %}{{ x }}{% if x == 2 %}{% continue %}{% endif %}.{% endfor %}") == "1.23.");
  CHECK_THROWS_WITH(render("{% break %}"), Catch::Contains("are allowed only in loops"));
  CHECK_THROWS_WITH(render("{% for x in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}"),
                    Catch::Contains("are allowed only in loops"));
}

TEST_CASE("no template hangs, overflows the stack or fills the memory", "[text]") {
  CHECK(error_of("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}")
            .find("too much work") != std::string::npos);
  CHECK(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("macros call each other") !=
        std::string::npos);
  CHECK(error_of("{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}")
            .find("grows beyond 16777216 bytes") != std::string::npos);
  CHECK(error_of("{{ 'x' * 99999999999 }}").find("grows beyond 16777216 bytes") != std::string::npos);
  CHECK(error_of("{% set n = namespace(l=[]) %}{% for i in range(999) %}{% set n.l = [n.l] %}{% endfor %}")
            .find("nested") != std::string::npos);
  CHECK(error_of("{{ " + std::string(100000, '(') + "1" + std::string(100000, ')') + " }}").find("tokens") !=
        std::string::npos);
  CHECK(error_of("{{ " + std::string(1900, '(') + "1" + std::string(1900, ')') + " }}").find("nested") !=
        std::string::npos);
  CHECK(error_of("{{ " + std::string(3000, '-') + "1 }}").find("nested") != std::string::npos);
  std::string sum = "{{ 0";
  for (int i = 0; i < 1900; ++i) sum += " + 1";
  CHECK(render(sum + " }}") == "1900");
  CHECK(error_of(std::string(3000, '\n') + "{{ '" + std::string("\xff") + "' }}").find("not UTF-8") !=
        std::string::npos);
}

TEST_CASE("no namespace can come to hold itself", "[text]") {
  for (const char* value : {"n", "[n]", "[[1, n]]", "{'a': n}", "[n].index", "namespace(a=n)"}) {
    INFO(value);
    const std::string set = fmt::format("{{% set n.x = {} %}}", value);
    CHECK(error_of("{% set n = namespace(x=1) %}" + set).find("a namespace cannot be stored in a namespace") !=
          std::string::npos);
  }
  CHECK(render("{% set n = namespace(x=1) %}{% set m = namespace(of=n) %}{{ m.of.x }}") == "1");
  CHECK(render("{% set n = namespace(x=1) %}{% set n.x = [1, [2]] %}{% set l = [n, [n]] %}{{ l[1][0].x }}") ==
        "[1, [2]]");
}

}  // namespace
}  // namespace roll
