#include "data/arrow_library.h"

#include <dlfcn.h>

#include "base/file.h"
#include "process/own_program.h"

namespace roll {

const ArrowLibrary& arrow_library(const std::string& file) {
  const auto library = beside_program("libroll_arrow.so");
  if (!is_there(library))
    throw user_error(
        "{}: Parquet and compressed files need Apache Arrow, but this roll was built without it; run scripts/setup.sh "
        "and build roll again",
        file);
  // The library stays loaded; another call gets the same handle.
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle)
    throw user_error(
        "{}: Parquet and compressed files need Apache Arrow's libraries, which cannot be loaded ({}); install them "
        "with: pip install pyarrow==" ROLL_ARROW_VERSION
        "; if python3 does not find that pyarrow, set ROLL_ARROW to its folder",
        file, ::dlerror());
  const auto* found = static_cast<const ArrowLibrary*>(::dlsym(handle, "roll_arrow_library"));
  if (!found) throw user_error("{}: {} belongs to another version of roll: {}", file, library.string(), ::dlerror());
  return *found;
}

}  // namespace roll
