// What groups of ranks tell each other while they sample, without anybody waiting who has work: each group's leader
// posts its news and goes on; once all have posted, each gets the news of all. So all groups hear the same things in
// the same order, and can decide alike. The ranks of a group hear them before the same step.
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

  /// Whether this rank has posted news and not yet got everybody's.
  bool is_posted() const { return pending_ != nullptr; }
  /// For leaders; **collective** over them.
  void post(const SamplingNews& news);

  struct Heard {
    std::vector<SamplingNews> news;  // by group; none where they are not all there yet
    std::optional<StopKind> wish;    // to stop, of the ranks of this group, the leader excepted
  };
  /// **Collective** over the group. `waits`: until all have posted. Errors as the collective's own.
  Heard look(bool waits, std::optional<StopKind> wish);

 private:
  Mesh& mesh_;
  std::unique_ptr<Pending> pending_;
  std::shared_ptr<std::vector<std::string>> told_;
};

}  // namespace roll
