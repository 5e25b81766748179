#include "pipeline/split_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <vector>

#include "base/error.h"
#include "dist/config.h"
#include "pipeline/schedule.h"

namespace roll {

namespace {

using Key = SplitFault::Key;
using SplitResult = std::variant<StageSplit, SplitFault>;

/// Expands the repetitions in Megatron's text, t*3 and (tt|)*3. nullopt: malformed.
std::optional<std::string> expand_repetitions(const std::string& text) {
  constexpr size_t kLongest = 1 << 16;
  std::string expanded;
  size_t group = std::string::npos;  // start of the open group in `expanded`
  size_t repeat_start = 0;           // start of the text that a * repeats
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ',' || c == ' ') continue;
    if (c == '(') {
      if (group != std::string::npos) return std::nullopt;
      group = expanded.size();
    } else if (c == ')') {
      if (group == std::string::npos) return std::nullopt;
      repeat_start = std::exchange(group, std::string::npos);
    } else if (c == '*') {
      size_t times = 0;
      const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + text.size(), times);
      const std::string repeated = expanded.substr(repeat_start);
      if (error != std::errc() || times == 0 || repeated.empty() || times > kLongest / repeated.size())
        return std::nullopt;
      for (size_t k = 1; k < times; ++k) expanded += repeated;
      i = static_cast<size_t>(end - text.data()) - 1;
    } else {
      repeat_start = expanded.size();
      expanded += c;
    }
  }
  return group == std::string::npos ? std::optional(expanded) : std::nullopt;
}

/// Returns the layers of each part in Megatron's text. nullopt: malformed.
std::optional<std::vector<int64_t>> parse_layout(const std::string& text) {
  const std::optional<std::string> expanded = expand_repetitions(text);
  if (!expanded || expanded->empty() || expanded->front() != 'E' || expanded->back() != 'L' ||
      expanded->find_first_not_of("t|", 1) != expanded->size() - 1)
    return std::nullopt;
  std::vector<int64_t> sizes{0};
  for (const char c : *expanded) {
    if (c == 't') ++sizes.back();
    if (c == '|') sizes.push_back(0);
  }
  return sizes;
}

/// Returns the error if a stage has no layer, else "".
std::string check_no_empty_stage(const StageSplit& split) {
  for (int64_t stage = 0; stage < split.num_stages(); ++stage)
    if (split.stage_layers(stage).empty()) return "leaves a stage without a layer; give each stage at least one";
  return "";
}

SplitResult split_by_layout(const std::string& text, const PipelineShape& shape, int64_t num_layers) {
  const auto fault = [](std::string rule) { return SplitFault{Key::kLayout, std::move(rule)}; };
  const auto sizes = parse_layout(text);
  if (!sizes) return fault("is not a layout; write the stages as Et*3|t*4|t*3L, with E first and L last");
  if (std::ssize(*sizes) != shape.num_stages * shape.num_chunks)
    return fault(fmt::format("names {} stages, but pipeline_model_parallel_size = {}{}; make them equal", sizes->size(),
                             shape.num_stages,
                             shape.num_chunks == 1 ? "" : fmt::format(", with {} chunks each", shape.num_chunks)));
  StageSplit split(*sizes, shape.num_chunks);
  if (const std::string rule = check_no_empty_stage(split); !rule.empty()) return fault(rule);
  const int64_t layers = std::reduce(sizes->begin(), sizes->end());
  if (layers != num_layers) return fault(fmt::format("has {} layers, but the model has {}", layers, num_layers));
  return split;
}

/// Splits with given layers in the first or last stage; the other stages share the rest evenly.
SplitResult split_by_ends(const std::optional<int64_t>& first, const std::optional<int64_t>& last,
                          const PipelineShape& shape, int64_t num_layers) {
  const auto [num_stages, num_chunks] = shape;
  const Key key = first ? Key::kFirst : Key::kLast;
  const int64_t num_middle_layers = num_layers - first.value_or(0) - last.value_or(0);
  const int64_t num_middle_stages = num_stages - first.has_value() - last.has_value();
  const bool fits = num_middle_stages == 0
                        ? num_middle_layers == 0
                        : num_middle_layers >= num_middle_stages && num_middle_layers % num_middle_stages == 0;
  if (!fits)
    return SplitFault{
        key, fmt::format("leaves {} of the model's {} layers for {} stages, but these need the same number each, at "
                         "least 1; change it, or write the whole split as pipeline_model_parallel_layout",
                         num_middle_layers, num_layers, num_middle_stages)};
  std::vector<int64_t> sizes(num_stages, num_middle_stages == 0 ? 0 : num_middle_layers / num_middle_stages);
  if (first) sizes.front() = *first;
  if (last) sizes.back() = *last;
  std::vector<int64_t> parts;
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk)
    for (const int64_t size : sizes) {
      if (size % num_chunks != 0)
        return SplitFault{Key::kChunks, fmt::format("must divide the {} layers of each stage; set another number, or "
                                                    "write the whole split as pipeline_model_parallel_layout",
                                                    size)};
      parts.push_back(size / num_chunks);
    }
  return StageSplit(parts, num_chunks);
}

SplitResult split_evenly(bool counts_embedding, bool counts_loss, const PipelineShape& shape, int64_t num_layers) {
  const int64_t counted = num_layers + counts_embedding + counts_loss;
  const int64_t num_parts = shape.num_stages * shape.num_chunks, layers_per_part = counted / num_parts;
  std::vector<int64_t> sizes(num_parts, layers_per_part);
  sizes.front() -= counts_embedding;
  sizes.back() -= counts_loss;
  StageSplit split(sizes, shape.num_chunks);
  if (counted % num_parts == 0 && layers_per_part > 0 && check_no_empty_stage(split).empty()) return split;
  const std::string chunks_text =
      shape.num_chunks == 1 ? "" : fmt::format(", with {} chunks of each stage,", shape.num_chunks);
  return SplitFault{
      Key::kSize, fmt::format("must{} divide the model's {} layers{}, with at least one layer for each stage; set "
                              "another size, num_layers_in_first_pipeline_stage or pipeline_model_parallel_layout",
                              chunks_text, num_layers,
                              counted > num_layers ? " (plus the embedding or the loss, which count as layers)" : "")};
}

}  // namespace

int64_t num_chunks(const StrategyConfig& s) {
  const auto& num_named_chunks = s.virtual_pipeline_model_parallel_size;
  if (num_named_chunks || !s.pipeline_model_parallel_layout) return num_named_chunks.value_or(1);
  const auto parts = parse_layout(*s.pipeline_model_parallel_layout);
  return parts && std::ssize(*parts) % s.pipeline_parallel() == 0 ? std::ssize(*parts) / s.pipeline_parallel() : 1;
}

SplitResult try_stage_split(const StrategyConfig& s, int64_t num_layers) {
  const PipelineShape shape{s.pipeline_parallel(), num_chunks(s)};
  if (shape.num_stages == 1) return StageSplit();
  if (s.pipeline_model_parallel_layout) return split_by_layout(*s.pipeline_model_parallel_layout, shape, num_layers);
  const auto &first = s.num_layers_in_first_pipeline_stage, &last = s.num_layers_in_last_pipeline_stage;
  if (first || last) return split_by_ends(first, last, shape, num_layers);
  return split_evenly(s.account_for_embedding_in_pipeline_split, s.account_for_loss_in_pipeline_split, shape,
                      num_layers);
}

StageSplit stage_split(const StrategyConfig& strategy, int64_t num_layers) {
  auto found = try_stage_split(strategy, num_layers);
  if (const auto* fault = std::get_if<SplitFault>(&found))
    ROLL_CHECK_EQ(fault->rule, "", "the configuration was checked");
  return std::get<StageSplit>(std::move(found));
}

}  // namespace roll
