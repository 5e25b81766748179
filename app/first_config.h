// Generates a first configuration from a model and a data set's rows: `roll new` writes it; `roll train` and `roll
// evaluate` run it if they get no file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/job.h"
#include "model/spec.h"
#include "preview/new_run.h"
#include "text/tokenizer.h"

namespace roll {

// The functions check_model() to parse_algorithm() check the value of a flag, or of an answer to a question of `roll
// new`. They throw UserError "--flag = value: ..." if the value cannot be used.

/// Checks that `name`, a folder or Hub name in the local cache, holds a model and a tokenizer. Returns the Hub name
/// unchanged, or the folder's absolute path.
std::string check_model(const std::string& name);
/// Names of splits (parts of a data set such as train or test) for training, validation and `roll evaluate`, first
/// choice first.
inline const std::vector<std::string> kTrainingSplits = {"train"},
                                      kValidationSplits = {"validation", "valid", "val", "dev", "test"},
                                      kTestSplits = {"test", "validation", "valid", "val", "dev"};
/// Returns the absolute paths of the row files that `patterns` name: paths, globs, folders, or data sets of the Hub
/// cache. If a folder has several splits, takes the first of `splits` that it has, with a note on standard error.
/// Throws UserError if a file has no row.
std::vector<std::string> find_rows(const std::vector<std::string>& patterns,
                                   const std::vector<std::string>& splits = kTrainingSplits);
/// Returns the absolute path of a file of validation rows: of `file`, or, if that is a folder, of the first file of its
/// validation split.
std::string find_validation_file(const std::string& file);
/// Returns `given`, a reward type or a Python function as FILE.py:FUNCTION, whose path becomes absolute. Throws
/// UserError if there is no such type, function or file, or if the type needs a model or further keys.
std::string checked_reward(const std::string& given);
/// Parses the name of an algorithm, in upper or lower case.
NewAlgorithm parse_algorithm(const std::string& name);

/// Returns the columns of a row file in another project's format, detected from its first row; nullopt if the columns
/// have our own names.
std::optional<RowColumns> recognise_columns(const std::string& file);
/// Returns the built-in chat template to configure, by its name in the key `template`: "chatml" if the tokenizer has
/// its tokens, else "empty"; nullopt if the model has a template.
std::optional<std::string> choose_template(const std::filesystem::path& model, const Tokenizer& tokenizer);

/// Result of a check of all rows.
struct RowsReport {
  std::string text;                   // the whole report, as `roll data check` prints it
  std::vector<std::string> lines;     // a short form: lines on the column layout, lengths and answers
  std::vector<std::string> warnings;  // oddities of rows that can be used
};
/// Checks the rows in run.data for run.reward, like `roll data check`, with the tokenizer of the folder `model`. Sets
/// the fields of `run` that follow from the rows: num_rows, prompts, domains, layout, has_messages, chat_template.
/// Throws UserError if there is no row, or if some cannot be used; then prints the report on standard output.
RowsReport measure_rows(NewRun& run, const std::filesystem::path& model);

/// Result of first_config().
struct FirstConfig {
  std::string yaml;
  std::string warning;  // says that the devices have too little memory; "" if they have enough, or for no `limit_gb`
};
/// Returns the configuration with the first of suggest_layouts() (preview/new_run.h) whose estimated memory per device
/// fits into 90 % of `limit_gb` (memory of one device, in 1e9 bytes). If none fits, returns the last layout with a
/// warning. Without `limit_gb`, returns the first layout unchecked.
FirstConfig first_config(const NewRun& run, const ModelSpec& spec, std::optional<double> limit_gb);

/// Returns YAML for the keys of data_args that name the columns of a row file, detected from its first row: "messages:
/// COLUMN" or "prompt: COLUMN".
std::string columns_text(const std::string& file);
/// Returns a name for rows: the last part of a path, glob or Hub name without extensions such as .jsonl.gz; characters
/// that do not suit a folder name become _.
std::string data_name(const std::string& name);

/// Flags that a user gives in place of a configuration file.
struct FirstFlags {
  std::optional<std::string> model, reward, algorithm, validation;  // --model, --reward, --algorithm, --validation
  std::vector<std::string> data;                                    // --data: patterns for find_rows()
  std::vector<std::string> files{};  // result of find_rows(data); empty: load_generated() calls find_rows()
  std::optional<double> memory_gb;   // --memory-gb: 1e9 bytes of memory of one device; unset: not checked
  bool evaluates = false;            // for `roll evaluate`: nothing is trained, and prompts of any length are kept
  /// Returns true if the user gave any of the flags.
  bool any() const { return model || reward || algorithm || validation || memory_gb || !data.empty(); }
};

/// Builds the configuration for the flags `first`, applies `overrides` (key=value) and checks it. output_dir is
/// output/[evaluate-]<model>-<data>. `flags` gives the device and the number of ranks. Ranks that this process starts
/// inherit the configuration by an environment variable, so that only this process reads all rows. Throws UserError if
/// --model or --data is missing, or a value cannot be used.
CheckedConfig<Config> load_generated(const FirstFlags& first, const JobFlags& flags,
                                     const std::vector<std::string>& overrides);

}  // namespace roll
