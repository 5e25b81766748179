// Compiles Jinja expressions from tokens to closures, for the template parser (template.cpp). Each function reads the
// longest expression at the stream's position and moves behind it. It throws UserError for a syntax error.
#pragma once

#include "jinja/context.h"
#include "jinja/token_stream.h"

namespace roll::jinja {

/// Parses an expression such as `a if c else d`, without commas outside brackets.
Expression parse_expression(TokenStream& in);

/// Parses an expression without a trailing `if`, which belongs to the loop in `for x in xs if ...`.
Expression parse_expression_without_if(TokenStream& in);

/// Parses one expression, or several that commas separate: the result's value is then the list of their values. With
/// `with_if` false, a trailing `if` is not read.
Expression parse_tuple(TokenStream& in, bool with_if = true);

}  // namespace roll::jinja
