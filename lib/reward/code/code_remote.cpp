// The CodeRunner that uses a sandbox server, in SandboxFusion's protocol. It posts {"code", "language", "stdin",
// "compile_timeout", "run_timeout"} to code_url. The answer is {"status", "message", "compile_result", "run_result":
// {"status", "return_code", "stdout", "stderr"}}. Expected outputs are not sent. Tests are, in a script that starts the
// program before it reads them (sandbox/python/remote.py).
#include <algorithm>

#include "base/error.h"
#include "http/client.h"
#include "reward/code/code_runner.h"
#include "reward/shared.h"
#include "sandbox/python_text.h"

namespace roll {

namespace {

constexpr int64_t kRemoteCompile_s = 30;
constexpr size_t kShownMessage = 200;
constexpr const char* kDeepRecursion = "sys.setrecursionlimit(600000)\n";

std::string text_member(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

std::string last_part(const std::string& text) {
  return text.substr(text.size() - std::min(text.size(), kShownMessage));
}

CodeRun http_failure(const HttpAnswer& http) {
  if (http.outcome == HttpAnswer::Outcome::kTimeout) return CodeRun::failed(RewardFailure::kTimeout, http.reason);
  if (http.outcome != HttpAnswer::Outcome::kAnswered) return CodeRun::failed(RewardFailure::kUnavailable, http.reason);
  CodeRun run = CodeRun::failed(
      RewardFailure::kUnavailable,
      fmt::format("the sandbox server answers {}: {}", http.status, http.body.substr(0, kShownMessage)));
  run.retry_after_s = http.retry_after_s;
  return run;
}

/// Converts a server's answer. "Failed" is the program's fault, "SandboxError" is not.
CodeRun parse_run(const std::string& body) {
  Json answer;
  try {
    answer = parse_json(body, "the sandbox server's answer");
  } catch (const UserError& e) {
    return CodeRun::failed(RewardFailure::kUnparsable, e.what());
  }
  const std::string status = text_member(answer, "status");
  if (status == "SandboxError")
    return CodeRun::failed(RewardFailure::kUnavailable,
                           "the sandbox server: " + last_part(text_member(answer, "message")));
  const bool has_run = answer.is_object() && answer.contains("run_result") && answer["run_result"].is_object();
  if ((status != "Success" && status != "Failed") || (status == "Success" && !has_run))
    return CodeRun::failed(RewardFailure::kUnparsable, "the sandbox server's answer has no status and run_result");
  if (!has_run) {
    const Json compiled = answer.value("compile_result", Json());
    return {.how = "does not compile: " + last_part(text_member(compiled, "stderr"))};
  }
  const Json& result = answer["run_result"];
  CodeRun run{.ended_well = status == "Success" && result.value("return_code", Json(0)) == 0};
  run.output = text_member(result, "stdout");
  if (!run.ended_well)
    run.how = fmt::format("ended as {}: {}", text_member(result, "status"), last_part(text_member(result, "stderr")));
  return run;
}

class RemoteRunner : public CodeRunner {
 public:
  RemoteRunner(const CodeSandboxArgs& args, const RuleContext& context)
      : args_(args), context_(context), client_(*args.code_url) {}

  std::set<std::string> languages() const override { return {"python", "cpp", "java", "javascript", "ruby", "go"}; }

  CodeRun begin(const CodeBlock& program) override {
    program_ = program;
    return {.ended_well = true};
  }

  CodeRun run(const std::string& input) override {
    if (program_.language == "python")
      return post(std::string(prelude_text()) + kDeepRecursion + program_.code, "python", input, args_.case_cpu_s);
    return post(program_.code, program_.language == "javascript" ? "nodejs" : program_.language, input,
                args_.case_cpu_s);
  }

  CodeRun run_tests(const Json& tests, bool with_program, const std::string& prefix, int64_t num_cases) override {
    return post_tests("run_remotely", with_program ? Json(prefix + "\n" + program_.code) : Json(), tests, num_cases);
  }

  CodeRun run_together(const Json& tests, const std::string& prefix, int64_t num_cases) override {
    return post_tests("run_together_remotely", Json(prefix + "\n" + program_.code), tests, num_cases);
  }

 private:
  CodeRun post_tests(const char* function, const Json& source, const Json& tests, int64_t num_cases) {
    const std::string script =
        fmt::format("{}\n{}(json.loads({}))\n", remote_text(), function, to_line(to_line(source)));
    return post(script, "python", to_line(tests), args_.case_cpu_s * num_cases);
  }

  CodeRun post(const std::string& code, const std::string& language, const std::string& input, int64_t run_s) {
    const Json request{{"code", code},
                       {"language", language},
                       {"stdin", input},
                       {"compile_timeout", kRemoteCompile_s},
                       {"run_timeout", run_s}};
    const HttpAnswer http =
        client_.post_json(to_line(request), {.timeout_s = context_.timeout_s}, context_.shared->ending);
    if (http.outcome != HttpAnswer::Outcome::kAnswered || http.status != 200) return http_failure(http);
    return parse_run(http.body);
  }

  CodeSandboxArgs args_;
  RuleContext context_;
  HttpClient client_;
  CodeBlock program_;
};

}  // namespace

std::unique_ptr<CodeRunner> make_remote_runner(const CodeSandboxArgs& args, const RuleContext& context) {
  try {
    return std::make_unique<RemoteRunner>(args, context);
  } catch (const UserError& e) {
    throw user_error("{}code_url = {}", context.where, e.what());
  }
}

}  // namespace roll
