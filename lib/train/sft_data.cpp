#include "train/sft_data.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include "base/error.h"

namespace roll {

namespace {

LoadedRows<SftRow> load(const RowConfig& config, const DataArgs& data, const std::filesystem::path& model_folder,
                        const Tokenizer& tokenizer, bool learns_prompts, Progress* progress) {
  if (data.file_name.empty()) return {};
  const auto chat = load_chat_template_once(
      model_folder, data.template_name.value_or(config.global_template.value_or("native")), data.enable_thinking);
  const SftEncoder encoder = sft_encoder(chat, tokenizer);
  return load_rows<SftRow>(
      data, config.sequence_length,
      [&](Row& row, const RowColumns& columns) {
        SftRow encoded = encode_sft_row(row, {columns, data.response}, encoder);
        if (learns_prompts) std::fill(encoded.labels_mask.begin(), std::prev(encoded.labels_mask.end()), 1);
        return encoded;
      },
      progress);
}

}  // namespace

LoadedRows<SftRow> load_sft_rows(const RowConfig& config, const DataArgs& data,
                                 const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                 Progress* progress) {
  return load(config, data, model_folder, tokenizer, /*learns_prompts=*/false, progress);
}
LoadedRows<SftRow> load_sft_rows(const DistillConfig& config, const DataArgs& data,
                                 const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                 Progress* progress) {
  return load(config, data, model_folder, tokenizer, config.distill_on_prompt, progress);
}

std::function<const ChatTemplate&()> load_chat_template_once(const std::filesystem::path& model_folder,
                                                             const std::string& name,
                                                             std::optional<bool> enable_thinking) {
  struct Lazy {
    std::once_flag once;
    std::optional<ChatTemplate> chat;
  };
  const std::function<const ChatTemplate&()> chat = [=, lazy = std::make_shared<Lazy>()]() -> const ChatTemplate& {
    std::call_once(lazy->once, [&] { lazy->chat = ChatTemplate::load(model_folder, name, enable_thinking); });
    return *lazy->chat;
  };
  if (name != "native") chat();  // load now, so that a wrong name fails early
  return chat;
}

SftEncoder sft_encoder(const std::function<const ChatTemplate&()>& chat, const Tokenizer& tokenizer) {
  std::vector<std::string> eos_texts;
  for (const int64_t id : tokenizer.eos_ids())
    if (std::string text = tokenizer.decode({&id, 1}); !text.empty()) eos_texts.push_back(std::move(text));
  return {.render = [chat](const Json& messages, bool open,
                           const Json& variables) { return chat().render(messages, open, variables); },
          .encode = [&tokenizer](std::string_view text,
                                 bool add) { return tokenizer.encode(text, /*parse_special=*/true, add); },
          .encode_behind = [&tokenizer](std::span<const int64_t> before,
                                        std::string_view text) { return tokenizer.encode_behind(before, text); },
          .eos_ids = tokenizer.eos_ids(),
          .eos_texts = std::move(eos_texts)};
}

int64_t count_updates(const RowConfig& config, int64_t num_rows, int64_t batch_size) {
  const int64_t updates = config.max_steps.value_or(config.num_train_epochs * num_rows / batch_size);
  if (updates > 0) return updates;
  throw user_error("{}: {} rows x {} epochs are fewer than the {} rows of one update; lower the batch size or add rows",
                   config.trained_key, num_rows, config.num_train_epochs, batch_size);
}

}  // namespace roll
