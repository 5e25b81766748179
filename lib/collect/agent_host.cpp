#include "collect/agent_host.h"

#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "base/error.h"
#include "process/child_process.h"
#include "serve/server.h"

namespace roll {

namespace {

constexpr int64_t kMaxBodyBytes = int64_t{16} << 20;
constexpr double kAnswerTimeout_s = 7 * 86400;  // the policy may be training meanwhile
constexpr double kCheckInterval_s = 0.05;
constexpr double kRestartDelay_s = 1;    // before a restart of a program that took no session
constexpr int64_t kMaxFutileStarts = 3;  // programs in a row that ended before they took a session

std::string random_key() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// Agent programs. One that exits is restarted, and its session fails. One whose session failed is stopped.
class AgentPrograms {
 public:
  AgentPrograms(const EnvironmentArgs& args, std::string base_url, std::string key, AgentSessions& sessions)
      : args_(args), base_url_(std::move(base_url)), key_(std::move(key)), sessions_(sessions) {
    thread_ = std::thread([this] { watch(); });  // starts the programs too: they end with the thread that started them
  }
  ~AgentPrograms() {
    is_ending_ = true;
    thread_.join();
  }
  AgentPrograms(const AgentPrograms&) = delete;
  AgentPrograms& operator=(const AgentPrograms&) = delete;

 private:
  struct Program {
    std::optional<ChildProcess> child{};
    Stopwatch since_end{};
    bool is_delayed = false;
  };

  void watch() {
    std::vector<Program> programs(args_.world_size);
    while (!is_ending_) {
      for (size_t i = 0; i < programs.size(); ++i) check_program(programs[i], std::to_string(i));
      std::this_thread::sleep_for(std::chrono::duration<double>(kCheckInterval_s));
    }
  }

  void check_program(Program& program, const std::string& name) {
    if (program.child) {
      if (program.child->is_running() && !sessions_.must_stop(name)) return;
      const std::string stderr_text = program.child->stderr_tail();
      const std::string why = fmt::format("ended ({}) before it posted a reward{}", program.child->end(0),
                                          stderr_text.empty() ? "" : "; its error output: " + stderr_text);
      program.child.reset();
      program.since_end.restart();
      program.is_delayed = !sessions_.agent_ended(name, why);
      num_futile_starts_ = program.is_delayed ? num_futile_starts_ + 1 : 0;
      if (num_futile_starts_ >= kMaxFutileStarts)
        sessions_.fail_untaken(
            EnvironmentFault::kCrash,
            fmt::format("{}; {} programs in a row ended before they took a session", why, num_futile_starts_));
    }
    if (!program.is_delayed || program.since_end.seconds() > kRestartDelay_s) start(program, name);
  }

  void start(Program& program, const std::string& name) {
    try {
      program.child.emplace(args_.command, std::vector<std::string>{"OPENAI_BASE_URL=" + base_url_,
                                                                    "OPENAI_API_KEY=" + key_ + "." + name});
    } catch (const std::exception& error) {
      program.since_end.restart();
      program.is_delayed = true;
      sessions_.fail_untaken(EnvironmentFault::kCrash, fmt::format("could not be started: {}", error.what()));
    }
  }

  const EnvironmentArgs& args_;
  const std::string base_url_, key_;
  AgentSessions& sessions_;
  int64_t num_futile_starts_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace

struct AgentHost::Parts {
  Parts(const std::string& tag, const EnvironmentConfig& environment, const AgentPolicy& policy, int64_t rank)
      : model{.name = "policy",
              .tokenizer = policy.tokenizer,
              .chat_template = &policy.chat_template,
              .vocab_size = policy.tokenizer.vocab_size(),
              .max_length = policy.prompt_length + policy.response_length,
              .tool_call_form = environment.env_config.tool_calls},
        key(environment.env_config.api_key.text.empty() ? random_key() : environment.env_config.api_key.text),
        sessions({.environment = environment,
                  .tokens = policy.tokens,
                  .tokenizer = policy.tokenizer,
                  .prompt_length = policy.prompt_length}) {
    const EnvironmentArgs& args = environment.env_config;
    server.emplace(model, sessions,
                   ServerSettings{.host = args.host,
                                  .port = args.port == 0 ? 0 : static_cast<int>(args.port + rank),
                                  .port_key = "custom_envs." + tag + ".env_config.port",
                                  .api_key = key,
                                  .max_body_bytes = kMaxBodyBytes,
                                  .timeout_s = kAnswerTimeout_s});
    base_url = fmt::format("http://{}:{}/v1", args.host == "0.0.0.0" ? "127.0.0.1" : args.host, server->port());
    if (!args.command.empty()) programs.emplace(args, base_url, key, sessions);
  }
  ~Parts() {
    sessions.close();
    programs.reset();
    server.reset();
  }

  const ServedModel model;
  const std::string key;
  std::string base_url;
  AgentSessions sessions;
  std::optional<CompletionServer> server;
  std::optional<AgentPrograms> programs;
};

AgentHost::AgentHost(const std::string& tag, const EnvironmentConfig& environment, AgentPolicy policy, int64_t dp_rank,
                     Log& log)
    : parts_(std::make_unique<Parts>(tag, environment, policy, dp_rank)) {
  log.info("custom_envs.{}: agents take sessions at {}/sessions", tag, parts_->base_url);
}

AgentHost::~AgentHost() = default;

AgentSessions& AgentHost::sessions() {
  return parts_->sessions;
}

}  // namespace roll
