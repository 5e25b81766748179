#include "base/log.h"

#include <unistd.h>

#include <regex>
#include <sstream>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/file.h"

using namespace roll;

namespace {

/// The lines of a log without their times, each of which must be one.
std::string unstamped(const std::string& log) {
  static const std::regex stamp("20\\d\\d-[01]\\d-[0-3]\\dT[0-2]\\d:[0-5]\\d:[0-6]\\dZ (.*)");
  std::string text, line;
  std::smatch parts;
  for (std::istringstream in(log); std::getline(in, line);)
    text += std::regex_match(line, parts, stamp) ? parts[1].str() + "\n" : "no time: " + line;
  return text;
}

}  // namespace

TEST_CASE("lines go to the right stream, and to log.txt without redrawing codes", "[base]") {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("roll_test_log_{}", ::getpid());
  std::ostringstream out, err;
  Log log(out, err, {.rank = 0, .num_ranks = 2, .terminal = {true, 12}});
  log.info("step {}", 1);
  log.copy_to(file);
  log.status("a status line that is too long");
  log.warn("slow");
  log.note("once");
  log.note("once");
  log.plain("for the file");
  log.status("");
  CHECK(out.str() == "step 1\na status l…\r\033[2Ka status l…\r\033[2Konce\na status l…\r\033[2K");
  CHECK(err.str() == "[rank 0] warning: slow\n");
  CHECK(unstamped(read_file(file)) == "step 1\n[rank 0] warning: slow\nonce\nfor the file\n");
  std::filesystem::remove(file);
  CHECK_THROWS_AS(log.copy_to("/nowhere/log.txt"), SystemError);
}

TEST_CASE("no text commands the terminal or whoever reads log.txt", "[base]") {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("roll_test_evil_log_{}", ::getpid());
  const std::string evil =
      "stop\x1b]52;c;aGk=\x07\xc2\x9b"
      "2J\r\xe2\x80\xae\xff";
  std::ostringstream out, err;
  {
    Log log(out, err, {.rank = 0, .num_ranks = 1, .terminal = {true, 80}});
    log.info("early {}", evil);
    log.copy_to(file);
    log.info("{}", evil);
    log.say("{}", evil);
    log.note("{}", evil);
    log.warn("finish_reason {}", evil);
    log.plain(evil);
    log.status(evil + "\n");
  }
  for (const std::string& text : {out.str(), err.str(), read_file(file)}) {
    CHECK(text.find("\x1b]") == std::string::npos);
    CHECK(text.find_first_of("\x07\xff") == std::string::npos);
    CHECK(text.find("\xc2\x9b") == std::string::npos);
    CHECK(text.find("\xe2\x80\xae") == std::string::npos);
  }
  CHECK(read_file(file).find("\\x1b]52;c;aGk=\\x07") != std::string::npos);
  CHECK(out.str().find("stop·]52") != std::string::npos);  // the status, on its one line
  std::filesystem::remove(file);
}

TEST_CASE("a quiet log shows what is said and warned of, and writes all down", "[base]") {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("roll_test_quiet_{}", ::getpid());
  std::ostringstream out, err;
  {
    Log log(out, err, {.rank = 0, .num_ranks = 1, .terminal = {true, 80}, .quiet = true});
    log.copy_to(file);
    log.info("step 1");
    log.note("note");
    log.status("status");
    log.plain("plain");
    log.say("validation");
    log.warn("slow");
  }
  CHECK(out.str() == "validation\n");
  CHECK(err.str() == "warning: slow\n");
  CHECK(unstamped(read_file(file)) == "step 1\nnote\nplain\nvalidation\nwarning: slow\n");
  std::filesystem::remove(file);
}

TEST_CASE("a view gets the lines in place of the streams, until it is taken away", "[base]") {
  struct Seen : LogView {
    void show(std::string_view line, LineKind kind) override {
      text += fmt::format("{}{};", kind == LineKind::kWarning ? "!" : kind == LineKind::kSaid ? "+" : "", line);
    }
    void show_status(std::string_view line) override { text += fmt::format("[{}];", line); }
    std::string text;
  } view;
  std::ostringstream out, err;
  Log log(out, err, {.rank = 0, .num_ranks = 1, .terminal = {true, 80}});
  log.show_on(&view);
  log.info("a");
  log.say("b");
  log.warn("c");
  log.status("d");
  log.plain("for the file");
  log.show_on(nullptr);
  log.info("e");
  CHECK(view.text == "a;+b;!warning: c;[d];[];");
  CHECK(out.str() == "e\n");
  CHECK(err.str().empty());
}

TEST_CASE("ranks other than the first only warn, and show progress where they are asked to", "[base]") {
  std::ostringstream out, err;
  Log log(out, err, {.rank = 3, .num_ranks = 4, .terminal = {true, 80}});
  log.info("step");
  log.note("note");
  log.plain("plain");
  log.status("status");
  log.warn("disk is slow");
  CHECK(out.str().empty());
  CHECK(err.str() == "[rank 3] warning: disk is slow\n");
  CHECK_FALSE(log.shows_progress());
  log.show_progress();
  log.plain("generate 3/4");
  log.status("status");
  CHECK(log.shows_progress());
  CHECK(out.str() == "[rank 3] generate 3/4\n");
}

TEST_CASE("text is cut by characters, not bytes", "[base]") {
  CHECK(cut_to_width("héllo wörld", 11) == "héllo wörld");
  CHECK(cut_to_width("héllo wörld", 6) == "héllo…");
  CHECK(cut_to_width("ab", 0).empty());
  CHECK(display_width("── é") == 4);
  CHECK(display_width("漢字 e\u0301") == 6);
  CHECK(cut_to_width("漢字漢字", 6) == "漢字…");
}

TEST_CASE("the launcher's word on the terminal counts", "[base]") {
  const auto before = env("ROLL_TERMINAL");
  set_env("ROLL_TERMINAL", "132");
  CHECK(describe_terminal(STDOUT_FILENO).interactive);
  CHECK(describe_terminal(STDOUT_FILENO).columns == 132);
  CHECK(describe_terminal(STDOUT_FILENO).rows == 0);
  set_env("ROLL_TERMINAL", "0");
  CHECK_FALSE(describe_terminal(STDOUT_FILENO).interactive);
  before ? set_env("ROLL_TERMINAL", *before) : void(::unsetenv("ROLL_TERMINAL"));
}

TEST_CASE("a count in the environment is a whole number or the user's error", "[base]") {
  for (const char* bad : {"-1", "2x", "1.5", "99999999999999999999"}) {
    set_env("ROLL_TEST_COUNT", bad);
    CHECK_THROWS_WITH(env_count("ROLL_TEST_COUNT"), Catch::Contains("must be a whole number >= 0"));
  }
  set_env("ROLL_TEST_COUNT", "");
  CHECK_FALSE(env_count("ROLL_TEST_COUNT"));
  set_env("ROLL_TEST_COUNT", "12");
  CHECK(env_count("ROLL_TEST_COUNT") == 12);
  CHECK_FALSE(env("ROLL_TEST_NEVER_SET"));
}

TEST_CASE("durations read as people say them", "[base]") {
  CHECK(duration_text(0.4213) == "0.42 s");
  CHECK(duration_text(9.94) == "9.9 s");
  CHECK(duration_text(59.4) == "59 s");
  CHECK(duration_text(59.6) == "1 min 00 s");
  CHECK(duration_text(3725) == "1 h 02 min");
  CHECK(duration_text(100000) == "1 d 03 h");
  CHECK(duration_text(-1) == "?");
}
