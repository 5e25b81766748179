// How deep an interpreter is in commands, functions and expansions, which call each other.
#pragma once

#include "base/error.h"
#include "shell/interpreter.h"

namespace roll::shell {

class Interpreter::Deeper {
 public:
  Deeper(Interpreter& interpreter, Place place) : depth_(interpreter.depth_) {
    constexpr int kDeepest = 250;
    if (++depth_ <= kDeepest) return;
    --depth_;
    throw user_error("{}: commands, functions and variables are nested too deep", interpreter.text_of(place));
  }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

}  // namespace roll::shell
