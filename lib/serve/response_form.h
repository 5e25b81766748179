// Restricts a response to JSON, to JSON of a schema, or to a tool call, for read_completion(). The functions set a
// grammar in the request; the sampler then draws only tokens that the grammar allows.
#pragma once

#include <string>

#include "serve/completion_request.h"

namespace roll {

/// Sets request.sampling.constraint from the body's field response_format: {"type": "text"} (no constraint), {"type":
/// "json_object"} or {"type": "json_schema", "json_schema": {name, schema, strict}}. Throws UserError if the format or
/// its schema is not supported, and GrammarsBusy if too many grammars are in use (grammar/grammars.h).
void read_response_format(const Json& format, const ServedModel& model, CompletionRequest& request);

/// Sets request.sampling.constraint so that the response is one call of one of `tools` (list of schemas). `prompt`: the
/// rendered prompt, from which the form of the call is taken. Throws UserError if that form or a parameter schema is
/// not supported, and GrammarsBusy as above.
void require_call(const Json& tools, const std::string& prompt, const ServedModel& model, CompletionRequest& request);

}  // namespace roll
