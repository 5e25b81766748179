#include "loss/plugin.h"

#include "base/error.h"
#include "base/nearest.h"
#include "loss/roll/loss.h"
#include "process/plugin_file.h"

namespace roll {

namespace {

PluginExport wanted_export(const PluginArgs& args, const std::string& origin) {
  return {.library = args.library,
          .name = args.name,
          .where = origin + ".",
          .prefix = "roll_loss_",
          .macro = "ROLL_LOSS",
          .header = "roll/loss.h",
          .abi_version = kLossAbiVersion};
}

class Context : public LossContext {
 public:
  Context(const LossPlugin& plugin, const PluginInputs& inputs, const MiniBatchCounts& counts, const LossModes& modes)
      : plugin_(plugin), inputs_(inputs), counts_(counts), modes_(modes) {}

  at::Tensor tensor(const std::string& name) const override { return find(inputs_.tensors, name, "tensor"); }
  bool has(const std::string& name) const override { return inputs_.tensors.contains(name); }
  at::Tensor mask(const std::string& name) const override { return find(inputs_.masks, name, "mask"); }
  const std::vector<int64_t>& cu_seqlens() const override { return inputs_.axis.cu_seqlens; }
  const std::vector<int64_t>& sequence_index() const override { return inputs_.sequence_index; }
  const std::vector<int64_t>& group_index() const override { return inputs_.axis.group_index; }
  const std::vector<double>& scores() const override { return inputs_.scores; }
  int64_t batch_num_tokens(const std::string& mask) const override { return counts_.at(mask).batch_num_tokens; }
  int64_t global_valid_samples(const std::string& mask) const override { return counts_.at(mask).global_valid_samples; }
  at::Tensor weights(const std::string& mask_name, const std::string& mode_name) const override {
    const AggMode mode = mode_name.empty() ? modes_.policy : agg_mode(mode_name);
    if (has_divisor(mode) && mode != modes_.policy)
      throw user_error(
          "mode {} needs a divisor, which is not set with loss_agg_mode = {}; set loss_agg_mode to that "
          "mode",
          mode_name, enum_name(modes_.policy));
    return token_weights(mask(mask_name), inputs_.axis, mode, counts_.at(mask_name), modes_.divisor);
  }
  std::optional<std::string> arg(const std::string& key) const override {
    const auto found = plugin_.args().find(key);
    return found == plugin_.args().end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static at::Tensor find(const std::map<std::string, at::Tensor>& entries, const std::string& name, const char* kind) {
    if (const auto found = entries.find(name); found != entries.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [key, tensor] : entries) known.push_back(key);
    throw user_error("there is no {} {}; there are {}{}", kind, name, fmt::join(known, ", "),
                     did_you_mean(name, known));
  }

  const LossPlugin& plugin_;
  const PluginInputs& inputs_;
  const MiniBatchCounts& counts_;
  const LossModes& modes_;
};

LossResult checked(const LossOutput& output, const std::string& origin) {
  if (!output.loss.defined() || output.loss.dim() != 0 || !output.loss.requires_grad())
    throw user_error("{}: the loss must be a tensor without dimensions and with a gradient", origin);
  LossResult result{output.loss, {}};
  for (const auto& [name, value] : output.metrics) {
    check_metric_name(name, origin);
    result.metrics.add(name, value);
  }
  return result;
}

}  // namespace

void check_plugin_file(const PluginArgs& args, const std::string& origin) {
  check_plugin_file(wanted_export(args, origin));
}

LossPlugin LossPlugin::open(const PluginArgs& args, const std::string& origin) {
  LossPlugin plugin;
  plugin.origin_ = origin;
  plugin.args_ = args.args;
  plugin.export_ = std::static_pointer_cast<const LossExport>(open_plugin(wanted_export(args, origin)));
  if (std::string(plugin.export_->torch_version) != TORCH_VERSION)
    throw user_error(
        "{}.library = {}: was built with LibTorch {}, but this program with {}; rebuild the library "
        "with this program's version",
        origin, args.library, plugin.export_->torch_version, TORCH_VERSION);
  return plugin;
}

LossResult call_plugin(const LossPlugin& plugin, const PluginInputs& inputs, const MiniBatchCounts& counts,
                       const LossModes& modes) {
  const Context context(plugin, inputs, counts, modes);
  LossOutput output;
  try {
    output = plugin.function().function(context);
  } catch (const std::exception& e) {
    throw user_error("{}: the loss failed: {}", plugin.origin(), e.what());
  }
  return checked(output, plugin.origin());
}

}  // namespace roll
