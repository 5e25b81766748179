// Response formats, for read_completion(): JSON, JSON of a schema, or a tool call. The sampler draws only tokens that
// fit.
#pragma once

#include <string>

#include "serve/completion_request.h"

namespace roll {

/// Reads `format` into the request's sampling constraint: {"type": "text"}, {"type": "json_object"} or {"type":
/// "json_schema", "json_schema": {name, schema, strict}}. UserError: the format or its schema is not supported.
/// GrammarsBusy: see grammar/grammars.h.
void read_response_format(const Json& format, const ServedModel& model, CompletionRequest& request);

/// Requires the response to be one call of one of `tools`, in the form that the rendered `prompt` asks for. UserError:
/// the form or a parameter schema is not supported. GrammarsBusy: see grammar/grammars.h.
void require_call(const Json& tools, const std::string& prompt, const ServedModel& model, CompletionRequest& request);

}  // namespace roll
