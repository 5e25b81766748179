#include "loss/plugin.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/nearest.h"
#include "loss/exported_object.h"
#include "loss/roll/loss.h"

namespace roll {

namespace {

void check_there(const std::string& path, const std::string& origin) {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(path, absent))
    throw user_error("{}.library = {}: no such file; build the plug-in, or correct the path", origin, path);
}

std::string symbol_of(const PluginArgs& args) {
  return "roll_loss_" + args.name;
}

UserError no_symbol(const PluginArgs& args, const std::string& origin) {
  return user_error("{}.name = {}: {} has no symbol {}; write ROLL_LOSS({}, function) there, or correct the name",
                    origin, args.name, args.library, symbol_of(args), args.name);
}

std::shared_ptr<void> open_library(const std::string& path, const std::string& origin) {
  check_there(path, origin);
  // An absolute path: dlopen searches the system's folders for a bare file name.
  void* handle = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw user_error("{}.library = {}: cannot be loaded: {}", origin, path, dlerror());
  return {handle, dlclose};
}

void check_abi(uint32_t version, const PluginArgs& args, const std::string& origin) {
  if (version != kLossAbiVersion)
    throw user_error("{}.library = {}: built for version {} of roll/loss.h, this program has version {}; rebuild it",
                     origin, args.library, version, kLossAbiVersion);
}

void check_version(const LossExport& found, const PluginArgs& args, const std::string& origin) {
  check_abi(found.abi_version, args, origin);
  if (std::string(found.torch_version) != TORCH_VERSION)
    throw user_error("{}.library = {}: built with LibTorch {}, this program with {}; rebuild it with that", origin,
                     args.library, found.torch_version, TORCH_VERSION);
}

class Context : public LossContext {
 public:
  Context(const LossPlugin& plugin, const PluginInputs& inputs, const MiniBatchCounts& counts, const LossConfig& config)
      : plugin_(plugin), inputs_(inputs), counts_(counts), modes_(loss_modes(config)) {}

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
      throw user_error("mode {} has a divisor, which is not set beside loss_agg_mode = {}; configure that mode",
                       mode_name, name_of(modes_.policy));
    return token_weights(mask(mask_name), inputs_.axis, mode, counts_.at(mask_name), modes_.divisor);
  }
  std::optional<std::string> arg(const std::string& key) const override {
    const auto found = plugin_.args().find(key);
    return found == plugin_.args().end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static at::Tensor find(const std::map<std::string, at::Tensor>& among, const std::string& name, const char* what) {
    if (const auto found = among.find(name); found != among.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [key, tensor] : among) known.push_back(key);
    throw user_error("there is no {} {}{}; there are {}", what, name, did_you_mean(name, known),
                     fmt::join(known, ", "));
  }

  const LossPlugin& plugin_;
  const PluginInputs& inputs_;
  const MiniBatchCounts& counts_;
  LossModes modes_;
};

LossResult checked(const LossOutput& output, const std::string& origin) {
  if (!output.loss.defined() || output.loss.dim() != 0 || !output.loss.requires_grad())
    throw user_error("{}: the loss must be a tensor without dimensions that has a gradient", origin);
  LossResult result{output.loss, {}};
  for (const auto& [name, value] : output.metrics) {
    check_metric_name(name, origin);
    result.metrics.add(name, value);
  }
  return result;
}

}  // namespace

void check_plugin_file(const PluginArgs& args, const std::string& origin) {
  check_there(args.library, origin);
  std::optional<std::string> found;
  try {
    found = exported_object(args.library, symbol_of(args), sizeof(LossExport::abi_version));
  } catch (const UserError& error) {
    throw user_error("{}.library = {}: cannot be loaded: {}; build the plug-in, or correct the path", origin,
                     args.library, error.what());
  }
  if (!found) throw no_symbol(args, origin);
  uint32_t version = 0;
  std::memcpy(&version, found->data(), sizeof version);
  check_abi(version, args, origin);
}

LossPlugin LossPlugin::open(const PluginArgs& args, const std::string& origin) {
  LossPlugin plugin;
  plugin.origin_ = origin;
  plugin.args_ = args.args;
  plugin.library_ = open_library(args.library, origin);
  plugin.export_ = static_cast<const LossExport*>(dlsym(plugin.library_.get(), symbol_of(args).c_str()));
  if (!plugin.export_) throw no_symbol(args, origin);
  check_version(*plugin.export_, args, origin);
  return plugin;
}

LossResult call_plugin(const LossPlugin& plugin, const PluginInputs& inputs, const MiniBatchCounts& counts,
                       const LossConfig& config) {
  const Context context(plugin, inputs, counts, config);
  LossOutput output;
  try {
    output = plugin.function().function(context);
  } catch (const std::exception& e) {
    throw user_error("{}: the loss failed: {}", plugin.origin(), e.what());
  }
  return checked(output, plugin.origin());
}

}  // namespace roll
