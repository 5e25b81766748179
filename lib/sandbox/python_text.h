// The files of python/, one behind the other: what the box's process runs. The build makes it (CMakeLists.txt).
#pragma once

#include <string_view>

namespace roll {

std::string_view python_text();

}  // namespace roll
