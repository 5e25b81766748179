#include <catch2/catch.hpp>
#include <fstream>

#include "reward/judged.h"
#include "reward/math/answer.h"
#include "reward/math/compare.h"
#include "reward/math/lexer.h"
#include "reward/reward.h"

namespace roll {

namespace {

bool same(const std::string& truth, const std::string& answer) {
  math::Deadline deadline(5);
  return math::compare_answers(truth, answer, deadline).equal;
}

}  // namespace

TEST_CASE("math_rule gives the verdicts of the golden file", "[reward]") {
  std::ifstream in(ROLL_SOURCE_DIR
                   "/tests/golden/reward/verdicts.jsonl");  // made by tests/oracles/make_golden_reward.py
  REQUIRE(in);
  RewardArgs args;
  args.type = MathRuleArgs();
  const auto reward = make_reward(args, 0, "");
  int64_t cases = 0;
  for_each_json_line(in, "verdicts.jsonl", [&](int64_t line, const Json& row) {
    if (line == 1) return;
    RewardQuery query;
    query.response = row["response"];
    query.ground_truth = row["ground_truth"];
    const RewardResult result = reward->score(query);
    INFO(line << ": " << to_line(row) << " " << to_line(result.detail));
    CHECK((result.reward == 1) == row["same"].get<bool>());
    ++cases;
  });
  CHECK(cases > 1500);
}

TEST_CASE("math_rule gives the verdicts of people", "[reward]") {
  const int judged = each_judged("judged.txt", [](const std::string& truth, const std::string& answer) {
    if (truth == "#") return;
    INFO(truth << " and " << answer);
    CHECK(same(truth.substr(2), answer) == truth.starts_with('='));
  });
  CHECK(judged >= 724);
}

TEST_CASE("answers that mean the same are equal", "[reward]") {
  const auto [truth, answer] = GENERATE(table<const char*, const char*>({
      {"\\frac 34", "0.75"},
      {"4\\frac58", "\\frac{37}{8}"},
      {"1/2x", "\\frac{1}{2x}"},
      {"2^{2015}", "2 \\cdot 2^{2014}"},
      {"(a+5)(b+2)", "ab + 5b + 2a + 10"},
      {"n(n+1)2^{n-3}", "2^{n-3}(n^2+n)"},
      {"x(y+1)", "xy + x"},
      {"\\cos 2x", "1 - 2\\sin^2 x"},
      {"-i\\cot(a\\rho)", "\\frac{-i}{\\tan(a\\rho)}"},
      {"\\log \\frac{1}{1-z}", "-\\log(1-z)"},
      {"\\log_{10} 2", "\\log 2"},
      {"1 + (-1)^n", "1 + \\cos(n\\pi)"},
      {"\\max\\{1, |z|\\}", "\\max(|z|, 1)"},
      {"\\sqrt[3]{-8}", "-2"},
      {"e^{i\\pi}", "-1"},
      {"u(t, x) = x^2 + t", "t + x^2"},
      {"x = 5", "5"},
      {"5", "x = 5"},
      {"x + 2y - 2z - 9 = 0", "2x + 4y - 4z = 18"},
      {"k > 1", "1 < k"},
      {"k > 1", "(1, \\infty)"},
      {"x + y < 1", "-2x - 2y > -2"},
      {"x + y \\le 1", "2 \\ge 2x + 2y"},
      {"(-\\infty, 2) \\cup (3, \\infty)", "(3, \\infty) \\cup (-\\infty, 2)"},
      {"\\mathbb{R}", "(-\\infty, \\infty)"},
      {"\\mathbb{R} \\setminus \\{0\\}", "(-\\infty, 0) \\cup (0, \\infty)"},
      {"x \\ne 0", "(-\\infty, 0) \\cup (0, \\infty)"},
      {"x = \\pm 2", "x = 2, x = -2"},
      {"3 \\pm 2\\sqrt 2", "3 - 2\\sqrt{2}, 3 + 2\\sqrt{2}"},
      {"\\{1, 2\\}", "2 \\text{ and } 1"},
      {"43_5.", "43"},
      {"25\\%", "\\frac{1}{4}"},
      {"12.5\\%", "12.5"},
      {"\\$32,\\!348", "32348 \\text{ dollars}"},
      {"15\\mbox{ cm}^2", "15"},
      {"\\frac{1}{3}", "0.3333333"},
      {"6366.197724", "\\frac{20000}{\\pi}"},
      {"C", "\\textbf{(C)}\\ 5"},
      {"\\text{east}", "East"},
      {"p \\equiv 1 \\pmod{4}", "p \\equiv 1 \\mod 4"},
      {"0.00001", "1e-5"},
      {"\\begin{pmatrix} 1/5 \\\\ 2 \\end{pmatrix}", "\\begin{bmatrix} 0.2 \\\\ 2 \\end{bmatrix}"},
      {"\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\begin{pmatrix} 1 \\\\[4pt] 2 \\end{pmatrix}"},
      {"\\int_0^1 x dx", "\\int_0^1 x dx"},
      {"\\frac{1}{2}", "\\int_0^1 x \\, dx = \\left[\\frac{x^2}{2}\\right]_0^1 = \\frac{1}{2}"},
      {"-1", "\\lim_{x \\to 0} f(x) = -1"},
      {"2", "\\sum_{k=1}^n a_k = 2"},
      {"n!", "\\int_0^\\infty x^n e^{-x} \\, dx = n!"},
  }));
  INFO(truth << " and " << answer);
  CHECK(same(truth, answer));
}

TEST_CASE("answers that differ are not equal", "[reward]") {
  const auto [truth, answer] = GENERATE(table<const char*, const char*>({
      {"2^{2015}", "2^{2015} + 1"},
      {"5", "2305843009213693956"},  // 5 + (2^61 - 1): equal modulo the prime alone
      {"10^{10^{10}}", "10^{10^{10}} + 1"},
      {"e^{-50}", "e^{-51}"},
      {"\\frac{1}{3}", "0.333"},
      {"0.00000567", "0.000006"},
      {"43_5", "23"},
      {"2c", "2"},
      {"2f(0)", "f(0)"},
      {"f(0)", "0"},
      {"W(2)", "W(3)"},
      {"\\mathbb{Z}_4", "\\mathbb{Z}_5"},
      {"O(n^2)", "O(n^3)"},
      {"x = 5", "y = 5"},
      {"AB = BA", "AB = CB"},
      {"bx - ay = 0", "ax - by = 0"},
      {"k > 0", "k < 0"},
      {"x \\ge 2", "x > 2"},
      {"x + y < 1", "2x + 2y > 2"},
      {"x + y < 1", "-x - y < -1"},
      {"(1, 2)", "(2, 1)"},
      {"(0, 1)", "(0, 1]"},
      {"(1, 2)", "2, 1"},
      {"\\{1, 2\\}", "\\{1\\}"},
      {"(0, 9) \\cup (9, 36)", "(0, 36)"},
      {"\\sqrt{x^2}", "x"},
      {"Yes", "No"},
      {"A", "B"},
      {"0", "\\emptyset"},
      {"1", ""},
      {"\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\begin{pmatrix} 1 & 2 \\end{pmatrix}"},
      {"\\infty", "-\\infty"},
      {"2", "\\lim_{x \\to 0} f(x) = 1, \\lim_{x \\to 1} f(x) = 2"},
      {"2", "\\int_0^1 f(x) dx > 1 = 2"},
      {"1", "\\sum_{k=1}^n a_k = 2"},
  }));
  INFO(truth << " and " << answer);
  CHECK_FALSE(same(truth, answer));
}

TEST_CASE("the answer is the last box, wherever it is", "[reward]") {
  const auto [response, answer, source] = GENERATE(table<const char*, const char*, const char*>({
      {"<think>\\boxed{1}</think> so \\boxed{2}", "2", "boxed"},
      {"<think>no end of thought \\boxed{\\frac{1}{2}}", "\\frac{1}{2}", "boxed"},
      {"\\boxed{ \\{1, 2\\} } trailing text 17", "\\{1, 2\\}", "boxed"},
      {"$\\boxed{1}$ and $\\boxed{2}$", "1, 2", "boxed"},
      {"first \\boxed{1}, then I saw that the right value is \\boxed{2}", "2", "boxed"},
      {"\\fbox {x}", "x", "boxed"},
      {"\\boxed{5} and cut off \\boxed{6", "5", "boxed"},
      {"\\boxed{\\boxed{5} \\text{ cm}}", "\\boxed{5} \\text{ cm}", "boxed"},
      {"The final answer is $x = 3$. I hope it is correct.", "x = 3", "phrase"},
      {"**Answer:** Yes", "Yes", "phrase"},
      {"Final Answer: the number is 12", "12", "phrase"},
      {"we had 4, so $n = 7$", "n = 7", "latex"},
      {"$n = 7$ gives 1,234.5 in total", "1,234.5", "number"},
      {"it rises by -3/4", "-3/4", "number"},
      {"nothing here", "", "none"},
      {"", "", "none"},
  }));
  INFO(response);
  const math::Answer found = math::find_answer(response);
  CHECK(found.text == answer);
  CHECK(found.source == source);
}

TEST_CASE("garbage costs little and never throws", "[reward]") {
  const auto repeated = [](const std::string& s, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += s;
    return all;
  };
  const std::string answer = GENERATE_COPY(
      std::string("10^{10^{10^{10}}}"), repeated("{", 10000), repeated("(", 900), repeated("\\boxed{", 100000),
      repeated("\\frac{1}{1+", 150) + "1" + repeated("}", 150), repeated("-", 1900), repeated("2^", 900) + "2",
      repeated("9", 1990), repeated("x!", 900), repeated("\\text{", 5000), std::string(1, '\0'),
      std::string("\xff\xfe\xc3"), repeated("(1,", 600), repeated("|", 1000), repeated("1+", 990) + "1",
      repeated("\\sin ", 380) + "x", std::string("5000!"), std::string("\\binom{10^9}{10^8}"),
      std::string("\\gcd(10^{30}, 10^{29})"), repeated("\\begin{pmatrix}", 100), repeated("$", 100000),
      repeated("answer", 50000), repeated("\\pm ", 400) + "1", repeated("\\(", 300000), repeated("$x$ \\[ \\( ", 80000),
      "9^{9^{9^9}}", repeated("(", 100000) + "1" + repeated(")", 100000), repeated("\\int ", 900) + "= 1",
      std::string("43_{99}"), std::string("1_{0}"), std::string("\\tan()"), std::string("\\begin{cases}\\end{cases}"),
      std::string("0.\\overline{}"));
  math::Deadline deadline(300);
  CHECK_FALSE(math::compare_answers("7", answer, deadline).equal);
  CHECK_FALSE(math::compare_answers(answer, "7", deadline).equal);
  CHECK_NOTHROW(math::find_answer(answer));
  CHECK_NOTHROW(math::find_answer("the answer is " + answer));
}

TEST_CASE("a row gap that the answer's end cuts off reads nothing outside the answer", "[reward]") {
  const std::string_view around = "xa]\\\\[4 ";
  CHECK(math::plain_text(around.substr(1, 6)) == math::plain_text(std::string("a]\\\\[4")));
}

TEST_CASE("the time limit ends a comparison", "[reward]") {
  RewardArgs args;
  args.type = MathRuleArgs();
  args.timeout_s = 1e-9;
  RewardQuery query;
  query.response = "\\boxed{(x+1)^2 (x+2)^2 (x+3)^2 + \\sin x}";
  query.ground_truth = "\\sin x + ((x+1)(x+2)(x+3))^2";
  const RewardResult result = make_reward(args, 0, "")->score(query);
  CHECK(result.reward == 0);
  CHECK(result.detail["error"] == "timeout");
}

}  // namespace roll
