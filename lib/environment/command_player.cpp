#include "environment/command_player.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "environment/program_peer.h"
#include "environment/remote_peer.h"

namespace roll {

namespace {

constexpr size_t kLongestObservation = 1 << 18;  // bytes
constexpr int64_t kOfProgram = 4;                // descriptors: its input, output, errors and end

/// An answer's fields.
class Answer {
 public:
  Answer(std::string_view line, int64_t id) : line_(line) {
    try {
      json_ = parse_json(line, "answer");
    } catch (const UserError&) {
      fail(EnvironmentFault::kGarbage, "no JSON object");
    }
    if (!json_.is_object()) fail(EnvironmentFault::kGarbage, "no JSON object");
    if (json_.contains("id") && json_["id"] != id)
      fail(EnvironmentFault::kProtocol, fmt::format("the question's id is {}", id));
  }

  std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) fail(EnvironmentFault::kProtocol, fmt::format("{} must be a text", key));
    if (value.get_ref<const std::string&>().size() > kLongestObservation)
      fail(EnvironmentFault::kFlood, fmt::format("{} has more than {} bytes", key, kLongestObservation));
    return value.get<std::string>();
  }
  std::string text_or_none(const char* key) const { return json_.contains(key) ? text(key) : ""; }
  bool flag(const char* key) const {
    const Json& value = at(key);
    if (!value.is_boolean()) fail(EnvironmentFault::kProtocol, fmt::format("{} must be true or false", key));
    return value.get<bool>();
  }
  std::optional<bool> flag_or_none(const char* key) const {
    return json_.contains(key) ? std::optional(flag(key)) : std::nullopt;
  }
  double reward(const char* key) const {
    const Json& value = at(key);
    const bool is_reward = value.is_number() && std::abs(value.get<double>()) <= kLargestTurnReward;
    if (!is_reward)
      fail(EnvironmentFault::kProtocol, fmt::format("{} must be a number within +-{}", key, kLargestTurnReward));
    return value.get<double>();
  }

 private:
  const Json& at(const char* key) const {
    if (!json_.contains(key)) fail(EnvironmentFault::kProtocol, fmt::format("{} is missing", key));
    return json_.at(key);
  }
  [[noreturn]] void fail(EnvironmentFault fault, const std::string& why) const {
    throw EnvironmentFailed(fault, fmt::format("answered {}: {}", shown_answer(line_), why));
  }

  std::string_view line_;
  Json json_;
};

}  // namespace

CommandPlayer::CommandPlayer(const EnvironmentArgs& args, const std::string& where, int64_t number)
    : args_(args),
      peer_(args.addresses.empty()
                ? make_program_peer(args.command)
                : make_remote_peer(args.addresses[number % args.addresses.size()], where + "addresses")) {}

void CommandPlayer::reset(uint64_t seed) {
  Json config = Json::object();
  for (const auto& [key, value] : args_.config) config[key] = value;
  ask(Asked::kReset, {{"method", "reset"}, {"seed", seed}, {"config", std::move(config)}});
}

void CommandPlayer::step(const std::string& message) {
  ask(Asked::kStep, {{"method", "step"}, {"message", message}});
}

void CommandPlayer::close() {
  ask(Asked::kClose, {{"method", "close"}});
}

void CommandPlayer::ask(Asked asked, const Json& question) {
  asked_ = asked;
  Json line{{"id", ++id_}};
  line.update(question);
  peer_->begin(to_line(line), args_.timeout_s);
}

std::optional<CommandAnswer> CommandPlayer::go_on() {
  const auto line = peer_->go_on();
  if (!line) return std::nullopt;
  try {
    const Answer answer(*line, id_);
    if (asked_ == Asked::kReset) return Opening{answer.text_or_none("instruction"), answer.text("observation")};
    if (asked_ == Asked::kClose) return std::monostate();
    return Reaction{.observation = answer.text("observation"),
                    .reward = answer.reward("reward"),
                    .is_done = answer.flag("done"),
                    .is_valid = answer.flag_or_none("valid").value_or(true),
                    .succeeded = answer.flag_or_none("success")};
  } catch (const EnvironmentFailed& failure) {
    const std::string said = peer_->drop();
    throw EnvironmentFailed(failure.fault,
                            said.empty() ? failure.what() : fmt::format("{}; it said: {}", failure.what(), said));
  }
}

int64_t num_descriptors(const EnvironmentArgs& args) {
  return args.world_size * (args.addresses.empty() ? kOfProgram : 1);
}

}  // namespace roll
