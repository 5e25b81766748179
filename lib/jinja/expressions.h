// Jinja expressions: tokens -> closures.
#pragma once

#include "jinja/context.h"
#include "jinja/token_stream.h"

namespace roll::jinja {

/// a, b if c else d ... without the tuple.
Expression parse_expression(TokenStream& in);

/// An expression without a trailing `if`, which in `for x in xs if ...` belongs to the loop.
Expression parse_expression_without_if(TokenStream& in);

/// One expression, or several with commas between, which are a list.
Expression parse_tuple(TokenStream& in, bool with_if = true);

}  // namespace roll::jinja
