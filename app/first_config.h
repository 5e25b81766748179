// A first configuration from a model and rows: what `roll new` writes, and `roll train` and `roll evaluate` without a
// file run.
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

// What flags and answers name. UserError "--flag = value: ...": it cannot be used.

/// A Hub name, or a folder's absolute path.
std::string model_named(const std::string& name);
/// Absolute paths of files that begin with a row.
std::vector<std::string> rows_named(const std::vector<std::string>& patterns);
std::string validation_named(const std::string& file);
/// A type that needs nothing but its name.
void check_reward_name(const std::string& name);
NewAlgorithm algorithm_named(const std::string& name);

/// The keys of rows in columns of others; nothing of our own.
std::optional<RowColumns> layout_of(const std::string& file);
/// The template to name: nothing where the model has one of its own.
std::optional<std::string> template_for(const std::filesystem::path& model, const Tokenizer& tokenizer);

/// What a look at all rows says.
struct RowsSeen {
  std::string text;                // of `roll data check`
  std::vector<std::string> lines;  // of it: the layout, and lengths and golds of each domain
  std::vector<std::string> warnings;
};
/// Looks at the rows as `roll data check` does, and fills what follows from them. UserError: rows that cannot be used.
RowsSeen measure_rows(NewRun& run, const std::filesystem::path& model);

struct FirstConfig {
  std::string yaml;
  std::string warning;  // "": it fits
};
/// The first layout that fits devices of `limit_gb`; where none does the last, which needs least.
FirstConfig first_config(const NewRun& run, const ModelSpec& spec, std::optional<double> limit_gb);

/// "messages: COLUMN, ...": the keys of data_args that say how a file's rows are read, by its first row.
std::string columns_text(const std::string& file);
/// The last part of a path, glob or Hub name as a name, without what says how a file is written.
std::string data_name(const std::string& name);

/// Flags that stand for a file.
struct FirstFlags {
  std::optional<std::string> model, reward, algorithm, validation;
  std::vector<std::string> data, files{};  // files: rows_named(data), where that is known
  std::optional<double> memory_gb;
  bool evaluates = false;  // nothing is trained: no prompt is too long
  bool any() const { return model || reward || algorithm || validation || memory_gb || !data.empty(); }
};

/// The configuration that flags stand for, with `overrides`; its output_dir is output/[evaluate-]<model>-<data>. Ranks
/// that this process starts are handed it, so that rows are measured once.
CheckedConfig<Config> load_made(const FirstFlags& first, const JobFlags& flags,
                                const std::vector<std::string>& overrides);

}  // namespace roll
