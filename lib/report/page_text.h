// Style and scripts of the page, the .css and .js files of this folder, as text in the program.
#pragma once

#include <string_view>

namespace roll {

std::string_view page_style();
std::string_view page_script();

}  // namespace roll
