#include "environment/plugin.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "environment/command_player.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "environment/roll/environment.h"
#include "process/plugin_file.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

PluginExport plugin_export(const EnvironmentArgs& args, const std::string& where) {
  return {.library = args.library,
          .name = args.name,
          .where = where,
          .prefix = "roll_environment_",
          .macro = "ROLL_ENVIRONMENT",
          .macro_argument = "class",
          .header = "roll/environment.h",
          .abi_version = kEnvironmentAbiVersion};
}

/// Creates objects of the class, once its library is loaded.
struct PluginMaker {
  PluginExport file;
  EnvironmentSettings settings;
  std::shared_ptr<const EnvironmentExport> loaded{};

  void load() {
    if (loaded) return;
    const auto loaded_export = std::static_pointer_cast<const EnvironmentExport>(open_plugin(file));
    check_cxx_abi(loaded_export->cxx_abi, kEnvironmentCxxAbi, file);
    loaded = loaded_export;
  }
};

std::string require_utf8(const char* subject, const std::string& text) {
  if (valid_utf8_prefix(text) != text.size())
    throw EnvironmentFailed(EnvironmentFault::kGarbage, fmt::format("gave {} that is not UTF-8", subject));
  return text;
}

Json answer_json(const EnvironmentOpening& opening) {
  Json answer{{"observation", require_utf8("an observation", opening.observation)},
              {"instruction", require_utf8("an instruction", opening.instruction)}};
  if (opening.tools.empty()) return answer;
  try {
    answer["tools"] = parse_json(opening.tools, "tools");
  } catch (const UserError& error) {
    throw EnvironmentFailed(EnvironmentFault::kGarbage, error.what());
  }
  return answer;
}

Json answer_json(const EnvironmentReaction& reaction) {
  if (!std::isfinite(reaction.reward))
    throw EnvironmentFailed(EnvironmentFault::kProtocol,
                            fmt::format("gave the reward {}, which is not a finite number", reaction.reward));
  Json answer{{"observation", require_utf8("an observation", reaction.observation)},
              {"reward", reaction.reward},
              {"done", reaction.done},
              {"valid", reaction.valid}};
  if (reaction.success) answer["success"] = *reaction.success;
  for (const std::string& text : reaction.answers) answer["answers"].push_back(require_utf8("an answer", text));
  return answer;
}

/// Peer that calls an object of the class when its answer is read.
class PluginPeer : public LinePeer {
 public:
  explicit PluginPeer(std::shared_ptr<PluginMaker> maker) : maker_(std::move(maker)) {}

  void begin(const std::string& line, double /*timeout_s*/) override { question_ = parse_json(line, "question"); }

  std::optional<std::string> advance() override {
    try {
      return to_line(answer());
    } catch (const EnvironmentFailed&) {
      drop();
      throw;
    } catch (const UserError&) {  // from load()
      throw;
    } catch (const std::exception& error) {
      fail(error.what());
    } catch (...) {
      fail("an exception that is not a std::exception");
    }
  }

  void add_polls(std::vector<pollfd>& /*polls*/) const override {}
  Clock::time_point next_check_time() const override { return {}; }
  std::string drop() override {
    object_.reset();
    return "";
  }

 private:
  Json answer() {
    maker_->load();
    if (!object_) object_ = maker_->loaded->make(maker_->settings);
    const std::string& method = question_.at("method").get_ref<const std::string&>();
    if (method == "reset") return answer_json(object_->reset(question_.at("seed").get<uint64_t>()));
    if (method == "close") {
      object_->close();
      return Json::object();
    }
    std::vector<EnvironmentCall> calls;
    for (const Json& call : question_.value("tool_calls", Json::array()))
      calls.push_back({call.at("name").get<std::string>(), to_line(call.at("arguments"))});
    return answer_json(object_->step(question_.at("message").get_ref<const std::string&>(), calls));
  }

  [[noreturn]] void fail(const std::string& reason) {
    drop();
    throw EnvironmentFailed(EnvironmentFault::kCrash,
                            fmt::format("threw at {}: {}", question_.at("method").get<std::string>(), reason));
  }

  const std::shared_ptr<PluginMaker> maker_;  // keeps the library loaded longer than the object
  std::unique_ptr<EnvironmentPlugin> object_;
  Json question_;
};

class PluginEnvironment : public Environment {
 public:
  PluginEnvironment(const EnvironmentArgs& args, const std::string& where, std::shared_ptr<PluginMaker> maker)
      : args_(args),
        where_(where),
        maker_(std::move(maker)),
        player_(args_, where, std::make_unique<PluginPeer>(maker_)) {}

  void prepare() override { maker_->load(); }
  Opening reset(uint64_t seed) override {
    player_.reset(seed);
    return std::get<Opening>(*player_.advance());
  }
  Reaction step(const std::string& message) override {
    player_.step(message);
    return std::get<Reaction>(*player_.advance());
  }
  Json tools() const override { return player_.tools(); }
  std::unique_ptr<Environment> another() const override {
    return std::make_unique<PluginEnvironment>(args_, where_, maker_);
  }
  void close() override {
    player_.close();
    player_.advance();
  }

 private:
  const EnvironmentArgs args_;
  const std::string where_;
  const std::shared_ptr<PluginMaker> maker_;
  CommandPlayer player_;
};

}  // namespace

void check_plugin_environment(const EnvironmentArgs& args, const std::string& where) {
  check_plugin_file(plugin_export(args, where));
}

std::unique_ptr<Environment> make_plugin_environment(const EnvironmentArgs& args, const std::string& where) {
  if (args.library.empty())
    throw user_error("{}library: missing; give the path of the shared library that has the environment", where);
  if (args.name.empty())
    throw user_error("{}name: missing; give the name of an environment in {}, from its ROLL_ENVIRONMENT(name, class)",
                     where, args.library);
  return std::make_unique<PluginEnvironment>(
      args, where,
      std::make_shared<PluginMaker>(PluginMaker{plugin_export(args, where), EnvironmentSettings{args.config}}));
}

}  // namespace roll
