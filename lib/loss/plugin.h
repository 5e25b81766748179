// Opens plug-in losses from shared libraries (written with roll/loss.h) and calls them on micro-batches.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "loss/config.h"
#include "loss/losses.h"

namespace roll {

struct LossExport;

/// Checks a plug-in without running its code. origin: configuration key of the plug-in, which begins error messages
/// ("actor_train.loss_func"). Throws UserError if the file is missing, lacks the symbol of args.name, or was built with
/// another version of roll/loss.h.
void check_plugin_file(const PluginArgs& args, const std::string& origin);

/// Function of an opened library with its settings. The library stays open until the last copy of this object is
/// destroyed.
class LossPlugin {
 public:
  /// Opens the library. origin: as for check_plugin_file(). Throws UserError if the file is missing or cannot be loaded
  /// (with the loader's reason), has no such symbol, or was built with another version of roll/loss.h or LibTorch.
  static LossPlugin open(const PluginArgs& args, const std::string& origin);

  const std::string& origin() const { return origin_; }
  const std::map<std::string, std::string>& args() const { return args_; }
  const LossExport& function() const { return *export_; }

 private:
  std::string origin_;
  std::map<std::string, std::string> args_;
  std::shared_ptr<const LossExport> export_;  // keeps the library open
};

/// Micro-batch as a plug-in sees it, through LossContext. B sequences, T tokens.
struct PluginInputs {
  TokenAxis axis;
  std::vector<int64_t> sequence_index;          // [B] index in the step
  std::vector<double> scores;                   // [B]
  std::map<std::string, at::Tensor> tensors{};  // [T] by name (LossContext::tensor()); all are defined
  std::map<std::string, at::Tensor> masks{};    // [T] by name
};

/// Returns the plug-in's loss and metrics for a micro-batch; calls its function once. counts: of the whole mini-batch.
/// Throws UserError if the function threw, its loss is not a 0-dim tensor with gradient, or a metric's name is invalid.
LossResult call_plugin(const LossPlugin& plugin, const PluginInputs& inputs, const MiniBatchCounts& counts,
                       const LossModes& modes);

}  // namespace roll
