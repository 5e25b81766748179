#include "checkpoint/base_folder.h"

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/hub_cache.h"

namespace roll {

namespace fs = std::filesystem;

Json read_peft_config(const fs::path& folder) {
  Json config = read_json(folder / kPeftConfigFile);
  if (!config.is_object() || config.value("peft_type", Json()) != "LORA")
    throw user_error("{}: peft_type: must be LORA, the only kind of adapter that roll supports",
                     (folder / kPeftConfigFile).string());
  return config;
}

bool is_peft_folder(const fs::path& folder) {
  return is_there(folder / kPeftConfigFile);
}

fs::path base_folder(const fs::path& folder) {
  if (!is_peft_folder(folder)) return folder;
  const std::string where = (folder / kPeftConfigFile).string() + ": base_model_name_or_path";
  const Json config = read_peft_config(folder);
  const auto name = config.find("base_model_name_or_path");
  if (name == config.end() || !name->is_string())
    throw user_error("{}: missing; name the folder of the adapters' base model", where);
  const auto found = find_model_folder(name->get<std::string>());
  if (!found) throw user_error("{} = {}: {}", where, name->get<std::string>(), missing_model(name->get<std::string>()));
  if (is_peft_folder(*found))
    throw user_error("{} = {}: is a folder of adapters, not a base model; merge them first: roll export --merge", where,
                     found->string());
  return *found;
}

fs::path tokenizer_folder(const fs::path& folder) {
  return is_there(folder / "tokenizer.json") ? folder : base_folder(folder);
}

}  // namespace roll
