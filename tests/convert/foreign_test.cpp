#include "convert/foreign.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {
namespace {

using Catch::Matchers::Contains;

/// "key = value (line)" of each.
std::vector<std::string> keys_of(const std::string& script) {
  std::vector<std::string> lines;
  for (const ForeignKey& key : keys_of_script(script, "s"))
    lines.push_back(key.key + "=" + key.value + " " + key.place);
  return lines;
}

}  // namespace

TEST_CASE("flags and key=value words of a script are keys", "[convert]") {
  CHECK(keys_of("python3 -m trainer --rate 1e-6 --fast \\\n  a.b=c +d.e=f --sizes 1 2 3 --x=y # --not this") ==
        std::vector<std::string>{"rate=1e-6 s:1", "fast=true s:1", "a.b=c s:2", "d.e=f s:2", "sizes=1 2 3 s:2",
                                 "x=y s:2"});
  CHECK(keys_of("run --a 'two words' \"--b\" c; echo --c d") ==
        std::vector<std::string>{"a=two words s:1", "b=c s:1", "c=d s:1"});
  CHECK(keys_of("ARGS=(\n --a 1 # one\n --b $X\n)\nrun ${ARGS[@]}") ==
        std::vector<std::string>{"a=1 s:2", "b=${oc.env:X} s:3"});
}

TEST_CASE("variables that a script sets are filled in, others are the environment's", "[convert]") {
  CHECK(keys_of("N=8\nM=${N}0\nrun --n $N --m ${M} --d ${D:-5} --h $HOME/x --c ${C}") ==
        std::vector<std::string>{"n=8 s:3", "m=80 s:3", "d=5 s:3", "h=${oc.env:HOME}/x s:3", "c=${oc.env:C} s:3"});
}

TEST_CASE("variables that grow without end, and bytes that are no text, are refused", "[convert]") {
  std::string script = "A=xxxxxxxxxx\n";
  for (char c = 'A'; c < 'Y'; ++c) script += std::string(1, c + 1) + "=$" + c + "$" + c + "$" + c + "\n";
  CHECK_THROWS_WITH(keys_of(script), Contains("once variables are filled in"));
  std::string many = "A=" + std::string(60'000, 'x') + "\nrun";
  for (int i = 0; i < 100; ++i) many += " --a $A";
  CHECK_THROWS_WITH(keys_of(many),
                    Contains("s:2: more than 64 KB in a word, or 4 MB in all, once variables are filled in"));
  CHECK_THROWS_WITH(keys_of("run\n --a \xff"), Contains("s:2:6: byte 0xff is no UTF-8; save the file as UTF-8"));
}

}  // namespace roll
