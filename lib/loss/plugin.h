// Opens plug-in losses from shared libraries (roll/loss.h) and calls them on micro-batches.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "loss/config.h"
#include "loss/losses.h"

namespace roll {

struct LossExport;

/// Checks a plug-in without running its code: the file, its symbol, the version of roll/loss.h. UserError as
/// LossPlugin::open().
void check_plugin_file(const PluginArgs& args, const std::string& origin);

/// Function of an opened library with its settings; copies share the library.
class LossPlugin {
 public:
  /// Opens the library. `origin` begins error messages ("actor_train.loss_func"). UserError: the file is missing or
  /// cannot be loaded (with the loader's reason), has no such symbol, or was built with another version of roll/loss.h
  /// or LibTorch.
  static LossPlugin open(const PluginArgs& args, const std::string& origin);

  const std::string& origin() const { return origin_; }
  const std::map<std::string, std::string>& args() const { return args_; }
  const LossExport& function() const { return *export_; }

 private:
  std::string origin_;
  std::map<std::string, std::string> args_;
  std::shared_ptr<const LossExport> export_;  // keeps the library open
};

/// Micro-batch as a plug-in sees it.
struct PluginInputs {
  TokenAxis axis;
  std::vector<int64_t> sequence_index;          // [B]
  std::vector<double> scores;                   // [B]
  std::map<std::string, at::Tensor> tensors{};  // [T]; undefined tensors are left out
  std::map<std::string, at::Tensor> masks{};    // [T]
};

/// Calls the plug-in once. UserError: the function threw, its loss is no 0-dim tensor with gradient, or a metric's name
/// is invalid.
LossResult call_plugin(const LossPlugin& plugin, const PluginInputs& inputs, const MiniBatchCounts& counts,
                       const LossModes& modes);

}  // namespace roll
