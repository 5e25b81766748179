#include <catch2/catch.hpp>
#include <cmath>

#include "base/env.h"
#include "base/error.h"
#include "config/key_reference.h"
#include "config/keys.h"
#include "config/load.h"
#include "config/writer.h"

namespace roll {

namespace {

enum class Shape { kRound, kSquare };
constexpr auto enum_names(Shape) {
  return std::to_array<Named<Shape>>({{Shape::kRound, "round"}, {Shape::kSquare, "square"}});
}

struct Inner {
  double rate = 5e-5;
  std::vector<std::string> names = {"a"};
  std::map<std::string, double> shares;
  bool operator==(const Inner&) const = default;

  void fields(Keys& v) {
    v("rate", rate, "a rate");
    v("names", names, "some names");
    v("shares", shares, "shares");
    v.refused({"vision_*"}, "needs eyes");
  }
};

struct Outer {
  int64_t count = 3;
  bool flag = false;
  std::string text = "none";
  std::optional<int64_t> maybe;
  std::optional<Shape> kind;
  std::string resume = "false";
  Inner inner;
  std::map<std::string, Inner> domains;
  std::vector<Inner> members;
  bool operator==(const Outer&) const = default;

  void fields(Keys& v) {
    v("count", count, "how many");
    v("flag", flag, "whether");
    v("text", text, "words");
    v("maybe", maybe, "or not");
    v("kind", kind, "shape");
    v("resume", resume, "true, false or a path", bool_or_text());
    v("inner", inner, "a group");
    v("domains", domains, "groups by name");
    v.noted({"dead", "flash_*"}, "it is dead");
    v.refused_above_one({"size"}, "needs more; set size: 1");
    v("members", members, "a list of groups");
  }
};

Outer read(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return load_yaml<Outer>(yaml, "f.yaml", overrides).config;
}

std::string error_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  try {
    read(yaml, overrides);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("values of every type are read", "[config]") {
  const Outer c = read(
      "count: 7\nflag: yes\ntext: 12\nmaybe: 5\nkind: round\nresume: On\n"
      "inner: {rate: 1e-6, names: one, shares: {x: .5, y: 1}}\ndomains: {d: {rate: 2}, e: }\n");
  CHECK(c.count == 7);
  CHECK(c.flag);
  CHECK(c.text == "12");
  CHECK(c.maybe == 5);
  CHECK(c.kind == Shape::kRound);
  CHECK(c.resume == "true");
  CHECK(c.inner.rate == 1e-6);
  CHECK(c.inner.names == std::vector<std::string>{"one"});
  CHECK(c.inner.shares == std::map<std::string, double>{{"x", .5}, {"y", 1}});
  CHECK(c.domains.at("d").rate == 2);
  CHECK(c.domains.at("e") == Inner());
  CHECK(read("") == Outer());
  CHECK(read("inner: ~\nmaybe: null\nkind: ~\n") == Outer());
}

TEST_CASE("a wrong type tells what is needed and what was found", "[config]") {
  CHECK(error_of("count: 1.5\n") == "f.yaml:1:8: count = 1.5: a whole number is needed, this is a float");
  CHECK(error_of("count: 1e3\n").find("; write 1000") != std::string::npos);
  CHECK(error_of("count: '3'\n").find("this is text in quotes") != std::string::npos);
  CHECK(error_of("flag: 1\n").find("true or false is needed, this is a whole number") != std::string::npos);
  CHECK(error_of("text: [a]\n").find("text is needed, this is a list") != std::string::npos);
  CHECK(error_of("count: ~\n").find("this is null") != std::string::npos);
  CHECK(error_of("inner: 3\n").find("a mapping is needed") != std::string::npos);
  CHECK(error_of("inner: {shares: {x: y}}\n").find("inner.shares.x = y: a number is needed") != std::string::npos);
  CHECK(error_of("kind: triangle\n").find("must be one of round, square") != std::string::npos);
  CHECK(error_of("- a\n").find("where keys with values are needed") != std::string::npos);
}

TEST_CASE("unknown keys name the nearest one, or where they belong", "[config]") {
  CHECK(error_of("cuont: 1\n") == "f.yaml:1:1: cuont: unknown key; did you mean 'count'?");
  CHECK(error_of("rate: 1\n").find("it belongs at inner.rate or domains.<name>.rate") != std::string::npos);
  CHECK(error_of("inner: {flag: 1}\n").find("inner.flag: unknown key; it belongs at flag") != std::string::npos);
  CHECK(error_of("zzzzzzzzzz: 1\n").find("roll keys") != std::string::npos);
}

TEST_CASE("all errors are told, in the order of their lines, ten at most", "[config]") {
  std::string yaml;
  for (int i = 0; i < 12; ++i) yaml += fmt::format("unknown{}: 1\n", i);
  const std::string text = error_of(yaml);
  CHECK(std::count(text.begin(), text.end(), '\n') == 10);
  CHECK(text.find("unknown0") < text.find("unknown9"));
  CHECK(text.find("... and 2 more") != std::string::npos);
}

TEST_CASE("noted keys are one note, refused keys an error unless they wish for nothing", "[config]") {
  const auto loaded =
      load_yaml<Outer>("dead: 1\nflash_attn: {x: '${nowhere}'}\nsize: 1\ninner: {vision_x: null}\n", "f.yaml");
  REQUIRE(loaded.notes.size() == 1);
  CHECK(loaded.notes[0] == "f.yaml: these keys have no effect here:\n  dead, flash_attn: it is dead");
  CHECK(error_of("size: 2\n") == "f.yaml:1:7: size = 2: needs more; set size: 1");
  CHECK(error_of("inner: {vision_tower: x}\n").find("needs eyes") != std::string::npos);
  CHECK(error_of("inner: {vision_tower: 1}\n").find("needs eyes") != std::string::npos);  // 1 is a wish but for sizes
}

TEST_CASE("a list of groups is read item by item, and errors name the item", "[config]") {
  const Outer c = read("members: [{rate: 2}, {names: [x]}]\n");
  REQUIRE(c.members.size() == 2);
  CHECK(c.members[0].rate == 2);
  CHECK(c.members[1].names == std::vector<std::string>{"x"});
  CHECK(read(to_yaml(c)) == c);
  CHECK(error_of("members:\n  - {rate: 2}\n  - {rat: 3}\n").find("members[1].rat") != std::string::npos);
  CHECK(error_of("members: [7]\n").find("members[0]") != std::string::npos);
}

TEST_CASE("a value of the environment that does not fit is told, and not shown", "[config]") {
  set_env("ROLL_TEST_SET", "many");
  CHECK(error_of("count: ${oc.env:ROLL_TEST_SET}\n") ==
        "f.yaml:1:8: count = ${oc.env:ROLL_TEST_SET}: a whole number is needed, this is text; the value comes from the "
        "environment; change the variable");
}

TEST_CASE("overrides win, create groups, remove keys, and are located on the command line", "[config]") {
  CHECK(read("count: 1\n", {"count=2", "+inner.rate=3", "++domains.d.names=[x,y]", "text=a=b"}).count == 2);
  CHECK(read("", {"inner.rate=1e-3"}).inner.rate == 1e-3);
  CHECK(read("", {"domains.d.names=[x,y]"}).domains.at("d").names.size() == 2);
  CHECK(read("", {"text=a=b"}).text == "a=b");
  CHECK(read("maybe: 4\n", {"maybe=null"}) == Outer());
  CHECK(read("count: 1\n", {"~count"}) == Outer());
  CHECK(read("count: ${maybe}\nmaybe: 1\n", {"maybe=9"}).count == 9);
  CHECK(error_of("", {"count=x"}) == "command line: count = x: a whole number is needed, this is text");
  CHECK(error_of("", {"cuont=1"}) == "command line: cuont: unknown key; did you mean 'count'?");
  CHECK(error_of("", {"count"}).find("overrides are key=value") != std::string::npos);
  CHECK(error_of("", {"=1"}).find("command line: =1") == 0);
  CHECK(error_of("", {"inner..rate=1"}).find("command line: inner..rate=1") == 0);
  CHECK(error_of("count: 1\n", {"count.x=1"}).find("is a whole number at f.yaml:1:8") != std::string::npos);
  CHECK(error_of("", {"~count"}).find("no such key") != std::string::npos);
  CHECK(error_of("", {"text=[a"}).find("not valid YAML") != std::string::npos);
}

TEST_CASE("the written YAML reads back as the same values", "[config]") {
  Outer c;
  c.count = INT64_MIN;
  c.text = "a: ${b} #\n\t\"x\" \\ \xc3\xa9";
  c.kind = Shape::kSquare;
  c.resume = "yes";
  c.inner.rate = 0.1 + 0.2;
  c.inner.names = {"true", "12", "", "null", "a,b", "- x", "${n}", "\\${n}"};
  c.domains["odd name: 1"].rate = 1e-300;
  c.domains["d"].shares = {{"1", 1.0 / 3}};
  CHECK(read(to_yaml(c)) == c);
  CHECK(to_yaml(read(to_yaml(c))) == to_yaml(c));
  CHECK(to_yaml(Outer()).find("rate: 5e-05\n") != std::string::npos);
}

TEST_CASE("the key index gives each member its key, place and value", "[config]") {
  auto loaded = load_yaml<Outer>("inner:\n  rate: 2\n", "f.yaml");
  const KeyIndex keys(loaded.config, loaded.set, loaded.origin);
  CHECK(keys.name(loaded.config.inner.rate) == "inner.rate = 2");
  CHECK(keys.place(loaded.config.inner.rate).text() == "f.yaml:2:9");
  CHECK(keys.name(loaded.config.count) == "count = 3 (not set in the file)");
  CHECK(keys.is_set(loaded.config.inner));
  CHECK_FALSE(keys.is_set(loaded.config.maybe));
  const int64_t stranger = 0;
  CHECK_THROWS_AS(keys.key(stranger), Bug);
}

TEST_CASE("the key table holds every key once", "[config]") {
  const std::string table = key_table(shared_keys(key_entries(Outer())), KeyFormat::kText, /*with_idle=*/true);
  for (const char* row : {"count: 3 ", "rate: 5e-05 ", "domains ", "dead ", "size "})
    CHECK(table.find(row) != std::string::npos);
  CHECK(table.find("[round | square]") != std::string::npos);
}

}  // namespace roll
