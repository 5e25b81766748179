#include "rollout/prompt_lines.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "config/json_node.h"
#include "config/keys.h"
#include "data/rows.h"
#include "rollout/sampler.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

/// Keys of a row's "sampling" object.
struct LineSampling {
  GeneratingArgs generating;
  std::optional<int64_t> seed;
  std::map<std::string, double> logit_bias;

  void fields(Keys& v) {
    generating.fields(v);
    v("seed", seed, "seed of the line's random numbers", at_least(0));
    v("logit_bias", logit_bias, "added to the logits of these token ids");
  }
};

void read_sampling(const Json& value, const std::string& where, const PromptLineRules& rules, PromptLine& line) {
  if (!value.is_object()) throw user_error("{}: sampling: must be an object, not {}", where, value.type_name());
  LineSampling sampling{.generating = rules.generating, .seed = {}, .logit_bias = {}};
  try {
    read_json_fields(value, sampling, "sampling.");
    if (sampling.generating.num_return_sequences)
      throw UserError("sampling.num_return_sequences: cannot be set for one line; use -n for all lines");
    line.generating = sampling_settings(sampling.generating);
    line.generating->logit_bias = token_biases(sampling.logit_bias, rules.vocab_size, "sampling.logit_bias");
  } catch (const UserError& error) {
    throw user_error("{}: {}", where, error.what());
  }
  if (sampling.seed) line.seed = static_cast<uint64_t>(*sampling.seed);
}

class LineEncoder {
 public:
  LineEncoder(const Tokenizer& tokenizer, const PromptLineRules& rules) : tokenizer_(tokenizer), rules_(rules) {}

  PromptLine read(const Json& line, const std::string& where) {
    PromptLine read{.ids = encode(line, where), .generating = {}, .seed = {}};
    if (line.contains("sampling")) read_sampling(line["sampling"], where, rules_, read);
    return read;
  }

 private:
  std::vector<int64_t> encode(const Json& line, const std::string& where) {
    const std::string field = only_prompt_field(line, where);
    const Json& value = line[field];
    std::vector<int64_t> ids = field == "ids"        ? parse_ids(value, where)
                               : field == "messages" ? encode_messages(value, where)
                                                     : encode_text(value, where);
    if (ids.empty()) throw user_error("{}: {} = {}: has no token; give at least one", where, field, to_line(value));
    if (std::ssize(ids) > rules_.max_tokens)
      throw user_error("{}: {}: has {} tokens; at most {} leave room for a response{}", where, field, ids.size(),
                       rules_.max_tokens, rules_.remedy);
    return ids;
  }

  static std::string only_prompt_field(const Json& line, const std::string& where) {
    std::string field;
    for (const char* name : {"prompt", "messages", "ids"}) {
      if (!line.contains(name)) continue;
      if (!field.empty()) throw user_error("{}: has both '{}' and '{}'; keep only one", where, field, name);
      field = name;
    }
    if (field.empty()) throw user_error("{}: needs \"prompt\": text, \"messages\": a list, or \"ids\": a list", where);
    return field;
  }

  std::vector<int64_t> parse_ids(const Json& value, const std::string& where) const {
    if (!value.is_array()) throw user_error("{}: ids: must be a list of token ids, not {}", where, value.type_name());
    std::vector<int64_t> ids;
    for (const Json& id : value) {
      const bool is_known = id.is_number_integer() && id >= 0 && id < rules_.vocab_size;
      if (!is_known)
        throw user_error("{}: ids[{}] = {}: must be a token id of the model, 0..{}", where, ids.size(), to_line(id),
                         rules_.vocab_size - 1);
      ids.push_back(id.get<int64_t>());
    }
    return ids;
  }

  std::vector<int64_t> encode_messages(const Json& value, const std::string& where) {
    const Json messages = parse_messages(value, where, "messages");
    if (!template_) template_ = ChatTemplate::load(rules_.model_folder, rules_.template_name);
    try {
      // The rendered template already contains the special tokens.
      return require_known_ids(tokenizer_.encode(template_->render(messages, true), true, false), where);
    } catch (const UserError& e) {
      throw user_error("{}: {}", where, e.what());
    }
  }

  std::vector<int64_t> encode_text(const Json& value, const std::string& where) const {
    if (!value.is_string()) throw user_error("{}: prompt: must be a string, not {}", where, value.type_name());
    return require_known_ids(tokenizer_.encode(value.get_ref<const std::string&>()), where);
  }

  std::vector<int64_t> require_known_ids(std::vector<int64_t> ids, const std::string& where) const {
    const auto unknown = std::ranges::find_if(ids, [&](int64_t id) { return id >= rules_.vocab_size; });
    if (unknown != ids.end())
      throw user_error(
          "{}: the tokenizer gives token id {}, but the model has only ids 0..{}; use the model's own tokenizer", where,
          *unknown, rules_.vocab_size - 1);
    return ids;
  }

  const Tokenizer& tokenizer_;
  const PromptLineRules& rules_;
  std::optional<ChatTemplate> template_;
};

}  // namespace

std::vector<PromptLine> read_prompt_lines(const RowSource& rows, const Tokenizer& tokenizer,
                                          const PromptLineRules& rules) {
  LineEncoder encoder(tokenizer, rules);
  std::vector<PromptLine> lines;
  rows([&](const Json& row, const std::string& where) { lines.push_back(encoder.read(row, where)); });
  return lines;
}

bool names_generated_prompt(const Json& row) {
  return row.contains("messages") || row.contains("ids") || (row.contains("prompt") && !row["prompt"].is_array());
}

}  // namespace roll
