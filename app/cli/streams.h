// Input and output files of commands: named by --input, --out and other flags ("-" is standard input or output), or
// shipped with the program.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "data/row_source.h"

namespace roll {

/// Help text of --input for commands that call Input::rows().
constexpr const char* kRowInput =
    "rows: JSON lines, a JSON array, CSV or Parquet, also .gz and .zst; columns of other projects are detected; - is "
    "JSON lines on standard input";

class Input {
 public:
  /// Opens the file. UserError "flag = name: ...": it cannot be opened or read.
  explicit Input(const std::string& name, const std::string& flag = "--input");
  std::istream& stream() { return *stream_; }
  /// Returns the name for messages.
  const std::string& name() const { return name_; }
  /// Returns the name as given: a path, or "-".
  const std::string& path() const { return path_; }
  /// Returns the rows: any supported format for a regular file, else JSON lines (row_source.h). If the first row is not
  /// `is_own_row`, the file's column layout is detected; a note on standard error names it.
  RowSource rows(const std::function<bool(const Json& row)>& is_own_row);

 private:
  std::string path_, name_;
  std::ifstream file_;
  std::istream* stream_;
};

class Output {
 public:
  /// Opens the file. UserError: it cannot be opened for writing.
  explicit Output(const std::string& name);
  /// Opens the file. UserError: also if it is the file that `input` reads, because opening would empty it.
  Output(const std::string& name, const Input& input);
  std::ostream& stream() { return stream_; }
  /// Flushes; call it after the last line. SystemError: not everything was written.
  void close();

 private:
  std::string name_;
  std::ofstream file_;
  std::ostream stream_;
};

/// Prints data on standard output, unchanged for programs and escaped for a terminal (base/console.h). SystemError: not
/// everything was written.
void print_data(const std::string& text);

/// Returns the row files that a flag or key names (expand_files()). UserError "flag = name: ...": as expand_files().
std::vector<std::filesystem::path> expand_flag_files(const std::string& flag, const std::vector<std::string>& names,
                                                     const std::optional<std::string>& split = {});

/// Checks the folder of an output file. UserError "flag = file: ...": it is missing, or belongs to a checkpoint.
void check_parent_folder(const std::string& flag, const std::filesystem::path& file);

/// Returns the first existing file of `names`, in share/roll of the installation or in the source checkout of the
/// program. UserError: none exists.
std::filesystem::path find_shipped_file(const std::vector<std::string>& names);

/// Prints each as "warning: ..." on standard error.
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace roll
