#include "model/rewrite.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/bitsandbytes.h"
#include "model/model_folder.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "model/weights.h"

namespace roll {

at::ScalarType stored_dtype(const HfFolder& folder, const ModelSpec& spec) {
  const std::set<std::string> wide = wide_names(backbone_parameters(spec));
  at::ScalarType widest = at::kByte;
  for (const TensorEntry& entry : folder.entries())
    if (!is_bitsandbytes_part(entry.name) && !wide.contains(entry.name) && !is_kept(spec, entry.name) &&
        !is_derived_buffer(entry.name))
      widest = at::promote_types(widest, entry.dtype);
  return at::isFloatingType(widest) ? widest : at::kFloat;
}

void check_merge(const std::filesystem::path& from, bool merges) {
  if (is_peft_folder(from) && !merges)
    throw user_error("{}: holds adapters; give --merge to write the model with the adapters merged into its weights",
                     from.string());
  if (!is_peft_folder(from) && merges) throw user_error("{}: holds no adapters; leave --merge out", from.string());
}

void rewrite_folder(const std::filesystem::path& from, const std::filesystem::path& to, HfSaveOptions options,
                    bool merges, const Architectures& known) {
  if (is_there(to)) throw user_error("--out = {}: exists; name a new folder or remove it", to.string());
  check_merge(from, merges);
  const ModelSpec spec = read_spec(from, known);
  const HfFolder folder = open_renamed(from, *spec.architecture);
  if (folder.entries().empty()) throw user_error("{}: holds no tensors", from.string());
  const at::ScalarType dtype = stored_dtype(folder, spec);
  for (const TensorEntry& entry : folder.entries())
    if (at::isFloatingType(entry.dtype) && at::elementSize(entry.dtype) >= 2)  // others are refused below
      check_values(folder.read(entry.name), options.dtype.value_or(dtype),
                   fmt::format("{}: {}", folder.tensor_file(entry.name), entry.name));
  if (has_value_head(from, known)) {
    ValueModel::load(from, at::kCPU, dtype, {}, known).save(to, options);
  } else {
    Transformer::load(from, at::kCPU, dtype, {}, known).save(to, options);
  }
}

}  // namespace roll
