// roll report: renders run folders as one HTML page.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/file.h"
#include "report/page.h"
#include "report/run_record.h"
#include "report/serve.h"

namespace roll {

namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::vector<int64_t> steps;
  std::string out;
  std::optional<int> port;
};

void report(const ReportFlags& flags) {
  ReportOptions options{.runs = {}, .steps = flags.steps};
  for (const std::string& run : flags.runs) options.runs.push_back(find_run(run));
  if (flags.port) {
    const auto say = [](int port) {
      std::printf("http://127.0.0.1:%d/\n", port);
      std::fflush(stdout);  // a program may wait for this line
    };
    serve_report(options, *flags.port, say);
    return;
  }
  check_parent_folder("--out", flags.out);
  const std::string page = report_page(options);
  const std::filesystem::path out =
      flags.out.empty() ? options.runs.front() / "report.html" : std::filesystem::path(flags.out);
  write_file_atomic(out, page);
  std::printf("%s\n", out.c_str());
}

}  // namespace

void add_report(CLI::App& app) {
  auto* sub = app.add_subcommand("report", "a run folder as one page: curves, warnings, responses, configuration");
  auto flags = std::make_shared<ReportFlags>();
  sub->add_option("runs", flags->runs, "run folders (output_dir); several are compared")->required()->type_name("RUN");
  auto* out =
      sub->add_option("--out", flags->out, "the page; default: report.html in the first run folder")->type_name("FILE");
  sub->add_option("--serve", flags->port, "serve the page on this machine instead, following the run; 0: any free port")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535))
      ->excludes(out);
  sub->add_option("--steps", flags->steps, "further steps whose responses the page shows")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}));
  sub->callback([flags] { report(*flags); });
}

}  // namespace roll
