#include "grammar/grammars.h"

#include <dlfcn.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "base/file.h"
#include "grammar/token_texts.h"
#include "process/own_program.h"

namespace roll {

namespace {

constexpr std::chrono::seconds kMaxWait{20};  // maximum wait for other compilations
constexpr int kMaxCompilation_ms = 30'000;    // long enough for a busy machine
constexpr size_t kMaxCached = 64, kMaxCachedBytes = 32 << 20, kMaxBytesInUse = 64 << 20;

Descriptor memory_file(const std::string& content) {
  Descriptor file(::memfd_create("roll", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), content) || ::lseek(file.get(), 0, SEEK_SET) != 0)
    throw system_error("grammars: cannot create a file in memory{}", errno_text());
  return file;
}

/// Returns the exit status of waitpid(); nullopt if the program ran too long and was killed.
std::optional<int> run(const std::filesystem::path& program, const std::vector<int>& files) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (size_t i = 0; i < files.size(); ++i) ::posix_spawn_file_actions_adddup2(&actions, files[i], static_cast<int>(i));
  std::string name = program.string();
  char* arguments[] = {name.data(), nullptr};
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, name.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw system_error("{}: {}", name, std::strerror(failed));
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd end{.fd = process.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  while ((ready = ::poll(&end, 1, kMaxCompilation_ms)) < 0 && errno == EINTR) {
  }
  if (ready <= 0) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return ready > 0 ? std::optional(status) : std::nullopt;
}

/// Returns the output of roll_grammar for `ebnf`.
std::string compile(const std::string& ebnf, const Descriptor& vocabulary, const std::string& key) {
  const Descriptor in = memory_file(ebnf), out = memory_file(""), errors = memory_file("");
  const auto status = run(beside_program("roll_grammar"), {in.get(), out.get(), errors.get(), vocabulary.get()});
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) {
    std::string compiled = read_all(out.get());
    if (compiled.size() <= kMostCompiledBytes) return compiled;
  }
  const std::string error_text = status && WIFEXITED(*status) ? read_all(errors.get()) : "";
  throw user_error(
      "{}: its grammar is too large: compiling it takes more than {} s or {} MB, or the result more than {} MB{}", key,
      kMostGrammarSeconds, kMostGrammarMemory >> 20, kMostCompiledBytes >> 20,
      error_text.empty() ? "" : " (" + error_text.substr(0, 200) + ")");
}

}  // namespace

std::shared_ptr<const TokenConstraint> Grammars::constraint(const std::string& ebnf, const std::string& key) {
  if (auto found = find_cached(ebnf)) return found;
  const std::unique_lock lock(compile_mutex_, kMaxWait);
  if (!lock) throw GrammarsBusy("too many grammars wait to be compiled; try again");
  if (auto found = find_cached(ebnf)) return found;
  if (num_bytes_in_use() > kMaxBytesInUse) throw GrammarsBusy("the grammars in use take too much memory; try again");
  load_library(key);
  auto grammar = library_->constraint(compile(ebnf, vocabulary_, key));
  add_to_cache(ebnf, grammar);
  return grammar;
}

std::shared_ptr<const TokenConstraint> Grammars::find_cached(const std::string& ebnf) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(cache_, ebnf, &CachedGrammar::ebnf);
  if (found == cache_.end()) return nullptr;
  cache_.splice(cache_.begin(), cache_, found);
  return found->constraint;
}

void Grammars::add_to_cache(const std::string& ebnf, const std::shared_ptr<const TokenConstraint>& constraint) {
  const std::lock_guard lock(mutex_);
  cache_.push_front({ebnf, constraint});
  grammars_in_use_.push_back(constraint);
  const auto size = [&] {
    size_t bytes = 0;
    for (const CachedGrammar& entry : cache_) bytes += entry.ebnf.size() + entry.constraint->num_bytes();
    return bytes;
  };
  while (cache_.size() > kMaxCached || (cache_.size() > 1 && size() > kMaxCachedBytes)) cache_.pop_back();
}

size_t Grammars::num_bytes_in_use() {
  const std::lock_guard lock(mutex_);
  std::erase_if(grammars_in_use_, [](const auto& entry) { return entry.expired(); });
  size_t bytes = 0;
  for (const auto& entry : grammars_in_use_)
    if (const auto alive = entry.lock()) bytes += alive->num_bytes();
  return bytes;
}

void Grammars::load_library(const std::string& key) {
  if (library_) return;
  const auto file = beside_program("libroll_grammar.so");
  if (!is_there(file) || !is_there(beside_program("roll_grammar")))
    throw user_error("{}: needs xgrammar, but this roll was built without it; run scripts/setup.sh and build again",
                     key);
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded
  const auto* found = handle ? static_cast<const GrammarLibrary*>(::dlsym(handle, "roll_grammar_library")) : nullptr;
  if (!found) throw user_error("{}: {} cannot be loaded: {}", key, file.string(), ::dlerror());
  const TokenTexts tokens = tokens_();
  vocabulary_ = memory_file(pack_token_texts(tokens));
  library_ = found->tokens(tokens);
}

}  // namespace roll
