// Plug-in losses out of shared libraries (roll/loss.h): opening them, and calling them with a micro-batch.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "loss/config.h"
#include "loss/losses.h"

namespace roll {

struct LossExport;

/// What can be known of a plug-in without running any of its code: the file, its symbol, the version of roll/loss.h.
/// UserError as LossPlugin::open().
void check_plugin_file(const PluginArgs& args, const std::string& origin);

/// An opened library's function with its settings; copies share the library.
class LossPlugin {
 public:
  /// `origin` opens error texts ("actor_train.loss_func"). UserError: no such file, a file that cannot be loaded (the
  /// loader's reason), no such symbol, another version of this interface or of LibTorch.
  static LossPlugin open(const PluginArgs& args, const std::string& origin);

  const std::string& origin() const { return origin_; }
  const std::map<std::string, std::string>& args() const { return args_; }
  const LossExport& function() const { return *export_; }

 private:
  std::string origin_;
  std::map<std::string, std::string> args_;
  std::shared_ptr<const LossExport> export_;  // holds the library open
};

/// What a plug-in sees of a micro-batch.
struct PluginInputs {
  TokenAxis axis;
  std::vector<int64_t> sequence_index;          // [B]
  std::vector<double> scores;                   // [B]
  std::map<std::string, at::Tensor> tensors{};  // [T]; undefined ones are absent
  std::map<std::string, at::Tensor> masks{};    // [T]
};

/// One call. UserError: the function threw, its loss is no scalar with gradient, a metric's name is wrong.
LossResult call_plugin(const LossPlugin& plugin, const PluginInputs& inputs, const MiniBatchCounts& counts,
                       const LossModes& modes);

}  // namespace roll
