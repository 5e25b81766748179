#include "reward/code/code_sandbox.h"

#include "base/error.h"
#include "reward/code/code_judge.h"

namespace roll {

namespace {

class CodeReward : public RewardFunction {
 public:
  CodeReward(const CodeSandboxArgs& args, std::unique_ptr<CodeRunner> runner)
      : score_(args.score), tolerance_(args.output_tolerance), runner_(std::move(runner)) {}

  void check_row(const Json& row) const override { read_code_cases(row); }

  void prepare() override {
    runner_->prepare();
    runnable_languages_ = known_languages_ = runner_->languages();
    known_languages_.insert({"cpp", "java", "javascript", "ruby",
                             "go"});  // blocks with these marks are programs, even if not runnable here
  }

  RewardResult score(const RewardQuery& query) override {
    const bool is_complete = score_ == CodeScore::kShare;
    CodeCases cases;
    try {
      cases = read_code_cases(query.row);
    } catch (const UserError& e) {
      return failed_reward(RewardFailure::kUnjudged, e.what());
    }
    if (cases.kind == CodeCases::Kind::kText)
      return make_result(judge_text(*runner_, answer_part(query.response), cases, is_complete), Json::object());
    const auto program = last_code_block(query.response, known_languages_);
    if (!program) return judged(0, Json{{"why", "no code block"}});
    if (!runnable_languages_.contains(program->language))
      return judged(0, Json{{"why", "cannot run " + program->language}});
    return make_result(judge_program(*runner_, *program, cases, is_complete, tolerance_),
                       Json{{"language", program->language}});
  }

 private:
  RewardResult make_result(const CodeVerdict& verdict, Json detail) const {
    if (verdict.failure) {
      RewardResult failed = failed_reward(*verdict.failure, verdict.why);
      failed.retry_after_s = verdict.retry_after_s;
      return failed;
    }
    detail["passed"] = verdict.passed;
    detail["cases"] = verdict.total;
    if (!verdict.why.empty()) detail["why"] = verdict.why;
    const double share = static_cast<double>(verdict.passed) / static_cast<double>(std::max<int64_t>(1, verdict.total));
    return judged(score_ == CodeScore::kShare ? share : verdict.is_right(), std::move(detail));
  }

  CodeScore score_;
  double tolerance_;
  std::unique_ptr<CodeRunner> runner_;
  std::set<std::string> runnable_languages_, known_languages_;
};

void check_languages(const CodeSandboxArgs& args, const std::string& where) {
  for (const auto& [name, language] : args.languages) {
    const std::string key = fmt::format("{}languages.{}", where, name);
    if (name == "python")
      throw user_error(
          "{}: Python programs run with the interpreter that the key python names; "
          "remove this",
          key);
    if (language.file.empty() || language.file.find('/') != std::string::npos)
      throw user_error("{}.file = {}: must be a file name, such as main.cpp", key, language.file);
    if (language.run.empty()) throw user_error("{}.run: missing; give the command that runs a program", key);
    if (!language.compile.empty() && !language.run[0].starts_with("./"))
      throw user_error(
          "{}.run = [{}]: with compile, its first word must be the file that compile makes, such as "
          "./a.out",
          key, fmt::join(language.run, ", "));
  }
}

}  // namespace

std::unique_ptr<RewardFunction> make_code_sandbox(const CodeSandboxArgs& args, const RuleContext& context) {
  check_languages(args, context.where);
  if (!args.use_local && !args.code_url)
    throw user_error("{}use_local = false: needs a sandbox server; set code_url, or remove this", context.where);
  auto runner = args.use_local ? make_local_runner(args, context) : make_remote_runner(args, context);
  return std::make_unique<CodeReward>(args, std::move(runner));
}

}  // namespace roll
