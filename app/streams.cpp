#include "app/streams.h"

#include <iostream>

#include "base/error.h"

namespace roll {

Input::Input(const std::string& name) : name_(name == "-" ? "stdin" : name), stream_(&std::cin) {
  if (name == "-") return;
  file_.open(name, std::ios::binary);
  if (!file_ || file_.peek() == std::ifstream::traits_type::eof()) {
    if (!file_.is_open()) throw user_error("{}: cannot open{}", name, errno_text());
    if (file_.bad()) throw user_error("{}: cannot read{}", name, errno_text());
    file_.clear();  // an empty file is an empty list of rows
  }
  stream_ = &file_;
}

Output::Output(const std::string& name) : name_(name == "-" ? "stdout" : name), stream_(&std::cout) {
  if (name == "-") return;
  file_.open(name, std::ios::binary | std::ios::trunc);
  if (!file_) throw user_error("{}: cannot open for writing{}", name, errno_text());
  stream_ = &file_;
}

void Output::close() {
  stream_->flush();
  if (!*stream_) throw system_error("{}: cannot write{}", name_, errno_text());
}

}  // namespace roll
