#include "checkpoint/gguf/tensor_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"

namespace roll::gguf {

namespace {

constexpr int64_t kMaxExperts = 10'000;

struct LayerName {
  const char *stored, *folder;
  bool is_bare = false;  // the folder's name ends here, without ".weight"
};
using LayerNames = std::vector<LayerName>;

/// Names that all architectures have.
const LayerNames kCommon = {{"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
                            {"attn_v", "self_attn.v_proj"},      {"attn_output", "self_attn.o_proj"},
                            {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
                            {"attn_norm", "input_layernorm"},    {"ffn_norm", "post_attention_layernorm"},
                            {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
                            {"ffn_down", "mlp.down_proj"}};
const LayerNames kGemmaNorms = {{"post_attention_norm", "post_attention_layernorm"},
                                {"ffn_norm", "pre_feedforward_layernorm"},
                                {"post_ffw_norm", "post_feedforward_layernorm"}};
const LayerNames kNormsBehind = {{"post_attention_norm", "post_attention_layernorm"},
                                 {"post_ffw_norm", "post_feedforward_layernorm"}};
const LayerNames kFusedPhi = {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}};
const LayerNames kGlm = {{"post_attention_norm", "post_self_attn_layernorm"},
                         {"post_ffw_norm", "post_mlp_layernorm"},
                         {"ffn_up", "mlp.gate_up_proj"}};
/// Stacks of experts; "{}" is an expert's number.
const LayerNames kExperts = {{"ffn_gate_inp", "mlp.gate"},
                             {"ffn_gate_exps", "mlp.experts.{}.gate_proj"},
                             {"ffn_up_exps", "mlp.experts.{}.up_proj"},
                             {"ffn_down_exps", "mlp.experts.{}.down_proj"}};
const LayerNames kMixtral = {{"ffn_gate_inp", "block_sparse_moe.gate"},
                             {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1"},
                             {"ffn_up_exps", "block_sparse_moe.experts.{}.w3"},
                             {"ffn_down_exps", "block_sparse_moe.experts.{}.w2"}};
const LayerNames kGptOss = {{"attn_sinks", "self_attn.sinks", true},
                            {"post_attention_norm", "post_attention_layernorm"},
                            {"ffn_gate_inp", "mlp.router"},
                            {"ffn_gate_exps", "mlp.experts.{}.gate_proj"},
                            {"ffn_up_exps", "mlp.experts.{}.up_proj"},
                            {"ffn_down_exps", "mlp.experts.{}.down_proj"}};

/// Names outside layers.
const LayerNames kOuter = {{"token_embd.weight", "model.embed_tokens.weight"},
                           {"output_norm.weight", "model.norm.weight"},
                           {"output.weight", "lm_head.weight"}};

struct ArchitectureRow {
  const char* name;
  std::vector<std::string> model_types;          // values of model_type in config.json
  LayerNames own = {};                           // in addition to kCommon, or in the place of its entries
  bool reorders_heads = false;                   // FolderTensor::heads
  bool raises_norms = false;                     // FolderTensor::is_raised
  std::vector<std::string> read_elsewhere = {};  // tensors that config.json says
};

const std::vector<ArchitectureRow>& rows() {
  static const std::vector<ArchitectureRow> kRows = {
      {.name = "llama",
       .model_types = {"llama", "mistral", "mixtral"},
       .own = kMixtral,
       .reorders_heads = true,
       .read_elsewhere = {"rope_freqs.weight"}},
      {.name = "qwen2", .model_types = {"qwen2"}},
      {.name = "qwen3", .model_types = {"qwen3"}},
      {.name = "qwen3moe", .model_types = {"qwen3_moe"}, .own = kExperts},
      {.name = "gemma", .model_types = {"gemma"}, .raises_norms = true},
      {.name = "gemma2", .model_types = {"gemma2"}, .own = kGemmaNorms, .raises_norms = true},
      {.name = "gemma3", .model_types = {"gemma3_text"}, .own = kGemmaNorms, .raises_norms = true},
      {.name = "phi3",
       .model_types = {"phi3"},
       .own = kFusedPhi,
       .read_elsewhere = {"rope_factors_long.weight", "rope_factors_short.weight"}},
      {.name = "smollm3", .model_types = {"smollm3"}, .reorders_heads = true},
      {.name = "olmo2", .model_types = {"olmo2", "olmo3"}, .own = kNormsBehind},
      {.name = "granite", .model_types = {"granite"}, .reorders_heads = true},
      {.name = "glm4", .model_types = {"glm4"}, .own = kGlm},
      {.name = "gpt-oss", .model_types = {"gpt_oss"}, .own = kGptOss}};
  return kRows;
}

const ArchitectureRow& row_of(const std::string& name) {
  return *std::ranges::find(rows(), name, &ArchitectureRow::name);
}

/// Splits "blk.7.attn_q.weight" into 7, "attn_q" and ".weight". Nothing if the name has another form.
struct LayerTensor {
  int64_t layer = 0;
  std::string part, end;
};
std::optional<LayerTensor> layer_tensor(const std::string& name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return {};
  LayerTensor found;
  const char *begin = name.data() + kPrefix.size(), *end = name.data() + name.size();
  const auto [behind, error] = std::from_chars(begin, end, found.layer);
  if (error != std::errc() || behind == end || *behind != '.' ||
      std::to_string(found.layer).size() != size_t(behind - begin))
    return {};
  const std::string rest(behind + 1, end);
  for (const char* kind : {".weight", ".bias"})
    if (rest.ends_with(kind)) {
      found.end = kind;
      found.part = rest.substr(0, rest.size() - found.end.size());
    }
  return found.part.empty() ? std::nullopt : std::optional(found);
}

const LayerName* find_stored(const ArchitectureRow& row, const std::string& part) {
  for (const LayerNames* names : {&row.own, &kCommon})
    for (const LayerName& known : *names)
      if (part == known.stored) return &known;
  return nullptr;
}

/// The inverse of find_stored(). `part` may hold an expert's number: "mlp.experts.7.up_proj".
const char* stored_part(const ArchitectureRow& row, std::string part) {
  constexpr std::string_view kNumbered = ".experts.";
  if (const size_t found = part.find(kNumbered); found != std::string::npos) {
    const size_t begin = found + kNumbered.size(), end = part.find_first_not_of("0123456789", begin);
    if (end != begin && end != std::string::npos) part.replace(begin, end - begin, "{}");
  }
  for (const LayerNames* names : {&row.own, &kCommon})
    for (const LayerName& known : *names)
      if (part == known.folder) return known.stored;
  return nullptr;
}

bool is_raised(const ArchitectureRow& row, const std::string& folder_name) {
  return row.raises_norms && folder_name.ends_with("norm.weight");
}

class Lister {
 public:
  explicit Lister(const File& file) : file_(file), name_(read_architecture(file)), row_(row_of(name_)) {}

  std::vector<FolderTensor> list() {
    for (const StoredTensor& tensor : file_.tensors())
      if (std::ranges::find(row_.read_elsewhere, tensor.name) == row_.read_elsewhere.end()) add(tensor);
    return std::move(list_);
  }

 private:
  void add(const StoredTensor& tensor) {
    for (const LayerName& outer : kOuter)
      if (tensor.name == outer.stored) return add_as(outer.folder, tensor);
    const auto found = layer_tensor(tensor.name);
    const LayerName* const known = found ? find_stored(row_, found->part) : nullptr;
    if (!known || (known->is_bare && found->end != ".weight"))
      throw user_error("{}: {}: a tensor that models of {} are not known to have here; give the model as safetensors",
                       file_.part_names()[tensor.file], tensor.name, name_);
    const std::string name =
        fmt::format("model.layers.{}.{}{}", found->layer, known->folder, known->is_bare ? "" : found->end);
    if (name.find("{}") != std::string::npos) return add_experts(name, tensor);
    add_as(name, tensor);
    FolderTensor& last = list_.back();
    if (row_.reorders_heads && found->part == "attn_q") last.heads = heads("head_count", tensor);
    if (row_.reorders_heads && found->part == "attn_k") last.heads = heads("head_count_kv", tensor);
  }

  void add_as(const std::string& name, const StoredTensor& tensor) {
    list_.push_back({.name = name, .shape = tensor.shape, .stored = &tensor, .is_raised = is_raised(row_, name)});
  }

  void add_experts(const std::string& name, const StoredTensor& tensor) {
    const size_t dims = name.ends_with(".bias") ? 2 : 3;
    if (tensor.shape.size() != dims || tensor.shape[0] > kMaxExperts)
      throw user_error("{}: {}: a stack of at most {} experts with {} dimensions is needed", file_.name(), tensor.name,
                       kMaxExperts, dims);
    const size_t mark = name.find("{}");
    for (int64_t expert = 0; expert < tensor.shape[0]; ++expert)
      list_.push_back({.name = fmt::format("{}{}{}", name.substr(0, mark), expert, name.substr(mark + 2)),
                       .shape = {tensor.shape.begin() + 1, tensor.shape.end()},
                       .stored = &tensor,
                       .expert = expert});
  }

  int64_t heads(const char* key, const StoredTensor& tensor) const {
    const std::string own = fmt::format("{}.attention.{}", name_, key);
    const auto all = file_.numbers(own), queries = file_.numbers(name_ + ".attention.head_count");
    const auto& found = all ? all : queries;
    const double count = found && !found->empty() ? found->front() : 0;
    if (!(count >= 1) || count > static_cast<double>(tensor.shape[0]) ||
        tensor.shape[0] % (2 * static_cast<int64_t>(count)) != 0)
      file_.fail(own, fmt::format("must divide half the {} rows of {}", tensor.shape[0], tensor.name));
    return static_cast<int64_t>(count);
  }

  const File& file_;
  std::string name_;
  const ArchitectureRow& row_;
  std::vector<FolderTensor> list_;
};

}  // namespace

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  for (const ArchitectureRow& row : rows()) names.emplace_back(row.name);
  return names;
}

std::string read_architecture(const File& file) {
  const char* const key = "general.architecture";
  const std::vector<std::string> known = known_architectures();
  const std::string rule = fmt::format("of GGUF files, models of {} are read", fmt::join(known, ", "));
  const auto name = file.text(key);
  if (!name || std::ranges::find(known, *name) == known.end())
    file.fail(key, rule + (name ? did_you_mean(*name, known) : ""));
  return *name;
}

std::vector<FolderTensor> folder_tensors(const File& file) {
  return Lister(file).list();
}

std::string stored_architecture(const std::string& model_type) {
  for (const ArchitectureRow& row : rows())
    if (std::ranges::find(row.model_types, model_type) != row.model_types.end()) return row.name;
  return "";
}

std::optional<StoredAs> stored_as(const std::string& architecture, const std::string& name) {
  for (const LayerName& outer : kOuter)
    if (name == outer.folder) return StoredAs{.name = outer.stored, .is_raised = is_raised(row_of(architecture), name)};
  const ArchitectureRow& row = row_of(architecture);
  constexpr std::string_view kPrefix = "model.layers.";
  const size_t dot = name.find('.', kPrefix.size());
  if (!name.starts_with(kPrefix) || dot == std::string::npos) return {};
  const std::string layer = "blk." + name.substr(kPrefix.size(), dot - kPrefix.size()) + ".";
  for (const LayerName& known : row.own)
    if (known.is_bare && name.substr(dot + 1) == known.folder)
      return StoredAs{.name = layer + known.stored + ".weight"};
  const size_t end = name.rfind('.');
  if (end <= dot) return {};
  const char* const part = stored_part(row, name.substr(dot + 1, end - dot - 1));
  if (!part) return {};
  StoredAs stored{.name = layer + part + name.substr(end),
                  .is_raised = is_raised(row, name),
                  .is_router = std::string_view(part) == "ffn_gate_inp"};
  if (row.reorders_heads && std::string_view(part) == "attn_q") stored.heads_key = "num_attention_heads";
  if (row.reorders_heads && std::string_view(part) == "attn_k") stored.heads_key = "num_key_value_heads";
  return stored;
}

}  // namespace roll::gguf
