// What a learner's hooks do after a backward, for tests of the optimizer alone.
#pragma once

#include "optim/optimizer.h"

namespace roll {

inline void accumulate_all(FlatAdamW& optimizer) {
  for (int64_t i = 0; i < std::ssize(optimizer.names()); ++i) optimizer.accumulate(i);
}

}  // namespace roll
