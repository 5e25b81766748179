// The form that a request gives its response: JSON, JSON of a schema, or a call of a tool. The sampler draws only
// tokens that keep to it.
#pragma once

#include <string>

#include "serve/completion_request.h"

namespace roll {

/// `format`: {"type": "text"}, {"type": "json_object"} or {"type": "json_schema", "json_schema": {name, schema,
/// strict}}. UserError, GrammarsBusy.
void read_response_format(const Json& format, const ServedModel& model, CompletionRequest& request);

/// The response is one call of one of `tools`, in the form that `prompt`, which a template has written, asks for.
/// UserError: the form is not known; a schema of parameters that is not. GrammarsBusy.
void require_call(const Json& tools, const std::string& prompt, const ServedModel& model, CompletionRequest& request);

}  // namespace roll
