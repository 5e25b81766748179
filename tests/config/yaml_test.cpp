#include "config/yaml.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

namespace {

std::string parse_error(const std::string& yaml) {
  try {
    parse_yaml(yaml, "f.yaml");
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

std::string repeat(const std::string& text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("every value knows its line and column", "[config]") {
  const Node root = parse_yaml("a: 1\nb:\n  c: [x, y]\n  d:\n", "f.yaml");
  CHECK(root.find("a")->place.text() == "f.yaml:1:4");
  CHECK(root.find("b")->find("c")->list[1].place.text() == "f.yaml:3:10");
  CHECK(root.find("b")->find("d")->kind == Node::Kind::kNull);
  CHECK(root.find("b")->find("d")->place.text() == "f.yaml:4:3");
}

TEST_CASE("quotes make text of anything, plain null words are null", "[config]") {
  const Node root = parse_yaml("a: '1'\nb: !!str 2\nc: ~\nd: Null\ne: \"null\"\nf: 1\n", "f.yaml");
  CHECK(root.find("a")->quoted);
  CHECK(root.find("b")->quoted);
  CHECK(root.find("c")->kind == Node::Kind::kNull);
  CHECK(root.find("d")->kind == Node::Kind::kNull);
  CHECK(root.find("e")->text == "null");
  CHECK_FALSE(root.find("f")->quoted);
}

TEST_CASE("merge keys give way to the mapping's own keys and to earlier merges", "[config]") {
  const Node root =
      parse_yaml("x: &x {p: 1, q: 2}\ny: &y {q: 3, r: 4}\na:\n  <<: [*x, *y]\n  p: 5\nb: {<<: *y}\nc: *x\n", "f.yaml");
  const Node& a = *root.find("a");
  CHECK(a.find("p")->text == "5");
  CHECK(a.find("q")->text == "2");
  CHECK(a.find("r")->text == "4");
  CHECK(root.find("b")->find("r")->text == "4");
  CHECK(root.find("c")->find("p")->text == "1");
}

TEST_CASE("a key given twice is an error that names both places", "[config]") {
  CHECK(parse_error("a: 1\nb: 2\na: 3\n") == "f.yaml:3:1: a: given twice, first at f.yaml:1:1; keep one");
  CHECK(parse_error("g:\n  a: 1\n  a: 1\n").find("f.yaml:3:3") == 0);
}

TEST_CASE("malformed text is a located error", "[config]") {
  CHECK(parse_error("a: [1, 2\n").find("f.yaml:") == 0);
  CHECK(parse_error("a:\n\t- 1\n").find("not valid YAML") != std::string::npos);
  CHECK(parse_error("a: *nowhere\n").find("not valid YAML") != std::string::npos);
  CHECK(parse_error("a: &x [*x]\n").find("f.yaml:1:") == 0);
  CHECK(parse_error("a: !!python/object:os.system x\n").find("tag") != std::string::npos);
  CHECK(parse_error("? [a]\n: 1\n").find("where a key is needed") != std::string::npos);
  CHECK(parse_error("a: 1\n---\nb: 2\n").find(":3:1: a second document begins here") != std::string::npos);
  CHECK(parse_error("<<: 3\n").find("mapping is needed") != std::string::npos);
}

TEST_CASE("what is no text is refused with its line", "[config]") {
  CHECK(parse_error(std::string("a: 1\nb: \0\n", 10)) ==
        "f.yaml:2:4: byte 0x00 is a control character; this is not a text file");
  CHECK(parse_error("a: \xc3\xa9\xff\n") == "f.yaml:1:5: byte 0xff is no UTF-8; save the file as UTF-8");
  CHECK(parse_error("\x7f"
                    "ELF\x02\x01\x01")
            .find("f.yaml:1:5: byte 0x02 is a control character") != std::string::npos);
  CHECK(parse_error("a: \xc3\xa9\n").empty());
  CHECK(parse_error("a: \xc3\n").find("no UTF-8") != std::string::npos);
  CHECK(parse_error("a: \xc0\xaf\n").find("no UTF-8") != std::string::npos);
}

TEST_CASE("deep, huge and exploding files end in an error, soon", "[config]") {
  CHECK_FALSE(parse_error(repeat("[", 100000)).empty());
  CHECK_FALSE(parse_error(repeat("{a: ", 100000)).empty());
  CHECK_FALSE(parse_error(repeat("- ", 3000) + "x").empty());
  CHECK_FALSE(parse_error(repeat("[", 500) + repeat("]", 500)).empty());
  CHECK(parse_error(repeat("[", 150) + repeat("]", 150)).find("100 levels deep") != std::string::npos);
  CHECK(parse_error(repeat("[", 90) + repeat("]", 90)).empty());
  CHECK(parse_error("a: &a [" + repeat("x, ", 999) + "x]\nb: [" + repeat("*a, ", 199) + "*a]\n").find("aliases") !=
        std::string::npos);
  CHECK(parse_error(repeat("#", 3 << 20)).find("MB") != std::string::npos);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeat(last + ", ", 9) + last + "]\n";
  }
  CHECK(parse_error(bomb).find("once aliases are expanded") != std::string::npos);
}

}  // namespace roll
