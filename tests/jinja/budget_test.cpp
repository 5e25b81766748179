// What a template may cost. No time is measured: a template that is not stopped here runs for minutes, or out of
// memory.
#include "jinja/budget.h"

#include <array>
#include <catch2/catch.hpp>

#include "error_of.h"
#include "jinja/template.h"

namespace roll::jinja {

namespace {

constexpr size_t kWork = 40'000'000;

/// Sets s (1 MB of text), l (200,000 elements), q (1 MB), n and d (lists and objects of themselves, 40 deep).
const std::string kLarge =
    "{% set s = 'ab cd\n' * 170000 %}{% set l = ['ab'] * 200000 %}{% set q = ['a' * 1000] * 1000 %}"
    "{% set ns = namespace(n=['a'], d={'a': 1}) %}{% for i in range(40) %}{% set ns.n = [ns.n, ns.n] %}"
    "{% set ns.d = {'a': ns.d, 'b': ns.d} %}{% endfor %}{% set n = ns.n %}{% set d = ns.d %}";

std::string error_of_body(const std::string& body) {
  const Template parsed = Template::parse(kLarge + body, "t");
  return testing::error_of([&] { parsed.render({}, kWork); });
}

std::string in_loop(const std::string& expression) {
  return "{% for i in range(100000) %}{% set z = " + expression + " %}{% endfor %}";
}

}  // namespace

TEST_CASE("every filter, method and operator pays for what it touches", "[jinja]") {
  const auto expressions = std::to_array<std::string>({"s ~ s",
                                                       "l + l",
                                                       "s * 1",
                                                       "l * 1",
                                                       "s == s ~ ''",
                                                       "s in s",
                                                       "'x' in l",
                                                       "s < s",
                                                       "s[1:]",
                                                       "l[1:]",
                                                       "s[0]",
                                                       "s | length",
                                                       "s | upper",
                                                       "s | title",
                                                       "s | trim('xyz')",
                                                       "s | int",
                                                       "s | list",
                                                       "l | reverse",
                                                       "s | replace('x', 'y')",
                                                       "s | indent",
                                                       "l | join",
                                                       "l | sort",
                                                       "l | unique",
                                                       "l | map('upper')",
                                                       "l | select('eq', 1)",
                                                       "l | max",
                                                       "q | sum(start='')",
                                                       "s | tojson",
                                                       "q | string",
                                                       "s.split()",
                                                       "s.rsplit('a')",
                                                       "s.splitlines()",
                                                       "s.strip('xyz')",
                                                       "s.count('a')",
                                                       "s.find('x')",
                                                       "s.startswith(s)",
                                                       "'a'.join(l)",
                                                       "l.count('x')"});
  for (const std::string& expression : expressions) {
    INFO(expression);
    const std::string error = error_of_body(in_loop(expression));
    CHECK((error.find("t:") == 0 &&
           (error.find("too much work") != std::string::npos || error.find("grows beyond") != std::string::npos)));
  }
}

TEST_CASE("values that hold themselves many times over are not walked to the end", "[jinja]") {
  for (const std::string body :
       {"{{ n }}", "{{ n | tojson }}", "{{ n | tojson(indent=100) }}", "{{ n | join }}", "{{ d }}", "{{ d | tojson }}",
        "{% set m = [n, 1] %}{% set o = [n, 2] %}{{ m == o }}", "{% set m = [n, 1] %}{% set o = [n, 2] %}{{ m < o }}",
        "{{ [n, n] | unique }}", "{{ [[n, 1]] | select('in', [[n, 2]]) }}"}) {
    INFO(body);
    CHECK_THAT(error_of_body(body), Catch::Contains("too much work") || Catch::Contains("grows beyond"));
  }
}

TEST_CASE("memory is bounded in all, not only value by value", "[jinja]") {
  for (const std::string body :
       {"{% set ns = namespace(k=[]) %}{% for i in range(1000) %}{% set ns.k = ns.k + [['a'] * 1000000] %}{% endfor %}",
        "{% set ns = namespace(k=[]) %}{% for i in range(1000) %}{% set ns.k = ns.k + [('a' ~ i) * 1000000] %}{% "
        "endfor %}",
        "{% set u = {}['x' * 1000000] %}{% set ns = namespace(k=[]) %}"
        "{% for i in range(1000) %}{% set ns.k = ns.k + [{}['x' * 1000000]] %}{% endfor %}",
        "{{ l | map('replace', 'a', 'b' * 1000000) }}", "{{ l | map('indent', 1000, true) }}"}) {
    INFO(body);
    CHECK_THAT(error_of_body(body), Catch::Contains("too much work") || Catch::Contains("grows beyond"));
  }
}

TEST_CASE("searches take linear time", "[jinja]") {
  const std::string hard = "{% set a = 'a' * 4000000 %}{% set b = 'a' * 2000000 + 'b' %}";
  for (const std::string expression : {"a.find(b)", "b in a", "a.count(b)", "a.split(b) | length",
                                       "a.rsplit('b' + b) | length", "a.replace(b, 'c') | length"}) {
    INFO(expression);
    CHECK_NOTHROW(Template::parse(hard + "{{ " + expression + " }}", "t").render({}));
  }
}

TEST_CASE("what an undefined value is called stays short", "[jinja]") {
  CHECK(error_of_body("{{ {}['x' * 1000] + 1 }}").size() < 300);
}

TEST_CASE("a budget is that of one rendering", "[jinja]") {
  const Template heavy = Template::parse("{% for i in range(15) %}{% set s = 'a' * 1000000 %}{% endfor %}done", "t");
  for (int i = 0; i < 3; ++i) CHECK(heavy.render({}, kWork) == "done");
}

TEST_CASE("a source that is no chat template is refused by its size", "[jinja]") {
  CHECK_THAT(testing::error_of([] { Template::parse(std::string(2 << 20, 'a'), "t"); }),
             Catch::Contains("t: has 2097152 bytes; a chat template may have at most"));
}

TEST_CASE("a range ends where 64 bits end", "[jinja]") {
  CHECK(Template::parse("{{ range(9 * 10 ** 18, 92 * 10 ** 17, 9 * 10 ** 17) | length }}", "t").render({}) == "1");
}

}  // namespace roll::jinja
