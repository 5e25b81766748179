#include "checkpoint/gguf/pre_tokenizers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"

namespace roll::gguf {

namespace {

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr const char* kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kChineseOrKana = "[一-龥\u3040-ゟ゠-ヿ]+";

struct SplitRow {
  std::vector<const char*> names;        // values of tokenizer.ggml.pre
  std::vector<const char*> expressions;  // each isolates its matches; none: GPT-2's, by ByteLevel itself
  bool single_digits = false;            // in addition
  bool is_normalized = false, ignores_merges = false, adds_bos = false;
};

const std::vector<SplitRow>& split_rows() {
  static const std::vector<SplitRow> kSplitRows = {
      {.names = {"gpt-2", "phi-2", "olmo", "mpt", "jais", "exaone4", "mellum", "modern-bert"}},
      {.names = {"smollm", "starcoder", "refact", "codeshell", "minerva-7b"}, .single_digits = true},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"},
       .expressions = {kLlama3},
       .ignores_merges = true,
       .adds_bos = true},
      {.names = {"glm4"}, .expressions = {kLlama3}, .ignores_merges = true},
      {.names = {"dbrx", "smaug-bpe", "chatglm-bpe"}, .expressions = {kLlama3}},
      {.names = {"qwen2"}, .expressions = {kQwen2}, .is_normalized = true},
      {.names = {"deepseek-r1-qwen", "megrez", "stablelm2", "hunyuan"}, .expressions = {kQwen2}},
      {.names = {"tekken"}, .expressions = {kTekken}, .ignores_merges = true, .adds_bos = true},
      {.names = {"gpt-4o", "llama4", "kanana2"}, .expressions = {kGpt4o}},
      {.names = {"deepseek-v3", "hunyuan-dense"}, .expressions = {R"(\p{N}{1,3})", kChineseOrKana, kDeepSeek3}},
      {.names = {"default"}, .expressions = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}}};
  return kSplitRows;
}

Json steps_of(const SplitRow& row) {
  Json steps = Json::array();
  if (row.single_digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  for (const char* expression : row.expressions)
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}});
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", true},
                   {"use_regex", row.expressions.empty()}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

/// Lists the steps of a pre-tokenizer, without what has no effect on words.
void list_steps(const FileJson& step, std::vector<FileJson>& steps) {
  if (!step.is_object()) return;
  const std::string type = step.value("type", "");
  if (type == "Sequence") {
    for (const FileJson& part : step.at("pretokenizers")) list_steps(part, steps);
    return;
  }
  steps.push_back(step);
  steps.back().erase("trim_offsets");
  if (type == "ByteLevel") steps.back().emplace("use_regex", true);
}

std::vector<FileJson> listed_steps(const FileJson& pre_tokenizer) {
  std::vector<FileJson> steps;
  list_steps(pre_tokenizer, steps);
  return steps;
}

}  // namespace

PreTokenizerRule pre_tokenizer_rule(const File& file) {
  const char* const key = "tokenizer.ggml.pre";
  const auto name = file.text(key);
  std::vector<std::string> known;
  for (const SplitRow& row : split_rows()) {
    if (name && std::ranges::find(row.names, *name) != row.names.end())
      return {.pre_tokenizer = steps_of(row),
              .is_normalized = row.is_normalized,
              .ignores_merges = row.ignores_merges,
              .adds_bos = row.adds_bos};
    known.insert(known.end(), row.names.begin(), row.names.end());
  }
  file.fail(key, fmt::format("the rule that splits text into words must be one of {}{}; give the model as safetensors",
                             fmt::join(known, ", "), name ? did_you_mean(*name, known) : ""));
}

std::string pre_tokenizer_name(const FileJson& tokenizer, const std::string& architecture) {
  const std::vector<FileJson> steps = listed_steps(tokenizer.value("pre_tokenizer", FileJson()));
  const FileJson normalizer = tokenizer.value("normalizer", FileJson());
  const bool ignores_merges = tokenizer.at("model").value("ignore_merges", false);
  std::string name;
  for (const SplitRow& row : split_rows()) {
    const FileJson own_normalizer = row.is_normalized ? FileJson{{"type", "NFC"}} : FileJson();
    if (row.ignores_merges != ignores_merges || normalizer != own_normalizer || steps != listed_steps(steps_of(row)))
      continue;
    if (std::ranges::find(row.names, architecture) != row.names.end()) return architecture;
    if (name.empty()) name = row.names.front();
  }
  return name;
}

}  // namespace roll::gguf
