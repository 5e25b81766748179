#include "base/names.h"

#include "base/error.h"

namespace roll {

void throw_unknown_name(std::string_view name) {
  ROLL_CHECK(false, fmt::format("every {} has its row", name));
  __builtin_unreachable();
}

}  // namespace roll
