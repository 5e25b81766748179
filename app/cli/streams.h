// Files of the command line: those named by --input, --out and other flags ("-" is standard input or output), and
// those that come with the program.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "data/row_source.h"

namespace roll {

/// What --input says of itself where rows() are read.
constexpr const char* kRowInput =
    "rows: JSON lines or an array, CSV, Parquet, also .gz and .zst; known columns of others are recognised; - is JSON "
    "lines on standard input";

class Input {
 public:
  /// UserError "flag = name: ..." when the file cannot be opened.
  explicit Input(const std::string& name, const std::string& flag = "--input");
  std::istream& stream() { return *stream_; }
  /// For messages.
  const std::string& name() const { return name_; }
  /// As it was given: a path, or "-".
  const std::string& path() const { return path_; }
  /// A regular file's, of any format that is read; else JSON lines (row_source.h). A layout that is recognised is noted
  /// on standard error.
  RowSource rows(const std::function<bool(const Json& row)>& is_own);

 private:
  std::string path_, name_;
  std::ifstream file_;
  std::istream* stream_;
};

class Output {
 public:
  /// UserError when the file cannot be opened for writing.
  explicit Output(const std::string& name);
  /// Also where it is, by whatever path, the one that `input` reads: opening it would empty that.
  Output(const std::string& name, const Input& input);
  std::ostream& stream() { return stream_; }
  /// Call after the last line: SystemError if something could not be written.
  void close();

 private:
  std::string name_;
  std::ofstream file_;
  std::ostream stream_;
};

/// On standard output, for programs; a terminal gets it harmless (base/console.h). SystemError: not all was written.
void print_data(const std::string& text);

/// The files of data rows that a flag or key names (expand_files()). UserError "flag = name: ...".
std::vector<std::filesystem::path> files_of_flag(const std::string& flag, const std::vector<std::string>& names,
                                                 const std::optional<std::string>& split = {});

/// UserError "flag = file: ..." where the folder is missing in which a file is to be written, or is a checkpoint's.
void check_folder_of(const std::string& flag, const std::filesystem::path& file);

/// The first of `names` that is there, below share/roll of an installation or in the checkout that the program was
/// built in; the two may have different ones. UserError: none is.
std::filesystem::path own_file(const std::vector<std::string>& names);

/// "warning: ..." for each, on standard error.
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace roll
