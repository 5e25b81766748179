// Reward type code_sandbox: runs the program of a response on the test cases of its row.
//
//   code_text.h    finds the last code block of the response
//   code_cases.h   reads the test cases of the row
//   code_judge.h   runs the cases and counts those that pass
//
// Each run of the program has its own sandbox. Its output is compared outside, so the program cannot see the expected
// output. Tests in Python run in a separate process that sees only plain data of the program
// (sandbox/python/harness.py). If they cannot run there, they run once in the program's own process, which can prove
// the program wrong but not right. A program that loops, crashes, ends early or exceeds a limit is wrong. If no sandbox
// is available or the row's tests are broken, the result is a failed reward (reward.h), not a wrong answer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

/// Key `score`: kAll: 1 if every case passes, else 0; kShare: the share of cases that pass.
enum class CodeScore { kAll, kShare };
constexpr auto enum_names(CodeScore) {
  return std::to_array<Named<CodeScore>>({{CodeScore::kAll, "all"}, {CodeScore::kShare, "share"}});
}

/// How to run programs in one language.
struct CodeLanguage {
  std::string file;
  std::vector<std::string> compile, run;

  void fields(Keys& v) {
    v("file", file, "file to which the program is written, such as main.cpp");
    v("compile", compile,
      "command that compiles the file to the first word of run, such as [g++, -O2, -o, a.out, main.cpp]; empty: no "
      "compilation");
    v("run", run, "command that runs the program, such as [./a.out]");
  }
};

/// Keys of the type; fields() has their meanings.
struct CodeSandboxArgs {
  CodeScore score = CodeScore::kAll;
  double output_tolerance = 0;
  bool use_local = true;
  std::optional<std::string> code_url;
  std::string python = "python3";
  std::map<std::string, CodeLanguage> languages;  // by the name that marks code blocks, such as "rust"
  int64_t case_cpu_s = 6, memory_mb = 1024, tmp_mb = 64, output_mb = 8, processes = 32;
  bool unsafe_no_sandbox = false;

  Patience usual_patience() const { return {.timeout_s = 30, .max_retries = use_local ? 0 : 3}; }

  void fields(Keys& v) {
    v("score", score, "all: 1 if every case passes, else 0; share: the share of cases that pass");
    v("output_tolerance", output_tolerance,
      "largest error, absolute or relative, of a number on standard output; whole numbers must be equal; 0: all "
      "numbers must be equal",
      within(0, 1));
    v("use_local", use_local, "programs run on this machine; false: on the server at code_url");
    v("code_url", code_url, "a sandbox server's run_code address, such as http://host:8080/run_code");
    v("python", python, "the Python that runs programs, with its packages: a path, or a name on PATH");
    v("languages", languages,
      "languages besides Python (and C++, if g++ is installed): how to run code blocks "
      "marked with the name");
    v("case_cpu_s", case_cpu_s, "seconds of processor time that one case may take", within(1, 3600));
    v("memory_mb", memory_mb, "MiB of memory that a program may use, /dev/shm included", within(64, 1 << 20));
    v("tmp_mb", tmp_mb, "MiB of files that a program may write, in memory", within(1, 1 << 20));
    v("output_mb", output_mb, "MiB that a program may print", within(1, 1024));
    v("processes", processes, "processes and threads that a program may have", within(1, 4096));
    v("unsafe_no_sandbox", unsafe_no_sandbox, "run programs although this machine cannot isolate them");
  }
};

/// Returns a sentence for the user that says where programs would run and how isolated. With use_local, starts a
/// sandbox on this machine to find out.
std::string isolation_in_words(const CodeSandboxArgs& args);

/// Makes the reward. Throws UserError if a language lacks `file` or `run` or is Python, or if use_local is false
/// without code_url. prepare() throws UserError if the Python does not exist or start, or this machine cannot isolate
/// programs.
std::unique_ptr<RewardFunction> make_code_sandbox(const CodeSandboxArgs& args, const RuleContext& context);

}  // namespace roll
