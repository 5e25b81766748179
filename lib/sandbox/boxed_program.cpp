#include "sandbox/boxed_program.h"

#include <signal.h>
#include <sys/wait.h>

#include <map>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "sandbox/box_entry.h"
#include "sandbox/box_keeper.h"
#include "sandbox/interpreter.h"
#include "sandbox/syscall_filter.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr rlim_t kMegabyte = 1 << 20;
constexpr int64_t kTmp_mb = 64;
constexpr rlim_t kProcesses = 64, kFiles = 256;
constexpr double kLongestProbe_s = 30;

// A shell script that prints its first argument that cannot be read.
constexpr const char* kProbe = "for f; do [ -r \"$f\" ] || { echo \"$f\" >&2; exit 1; }; done";

/// Adds the installation of a program `X/bin/NAME`; any other program is added alone.
void add_installation(const fs::path& program, std::vector<fs::path>& paths) {
  if (program.parent_path().filename() != "bin") return paths.push_back(program);
  const fs::path root = program.parent_path().parent_path();
  for (const char* part : {"bin", "lib", "lib64", "pyvenv.cfg"})
    if (is_there(root / part)) paths.push_back(root / part);
}

bool belongs_to_sandbox(const fs::path& path) {
  if (path == "/" || path == "/tmp") return true;
  const auto top = std::next(path.begin());
  return *top == "dev" || *top == "proc" || *top == "sys";
}

fs::path full_path(const fs::path& path) {
  fs::path clean = fs::absolute(path).lexically_normal();
  return clean.has_filename() ? clean : clean.parent_path();
}

void add_program(fs::path program, std::vector<fs::path>& paths) {
  add_installation(program, paths);
  for (int links = 0; links < 40 && fs::is_symlink(program); ++links) {
    program = full_path(program.parent_path() / fs::read_symlink(program));
    add_installation(program, paths);
  }
}

/// Returns the cached interpreter; the first call starts that Python.
const Interpreter& cached_interpreter(const std::string& python) {
  static std::mutex mutex;
  static std::map<std::string, Interpreter> cache;
  const std::lock_guard lock(mutex);
  const auto found = cache.find(python);
  return found != cache.end() ? found->second : cache.emplace(python, find_interpreter(python)).first->second;
}

/// A command with the absolute path of its program, and the paths that its sandbox shows.
struct FoundProgram {
  std::vector<std::string> command;
  std::vector<fs::path> shown;
};

FoundProgram find(const std::vector<std::string>& command) {
  if (command.empty()) throw user_error("no program is given to start");
  FoundProgram found{command, {}};
  found.command[0] = full_path(check_executable(command[0]));
  // `python` may be a wrapper script that selects one of several Pythons.
  if (fs::path(command[0]).filename().string().starts_with("python")) {
    const Interpreter& python = cached_interpreter(found.command[0]);
    found.command[0] = python.program;
    found.shown.assign(python.folders.begin(), python.folders.end());
  }
  const std::vector<fs::path> named = find_named_paths(found.command);
  found.shown.insert(found.shown.end(), named.begin(), named.end());
  return found;
}

/// Returns the entry that runs `words` in the sandbox of `program`.
BoxEntry make_entry(const std::vector<std::string>& words, const FoundProgram& program, int64_t memory_mb) {
  const std::string path = fs::path(program.command[0]).parent_path();
  // One compute thread each, since many such programs run at once.
  BoxEntry entry{.words = with_status_report(words),
                 .variables = {"PATH=" + path + ":/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp", "TMPDIR=/tmp",
                               "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"},
                 .limits = {{RLIMIT_AS, memory_mb * kMegabyte},
                            {RLIMIT_FSIZE, kTmp_mb * kMegabyte},
                            {RLIMIT_NPROC, kProcesses},
                            {RLIMIT_NOFILE, kFiles},
                            {RLIMIT_CORE, 0},
                            {RLIMIT_MEMLOCK, 0},
                            {RLIMIT_MSGQUEUE, 0},
                            {RLIMIT_SIGPENDING, kFiles}},
                 .folder = fs::current_path(),
                 .filter = syscall_filter(),
                 .dies_with_us = true};
  entry.files.mount_memory("/tmp", kTmp_mb, kInsideUser);
  entry.files.mount_memory("/dev/shm", memory_mb, kInsideUser);
  entry.files.add_folder(entry.folder);
  for (const fs::path& shown : program.shown) entry.files.show(shown);
  return entry;
}

StartedProgram start(BoxEntry entry, int64_t memory_mb) {
  constexpr std::string_view kPipe = "cannot make a pipe for a program in the sandbox";
  Pipe in = make_pipe(kPipe), out = make_pipe(kPipe), err = make_pipe(kPipe), status = make_pipe(kPipe);
  entry.descriptors = {in.read_end.get(), out.write_end.get(), err.write_end.get(), status.write_end.get()};
  const pid_t pid = start_in_box(entry);
  try {
    return {.pid = pid,
            .input = std::move(in.write_end),
            .output = std::move(out.read_end),
            .errors = std::move(err.read_end),
            .status = std::move(status.read_end),
            .ends_all = true,
            .guard = std::make_shared<BoxKeeper>(pid, memory_mb, std::move(err.write_end))};
  } catch (...) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    throw;
  }
}

}  // namespace

std::vector<fs::path> find_named_paths(const std::vector<std::string>& command) {
  std::vector<fs::path> paths;
  for (const std::string& word : command) {
    std::error_code unreadable;
    const fs::file_status found = fs::status(word, unreadable);
    const fs::path path = word.empty() ? fs::path("/") : full_path(word);
    if (belongs_to_sandbox(path) || !(fs::is_regular_file(found) || fs::is_directory(found))) continue;
    constexpr fs::perms kExecutable = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    const bool is_program = fs::is_regular_file(found) && (found.permissions() & kExecutable) != fs::perms::none;
    if (is_program)
      add_program(path, paths);
    else
      paths.push_back(path);
  }
  return paths;
}

StartedProgram start_boxed(const BoxedProgram& program) {
  const FoundProgram found = find(program.command);
  return start(make_entry(found.command, found, program.memory_mb), program.memory_mb);
}

std::optional<std::string> why_not_boxed(const BoxedProgram& program) {
  const FoundProgram found = find(program.command);
  std::vector<std::string> probe{"/bin/sh", "-c", kProbe, "sh"};
  for (const fs::path& shown : found.shown) probe.push_back(shown);
  try {
    ChildProcess child(start(make_entry(probe, found, program.memory_mb), program.memory_mb));
    const std::string end = child.end(kLongestProbe_s);
    if (child.exit_code() == 0) return std::nullopt;
    return fmt::format("a program in the sandbox cannot read {} ({}); let all users read it", child.stderr_tail(), end);
  } catch (const SystemError& error) {
    return cannot_isolate(error.what()) + ", or trust the program and do not use the sandbox";
  }
}

}  // namespace roll
