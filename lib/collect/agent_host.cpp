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

constexpr int64_t kMostBodyBytes = int64_t{16} << 20;
constexpr double kAnswerTimeout_s = 7 * 86400;  // the policy may be training meanwhile
constexpr double kLook_s = 0.05, kPause_s = 1;  // interval of checks; delay before a restart without a session
constexpr int64_t kMostFutile = 3;              // programs in a row that ended before they took a session

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
    bool pauses = false;
  };

  void watch() {
    std::vector<Program> programs(args_.world_size);
    while (!is_ending_) {
      for (size_t i = 0; i < programs.size(); ++i) look_at(programs[i], std::to_string(i));
      std::this_thread::sleep_for(std::chrono::duration<double>(kLook_s));
    }
  }

  void look_at(Program& program, const std::string& name) {
    if (program.child) {
      if (program.child->is_running() && !sessions_.is_to_end(name)) return;
      const std::string said = program.child->stderr_tail();
      const std::string why = fmt::format("ended ({}) before its reward{}", program.child->end(0),
                                          said.empty() ? "" : "; it said: " + said);
      program.child.reset();
      program.since_end.restart();
      program.pauses = !sessions_.agent_ended(name, why);
      num_futile_ = program.pauses ? num_futile_ + 1 : 0;
      if (num_futile_ >= kMostFutile)
        sessions_.fail_untaken(EnvironmentFault::kCrash,
                               fmt::format("{}, {} times before a session was taken", why, num_futile_));
    }
    if (!program.pauses || program.since_end.seconds() > kPause_s) start(program, name);
  }

  void start(Program& program, const std::string& name) {
    try {
      program.child.emplace(args_.command, std::vector<std::string>{"OPENAI_BASE_URL=" + base_url_,
                                                                    "OPENAI_API_KEY=" + key_ + "." + name});
    } catch (const std::exception& error) {
      program.since_end.restart();
      program.pauses = true;
      sessions_.fail_untaken(EnvironmentFault::kCrash, fmt::format("could not be started: {}", error.what()));
    }
  }

  const EnvironmentArgs& args_;
  const std::string base_url_, key_;
  AgentSessions& sessions_;
  int64_t num_futile_ = 0;
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
                                  .max_body_bytes = kMostBodyBytes,
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

AgentHost::AgentHost(const std::string& tag, const EnvironmentConfig& environment, AgentPolicy policy, int64_t rank,
                     Log& log)
    : parts_(std::make_unique<Parts>(tag, environment, policy, rank)) {
  log.info("custom_envs.{}: agents take sessions at {}/sessions", tag, parts_->base_url);
}

AgentHost::~AgentHost() = default;

AgentSessions& AgentHost::sessions() {
  return parts_->sessions;
}

}  // namespace roll
