// Asynchronous all-gather of news between the rank groups that sample, for RolloutCoordinator. The leader of each group
// posts its news and continues to sample. Once all have posted, every group receives the news of all: the same news in
// the same order, so all decide alike. The ranks of one group receive it before the same engine step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "records/messages.h"

namespace roll {

class NewsExchange {
 public:
  explicit NewsExchange(Mesh& mesh) : mesh_(mesh) {}

  /// Returns true if this rank has posted news and not yet received everybody's.
  bool is_posted() const { return pending_ != nullptr; }
  /// Starts sending this group's news. Leaders only; **collective** over the leaders.
  void post(const SamplingNews& news);

  struct ReceivedNews {
    std::vector<SamplingNews> news;  // by group; empty until all have posted
    std::optional<StopKind> wish;    // strongest stop request of the group's ranks other than the leader
  };
  /// Returns the news of all groups, if all have posted. `waits`: blocks until they have. `wish`: this rank's stop
  /// request. Throws the errors of the all-gather. **Collective** over the group.
  ReceivedNews receive(bool waits, std::optional<StopKind> wish);

 private:
  Mesh& mesh_;
  std::unique_ptr<Pending> pending_;
  std::shared_ptr<std::vector<std::string>> gathered_;
};

}  // namespace roll
