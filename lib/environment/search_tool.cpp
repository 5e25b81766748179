#include "environment/search_tool.h"

namespace roll {

namespace {

std::string beginning(const std::string& text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (text[bytes] & 0xC0) == 0x80) --bytes;  // inside a UTF-8 character
  return text.substr(0, bytes) + "...";
}

class SearchTool : public Tool {
 public:
  SearchTool(std::shared_ptr<const SearchIndex> index, int64_t num_results, int64_t length)
      : index_(std::move(index)), num_results_(num_results), length_(length) {}
  std::string name() const override { return "search"; }
  std::string description() const override { return "Finds the documents that a query is about."; }
  std::string argument() const override { return "query"; }
  std::string argument_description() const override { return "words that the documents should have"; }

  std::string call(const std::string& query) override {
    std::string answer;
    for (const int64_t number : index_->find(query, num_results_))
      answer += (answer.empty() ? "" : "\n\n") + beginning(index_->document(number), length_);
    if (answer.empty()) throw ToolError("no document has any of these words");
    return answer;
  }

 private:
  std::shared_ptr<const SearchIndex> index_;
  int64_t num_results_, length_;
};

}  // namespace

std::unique_ptr<Tool> make_search_tool(std::shared_ptr<const SearchIndex> index, int64_t num_results, int64_t length) {
  return std::make_unique<SearchTool>(std::move(index), num_results, length);
}

}  // namespace roll
