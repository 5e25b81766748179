// The only place that turns errors into exit codes: 0 done, 1 system, 2 the user's input, 70 a bug of ours.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/commands.h"
#include "base/error.h"

namespace {

int report(const char* kind, const std::exception& e, int code) {
  std::fprintf(stderr, "roll: %s%s\n", kind, e.what());
  return code;
}

int run(int argc, char** argv) {
  CLI::App app{"roll: reinforcement-learning post-training of language models", "roll"};
  app.set_version_flag("--version", ROLL_VERSION);
  app.require_subcommand(1);
  roll::add_export(app);
  roll::add_generate(app);
  roll::add_logprobs(app);
  roll::add_score(app);
  roll::add_tokenize(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const roll::UserError& e) {
    return report("", e, 2);
  } catch (const roll::Bug& e) {
    return report("internal error, please report it: ", e, 70);
  } catch (const std::exception& e) {
    return report("", e, 1);
  }
}
