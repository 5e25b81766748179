#include "train/epoch_order.h"

#include "base/random.h"

namespace roll {

std::vector<int64_t> EpochOrder::update_rows(int64_t update) {
  std::vector<int64_t> chosen;
  for (int64_t p = (update - 1) * rows_per_update_; p < update * rows_per_update_; ++p) {
    if (p / num_rows_ != epoch_) {
      epoch_ = p / num_rows_;
      order_ = random_permutation(num_rows_, {.seed = static_cast<uint64_t>(seed_),
                                              .purpose = Purpose::kEpochShuffle,
                                              .step = static_cast<uint32_t>(epoch_)});
    }
    chosen.push_back(order_[p % num_rows_]);
  }
  return chosen;
}

}  // namespace roll
