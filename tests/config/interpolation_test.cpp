#include "config/interpolation.h"

#include <catch2/catch.hpp>

#include "base/env.h"
#include "base/error.h"
#include "config/yaml.h"

namespace roll {

namespace {

Node resolved(const std::string& yaml) {
  Node root = parse_yaml(yaml, "f.yaml");
  std::vector<std::string> notes;
  interpolate(root, notes);
  return root;
}

std::string error_at(const std::string& yaml, const char* key) {
  return resolved(yaml).find(key)->error;
}

}  // namespace

TEST_CASE("interpolations reach absolute, relative and list places", "[config]") {
  const Node root = resolved(
      "n: 8\nname: run-${n}-${g.x}\ng:\n  x: ${n}\n  y: ${.x}\n  h: {z: '${..x}', l: [1, '${n}']}\nlast: ${g.h.l[1]}\n"
      "copy: ${g.h}\nnested: ${g.${which}}\nwhich: x\nplain: a\\${n}b\n");
  CHECK(root.find("name")->text == "run-8-8");
  CHECK(root.find("g")->find("y")->text == "8");
  CHECK(root.find("g")->find("h")->find("z")->text == "8");
  CHECK(root.find("last")->text == "8");
  CHECK(root.find("copy")->find("l")->list[1].text == "8");
  CHECK(root.find("nested")->text == "8");
  CHECK(root.find("plain")->text == "a${n}b");
  CHECK(root.find("name")->place.line == 2);  // where it is written, not where it comes from
}

TEST_CASE("a whole interpolation keeps the kind of its target", "[config]") {
  const Node root = resolved("a: null\nb: ${a}\nc: [1, 2]\nd: ${c}\ne: '7'\nf: ${e}\n");
  CHECK(root.find("b")->kind == Node::Kind::kNull);
  CHECK(root.find("d")->kind == Node::Kind::kList);
  CHECK(root.find("f")->quoted);
}

TEST_CASE("what the environment gave keeps its origin, through references and texts", "[config]") {
  set_env("ROLL_TEST_SET", "a${b}secret");
  const Node root = resolved(
      "a: ${oc.env:ROLL_TEST_SET}\nb: ${oc.env:ROLL_TEST_SET,none}\nc: ${a}\nd: x/${c}/${n}/\\${o}\nn: 8\n"
      "e: ${oc.env:ROLL_TEST_UNSET,none}\nf: x${n}\ng: ${oc.env:ROLL_TEST_SET,${n}}\n");
  const auto text = [&](const char* key) { return root.find(key)->env_text; };
  CHECK(text("a") == "${oc.env:ROLL_TEST_SET}");
  CHECK(text("b") == "${oc.env:ROLL_TEST_SET,none}");
  CHECK(text("c") == "${oc.env:ROLL_TEST_SET}");
  CHECK(text("d") == "x/${oc.env:ROLL_TEST_SET}/8/\\${o}");
  CHECK(root.find("d")->text == "x/a${b}secret/8/${o}");
  CHECK(text("g") == "${oc.env:ROLL_TEST_SET}");
  for (const char* key : {"n", "e", "f"}) CHECK(text(key).empty());
  CHECK(excerpt(*root.find("d")) == "x/${oc.env:ROLL_TEST_SET}/8/\\${o}");
}

TEST_CASE("oc.env takes the variable, else the default", "[config]") {
  set_env("ROLL_TEST_SET", "from env");
  const Node root = resolved(
      "a: ${oc.env:ROLL_TEST_SET}\nb: ${oc.env:ROLL_TEST_UNSET,./out}\nc: ${oc.env:ROLL_TEST_UNSET,${a}}\n"
      "d: ${oc.env:ROLL_TEST_UNSET, null}\ne: ${oc.env:ROLL_TEST_UNSET,'null'}\nf: x/${oc.env:ROLL_TEST_SET}/y\n"
      "g: ${oc.env:ROLL_TEST_SET,${no.such.key}}\nh: ${oc.env:ROLL_TEST_UNSET}\n");
  CHECK(root.find("a")->text == "from env");
  CHECK(root.find("b")->text == "./out");
  CHECK(root.find("c")->text == "from env");
  CHECK(root.find("d")->kind == Node::Kind::kNull);
  CHECK(root.find("e")->text == "null");
  CHECK(root.find("f")->text == "x/from env/y");
  CHECK(root.find("g")->error.empty());  // a default that is not needed is not looked at
  CHECK(root.find("h")->error.find("ROLL_TEST_UNSET is not set") != std::string::npos);
}

TEST_CASE("cycles are told with their chain", "[config]") {
  CHECK(error_at("a: ${a}\n", "a") == "refers to itself: a -> a; give one of these keys a value");
  CHECK(error_at("a: ${b}\nb: ${c}\nc: x${a}\n", "a").find("a -> b -> c -> a") != std::string::npos);
  CHECK(resolved("a: {b: '${a}'}\n").find("a")->find("b")->error.find("refers to itself") != std::string::npos);
  CHECK(error_at("a: {x: 1, y: '${a.x}'}\n", "a").empty());
}

TEST_CASE("a failed interpolation says what is wrong", "[config]") {
  CHECK(error_at("a: ${reponse_length}\nresponse_length: 1\n", "a") ==
        "there is no key reponse_length; did you mean 'response_length'?");
  CHECK(error_at("a: ${b\nb: 1\n", "a").find("a ${ has no closing }") != std::string::npos);
  CHECK(error_at("a: ${}\n", "a").find("without a name") != std::string::npos);
  CHECK(error_at("a: ${eval:1+1}\n", "a").find("unknown resolver 'eval'") != std::string::npos);
  CHECK(error_at("a: ${....b}\n", "a").find("above the top") != std::string::npos);
  CHECK(error_at("a: x${b}\nb: [1]\n", "a").find("cannot be part of a text") != std::string::npos);
}

TEST_CASE("what grows without bounds is stopped", "[config]") {
  std::string doubling = "a0: xxxxxxxxxxxxxxxx\n";
  for (int i = 1; i < 40; ++i) doubling += fmt::format("a{0}: ${{a{1}}}${{a{1}}}\n", i, i - 1);
  const Node root = resolved(doubling);
  CHECK(root.find("a39")->error.find("grows beyond") != std::string::npos);
  std::string chain;
  for (int i = 0; i < 5000; ++i) chain += fmt::format("a{}: ${{a{}}}\n", i, i + 1);
  CHECK(resolved(chain + "a5000: 1\n").find("a0")->error.find("chain of more than") != std::string::npos);
  std::string nested = "x";
  for (int i = 0; i < 200; ++i) nested = "${" + nested + "}";
  CHECK(error_at("a: " + nested + "\nx: 1\n", "a").find("nested interpolations") != std::string::npos);
  std::string copies = "m0: {x: 1}\n";
  for (int i = 1; i < 8; ++i) {
    copies += fmt::format("m{}: {{", i);
    for (int k = 0; k < 10; ++k) copies += fmt::format("k{}: '${{m{}}}'{}", k, i - 1, k < 9 ? ", " : "}\n");
  }
  CHECK_THROWS_WITH(resolved(copies), Catch::Contains("expand without limit"));
}

TEST_CASE("names of Hydra's default files become empty mappings, or the stage that they name, with a note",
          "[config]") {
  Node root = parse_yaml("defaults: ['../config/deepspeed_zero3@_here_']\na: ${deepspeed_zero3}\n", "f.yaml");
  std::vector<std::string> notes;
  interpolate(root, notes);
  CHECK(root.find("a")->find("reshard_after_forward")->text == "true");
  CHECK(notes.size() == 1);
  Node second = parse_yaml("defaults: ['../config/deepspeed_zero2@_here_']\na: ${deepspeed_zero2}\n", "f.yaml");
  interpolate(second, notes);
  CHECK(second.find("a")->kind == Node::Kind::kMap);
  CHECK(second.find("a")->map.empty());
  CHECK(error_at("a: ${deepspeed_zero3}\n", "a").find("no key") != std::string::npos);
}

}  // namespace roll
