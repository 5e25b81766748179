#include "reward/code/code_judge.h"

#include <algorithm>

#include "base/error.h"
#include "reward/code/same_output.h"

namespace roll {

namespace {

constexpr size_t kShownOutput = 200;
constexpr int kDoubts = 2;

CodeVerdict wrong(int64_t total, const std::string& why) {
  return {.total = total, .why = why};
}

CodeVerdict unjudged(RewardFailure failure, const std::string& why) {
  return {.why = why, .failure = failure};
}

/// Reads the verdict from the last line of the tests' output. If it is missing, the program is wrong: it prevented it.
CodeVerdict verdict_in(const CodeRun& tests, int64_t num_cases) {
  if (tests.failure) return {.why = tests.how, .failure = tests.failure, .retry_after_s = tests.retry_after_s};
  const size_t line = tests.output.rfind('\n');
  if (!tests.ended_well || line == std::string::npos)
    return wrong(num_cases, "the tests gave no verdict: they " + (tests.ended_well ? "printed none" : tests.how));
  try {
    const Json verdict = parse_json(tests.output.substr(line + 1), "the tests' verdict");
    if (verdict.contains("broken")) return unjudged(RewardFailure::kUnjudged, verdict["broken"].get<std::string>());
    CodeVerdict result{verdict.at("passed").get<int64_t>(), verdict.at("total").get<int64_t>()};
    if (!result.is_right())
      result.why = verdict.at("error").is_string() ? verdict["error"].get<std::string>() : "fails";
    if (verdict.contains("limit") && verdict["limit"].is_string()) result.limit = verdict["limit"].get<std::string>();
    result.is_doubted = verdict.value("doubted", false);
    return result;
  } catch (const std::exception& e) {  // a server may answer anything
    return unjudged(RewardFailure::kUnparsable, e.what());
  }
}

/// Runs the tests in a process separate from the program. If one of the program's objects may have guessed the expected
/// value, repeats the run and keeps the worst result. If the tests need something impossible for separate processes,
/// runs them once more in one process as plain Python. A program that fails there too is wrong. One that passes there
/// is not judged, as it may have lied.
CodeVerdict judge_apart(CodeRunner& runner, const Json& tests, const std::string& prefix, int64_t num_cases) {
  CodeVerdict verdict = verdict_in(runner.run_tests(tests, true, prefix, num_cases), num_cases);
  for (int repeat = 0; repeat < kDoubts && verdict.is_doubted && verdict.passed > 0; ++repeat)
    if (CodeVerdict repeated = verdict_in(runner.run_tests(tests, true, prefix, num_cases), num_cases);
        repeated.failure || repeated.passed < verdict.passed)
      verdict = std::move(repeated);
  if (verdict.limit.empty() || verdict.failure) return verdict;
  const CodeVerdict joint_verdict = verdict_in(runner.run_together(tests, prefix, num_cases), num_cases);
  if (!joint_verdict.failure && joint_verdict.is_right())
    return unjudged(RewardFailure::kUnjudged,
                    "the tests cannot run in a process separate from the program: " + verdict.limit);
  return verdict;
}

/// Adds the verdict of one test to the total; returns false if no more tests are needed.
bool add_verdict(CodeVerdict& total_verdict, CodeVerdict test_verdict, bool is_complete) {
  if (test_verdict.failure) {
    total_verdict = std::move(test_verdict);
    return false;
  }
  total_verdict.passed += test_verdict.passed;
  total_verdict.total += test_verdict.total;
  if (total_verdict.why.empty()) total_verdict.why = test_verdict.why;
  return is_complete || test_verdict.is_right();
}

CodeVerdict judge_streams(CodeRunner& runner, const CodeCases& cases, bool is_complete, double tolerance) {
  CodeVerdict total_verdict{.total = std::ssize(cases.streams)};
  for (size_t i = 0; i < cases.streams.size(); ++i) {
    const auto& [input, expected] = cases.streams[i];
    const CodeRun run = runner.run(input);
    if (run.failure) return {.why = run.how, .failure = run.failure, .retry_after_s = run.retry_after_s};
    const bool passes = run.ended_well && same_output(run.output, expected, tolerance);
    total_verdict.passed += passes;
    if (!passes && total_verdict.why.empty())
      total_verdict.why =
          fmt::format("case {}: {}", i + 1,
                      run.ended_well ? "printed something else: " + run.output.substr(0, kShownOutput) : run.how);
    if (!passes && (!is_complete || run.is_late)) break;
  }
  return total_verdict;
}

CodeVerdict judge_calls(CodeRunner& runner, const CodeCases& cases) {
  Json cases_json = Json::array();
  for (const CodeCases::Stream& stream : cases.streams)
    cases_json.push_back({{"stdin", stream.input}, {"expected", stream.expected}});
  const Json tests{{"kind", "calls"}, {"function", cases.function}, {"cases", cases_json}};
  const int64_t num_cases = std::ssize(cases.streams);
  return judge_apart(runner, tests, "", num_cases);
}

CodeVerdict judge_tests(CodeRunner& runner, const CodeCases& cases, bool is_complete) {
  const char* kind = cases.kind == CodeCases::Kind::kCheck ? "check" : "assert";
  CodeVerdict total_verdict;
  for (const CodeCases::Test& test : cases.tests) {
    const Json tests{{"kind", kind}, {"code", test.code}, {"entry_point", test.entry_point}};
    if (!add_verdict(total_verdict, judge_apart(runner, tests, test.import_prefix, 1), is_complete)) break;
  }
  total_verdict.total = std::max(total_verdict.total, std::ssize(cases.tests));
  return total_verdict;
}

}  // namespace

CodeVerdict judge_program(CodeRunner& runner, const CodeBlock& program, const CodeCases& cases, bool is_complete,
                          double tolerance) {
  const bool is_streams = cases.kind == CodeCases::Kind::kStreams;
  const int64_t num_cases = std::ssize(cases.streams) + std::ssize(cases.tests);
  if (!is_streams && program.language != "python")
    return wrong(num_cases, "the row's tests call Python, and the program is in " + program.language);
  const CodeRun begun = runner.begin(program);
  if (begun.failure) return unjudged(*begun.failure, begun.how);
  if (!begun.ended_well) return wrong(num_cases, "does not compile: " + begun.how);
  if (is_streams) return judge_streams(runner, cases, is_complete, tolerance);
  if (cases.kind == CodeCases::Kind::kCalls) return judge_calls(runner, cases);
  return judge_tests(runner, cases, is_complete);
}

CodeVerdict judge_text(CodeRunner& runner, const std::string& text, const CodeCases& cases, bool is_complete) {
  constexpr std::string_view kPlace = "{response}";
  runner.begin({"python", ""});
  CodeVerdict total_verdict;
  for (const CodeCases::Test& test : cases.tests) {
    std::string code = test.code;
    for (size_t at; (at = code.find(kPlace)) != std::string::npos;) code.replace(at, kPlace.size(), "response");
    const CodeRun run = runner.run_tests({{"kind", "text"}, {"code", code}, {"response", text}}, false, "", 1);
    if (!add_verdict(total_verdict, verdict_in(run, 1), is_complete)) break;
  }
  total_verdict.total = std::max(total_verdict.total, std::ssize(cases.tests));
  return total_verdict;
}

}  // namespace roll
