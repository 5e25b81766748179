// Generates a first configuration from a model and rows: `roll new` writes it; `roll train` and `roll evaluate` run it
// if they get no file.
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

// Values of flags and of answers to questions. UserError "--flag = value: ...": the value cannot be used.

/// Checks a model; returns its Hub name, or the folder's absolute path.
std::string check_model(const std::string& name);
/// Splits that a folder is named for, first choice first.
inline const std::vector<std::string> kTrainingSplits = {"train"},
                                      kValidationSplits = {"validation", "valid", "val", "dev", "test"},
                                      kTestSplits = {"test", "validation", "valid", "val", "dev"};
/// Returns the absolute paths of row files. A folder with several splits gives the first of `splits` that it has, with
/// a note. UserError: a file has no row.
std::vector<std::string> find_rows(const std::vector<std::string>& patterns,
                                   const std::vector<std::string>& splits = kTrainingSplits);
/// Returns the absolute path of a validation file.
std::string find_validation_file(const std::string& file);
/// Checks a reward type. UserError: it needs a model or other keys besides its name.
void check_reward_name(const std::string& name);
/// Parses the name of an algorithm.
NewAlgorithm parse_algorithm(const std::string& name);

/// Returns the detected column layout of a file in another project's format; nullopt for our own format.
std::optional<RowColumns> recognise_columns(const std::string& file);
/// Returns the chat template to configure; nullopt if the model has its own.
std::optional<std::string> choose_template(const std::filesystem::path& model, const Tokenizer& tokenizer);

/// Result of a check of all rows.
struct RowsReport {
  std::string text;                // report of `roll data check`
  std::vector<std::string> lines;  // report lines on the layout, and on lengths and answers per domain
  std::vector<std::string> warnings;
};
/// Checks the rows like `roll data check` and fills the fields of `run` that follow from them. UserError: the rows
/// cannot be used.
RowsReport measure_rows(NewRun& run, const std::filesystem::path& model);

/// A configuration as YAML.
struct FirstConfig {
  std::string yaml;
  std::string warning;  // empty: it fits
};
/// Returns the configuration with the first parallel layout that fits devices of `limit_gb`; if none fits, the last
/// layout, with a warning.
FirstConfig first_config(const NewRun& run, const ModelSpec& spec, std::optional<double> limit_gb);

/// Returns the keys of data_args that describe a file's columns, e.g. "messages: COLUMN", from its first row.
std::string columns_text(const std::string& file);
/// Returns the last part of a path, glob or Hub name, without file extensions.
std::string data_name(const std::string& name);

/// Flags that replace a configuration file.
struct FirstFlags {
  std::optional<std::string> model, reward, algorithm, validation;
  std::vector<std::string> data, files{};  // files: find_rows(data), if already known
  std::optional<double> memory_gb;
  bool evaluates = false;  // evaluation only: prompts of any length are kept
  bool any() const { return model || reward || algorithm || validation || memory_gb || !data.empty(); }
};

/// Builds and loads the configuration for the flags, with `overrides`; output_dir is output/[evaluate-]<model>-<data>.
/// Ranks that this process starts inherit it by an environment variable, so that rows are measured once.
CheckedConfig<Config> load_generated(const FirstFlags& first, const JobFlags& flags,
                                     const std::vector<std::string>& overrides);

}  // namespace roll
