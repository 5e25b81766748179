#include "reward/command.h"

#include <cmath>
#include <optional>

#include "base/child_process.h"
#include "base/error.h"
#include "reward/reward.h"

namespace roll {

namespace {

constexpr double kEndGrace_s = 2;  // a program that closed its output gets this long to end with a status

class CommandReward : public RewardFunction {
 public:
  CommandReward(const CommandArgs& args, const RuleContext& context)
      : command_(args.command), timeout_s_(context.timeout_s), where_(context.where) {}

  RewardResult score(const RewardQuery& query) override {
    if (!child_) start();
    std::string reply;
    switch (child_->ask(request(query), timeout_s_, reply)) {
      case ChildProcess::Outcome::kTimeout:
        child_.reset();
        return {0, Json{{"error", "timeout"}}};
      case ChildProcess::Outcome::kEnded:
        broken(fmt::format("ended ({}) instead of answering", child_->end(kEndGrace_s)));
      case ChildProcess::Outcome::kDone:
        break;
    }
    return result_of(reply);
  }

 private:
  void start() {
    try {
      child_.emplace(command_);
    } catch (const UserError& e) {
      throw user_error("{}command = {}; give a program that is there and may be executed", where_, e.what());
    }
  }

  static std::string request(const RewardQuery& q) {
    return to_line(Json{{"prompt", q.prompt},
                        {"response", q.response},
                        {"ground_truth", q.ground_truth},
                        {"tag", q.tag},
                        {"domain", q.domain},
                        {"finish_reason", q.finish_reason},
                        {"num_response_tokens", q.num_response_tokens},
                        {"row", q.row}});
  }

  RewardResult result_of(const std::string& reply) {
    const Json json = Json::parse(reply, nullptr, false);
    const bool right = json.is_object() && json.contains("reward") && json["reward"].is_number() &&
                       std::isfinite(json["reward"].get<double>());
    if (!right)
      broken(fmt::format("answered {} where {{\"reward\": number, \"detail\": {{}}}} is needed", reply.substr(0, 200)));
    RewardResult result{json["reward"].get<double>(), Json::object()};
    if (json.contains("detail")) result.detail = json["detail"];
    if (!result.detail.is_object()) result.detail = Json{{"detail", result.detail}};
    return result;
  }

  [[noreturn]] void broken(const std::string& what) {
    const std::string said = child_->stderr_tail();
    child_.reset();
    const std::string program = fmt::format("{}", fmt::join(command_, " "));
    throw user_error("{}command = {}: the program {}; {}", where_, program, what,
                     said.empty() ? "it said nothing on standard error" : "its standard error ends:\n" + said);
  }

  std::vector<std::string> command_;
  double timeout_s_;
  std::string where_;
  std::optional<ChildProcess> child_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_command(const CommandArgs& args, const RuleContext& context) {
  if (args.command.empty())
    throw user_error("{}command: missing; give the program and its arguments as a list", context.where);
  return std::make_unique<CommandReward>(args, context);
}

}  // namespace roll
