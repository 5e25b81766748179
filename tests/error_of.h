// What a test needs to see of an error.
#pragma once

#include <string>

#include "base/error.h"

namespace roll::testing {

/// What the UserError that `work` throws says; "no error" where it throws none.
template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace roll::testing
