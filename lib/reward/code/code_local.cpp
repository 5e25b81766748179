// The CodeRunner that uses sandboxes on this machine (sandbox/box.h).
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "process/child_process.h"
#include "reward/code/code_runner.h"
#include "sandbox/box.h"
#include "sandbox/box_entry.h"

namespace roll {

namespace {

constexpr int64_t kCompile_s = 30, kLongestTests_s = 3600;
constexpr double kFirstProgram_s = 30;
constexpr size_t kShownErrors = 200;

std::string how_it_ended(const ProgramEnd& end) {
  const size_t shown = std::min(end.errors.size(), kShownErrors);
  switch (end.how) {
    case ProgramEnd::How::kTimeout:
      return "took longer than timeout_s";
    case ProgramEnd::How::kMemory:
      return "used more than memory_mb";
    case ProgramEnd::How::kOutput:
      return "printed more than output_mb";
    case ProgramEnd::How::kSignal:
      return fmt::format("was killed by signal {}", end.status);
    case ProgramEnd::How::kNotStarted:
      return end.why;
    default:
      return fmt::format("ended with {}: {}", end.status, end.errors.substr(end.errors.size() - shown));
  }
}

CodeRun make_run(ProgramEnd end) {
  CodeRun run{.ended_well = end.ended_well(), .is_late = end.how == ProgramEnd::How::kTimeout};
  if (!run.ended_well) run.how = how_it_ended(end);
  run.output = std::move(end.output);
  return run;
}

struct Channel {
  Descriptor tests, program;
};

Channel new_channel() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw system_error("cannot make a channel between sandboxes{}", errno_text());
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

class LocalRunner : public CodeRunner {
 public:
  LocalRunner(const CodeSandboxArgs& args, const RuleContext& context)
      : args_(args), timeout_s_(context.timeout_s), where_(context.where), languages_(args.languages) {}

  void prepare() override {
    add_cpp();
    try {
      box_.emplace(options());
      if (const ProgramEnd end = box_->run({.source = "print(2)"}, after(kFirstProgram_s)); end.output != "2\n")
        throw system_error("the trial program print(2) {}", how_it_ended(end));
    } catch (const UserError& e) {
      throw user_error("{}python = {}", where_, e.what());
    } catch (const SystemError& e) {
      if (args_.unsafe_no_sandbox) throw;
      throw user_error(
          "{}unsafe_no_sandbox = false: {}, give code_url with use_local: false, or set this to true on a machine "
          "where programs can do no harm",
          where_, cannot_isolate(e.what()));
    }
  }

  std::set<std::string> languages() const override {
    std::set<std::string> names{"python"};
    for (const auto& [name, language] : languages_) names.insert(name);
    return names;
  }

  CodeRun begin(const CodeBlock& program) override {
    deadline_ = after(timeout_s_);
    code_ = program.code;
    command_.clear();
    files_.clear();
    if (program.language == "python") return {.ended_well = true};
    const CodeLanguage& language = languages_.at(program.language);
    command_ = language.run;
    files_ = {{language.file, code_}};
    if (language.compile.empty()) return {.ended_well = true};
    return with_box([&]() -> CodeRun {
      Request compile{.role = Request::Role::kCommand,
                      .command = language.compile,
                      .files = files_,
                      .artifact = language.run[0],
                      .limits = limits()};
      compile.limits.cpu_s = std::max(kCompile_s, compile.limits.cpu_s);
      ProgramEnd end = box_->run(std::move(compile), deadline_);
      files_ = {{language.run[0], std::move(end.artifact), 0700}};
      const bool made_nothing = end.ended_well() && files_[0].content.empty();
      return made_nothing ? CodeRun{.how = "made no " + language.run[0]} : checked(std::move(end));
    });
  }

  CodeRun run(const std::string& input) override {
    return with_box([&] {
      return checked(box_->run({.role = command_.empty() ? Request::Role::kScript : Request::Role::kCommand,
                                .source = command_.empty() ? code_ : "",
                                .command = command_,
                                .files = files_,
                                .input = input,
                                .limits = limits()},
                               deadline_));
    });
  }

  CodeRun run_tests(const Json& tests_json, bool with_program, const std::string& prefix, int64_t num_cases) override {
    return with_box([&] {
      Request tests{.role = Request::Role::kTests, .source = to_line(tests_json), .limits = limits()};
      tests.limits.cpu_s = std::min(kLongestTests_s, tests.limits.cpu_s * num_cases);
      std::vector<Program> programs;
      if (with_program) {
        Channel channel = new_channel();
        Request solution{.role = Request::Role::kSolution, .source = prefix + "\n" + code_, .limits = tests.limits};
        tests.channel = std::move(channel.tests);
        solution.channel = std::move(channel.program);
        programs = box_->start_pair(std::move(tests), std::move(solution));
      } else {
        programs.push_back(box_->start(std::move(tests)));
      }
      Program::await(programs, deadline_);
      if (with_program) checked(std::move(programs[1].end()));
      return checked(std::move(programs[0].end()));
    });
  }

  CodeRun run_together(const Json& tests_json, const std::string& prefix, int64_t num_cases) override {
    return with_box([&] {
      const Json program{{"source", prefix + "\n" + code_}, {"tests", tests_json}};
      Request request{.role = Request::Role::kTogether, .source = to_line(program), .limits = limits()};
      request.limits.cpu_s = std::min(kLongestTests_s, request.limits.cpu_s * num_cases);
      return checked(box_->run(std::move(request), deadline_));
    });
  }

 private:
  using Request = ProgramRequest;
  using Clock = Program::Clock;

  BoxOptions options() const { return {args_.python, !args_.unsafe_no_sandbox}; }

  static Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  ProgramLimits limits() const {
    return {args_.memory_mb, args_.tmp_mb, args_.output_mb, args_.processes, args_.case_cpu_s};
  }

  void add_cpp() {
    if (languages_.contains("cpp")) return;
    try {
      check_executable("g++");
      languages_["cpp"] = {"main.cpp", {"g++", "-O2", "-std=c++17", "-o", "a.out", "main.cpp"}, {"./a.out"}};
    } catch (const UserError&) {
      return;  // no g++ on this machine
    }
  }

  static CodeRun checked(ProgramEnd end) {
    if (end.how == ProgramEnd::How::kNotStarted) throw system_error("{}", end.why);
    return make_run(std::move(end));
  }

  /// Calls `run`. If the sandbox is lost, makes a new one and tries once more.
  template <class F>
  CodeRun with_box(const F& run) {
    std::string why;
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        if (!box_) box_.emplace(options());
        return run();
      } catch (const SystemError& e) {
        why = e.what();
        box_.reset();
      }
    }
    return CodeRun::failed(RewardFailure::kUnavailable, why);
  }

  CodeSandboxArgs args_;
  double timeout_s_;
  std::string where_;
  std::map<std::string, CodeLanguage> languages_;
  std::optional<Box> box_;
  Clock::time_point deadline_;
  std::string code_;
  std::vector<std::string> command_;  // empty: a Python script
  std::vector<ProgramFile> files_;
};

}  // namespace

std::string isolation_in_words(const CodeSandboxArgs& args) {
  if (!args.use_local) return fmt::format("programs run on {}", args.code_url.value_or("no server"));
  if (args.unsafe_no_sandbox)
    return "programs run on this machine without isolation: only with limits and a filter of system calls";
  try {
    const auto why = why_not_isolated(args.python);
    if (why) return fmt::format("programs could not run on this machine, which cannot isolate them: {}", *why);
  } catch (const UserError& e) {
    return fmt::format("programs could not run on this machine: {}", e.what());
  }
  return "programs run on this machine in separate namespaces (users, processes, files, network), with limits and a "
         "filter of system calls";
}

std::unique_ptr<CodeRunner> make_local_runner(const CodeSandboxArgs& args, const RuleContext& context) {
  return std::make_unique<LocalRunner>(args, context);
}

}  // namespace roll
