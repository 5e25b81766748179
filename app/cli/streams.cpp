#include "app/cli/streams.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/console.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/manifest.h"
#include "data/row_files.h"
#include "process/own_program.h"

namespace roll {

namespace {

/// Returns true if both are the same regular file; a shared terminal or /dev/null is harmless.
bool is_same_file(const std::string& input, const std::string& output) {
  const auto get_regular_file_status = [](const std::string& name, int fd, struct stat& found) {
    return (name == "-" ? ::fstat(fd, &found) : ::stat(name.c_str(), &found)) == 0 && S_ISREG(found.st_mode);
  };
  struct stat in {
  }, out{};
  return get_regular_file_status(input, STDIN_FILENO, in) && get_regular_file_status(output, STDOUT_FILENO, out) &&
         in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

}  // namespace

Input::Input(const std::string& name, const std::string& flag)
    : path_(name), name_(name == "-" ? "stdin" : name), stream_(&std::cin) {
  if (name == "-") return;
  if (!is_there(name))
    throw user_error("{} = {}: no such file; give a JSON-lines file, or - for standard input", flag, name);
  file_.open(name, std::ios::binary);
  if (!file_ || file_.peek() == std::ifstream::traits_type::eof()) {
    if (!file_.is_open()) throw user_error("{} = {}: cannot open{}", flag, name, errno_text());
    if (file_.bad()) throw user_error("{} = {}: cannot read{}", flag, name, errno_text());
    file_.clear();  // an empty file is an empty list of rows
  }
  stream_ = &file_;
}

RowSource Input::rows(const std::function<bool(const Json& row)>& is_own_row) {
  std::error_code ec;
  if (path_ == "-" || !std::filesystem::is_regular_file(path_, ec)) return json_lines(stream(), name());
  return read_row_file(path_, is_own_row,
                       [](const std::string& text) { std::fprintf(stderr, "note: %s\n", text.c_str()); });
}

Output::Output(const std::string& name, const Input& input)
    : Output(is_same_file(input.path(), name)
                 ? throw user_error("--out = {}: is the file that --input reads; write to another one", name)
                 : name) {}

Output::Output(const std::string& name) : name_(name == "-" ? "stdout" : name), stream_(data_buffer()) {
  if (name == "-") return;
  check_parent_folder("--out", name);
  file_.open(name, std::ios::binary | std::ios::trunc);
  if (!file_) throw user_error("--out = {}: cannot open for writing{}", name, errno_text());
  stream_.rdbuf(file_.rdbuf());
}

void Output::close() {
  stream_.flush();
  if (!stream_) throw system_error("{}: cannot write{}", name_, errno_text());
}

void print_data(const std::string& text) {
  Output output("-");
  output.stream() << text;
  output.close();
}

void check_parent_folder(const std::string& flag, const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (!folder.empty() && !is_folder(folder))
    throw user_error("{} = {}: the folder {} does not exist; create it first", flag, file.string(), folder.string());
  if (!file.empty()) refuse_in_checkpoint(flag, file);
}

std::vector<std::filesystem::path> expand_flag_files(const std::string& flag, const std::vector<std::string>& names,
                                                     const std::optional<std::string>& split) {
  try {
    return expand_files(names, split);
  } catch (const UserError& e) {  // "name: rule"
    throw user_error("{} = {}", flag, e.what());
  }
}

std::filesystem::path find_shipped_file(const std::vector<std::string>& names) {
  const std::filesystem::path program = own_program();
  for (const char* share : {"share/roll", ""})
    for (const std::string& name : names)
      if (const std::filesystem::path file = program.parent_path().parent_path() / share / name; is_there(file))
        return file;
  throw user_error(
      "{}: the file {} of this program (share/roll) is missing; install the whole package, or run the program from a "
      "checkout",
      program.string(), names.front());
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
}

}  // namespace roll
