#include "data/arrow_library.h"

#include <dlfcn.h>

#include "base/file.h"
#include "process/own_program.h"

namespace roll {

const ArrowLibrary& arrow_library(const std::string& file) {
  const auto library = beside_program("libroll_arrow.so");
  if (!is_there(library))
    throw user_error(
        "{}: Parquet and compressed files are read by Apache Arrow, without which this roll was built; run "
        "scripts/setup.sh "
        "and build it again",
        file);
  // The library stays loaded; another call gets the same handle.
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle)
    throw user_error(
        "{}: Parquet and compressed files are read by Apache Arrow's libraries, which cannot be loaded ({}); install "
        "them by: pip install pyarrow==" ROLL_ARROW_VERSION
        ", and where that is not python3's, set ROLL_ARROW to the folder of that pyarrow",
        file, ::dlerror());
  const auto* found = static_cast<const ArrowLibrary*>(::dlsym(handle, "roll_arrow_library"));
  if (!found) throw user_error("{}: {} is of another roll: {}", file, library.string(), ::dlerror());
  return *found;
}

}  // namespace roll
