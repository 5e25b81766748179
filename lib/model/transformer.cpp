#include "model/transformer.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/file.h"
#include "model/weights.h"
#include "ops/linear_log_prob.h"
#include "ops/stable_rows.h"

namespace roll {

namespace {

constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "model.embed_tokens.weight";

std::vector<ParameterShape> all_parameters(const ModelSpec& spec) {
  auto list = backbone_parameters(spec);
  if (!spec.tied_head) list.push_back({kHead, {spec.vocab_size, spec.hidden_size}});
  return list;
}

/// Some tools write the tied head a second time; it must then be the embedding.
void check_tied_copy(const HfFolder& folder, const ModelSpec& spec) {
  if (!spec.tied_head || !folder.find(kHead)) return;
  if (!at::equal(folder.read(kHead), folder.read(kEmbedding)))
    throw user_error("{}: {}: differs from {}, but config.json says tie_word_embeddings = true; set it to false",
                     folder.file_of(kHead), kHead, kEmbedding);
}

}  // namespace

Transformer::Transformer(const ModelSpec& spec, NamedTensors parameters, Json config, std::filesystem::path source)
    : parameters_(std::move(parameters)),
      backbone_(spec, parameters_),
      head_(spec.tied_head ? backbone_.embedding() : parameter(parameters_, kHead)),
      config_(std::make_shared<const Json>(std::move(config))),
      source_(std::move(source)) {}

Transformer Transformer::load(const std::filesystem::path& path, at::Device device, at::ScalarType dtype) {
  const Json config = HfFolder::read_config(path);
  const ModelSpec spec = parse_spec(config, (path / "config.json").string());
  const HfFolder folder = HfFolder::open(path);
  check_tied_copy(folder, spec);
  const auto may_ignore = [&](const std::string& name) {
    return is_derived_buffer(name) || (spec.tied_head && name == kHead);
  };
  return {spec, load_parameters(folder, all_parameters(spec), may_ignore, device, dtype), config, path};
}

Transformer Transformer::init(const ModelSpec& spec, uint64_t seed, at::Device device, at::ScalarType dtype) {
  return {spec, init_parameters(all_parameters(spec), seed, device, dtype), hf_config(spec), {}};
}

Transformer Transformer::clone() const {
  return {spec(), clone_parameters(parameters_), *config_, source_};
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  return wide_logits(with_stable_rows(hidden), head_).slice(0, 0, hidden.size(0)).to(at::kFloat);
}

at::Tensor Transformer::prefill(const PackedTokens& prompts, KvCache& cache, at::IntArrayRef slots) const {
  std::vector<int64_t> last(prompts.cu_seqlens.begin() + 1, prompts.cu_seqlens.end());
  for (int64_t& index : last) --index;
  return backbone_.prefill(prompts, cache, slots).index_select(0, at::tensor(last, at::kLong).to(device()));
}

at::Tensor Transformer::decode(const at::Tensor& ids, KvCache& cache, at::IntArrayRef slots) const {
  return backbone_.decode(ids, cache, slots);
}

void Transformer::write_files(const std::filesystem::path& folder, HfSaveOptions options) const {
  if (options.companions.empty()) options.companions = source_;
  write_hf_files(folder, *config_, parameters_, options);
}

void Transformer::save(const std::filesystem::path& folder, HfSaveOptions options) const {
  write_folder_atomic(folder, [&](const std::filesystem::path& temporary) { write_files(temporary, options); });
}

}  // namespace roll
