// roll tokenize: converts rows of text or messages to token ids and their decoded text, for comparison with other
// tokenizers; or training rows to the tokens of `roll sft` and `roll dpo`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "base/json.h"
#include "checkpoint/hub_cache.h"
#include "data/chats.h"
#include "data/learnt_rows.h"
#include "data/pair_rows.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "train/sft_data.h"

namespace roll {

namespace {

struct TokenizeFlags {
  std::string model, input = "-", output = "-", chat = "native", as = "prompt";
  bool special = true, add_special = true, add_generation_prompt = true;
};

class LineTokenizer {
 public:
  explicit LineTokenizer(const TokenizeFlags& flags) : flags_(flags), tokenizer_(Tokenizer::load(flags.model)) {
    encoder_ = sft_encoder([this]() -> const ChatTemplate& { return chat(); }, tokenizer_);
  }

  /// Returns the output line of one input row. where: prefix of errors.
  std::string line(const Json& row, const std::string& where) {
    if (flags_.as == "sft") return sft_line(row, where);
    if (flags_.as == "dpo") return pair_line(row, where);
    const bool is_chat = row.contains("messages");
    if (!is_chat && !(row.contains("text") && row["text"].is_string()))
      throw user_error("{}: needs \"text\": a string, or \"messages\": a list", where);
    const std::string text = is_chat ? render(row, where) : row["text"].get<std::string>();
    // A rendered template already holds the tokens that a post-processor would add.
    const auto ids = tokenizer_.encode(text, flags_.special, flags_.add_special && !is_chat);
    return fmt::format("{{\"ids\":[{}],\"text\":{}}}\n", fmt::join(ids, ","), to_line(tokenizer_.decode(ids)));
  }

 private:
  const ChatTemplate& chat() {
    if (!template_) template_ = ChatTemplate::load(flags_.model, flags_.chat);
    return *template_;
  }

  std::string render(const Json& row, const std::string& where) {
    Json messages = row["messages"];
    if (messages.is_array())
      for (Json& message : messages)
        if (message.is_object()) message = normal_message(message);
    const auto render = [&](const Json& variables) {
      return chat().render(messages, flags_.add_generation_prompt, variables);
    };
    return render_row(render, template_variables(row, where), where);
  }

  /// Returns ids and labels as Hugging Face has them: label -100 for tokens without loss.
  std::string sft_line(const Json& json, const std::string& where) {
    const RowColumns columns = learnt_columns(json, where, LearntRows::kResponses);
    Row row = parse_learnt_row(json, where, columns);
    const SftRow encoded = encode_sft_row(row, {.prompt = columns}, encoder_);
    std::vector<int64_t> labels = encoded.ids;
    for (size_t t = 0; t < labels.size(); ++t)
      if (t == 0 || !encoded.labels_mask[t - 1]) labels[t] = -100;
    return fmt::format("{{\"ids\":[{}],\"labels\":[{}],\"text\":{}}}\n", fmt::join(encoded.ids, ","),
                       fmt::join(labels, ","), to_line(tokenizer_.decode(encoded.ids)));
  }

  std::string pair_line(const Json& json, const std::string& where) {
    Row row = parse_learnt_row(json, where, {});
    const PairRow pair = encode_pair_row(row, {}, encoder_);
    return fmt::format("{{\"prompt_ids\":[{}],\"chosen_ids\":[{}],\"rejected_ids\":[{}]}}\n",
                       fmt::join(pair.prompt_ids, ","), fmt::join(pair.chosen_ids, ","),
                       fmt::join(pair.rejected_ids, ","));
  }

  TokenizeFlags flags_;
  Tokenizer tokenizer_;
  std::optional<ChatTemplate> template_;
  SftEncoder encoder_;
};

void tokenize(TokenizeFlags& flags) {
  flags.model = model_folder(flags.model, "--model");
  LineTokenizer tokenizer(flags);
  Input in(flags.input);
  Output out(flags.output, in);
  const auto is_own = [&](const Json& row) {
    return flags.as != "prompt" || row.contains("text") || row.contains("messages");
  };
  in.rows(is_own)([&](const Json& row, const std::string& where) {
    out.stream() << tokenizer.line(row, where);
    // Flush if no more input is waiting, as a program may send one line and wait for the answer.
    if (flags.input == "-" && std::cin.rdbuf()->in_avail() <= 0) out.stream().flush();
  });
  out.close();
}

}  // namespace

void add_tokenize(CLI::App& app) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* sub =
      app.add_subcommand("tokenize", "rows of {\"text\"} or {\"messages\"} -> {\"ids\", \"text\": decoded}");
  sub->add_option("--model", flags->model,
                  "model folder with tokenizer.json, a GGUF file, a run's folder, or a Hub name in the local cache")
      ->required();
  sub->add_option("--input", flags->input, kRowInput)->capture_default_str();
  sub->add_option("--out", flags->output, "JSON lines file, - is standard output")->capture_default_str();
  sub->add_flag("--special,!--no-special", flags->special, "Text like <|im_end|> becomes that special token (default)");
  sub->add_flag("--add-special,!--no-add-special", flags->add_special,
                "Add the tokens that the post-processor adds to a text, never to messages (default)");
  sub->add_option("--template", flags->chat, "Template for messages")
      ->check(CLI::IsMember(ChatTemplate::names()))
      ->capture_default_str();
  sub->add_option("--as", flags->as,
                  "prompt, or the tokens that roll sft (ids, labels) or roll dpo makes of training rows")
      ->check(CLI::IsMember({"prompt", "sft", "dpo"}))
      ->capture_default_str();
  sub->add_flag("--generation-prompt,!--no-generation-prompt", flags->add_generation_prompt,
                "End messages with the opening of the assistant's turn (default)");
  sub->callback([flags] {
    std::cin.tie(nullptr);
    tokenize(*flags);
  });
}

}  // namespace roll
