// Tool `search` for environments of type `tools`: searches local documents (search_index.h).
#pragma once

#include <memory>

#include "environment/search_index.h"
#include "environment/tool.h"

namespace roll {

/// Creates the tool. A call returns the texts of the best `num_results` documents, each cut to `length` bytes. It
/// throws ToolError if no document has a word of the query.
std::unique_ptr<Tool> make_search_tool(std::shared_ptr<const SearchIndex> index, int64_t num_results, int64_t length);

}  // namespace roll
