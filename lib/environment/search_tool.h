// A search over documents (search_index.h) as a tool.
#pragma once

#include <memory>

#include "environment/search_index.h"
#include "environment/tool.h"

namespace roll {

/// Gives the best `num_results` documents, each cut to `length` bytes. ToolError: no document has a word of the query.
std::unique_ptr<Tool> make_search_tool(std::shared_ptr<const SearchIndex> index, int64_t num_results, int64_t length);

}  // namespace roll
