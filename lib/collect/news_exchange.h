// Asynchronous all-gather of sampling news (SamplingNews: finished responses, queue length, stop requests of a group
// since its last news), for RolloutCoordinator. A group is the set of tensor-parallel ranks that hold one copy of the
// sampler's model; its first rank is the leader. Each leader posts its group's news and continues to sample. Once all
// leaders have posted, every group receives the news of all groups, in the same order, so that all decide alike. The
// ranks of one group receive the news before the same engine step.
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
  /// `mesh`: of the sampler; must outlive this object.
  explicit NewsExchange(Mesh& mesh) : mesh_(mesh) {}

  /// Returns true if this rank has posted news and not yet received the news of all groups.
  bool is_posted() const { return pending_ != nullptr; }
  /// Starts sending this group's news, without waiting. Only on leaders, if !is_posted(). **Collective** over the
  /// leaders.
  void post(const SamplingNews& news);

  struct ReceivedNews {
    std::vector<SamplingNews> news;  // one per group, by data-parallel rank; empty until all leaders have posted
    std::optional<StopKind> wish;    // strongest stop request of this group's ranks, without the leader's; unset: none
  };
  /// Returns the news of all groups if all leaders have posted, each exchange once. `waits`: the leader blocks until
  /// they have. `wish`: this rank's stop request, if any. Throws the errors of the all-gather. **Collective** over the
  /// group.
  ReceivedNews receive(bool waits, std::optional<StopKind> wish);

 private:
  Mesh& mesh_;
  std::unique_ptr<Pending> pending_;
  std::shared_ptr<std::vector<std::string>> gathered_;
};

}  // namespace roll
