#include "reward/plugin_rule.h"

#include "base/error.h"
#include "process/plugin_file.h"
#include "reward/reward.h"
#include "reward/roll/reward.h"
#include "reward/row_columns.h"

namespace roll {

namespace {

class PluginContext : public RewardContext {
 public:
  PluginContext(const RewardQuery& query, const std::map<std::string, std::string>& args)
      : query_(query), args_(args) {}

  const std::string& prompt() const override { return query_.prompt; }
  const std::string& response() const override { return query_.response; }
  const std::string& ground_truth() const override { return query_.ground_truth; }
  const std::string& tag() const override { return query_.tag; }
  const std::string& domain() const override { return query_.domain; }
  const std::string& finish_reason() const override { return query_.finish_reason; }
  int64_t num_response_tokens() const override { return query_.num_response_tokens; }
  std::optional<std::string> column(const std::string& name) const override {
    if (!query_.row.is_object() || !query_.row.contains(name) || query_.row[name].is_null()) return std::nullopt;
    return column_text(query_.row, name.c_str());
  }
  std::optional<std::string> arg(const std::string& key) const override {
    const auto found = args_.find(key);
    return found == args_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const RewardQuery& query_;
  const std::map<std::string, std::string>& args_;
};

class PluginRule : public RewardFunction {
 public:
  PluginRule(const PluginRuleArgs& args, const std::string& where)
      : args_(args),
        wanted_{.library = args.library,
                .name = args.name,
                .where = where,
                .prefix = "roll_reward_",
                .macro = "ROLL_REWARD",
                .header = "roll/reward.h",
                .abi_version = kRewardAbiVersion} {}

  bool is_user_code() const override { return true; }
  void check_files() const override { check_plugin_file(wanted_); }

  void prepare() override {
    export_ = std::static_pointer_cast<const RewardExport>(open_plugin(wanted_));
    check_cxx_abi(export_->cxx_abi, kRewardCxxAbi, wanted_);
  }

  RewardResult score(const RewardQuery& query) override {
    if (!export_) prepare();
    try {
      const RewardOutput output = export_->function(PluginContext(query, args_.args));
      Json detail = Json::object();
      for (const auto& [name, reason] : output.detail) detail[name] = reason;
      return {.reward = output.reward, .score = output.score, .detail = std::move(detail)};
    } catch (const std::exception& e) {
      return failed_reward(RewardFailure::kUnjudged, fmt::format("{}: {}", args_.name, e.what()));
    } catch (...) {
      return failed_reward(RewardFailure::kUnjudged,
                           fmt::format("{}: threw an object that is not a std::exception", args_.name));
    }
  }

 private:
  PluginRuleArgs args_;
  PluginExport wanted_;
  std::shared_ptr<const RewardExport> export_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_plugin_rule(const PluginRuleArgs& args, const RuleContext& context) {
  if (args.library.empty())
    throw user_error("{}library: missing; give the path of the shared library that has the reward", context.where);
  if (args.name.empty())
    throw user_error("{}name: missing; which reward of {}? give the name in its ROLL_REWARD(name, function)",
                     context.where, args.library);
  return std::make_unique<PluginRule>(args, context.where);
}

}  // namespace roll
