#include "track/screen_frame.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

namespace roll {

namespace {

ScreenState busy_state() {
  ScreenState state;
  state.face = {.name = "quickstart",
                .model = "policy: qwen2, 1.06 M parameters, float32 on cpu",
                .algorithm = "algorithm: PPO (Schulman et al. 2017)",
                .headline = {.goal = {"score", "score/mean"}},
                .curves = {{"score", "score/mean"}, {"response length", "l"}, {"KL", "k"}, {"entropy", "e"}}};
  state.step = 12;
  state.last_step = 48;
  state.step_s = 3;
  state.in_step_s = 1;
  state.goal = "score 0.9 (best 0.93 @ 11)";
  for (int curve = 0; curve < 4; ++curve) {
    state.curves.emplace_back();
    for (int i = 0; i < 12; ++i) state.curves.back().push_back(i * 0.1);
  }
  state.status = "step 13: generate 210/512 responses (41%)";
  state.is_active = true;
  state.sample =
      ShownSample{.step = 12, .prompt = "What is 12 + 30?\n", .response = "42", .verdict = "right (score 1)"};
  state.warnings = {"step 9: entropy collapses"};
  for (int i = 0; i < 60; ++i) state.log.push_back({LineKind::kInfo, fmt::format("line {}", i)});
  return state;
}

std::vector<std::string> drawn(const ScreenState& state, int columns, int rows, bool in_colour = false) {
  std::vector<std::string> lines;
  for (const FrameLine& line : draw_frame(state, columns, rows)) lines.push_back(painted(line, columns, in_colour));
  return lines;
}

bool has(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a frame fits its room, whatever the room", "[track]") {
  for (const int columns : {40, 79, 119, 200})
    for (const int rows : {11, 15, 23, 39, 70}) {
      const auto lines = drawn(busy_state(), columns, rows);
      INFO(columns << " x " << rows);
      CHECK(std::ssize(lines) <= rows);
      for (const std::string& line : lines) CHECK(display_width(line) <= columns);
      CHECK(has(lines, "step 12/48"));
      CHECK(has(lines, "line 59"));
      CHECK(has(lines, "! step 9: entropy"));
    }
}

TEST_CASE("at 80 x 24 all is there: progress, time left, four curves, a sample, the log", "[track]") {
  const auto lines = drawn(busy_state(), 79, 23);
  for (const char* text :
       {"roll · quickstart", "qwen2, 1.06 M", "PPO (Schulman", "3.0 s/step · 1 min 47 s left", "generate 210/512",
        "this step: 2.0 s left", "score 0.9 (best 0.93 @ 11)", "response length 1.1", "KL 1.1", "entropy 1.1", "1.1 ┤",
        "What is 12 + 30?↵", "right (score 1)"})
    CHECK(has(lines, text));
}

TEST_CASE("a run that goes wrong in several ways says all of them, the newest first", "[track]") {
  ScreenState state = busy_state();
  const std::string end =
      ": a finding with its numbers, which go on for more than a line; and its remedy, with the key";
  state.warnings.clear();
  for (const char* what : {"entropy collapses", "score falls", "KL runs away", "responses are cut off"})
    state.warnings.push_back(fmt::format("step {}: {}{}", 9 + state.warnings.size(), what, end));
  const auto at = [](const std::vector<std::string>& lines, const std::string& text) {
    return std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(text); }) - lines.begin();
  };
  const auto small = drawn(state, 79, 23);
  for (const char* text :
       {"! step 9: entropy", "! step 10: score", "! step 11: KL", "! step 12: responses", "line 59", "┤"})
    CHECK(has(small, text));
  CHECK(at(small, "! step 12") < at(small, "! step 9"));
  CHECK(has(drawn(state, 119, 39), "its remedy, with the key"));
  state.warnings.insert(state.warnings.begin(), 20, "step 1: old");
  const auto many = drawn(state, 79, 23);
  CHECK(has(many, "! step 12: responses"));
  CHECK(has(many, " more, see log.txt"));
  CHECK(has(many, "line 59"));
  CHECK(drawn(state, 79, 23).size() <= 23);
}

TEST_CASE("no text of others styles the screen", "[track]") {
  ScreenState state = busy_state();
  const std::string evil =
      "\x1b]52;c;aGk=\x07\xc2\x9b"
      "2J\r\n\xe2\x80\xae";
  state.face.name = state.face.model = state.face.algorithm = state.status = state.goal = evil;
  state.face.curves[0].word = evil;
  state.warnings = {evil};
  state.log.push_back({LineKind::kInfo, evil});
  state.sample = ShownSample{.step = 1, .prompt = evil, .response = evil, .verdict = evil, .expected = evil};
  for (const std::string& line : drawn(state, 79, 39)) {
    CHECK(line.find_first_of("\x1b\x07\r\n") == std::string::npos);
    CHECK(line.find("\xc2\x9b") == std::string::npos);
    CHECK(line.find("\xe2\x80\xae") == std::string::npos);
    CHECK(display_width(line) <= 79);
  }
}

TEST_CASE("the sample goes before the curves where there is little room", "[track]") {
  CHECK_FALSE(has(drawn(busy_state(), 79, 15), "What is 12"));
  CHECK(has(drawn(busy_state(), 79, 15), "┤"));
  CHECK_FALSE(has(drawn(busy_state(), 79, 11), "┤"));
}

TEST_CASE("a run without steps yet has nothing to tell of time", "[track]") {
  ScreenState state = busy_state();
  state.step = 0;
  state.step_s = std::nan("");
  for (auto& curve : state.curves) curve.clear();
  state.goal.clear();
  const auto lines = drawn(state, 79, 23);
  CHECK_FALSE(has(lines, "left"));
  CHECK(has(lines, "score: nothing yet"));
}

TEST_CASE("colour is codes around the same text", "[track]") {
  const FrameLine line = {{"ab", Style::kBold}, {"cd"}, {"wide 漢字", Style::kWarning}};
  CHECK(painted(line, 20, false) == "abcdwide 漢字");
  CHECK(painted(line, 20, true) == "\033[1mab\033[0mcd\033[33mwide 漢字\033[0m");
  CHECK(painted(line, 11, false) == "abcdwide …");
}

TEST_CASE("samples are one line each, harmless and short", "[track]") {
  const std::string response = "so\x1b[31m red\r\n" + std::string(5000, 'x') + " the end \xE2\x80\xAE\xFF";
  const auto lines =
      sample_lines({.step = 1, .prompt = "p", .response = response, .verdict = "wrong", .expected = "4"}, 40);
  REQUIRE(lines.size() == 3);
  for (const std::string& line : lines) {
    CHECK(display_width(line) <= 40);
    CHECK(line.find_first_of("\x1b\r\n") == std::string::npos);
  }
  CHECK_THAT(lines[1], Catch::Contains("so·[31m red↵x") && Catch::EndsWith("the end ·?"));
  CHECK_THAT(lines[2], Catch::EndsWith("wrong; expected 4"));
}

}  // namespace roll
