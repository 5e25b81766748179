#include "sandbox/box.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// Isolated where the kernel can; elsewhere what does not need it is tested all the same.
Box& shared_box() {
  static const std::optional<std::string> why = why_not_isolated("python3");
  if (why) WARN("not isolated: " << *why);
  static Box shared({.is_isolated = !why});
  return shared;
}

ProgramEnd run_program(ProgramRequest request, double seconds = 20) {
  const auto allowed = std::chrono::duration_cast<Program::Clock::duration>(std::chrono::duration<double>(seconds));
  return shared_box().run(std::move(request), Program::Clock::now() + allowed);
}

}  // namespace

TEST_CASE("a program reads its input and writes its output") {
  const ProgramEnd end =
      run_program({.source = "import sys\nprint(input() + '!')\nprint('e', file=sys.stderr)", .input = "hi\n"});
  CHECK(end.ended_well());
  CHECK(end.output == "hi!\n");
  CHECK(end.errors == "e\n");
}

TEST_CASE("how a program ends is told by its keeper") {
  CHECK(run_program({.source = "raise SystemExit(3)"}).status == 3);
  CHECK(run_program({.source = "1 / 0"}).status == 1);
  CHECK_FALSE(run_program({.source = "raise SystemExit('no')"}).ended_well());
  const ProgramEnd crash = run_program({.source = "import ctypes\nctypes.string_at(0)"});
  CHECK(crash.how == ProgramEnd::How::kSignal);
  CHECK(crash.status == 11);
}

TEST_CASE("time, processor time, memory and output have ends") {
  CHECK(run_program({.source = "import time\ntime.sleep(100)"}, 0.3).how == ProgramEnd::How::kTimeout);
  const ProgramEnd loop = run_program({.source = "while True: pass", .limits = {.cpu_s = 1}});
  CHECK(loop.how == ProgramEnd::How::kSignal);
  CHECK_THAT(run_program({.source = "x = bytearray(1 << 30)", .limits = {.memory_mb = 256}}).errors,
             Catch::Contains("MemoryError"));
  const ProgramEnd loud = run_program({.source = "while True: print('x' * 9999)", .limits = {.output_mb = 1}});
  CHECK(loud.how == ProgramEnd::How::kOutput);
  CHECK(loud.output.size() == 1 << 20);
}

TEST_CASE("a command finds its files, and what it makes is given back") {
  const ProgramEnd end = run_program({.role = ProgramRequest::Role::kCommand,
                                      .command = {"sh", "-c", "cat a b > c; ls -l b | cut -c1-10"},
                                      .files = {{"a", "1"}, {"b", "2", 0700}},
                                      .artifact = "c"});
  CHECK(end.output == "-rwx------\n");
  CHECK(end.artifact == "12");
}

TEST_CASE("an artifact is a file, and no link or pipe") {
  for (const std::string made : {"ln -s /usr/bin/env c", "mkdir c", "true"})
    CHECK(run_program({.role = ProgramRequest::Role::kCommand, .command = {"sh", "-c", made}, .artifact = "c"})
              .artifact.empty());
}

TEST_CASE("a box outlives its programs' mischief") {
  for (const char* source : {"import os, signal\nos.kill(0, signal.SIGKILL)", "import os\nos.closerange(0, 99)",
                             "import os\nos.fork()\nos.fork()\nwhile True: pass"})
    run_program({.source = source}, 0.5);
  CHECK(run_program({.source = "print(1)"}).output == "1\n");
}

TEST_CASE("an interpreter that is none is named") {
  CHECK_THROWS_WITH(Box({.python = "/no/such/python"}), Catch::Contains("/no/such/python"));
  CHECK_THROWS_WITH(Box({.python = "true"}), Catch::Contains("no Python 3"));
}

}  // namespace roll
