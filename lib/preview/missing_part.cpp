#include "preview/missing_part.h"

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/base_folder.h"
#include "checkpoint/hub_cache.h"
#include "data/row_files.h"

namespace roll {

std::string missing_tokenizer(const std::string& model) {
  const auto folder = find_model_folder(model);
  if (!folder) return model + " is not on this machine";
  const auto tokenizer = tokenizer_folder(*folder) / "tokenizer.json";
  return is_there(tokenizer) ? "" : tokenizer.string() + " does not exist";
}

std::string missing_part(const std::string& model, const DataArgs& data, bool offline) {
  if (std::string missing = missing_tokenizer(model); !missing.empty()) return missing;
  try {
    expand_files(data.file_name, data.split);
  } catch (const UserError& e) {
    if (!offline) throw;
    return e.what();
  }
  return "";
}

}  // namespace roll
