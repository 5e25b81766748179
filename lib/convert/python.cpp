#include "convert/python.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <span>

#include "base/error.h"
#include "config/scalar.h"
#include "config/yaml.h"
#include "convert/python_expressions.h"

namespace roll {

namespace {

constexpr std::array<std::string_view, 6> kConfigClasses{"GRPOConfig", "RLOOConfig", "SFTConfig",
                                                         "DPOConfig",  "PPOConfig",  "TrainingArguments"};
constexpr std::array<std::string_view, 4> kTrainerClasses{"GRPOTrainer", "RLOOTrainer", "SFTTrainer", "DPOTrainer"};

/// PEFT's keywords and TRL's flags for them; other keywords become peft_config.*.
constexpr std::pair<std::string_view, const char*> kAdapterFlags[] = {
    {"r", "lora_r"},
    {"lora_alpha", "lora_alpha"},
    {"lora_dropout", "lora_dropout"},
    {"target_modules", "lora_target_modules"},
    {"target_parameters", "lora_target_parameters"},
    {"modules_to_save", "lora_modules_to_save"},
    {"task_type", "lora_task_type"},
    {"use_rslora", "use_rslora"},
    {"use_dora", "use_dora"},
};
/// PEFT's defaults, which differ from those of TRL's command line.
constexpr std::pair<const char*, const char*> kAdapterDefaults[] = {
    {"use_peft", "true"}, {"lora_r", "8"}, {"lora_alpha", "8"}, {"lora_dropout", "0.0"}};
/// Unsloth's defaults.
constexpr std::pair<const char*, const char*> kUnslothDefaults[] = {
    {"use_peft", "true"},
    {"lora_r", "16"},
    {"lora_alpha", "16"},
    {"lora_dropout", "0"},
    {"lora_target_modules", "[q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj]"}};
/// Keywords of Unsloth's get_peft_model that affect speed only.
constexpr std::array<std::string_view, 4> kUnslothSpeed{"use_gradient_checkpointing", "random_state", "max_seq_length",
                                                        "temporary_location"};

using ForeignKeys = std::vector<ForeignKey>;

bool has_key(const ForeignKeys& keys, std::string_view name) {
  return std::ranges::find(keys, name, &ForeignKey::key) != keys.end();
}

/// Returns "model" for a key whose value is the unknown object `model`.
std::string unknown_name(const ForeignKey& key) {
  return key.unknown.substr(0, key.unknown.find(" ("));
}

/// Returns true for keys about weights, which a trainer's call may have besides its configuration.
bool is_weight_key(const std::string& key) {
  return key == "use_peft" || key.starts_with("lora_") || key.starts_with("peft_config") || key == "use_dora" ||
         key == "use_rslora" || key.starts_with("load_in_") || key.starts_with("bnb_") || key == "requires_grad";
}

class PythonReader : private PythonExpressions {
 public:
  using PythonExpressions::PythonExpressions;

  std::vector<ForeignLaunch> launches() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const PythonToken& token = tokens_[at_];
      if (token.kind != PythonToken::Kind::kName) continue;
      const bool is_call = is_sign(at_ + 1, "(");
      if (is_config(at_))
        take_config();
      else if (is_call && std::ranges::find(kTrainerClasses, token.text) != kTrainerClasses.end())
        take_trainer();
      else if (token.begins_line && (is_sign(at_ + 1, "=") || is_sign(at_ + 1, ",")))
        take_assignment();
    }
    for (const PythonToken& token : tokens_) note_weights(token);
    for (ForeignLaunch& launch : launches_) add_weight_signs(launch.keys);
    return std::move(launches_);
  }

 private:
  /// Records an assigned constant. Assigning another value to the name makes it unknown.
  void take_assignment() {
    const std::string name = tokens_[at_].text;
    const size_t begin = at_;
    while (is_sign(at_ + 1, ",") && at_ + 2 < tokens_.size() && tokens_[at_ + 2].kind == PythonToken::Kind::kName)
      at_ += 2;
    if (!is_sign(at_ + 1, "=")) return void(at_ = begin);
    const bool has_single_target = at_ == begin;
    at_ += 2;
    const size_t from = at_;
    if (take_model(name) || !has_single_target) return void(at_ = has_single_target ? begin + 1 : from - 1);
    at_ = from;
    if (is_adapters(at_)) adapters_[name] = adapter_keys();
    at_ = from;
    const PythonValue value = argument();
    const bool is_new = constants_.emplace(name, value).second;
    if (!is_new) adapters_.erase(name);
    if (!is_new) constants_[name].is_known = constants_[name].is_known && constants_[name].text == value.text;
    at_ = value.is_known ? std::max(begin, at_ - 1) : begin + 1;
  }

  /// Records a model with its weight settings: NAME = X.from_pretrained(...), get_peft_model(NAME, ...) and similar
  /// calls.
  bool take_model(const std::string& name) {
    size_t call = at_;
    while (is_sign(call + 1, ".") && call + 2 < tokens_.size()) call += 2;
    if (call >= tokens_.size() || tokens_[call].kind != PythonToken::Kind::kName || !is_sign(call + 1, "("))
      return false;
    const std::string object = tokens_[at_].text, action = tokens_[call].text;
    const PythonToken& where = tokens_[call];
    const bool is_unsloth = object.starts_with("Fast");
    at_ = call;
    if (action == "BitsAndBytesConfig") {
      // The default of transformers is fp4.
      ForeignKeys keys = arguments();
      if (!has_key(keys, "bnb_4bit_quant_type")) keys.push_back({"bnb_4bit_quant_type", "fp4", place(where), ""});
      quantisations_[name] = std::move(keys);
      return true;
    }
    if (action == "from_pretrained") {
      if (!is_unsloth && object.find("Model") == object.npos) return true;
      models_[name] = pretrained(arguments(), is_unsloth, place(where));
      return true;
    }
    if (action == "get_peft_model") {
      ForeignKeys given = arguments();
      ForeignKeys keys = given.empty() ? ForeignKeys() : models_[unknown_name(given[0])];
      std::ranges::copy(is_unsloth         ? adapter_settings(std::move(given), kUnslothDefaults, place(where))
                        : given.size() > 1 ? adapters_[unknown_name(given[1])]
                                           : ForeignKeys(),
                        std::back_inserter(keys));
      models_[name] = std::move(keys);
      return true;
    }
    if (action == "prepare_model_for_kbit_training") {
      const ForeignKeys given = arguments();
      models_[name] = given.empty() ? ForeignKeys() : models_[unknown_name(given[0])];
      return true;
    }
    models_.erase(name);
    return false;
  }

  /// Returns a model's folder and quantisation. Unsloth quantises unless told otherwise.
  ForeignKeys pretrained(ForeignKeys given, bool is_unsloth, const std::string& where) {
    ForeignKeys keys;
    if (is_unsloth && !has_key(given, "load_in_4bit") && !has_key(given, "load_in_8bit") &&
        !has_key(given, "full_finetuning"))
      keys.push_back({"load_in_4bit", "true", where, ""});
    for (ForeignKey& key : given) {
      const bool is_name = key.key.empty() || key.key == "model_name" || key.key == "pretrained_model_name_or_path";
      if (key.key == "quantization_config") {
        const auto known = quantisations_.find(unknown_name(key));
        if (known == quantisations_.end())
          keys.push_back(key);
        else
          std::ranges::copy(known->second, std::back_inserter(keys));
      } else if (is_name && !has_key(keys, "model_name_or_path")) {
        key.key = "model_name_or_path";
        keys.push_back(std::move(key));
      } else if (key.key.starts_with("load_in_") || key.key.starts_with("bnb_4bit_quant")) {
        keys.push_back(std::move(key));
      }
    }
    std::erase_if(keys, [](const ForeignKey& key) {
      return key.key == "bnb_4bit_compute_dtype" || key.key == "bnb_4bit_use_double_quant";
    });
    return keys;
  }

  /// Reads keyword arguments; positional ones get an empty name. Inlines the arguments of BitsAndBytesConfig(...).
  ForeignKeys arguments() {
    ForeignKeys keys;
    at_ += 2;
    while (at_ < tokens_.size() && !is_sign(at_, ")")) {
      const PythonToken& name = tokens_[at_];
      if (take(",")) continue;
      const bool is_keyword = name.kind == PythonToken::Kind::kName && is_sign(at_ + 1, "=");
      if (is_keyword) at_ += 2;
      if (is_keyword && at_ < tokens_.size() && tokens_[at_].text == "BitsAndBytesConfig" && is_sign(at_ + 1, "(")) {
        const std::string where = place(tokens_[at_]);
        ForeignKeys inner = arguments();
        if (!has_key(inner, "bnb_4bit_quant_type")) inner.push_back({"bnb_4bit_quant_type", "fp4", where, ""});
        std::ranges::move(inner, std::back_inserter(keys));
        ++at_;
        continue;
      }
      const size_t begin = at_;
      const PythonValue value = argument();
      at_ += at_ == begin ? 1 : 0;
      const std::string unknown = value.is_known ? "" : fmt::format("{} ({})", value.text, place(name));
      keys.push_back({is_keyword ? name.text : "", value.is_known ? value.text : "", place(name), unknown});
    }
    return keys;
  }

  /// Notes signs that some weights are frozen, quantised or have adapters.
  void note_weights(const PythonToken& token) {
    const std::string& word = token.text;
    const size_t at = static_cast<size_t>(&token - tokens_.data());
    const auto is_next = [&](const char* sign, const char* value) {
      return is_sign(at + 1, sign) && at + 2 < tokens_.size() && tokens_[at + 2].text == value;
    };
    const bool is_frozen =
        (word == "requires_grad" && is_next("=", "False")) || (word == "requires_grad_" && is_next("(", "False"));
    if (is_frozen) weight_signs_.push_back({"requires_grad", "frozen", place(token), ""});
    const bool is_assigned = at >= 2 && is_sign(at - 1, "=") && tokens_[at - 2].begins_line;  // NAME = LoraConfig(...)
    if (((word == "LoraConfig" && !is_assigned) || word == "get_peft_model" || word == "add_adapter") &&
        is_sign(at + 1, "("))
      weight_signs_.push_back({"peft_config", "", place(token), word + "(...)"});
    if ((word == "load_in_4bit" || word == "load_in_8bit") && is_next("=", "True"))
      weight_signs_.push_back({word, "", place(token), word + " = True"});
  }
  /// Adds noted signs that no trainer's call covers, so that the conversion asks for them or refuses them.
  void add_weight_signs(ForeignKeys& keys) const {
    for (const ForeignKey& key : weight_signs_) {
      const bool is_taken = key.key == "peft_config" ? has_key(keys, "use_peft") : has_key(keys, key.key);
      if (!is_taken && !has_key(keys, "peft_config")) keys.push_back(key);
    }
  }

  /// Takes from a trainer's call the model and the keys that make it another kind of training.
  void take_trainer() {
    const std::string name = tokens_[at_].text, where = place(tokens_[at_]);
    std::vector<ForeignKey> keys = keywords(/*holds_config=*/true);
    // LoRA and quantisation settings from the command line win over the script's call.
    std::erase_if(keys, [](const ForeignKey& key) {
      return key.key == "args" || key.key.ends_with("dataset") || key.key == "processing_class" ||
             key.unknown.starts_with("get_peft_config(") || key.unknown.starts_with("get_quantization_config(");
    });
    const auto model = std::ranges::find(keys, "model", &ForeignKey::key);
    if (model != keys.end()) {
      model->key = "model_name_or_path";
      if (const auto known = models_.find(unknown_name(*model)); known != models_.end() && !model->unknown.empty()) {
        keys.erase(model);
        std::ranges::copy(known->second, std::back_inserter(keys));
      }
    }
    if (launches_.empty()) launches_.push_back({name, where, "", "", {}, {}});
    for (ForeignKey& key : keys) launches_.back().keys.push_back(std::move(key));
  }

  bool is_config(size_t at) const {
    return at < tokens_.size() && is_sign(at + 1, "(") &&
           std::ranges::find(kConfigClasses, tokens_[at].text) != kConfigClasses.end();
  }
  void take_config() {
    const PythonToken& name = tokens_[at_];
    launches_.push_back({name.text, place(name), "", "", keywords(/*holds_config=*/false), {}});
  }

  bool is_adapters(size_t at) const {
    return at < tokens_.size() && tokens_[at].text == "LoraConfig" && is_sign(at + 1, "(");
  }
  std::vector<ForeignKey> adapter_keys() {
    const std::string where = place(tokens_[at_]);
    return adapter_settings(keywords(/*holds_config=*/false), kAdapterDefaults, where);
  }
  static ForeignKeys adapter_settings(ForeignKeys given, std::span<const std::pair<const char*, const char*>> defaults,
                                      const std::string& where) {
    ForeignKeys keys;
    for (const auto& [key, standard] : defaults) keys.push_back({key, standard, where, ""});
    for (ForeignKey& key : given) {
      if (key.key.empty() || std::ranges::find(kUnslothSpeed, key.key) != kUnslothSpeed.end()) continue;
      const auto* const word = std::ranges::find(kAdapterFlags, key.key, [](const auto& pair) { return pair.first; });
      key.key = word == std::end(kAdapterFlags) ? "peft_config." + key.key : word->second;
      keys.push_back(std::move(key));
    }
    return keys;
  }

  /// Reads keyword arguments; a trainer's call may also hold the configuration and the adapters.
  std::vector<ForeignKey> keywords(bool holds_config) {
    std::vector<ForeignKey> keys;
    at_ += 2;
    while (at_ < tokens_.size() && !is_sign(at_, ")")) {
      const PythonToken& name = tokens_[at_];
      if (is_sign(at_, ",")) {
        ++at_;
      } else if (name.kind == PythonToken::Kind::kName && is_sign(at_ + 1, "=")) {
        at_ += 2;
        if (holds_config && is_config(at_)) {
          take_config();
          ++at_;
          continue;
        }
        if (holds_config && is_adapters(at_)) {
          std::ranges::move(adapter_keys(), std::back_inserter(keys));
          ++at_;
          continue;
        }
        const PythonValue value = argument();
        if (const auto known = adapters_.find(value.text);
            holds_config && name.text == "peft_config" && known != adapters_.end()) {
          std::ranges::copy(known->second, std::back_inserter(keys));
          continue;
        }
        const std::string unknown = value.is_known ? "" : fmt::format("{} ({})", value.text, place(name));
        keys.push_back({name.text, value.is_known ? value.text : "", place(name), unknown});
      } else {
        const size_t begin = at_;
        argument();
        at_ += at_ == begin ? 1 : 0;  // a closing bracket without an opening one
      }
    }
    return keys;
  }

  std::map<std::string, ForeignKeys> adapters_, models_, quantisations_;  // by the names that hold them
  ForeignKeys weight_signs_;                                              // see note_weights()
  std::vector<ForeignLaunch> launches_;
};

/// Reads the commands, one paragraph each, in the docstring that shows how to start a script.
ForeignScript read_docstring_commands(const PythonToken& docstring, const std::string& origin,
                                      const shell::Reading& reading) {
  BlockReader blocks(origin, reading);
  std::string paragraph;
  int line = docstring.line, begin = line;
  const std::string whole = docstring.text + "\n\n";
  for (size_t at = 0; at < whole.size(); ++line) {
    const size_t end = whole.find('\n', at);
    const std::string text_line = whole.substr(at, end - at);
    at = end + 1;
    if (!text_line.empty() && !text_line.starts_with("```")) {
      if (paragraph.empty()) begin = line;
      paragraph += text_line + "\n";
      continue;
    }
    blocks.add(paragraph, begin);
    paragraph.clear();
  }
  return {blocks.take().launches, {}, ""};
}

}  // namespace

ForeignScript read_python(std::string_view text, const std::string& origin, const shell::Reading& reading) {
  check_text(text, origin);
  const std::vector<PythonToken> tokens = python_tokens(text);
  ForeignScript script{PythonReader(tokens, origin).launches(), {}, ""};
  const auto is_trainer = [](const ForeignLaunch& launch) {
    return std::ranges::find(kTrainerClasses, launch.program) != kTrainerClasses.end();
  };
  const bool has_settings = !std::ranges::all_of(script.launches, is_trainer);
  if (has_settings) return script;
  const auto docstring = std::ranges::find_if(
      tokens, [](const PythonToken& token) { return token.kind == PythonToken::Kind::kText && token.begins_line; });
  if (docstring == tokens.end()) return script;
  ForeignScript commands = read_docstring_commands(*docstring, origin, reading);
  if (commands.launches.empty()) return script;
  // Keys in the script that make it another kind of training still apply.
  for (ForeignLaunch& command : commands.launches)
    for (const ForeignLaunch& trainer : script.launches)
      for (const ForeignKey& key : trainer.keys)
        if (key.key == "tools" || key.key == "environment_factory" || key.key == "rollout_func" ||
            is_weight_key(key.key))
          command.keys.push_back(key);
  return commands;
}

}  // namespace roll
