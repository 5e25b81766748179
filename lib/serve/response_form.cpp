#include "serve/response_form.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "environment/tagged_calls.h"
#include "grammar/grammars.h"
#include "grammar/json_grammar.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

Grammars& require_grammars(const ServedModel& model, const std::string& key) {
  if (!model.grammars) throw user_error("{}: {}", key, model.no_grammars);
  if (model.tokenizer.eos_ids().empty())
    throw user_error("{}: is not supported, because the model's folder names no token that ends a response", key);
  return *model.grammars;
}

std::string parse_schema_grammar(const Json& format) {
  constexpr const char* kKey = "response_format.json_schema";
  const Json schema = format.value("json_schema", Json());
  if (!schema.is_object() || !schema.contains("schema")) throw user_error("{}: must be {{name, schema, strict}}", kKey);
  for (const auto& [key, value] : schema.items())
    if (key != "name" && key != "schema" && key != "strict" && key != "description")
      throw user_error("{}.{}: is not a known field; the fields are name, schema, strict and description", kKey, key);
  return schema_grammar(schema["schema"], std::string(kKey) + ".schema");
}

}  // namespace

void read_response_format(const Json& format, const ServedModel& model, CompletionRequest& request) {
  constexpr const char* kKey = "response_format";
  const Json type = format.is_object() ? format.value("type", Json()) : Json();
  if (type == "text") return;
  if (type != "json_object" && type != "json_schema")
    throw user_error("{} = {}: must be {{\"type\": \"text\"}}, json_object or json_schema", kKey,
                     to_line(format).substr(0, 80));
  Grammars& grammars = require_grammars(model, kKey);
  request.sampling.constraint =
      grammars.constraint(type == "json_object" ? object_grammar() : parse_schema_grammar(format), kKey);
}

void require_call(const Json& tools, const std::string& prompt, const ServedModel& model, CompletionRequest& request) {
  constexpr const char* kKey = "tool_choice";
  const auto prompt_has = [&](std::string_view text) { return prompt.find(text) != std::string::npos; };
  const bool is_hermes = model.tool_call_form == ToolCallForm::kMarked && prompt_has(kCallOpens) &&
                         prompt_has("\"arguments\"") && !prompt_has("<function=") && !prompt_has("<arg_key>");
  const bool is_llama = model.tool_call_form == ToolCallForm::kLlama3;
  if (!is_hermes && !is_llama)
    throw user_error(
        "{}: must be auto or none for this model; a call can be required only of models that write calls as JSON, "
        "between {} and {} or in Llama 3's form",
        kKey, kCallOpens, kCallCloses);
  const std::string grammar = is_hermes ? call_grammar(tools, "arguments", std::string(kCallOpens) + "\n",
                                                       "\n" + std::string(kCallCloses), kKey)
                                        : call_grammar(tools, "parameters", "", "", kKey);
  request.sampling.constraint = require_grammars(model, kKey).constraint(grammar, kKey);
}

}  // namespace roll
