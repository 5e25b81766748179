#include "shell/interpreter.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace roll::shell {
namespace {

using Catch::Matchers::Contains;
using Commands = std::vector<std::vector<std::string>>;

/// Unknown pieces as <text>, or as the shell has them whose environment has only HOME.
Commands list_commands(const std::string& script, Reading reading = {}, bool shows_unknown = true) {
  Interpreter shell(std::move(reading));
  shell.run(script, "s");
  Commands commands;
  for (const Call& call : shell.calls()) {
    commands.emplace_back();
    for (const Field& field : call.words)
      commands.back().push_back(shell.unknowns().filled(field.text, [&](const Unknown& unknown) -> std::string {
        return unknown.text == "HOME" ? "/home/x" : shows_unknown ? "<" + unknown.text + ">" : "";
      }));
  }
  return commands;
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// The words of the only command.
std::string only(const std::string& script, const Reading& reading = {}) {
  const Commands commands = list_commands(script, reading);
  REQUIRE(commands.size() == 1);
  std::string words;
  for (const std::string& word : commands[0]) words += (words.empty() ? "" : "|") + word;
  return words;
}

}  // namespace

TEST_CASE("a script's commands have the words that bash gives them", "[shell]") {
  for (const Json& wanted : read_json(std::filesystem::path(ROLL_SOURCE_DIR) / "tests/golden/shell/commands.json")) {
    INFO(wanted["script"].get<std::string>());
    Commands calls = wanted["calls"].get<Commands>();
    for (auto& words : calls) words.insert(words.begin(), "run");
    Commands commands = list_commands(wanted["script"], {}, /*shows_unknown=*/false);
    std::erase_if(commands, [](const auto& words) { return words[0] != "run"; });
    CHECK(commands == calls);
  }
}

TEST_CASE("what the environment or a command would tell is unknown, and named", "[shell]") {
  CHECK(only("run $GPUS \"${HOME}/m\" ${N:-4}") == "run|<GPUS>|/home/x/m|4");
  CHECK(only("run $N ${N:-4}", {.environment = {{"N", "8"}}}) == "run|8|8");
  CHECK(only("D=$(date +%F); run x-$D $((GPUS * 2))") == "run|x-<$(date +%F)>|<$((GPUS * 2))>");
  CHECK(only("N=$(nvidia-smi -L | wc -l); run $N ${N:-3}") == "run|<$(nvidia-smi -L | wc -l)>|<${N:-3}>");
  CHECK(only("M=$HOME/a/b; run ${M##*/} ${M%/*} ${M#*/}") == "run|b|/home/x/a|<${M#*/}>");
  CHECK(only("A=(B); B=1; run ${!A[@]}") == "run|<${!A[@]}>");
  CHECK(only("read A B < file; run $A") == "run|<A, which `read` sets>");
}

TEST_CASE("where a condition is unknown, so is what both ways leave differently", "[shell]") {
  const auto last = [](const std::string& script) { return list_commands(script).back(); };
  const std::string choice = "A, which depends on the condition of s:1";
  CHECK(last("A=1; B=1; if gpus; then A=2; B=3; B=1; fi; run $A $B") ==
        std::vector<std::string>{"run", "<" + choice + ">", "1"});
  CHECK(last("if gpus; then A=2; else echo no; exit 1; fi; run $A") == std::vector<std::string>{"run", "2"});
  CHECK(last("[ -f x ] || exit 1; A=2; run $A") == std::vector<std::string>{"run", "2"});
  CHECK(last("case $(uname) in Linux) A=1 ;; esac; run $A $B").at(1).find("the case of s:1") != std::string::npos);
  CHECK(last("f() { if gpus; then return; fi; A=3; }; A=1; f; run $A") ==
        std::vector<std::string>{"run", "<" + choice + ">"});
  CHECK(last("A=1; for f in $(ls); do A=2; done; run $A").at(1).find("the list of the loop") != std::string::npos);
}

TEST_CASE("a command under an unknown condition says so", "[shell]") {
  Interpreter shell({});
  shell.run("if gpus; then\n run 1\nfi\nrun 2", "s");
  REQUIRE(shell.calls().size() == 3);
  CHECK(shell.calls()[1].condition == "the condition of s:1");
  CHECK(shell.calls()[2].condition.empty());
}

TEST_CASE("a sourced file is read beside the script, and its words keep its lines", "[shell]") {
  const auto read = [](const std::string& path) -> std::optional<std::string> {
    if (path == "/x/models/m.sh") return "# sizes\nMODEL=(--layers 4)\n";
    return std::nullopt;
  };
  Interpreter shell({.path = "/x/run.sh", .read = read});
  shell.run(
      "D=\"$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" &>/dev/null && pwd)\"\nsource $D/models/m.sh\nrun "
      "${MODEL[@]}\n. gone.sh",
      "run.sh");
  REQUIRE(shell.calls().size() == 1);
  CHECK(shell.place_text(shell.calls()[0].words[1].place) == "/x/models/m.sh:2");
  REQUIRE(shell.notes().size() == 1);
  CHECK_THAT(shell.notes()[0], Contains("run.sh:4: gone.sh is not read"));
}

TEST_CASE("words have the lines that they stand on", "[shell]") {
  Interpreter shell({});
  shell.run("A=(\n --a 1\n --b 2)\nread -r -d '' T <<E\n--c 3\n--d\nE\nrun x \\\n  y \"${A[@]}\" $T", "s");
  REQUIRE(shell.calls().size() == 1);
  std::string lines;
  for (const Field& field : shell.calls()[0].words) lines += shell.place_text(field.place) + " ";
  CHECK(lines == "s:8 s:8 s:9 s:2 s:2 s:3 s:3 s:5 s:5 s:6 ");
}

TEST_CASE("loops, functions and variables without end are refused", "[shell]") {
  for (const char* script : {"while true; do x=1; done", "f() { f; }; f", "A=xxxxxxxxxx; while :; do A=$A$A; done",
                             "f() { f & f | f; }; f", "A=B; B=A; run $((A))", "for ((i = 0; i < 2; ++i)); do :; done",
                             "source s", "A=1; while :; do L+=($A $A); done", "eval 'eval \"$0\"'"}) {
    INFO(script);
    const auto read = [](const std::string&) { return std::optional<std::string>("source s"); };
    Interpreter shell({.read = read});
    try {
      shell.run(script, "s");
    } catch (const UserError& error) {
      CHECK_THAT(error.what(), Contains("s:1: "));
    }
  }
  CHECK_THROWS_WITH(list_commands("while true; do x=1; done"), Contains("s:1: the script runs too long"));
  CHECK_THROWS_WITH(list_commands("f() { f; }; f"), Contains("nested too deep"));
  CHECK_THROWS_WITH(list_commands(std::string(200, '(')), Contains("nested too deep"));
}

TEST_CASE("what is not run is read without effect", "[shell]") {
  CHECK(only("if false; then X=1; f() { run f; }; run a ${Y:=2} $((Z = 3)) $(run b); exit; fi; run ${X:-x} ${Y:-y} "
             "${Z:-z}") == "run|x|y|z");
  CHECK(only("f() { return; run never; }; f; for i in 1 2; do break; run never; done; run $i") == "run|1");
  CHECK(only("true || cat <<E\nrun a `(\nE\nrun b") == "run|b");
  CHECK(only("case z in " + repeated("a) run a;; ", 150) + "z) run b;; esac") == "run|b");
  CHECK(only("if false; then run a; " + repeated("elif false; then run a; ", 150) + "else run b; fi") == "run|b");
  CHECK_THROWS_WITH(list_commands("run a; exit; run 'b"), Contains("this is not valid shell syntax"));
}

TEST_CASE("reading without end is refused, also of what is not run", "[shell]") {
  for (const std::string& script :
       {"while true; do if false; then " + repeated("x y z; ", 20'000) + "fi; done",
        repeated("if true; then ", 80) + repeated("x; ", 10'000) + repeated(" fi;", 80), "x " + repeated("{1..200}", 4),
        "A=" + repeated("a", 60'000) + "; B=$A; C=${A//a/$B}", "A=" + repeated("a", 60'000) + "; C=${A##*a*a*b}"})
    CHECK_THROWS_WITH(list_commands(script), Contains("runs too long"));
}

TEST_CASE("a script that ends anywhere is read or refused", "[shell]") {
  const std::string whole =
      "A=(1 \"$X\" ${Y:-'z'}); B[1]+=c; f() { local C=`x`; for i in {a,b} $(y <<E\n$Z\nE\n); do [[ $i == a* && ( -z b "
      ") "
      "]] || break; done < <(z) 2>&1; }\ncase ${A[@]:1} in (a|b) ((D += (1 + 2) ** 2));; esac; for ((i = 0; i < 2; "
      "++i)); do "
      "${!E#x} ${#A} ${F/a/b} ${G^^} $'\\n' $((1 ? 2 : 3)); done; if ! x | y; then :; elif z; then :; else :; fi & "
      "until w; do :; done; function g { ~/x \\\n y; }";
  for (size_t end = 0; end <= whole.size(); ++end) {
    INFO(whole.substr(0, end));
    try {
      list_commands(whole.substr(0, end));
    } catch (const UserError& error) {
      CHECK_THAT(error.what(), Contains("this is not valid shell syntax") || Contains("runs too long"));
    }
  }
}

TEST_CASE("what no shell would read is refused with its line", "[shell]") {
  for (const char* script : {"\nif x; then y", "\nfor x in 1; do y", "\ncase x in a) y", "\nx 'y", "\nx \"y", "\n)",
                             "\nA=(1 2", "\n[[ x == y", "\nx && ", "\nx | | y", "\n{ x"}) {
    INFO(script);
    CHECK_THROWS_WITH(list_commands(script), Contains("this is not valid shell syntax") && Contains("s:"));
  }
}

}  // namespace roll::shell
