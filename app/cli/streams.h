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

/// The input of a command: a file, or standard input.
class Input {
 public:
  /// Opens the file `name`; "-" is standard input. `flag` is the flag that named it, for messages. Throws UserError
  /// "flag = name: ..." if the file cannot be opened or read. An empty file is allowed.
  explicit Input(const std::string& name, const std::string& flag = "--input");
  /// Returns the stream of the raw bytes.
  std::istream& stream() { return *stream_; }
  /// Returns the name for messages: the path, or "stdin".
  const std::string& name() const { return name_; }
  /// Returns the constructor's `name`: a path, or "-".
  const std::string& path() const { return path_; }
  /// Returns a source that reads the rows: any supported format for a regular file, JSON lines for pipes and standard
  /// input (data/row_source.h). If `is_own_row` returns false for the first row, the file's columns are taken for those
  /// of another project and renamed; a note on standard error names that project. Call it once, and do not read
  /// stream() then. This object must outlive the source.
  RowSource rows(const std::function<bool(const Json& row)>& is_own_row);

 private:
  std::string path_, name_;
  std::ifstream file_;
  std::istream* stream_;
};

/// The output of --out: a file, or standard output.
class Output {
 public:
  /// Creates the file `name`, or empties it; "-" is standard output. Throws UserError "--out = name: ..." if the file
  /// cannot be opened for writing or lies in a checkpoint, or its folder does not exist.
  explicit Output(const std::string& name);
  /// Like the other constructor. Throws UserError also if `name` is the file that `input` reads, because opening would
  /// empty it.
  Output(const std::string& name, const Input& input);
  std::ostream& stream() { return stream_; }
  /// Flushes the stream; call it once, after the last line. The destructor does not report errors. Throws SystemError
  /// if not everything could be written.
  void close();

 private:
  std::string name_;
  std::ofstream file_;
  std::ostream stream_;
};

/// Prints data on standard output: unchanged into a file or pipe, escaped on a terminal (base/console.h). Throws
/// SystemError if not everything could be written.
void print_data(const std::string& text);

/// Returns the row files for the values `names` of a flag: paths, globs, folders, or data sets of the local Hub cache;
/// `split` selects files of folders and data sets (expand_files() in data/row_files.h). Throws UserError "flag = name:
/// ..." if a name matches no file, a file appears twice, or there are several splits and no `split`.
std::vector<std::filesystem::path> expand_flag_files(const std::string& flag, const std::vector<std::string>& names,
                                                     const std::optional<std::string>& split = {});

/// Checks that the output file `file` of the flag `flag` can be created in its folder. Throws UserError "flag = file:
/// ..." if the folder does not exist or belongs to a checkpoint.
void check_parent_folder(const std::string& flag, const std::filesystem::path& file);

/// Returns a file that is shipped with the program. `names` are alternative paths, relative to share/roll of the
/// installation or to the source checkout; the first existing file is returned. Throws UserError if none exists.
std::filesystem::path find_shipped_file(const std::vector<std::string>& names);

/// Prints each text as a line "warning: ..." on standard error.
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace roll
