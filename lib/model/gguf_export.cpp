#include "model/gguf_export.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/scratch_folder.h"
#include "checkpoint/gguf/config_metadata.h"
#include "checkpoint/gguf/gguf_folder.h"
#include "checkpoint/gguf/gguf_writer.h"
#include "checkpoint/gguf/model_config.h"
#include "checkpoint/gguf/tensor_names.h"
#include "checkpoint/gguf/tokenizer_json.h"
#include "checkpoint/gguf/tokenizer_metadata.h"
#include "model/model_folder.h"
#include "model/rewrite.h"
#include "model/transformer.h"
#include "model/weights.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kPieceBytes = 16 << 20;  // encoded numbers that are in memory at once

/// A tensor of the file, and the parameters that it is made of: several for stacks of experts and fused products.
struct PlannedTensor {
  gguf::StoredAs stored;
  std::vector<ParameterShape> parameters;
  std::vector<int64_t> shape;
};

bool is_close(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

/// Compares values of config.json; numbers may differ by the rounding to float32.
bool is_same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return is_close(a.get<double>(), b.get<double>());
  if (!a.is_structured() || a.size() != b.size() || a.type() != b.type()) return a == b;
  for (const auto& [key, value] : a.items()) {
    if (a.is_object() && !b.contains(key)) return false;
    if (!is_same(value, a.is_object() ? b.at(key) : b.at(std::stoul(key)))) return false;
  }
  return true;
}

/// Models without the features in which architectures of one GGUF name differ are the same.
ModelSpec as_plain_sibling(ModelSpec spec, const Architectures& known) {
  if (spec.architecture->name == "mistral" && spec.window == 0)
    spec.architecture = &*std::ranges::find(known, "llama", &Architecture::name);
  return spec;
}

class GgufExporter {
 public:
  GgufExporter(const fs::path& from, const gguf::NumberFormat& format, const Architectures& known)
      : from_(from),
        format_(format),
        known_(known),
        spec_(as_plain_sibling(read_spec(from, known), known)),
        folder_(open_weights(from, spec_)),
        companions_(find_companions(from)),
        config_(hf_config(spec_)),
        architecture_(gguf::stored_architecture(spec_.architecture->name)) {
    plain_ = spec_;
    plain_.lora.reset();
    if (architecture_.empty())
      throw user_error("{}: model_type = {}: GGUF files are written of models of {}; use --dtype for a folder",
                       config_file(), spec_.architecture->name, fmt::join(gguf::known_architectures(), ", "));
    if (has_value_head(from, known))
      throw user_error("{}: holds a value model; GGUF files are written of language models", from.string());
    plan_tensors();
    check_parameters(folder_, policy_parameters(plain_));
    make_metadata();
    check_reading();
  }

  const std::vector<std::string>& notes() const { return notes_; }

  void write(const fs::path& to) {
    gguf::write_gguf(to, metadata_, tensors_, [&](size_t index, const AppendBytes& append) {
      if (index < rope_.size())
        append(rope_bytes(index));
      else
        encode(tensors_[index], values(planned_[index - rope_.size()]), append);
    });
  }

 private:
  std::string config_file() const { return (folder_.path() / "config.json").string(); }

  /// Lists the tensors: those of RoPE come first, so that check_reading() needs no others.
  void plan_tensors() {
    rope_ = gguf::rope_tensors(config_, architecture_);
    for (const auto& [name, numbers] : rope_)
      tensors_.push_back({name, {static_cast<int64_t>(numbers.size())}, &gguf::written_format("F32", "")});
    std::map<std::string, size_t> places;
    for (const ParameterShape& parameter : policy_parameters(plain_)) {
      known_names_.insert(parameter.name), known_names_.insert(parameter.name_in_folder());
      const std::string& name = parameter.expert ? parameter.name : parameter.name_in_folder();
      const auto stored = gguf::stored_as(architecture_, name);
      if (!stored)
        throw user_error("{}: {}: GGUF files of {} models have no such tensor; use --dtype for a folder",
                         from_.string(), name, architecture_);
      const auto [place, is_new] = places.emplace(stored->name, planned_.size());
      if (is_new)
        planned_.push_back({.stored = *stored,
                            .shape = parameter.fused.name.empty() || parameter.expert
                                         ? parameter.shape
                                         : parameter.fused.whole_shape(parameter.shape)});
      planned_[place->second].parameters.push_back(parameter);
    }
    for (PlannedTensor& planned : planned_) {
      if (planned.parameters.front().expert)
        planned.shape.insert(planned.shape.begin(), std::ssize(planned.parameters));
      const bool is_small =
          planned.shape.size() == 1 || planned.stored.is_router || planned.stored.name.ends_with(".bias");
      const gguf::NumberFormat& wanted = is_small ? gguf::written_format("F32", "") : format_;
      const gguf::NumberFormat& fitting = gguf::fitting_format(wanted, planned.shape.back());
      if (&fitting != &wanted) ++num_other_formats_[fitting.name];
      tensors_.push_back({planned.stored.name, planned.shape, &fitting});
    }
  }

  void make_metadata() {
    gguf::add_config(config_, architecture_, metadata_);
    metadata_.text("general.type", "model");
    metadata_.text("general.name",
                   gguf_file_in(from_).value_or(fs::absolute(from_).lexically_normal()).stem().string());
    metadata_.count("general.file_type", format_.file_type);
    metadata_.count("general.quantization_version", 2);
    metadata_.count("general.alignment", 32);
    notes_ =
        gguf::add_tokenizer(companions_, tokenizer_folder(from_).string(), architecture_, spec_.vocab_size, metadata_);
    for (const auto& [name, count] : num_other_formats_)
      notes_.push_back(fmt::format("{} tensors are {}: their rows are not whole blocks of {}, which has {} numbers",
                                   count, name, format_.name, format_.block_size));
    if (spec_.window > 0 && (architecture_ == "phi3" || architecture_ == "llama"))
      notes_.push_back(
          fmt::format("{}: sliding_window = {}: llama.cpp ignores it in such models, so that it computes "
                      "longer texts otherwise",
                      config_file(), spec_.window));
    if (spec_.tied_head && (architecture_ == "olmo2" || architecture_ == "gpt-oss"))
      notes_.push_back(fmt::format("{}: tie_word_embeddings = true: llama.cpp opens no tied models of {}",
                                   config_file(), architecture_));
    if (spec_.rope.kind == RopeKind::kYarn && !spec_.rope.truncate)
      notes_.push_back(fmt::format(
          "{}: rope_parameters.truncate = false: llama.cpp rounds YaRN's bounds and computes slightly other angles",
          config_file()));
  }

  /// Reads the metadata as roll reads the file to be written, and compares: a file of the same head, and holes.
  void check_reading() {
    const ScratchFolder scratch("roll-gguf-");
    const fs::path file = scratch.path() / "head.gguf";
    std::string bytes = gguf::file_head(metadata_, tensors_);
    size_t size = bytes.size();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const std::string padding = gguf::padding_behind(tensors_[i].num_bytes());
      size += tensors_[i].num_bytes() + padding.size();
      if (i < rope_.size()) bytes += rope_bytes(i) + padding;
    }
    write_file_atomic(file, bytes);
    fs::resize_file(file, size);
    compare_head(file);
  }

  void compare_head(const fs::path& file) const {
    ModelSpec read;
    std::map<std::string, std::string> files;
    std::set<std::string> names;
    try {
      const gguf::File head(file);
      read = as_plain_sibling(parse_spec(gguf::model_config(head), file.string(), known_), known_);
      files = gguf::tokenizer_files(head);
      for (const gguf::FolderTensor& tensor : gguf::folder_tensors(head)) names.insert(tensor.name);
    } catch (const UserError& e) {
      throw user_error("{}: the GGUF file would be refused when it is read: {}", from_.string(), e.what());
    }
    compare(read);
    if (const auto tokenizer = files.find("tokenizer.json"); tokenizer != files.end())
      gguf::check_merges(companions_, tokenizer_folder(from_).string(), tokenizer->second);
    for (const PlannedTensor& planned : planned_)
      for (const ParameterShape& parameter : planned.parameters)
        ROLL_CHECK(names.contains(parameter.expert ? parameter.name : parameter.name_in_folder()),
                   planned.stored.name + " is read under its own name");
  }

  void compare(ModelSpec read) const {
    if (read.rope.kind == RopeKind::kLlama3 && spec_.rope.kind == RopeKind::kLlama3) {
      Rope a = read.ropes().front(), b = spec_.ropes().front();
      if (at::allclose(inverse_frequencies(a), inverse_frequencies(b), 2e-4, 0)) read.rope = spec_.rope;
    }
    const Json found = hf_config(read);
    for (const auto& [key, value] : config_.items()) {
      const Json other = found.value(key, Json());
      if (!is_same(value, other))
        throw user_error("{}: {} = {}: a GGUF file of {} would be read as {}; use --dtype for a folder", config_file(),
                         key, value.dump(), architecture_, other.dump());
    }
  }

  std::string rope_bytes(size_t index) const {
    const std::vector<float>& numbers = rope_[index].second;
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
  }

  /// Returns parameters of the model, with adapters merged: float32.
  NamedTensors load(const std::vector<ParameterShape>& wanted) {
    if (!spec_.lora && !spec_.quantised) {
      if (!parts_) parts_ = std::make_unique<ParameterShards>(plain_, policy_parameters(plain_), nullptr);
      const auto may_ignore = [&, head = lm_head_parameter(spec_).name](const std::string& name) {
        return known_names_.contains(name) || is_derived_buffer(name) || (spec_.tied_head && name == head) ||
               is_kept(spec_, name);
      };
      return load_parameters(folder_, wanted, *parts_, may_ignore, at::kCPU, at::kFloat);
    }
    if (merged_.empty()) {
      const auto model = Transformer::load(from_, at::kCPU, stored_dtype(folder_, spec_), {}, known_);
      merged_ = merged_parameters(model.backbone(), model.parameters(), policy_parameters(plain_));
    }
    const ParameterIndex all(merged_);
    NamedTensors found;
    for (const ParameterShape& parameter : wanted) found.emplace_back(parameter.name, all[parameter.name]);
    return found;
  }

  /// Returns the numbers as GGUF files have them: contiguous float32.
  at::Tensor values(const PlannedTensor& planned) {
    const at::NoGradGuard no_grad;
    NamedTensors parts = load(planned.parameters);
    at::Tensor values = parts.front().second;
    if (planned.parameters.front().expert) {
      std::vector<at::Tensor> experts;
      for (auto& [name, tensor] : parts) experts.push_back(std::move(tensor));
      values = at::stack(experts);
    } else if (parts.size() > 1) {
      values = fused_tensors(planned.parameters, parts).front().second;
    }
    values = values.to(at::kFloat);
    if (!planned.stored.heads_key.empty()) {  // ggml's rotary embedding turns neighbours, Hugging Face's turns halves
      const auto heads = config_.at(planned.stored.heads_key).get<int64_t>();
      values = values.reshape({heads, 2, values.size(0) / heads / 2, -1}).transpose(1, 2).reshape(values.sizes());
    }
    if (planned.stored.is_raised) values = values + 1;
    const bool is_plain = format_.code == gguf::kF32;
    check_values(values,
                 is_plain                      ? at::kFloat
                 : format_.code == gguf::kBf16 ? at::kBFloat16
                                               : at::kHalf,
                 fmt::format("{}: {}", from_.string(), planned.parameters.front().name));
    return values.contiguous();
  }

  static void encode(const gguf::NewTensor& tensor, const at::Tensor& values, const AppendBytes& append) {
    const gguf::NumberFormat& format = *tensor.format;
    const int64_t num_blocks = values.numel() / format.block_size;
    const int64_t piece = std::max<int64_t>(1, kPieceBytes / format.block_bytes);
    std::string bytes;
    for (int64_t first = 0; first < num_blocks; first += piece) {
      const int64_t count = std::min(piece, num_blocks - first);
      bytes.resize(static_cast<size_t>(count * format.block_bytes));
      at::parallel_for(0, count, 256, [&](int64_t begin, int64_t end) {
        format.quantise(values.const_data_ptr<float>() + (first + begin) * format.block_size, end - begin,
                        reinterpret_cast<unsigned char*>(bytes.data()) + begin * format.block_bytes);
      });
      append(bytes);
    }
  }

  fs::path from_;
  const gguf::NumberFormat& format_;
  const Architectures& known_;
  ModelSpec spec_, plain_;  // plain_: without adapters
  HfFolder folder_;
  Companions companions_;
  Json config_;
  std::string architecture_;
  std::vector<std::pair<std::string, std::vector<float>>> rope_;
  std::vector<PlannedTensor> planned_;
  std::vector<gguf::NewTensor> tensors_;  // rope_'s, then planned_'s
  std::map<std::string, int64_t> num_other_formats_;
  std::set<std::string> known_names_;
  gguf::Metadata metadata_;
  std::vector<std::string> notes_;
  std::unique_ptr<ParameterShards> parts_;
  NamedTensors merged_;
};

}  // namespace

std::vector<std::string> export_gguf(const fs::path& from, const fs::path& to, const std::string& type, bool merges,
                                     const Architectures& known) {
  const gguf::NumberFormat& format = gguf::written_format(type, "--gguf");
  if (to.extension() != ".gguf")
    throw user_error("--out = {}: with --gguf it must end with .gguf; name a file such as model.{}.gguf", to.string(),
                     type);
  if (is_there(to)) throw user_error("--out = {}: exists; name a new file or remove it", to.string());
  check_merge(from, merges);
  GgufExporter exporter(from, format, known);
  if (to.has_parent_path()) make_folder(to.parent_path());
  exporter.write(to);
  return exporter.notes();
}

}  // namespace roll
