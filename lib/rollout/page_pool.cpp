#include "rollout/page_pool.h"

#include "base/error.h"

namespace roll {

PagePool::PagePool(int64_t num_pages, int64_t page_size)
    : page_size_(page_size), num_free_(num_pages), pages_(num_pages) {
  for (int64_t page = num_pages; page-- > 0;) unknown_.push_back(static_cast<int32_t>(page));
}

std::optional<int32_t> PagePool::take() {
  if (num_free_ == 0) return {};
  int32_t page = 0;
  if (!unknown_.empty()) {
    page = unknown_.back();
    unknown_.pop_back();
  } else {
    page = idle_.front();
    idle_.pop_front();
    make_unknown(pages_[page]);
  }
  --num_free_;
  pages_[page].holders = 1;
  return page;
}

void PagePool::share(int32_t page) {
  ROLL_CHECK(pages_[page].holders > 0, "a shared page is held");
  ++pages_[page].holders;
}

void PagePool::give_back(int32_t page) {
  Page& entry = pages_[page];
  ROLL_CHECK(entry.holders > 0, "a page that is given back was held");
  if (--entry.holders > 0) return;
  ++num_free_;
  if (entry.content == 0)
    unknown_.push_back(page);
  else
    entry.place = idle_.insert(idle_.end(), page);
}

std::vector<int32_t> PagePool::find_prefix(std::span<const int64_t> ids) {
  std::vector<int32_t> found;
  uint64_t before = 0;
  for (int64_t i = 0; (i + 1) * page_size_ <= std::ssize(ids); ++i) {
    const auto known = known_.find(page_content(ids, i, before));
    if (known == known_.end()) break;
    hold(known->second);
    found.push_back(known->second);
    before = pages_[known->second].content;
  }
  return found;
}

void PagePool::remember(std::span<const int64_t> ids, std::span<const int32_t> pages) {
  uint64_t before = 0;
  for (int64_t i = 0; (i + 1) * page_size_ <= std::ssize(ids); ++i) {
    Page& page = pages_[pages[i]];
    const auto [known, is_new] = known_.emplace(page_content(ids, i, before), pages[i]);
    // Another page may hold the same tokens already; later pages then continue that page's prefix.
    if (is_new) {
      page.content = ++last_content_;
      page.known = known;
    }
    before = pages_[known->second].content;
  }
}

void PagePool::forget() {
  for (const int32_t page : idle_) unknown_.push_back(page);
  idle_.clear();
  for (Page& page : pages_)
    if (page.content != 0) make_unknown(page);
}

void PagePool::hold(int32_t page) {
  Page& entry = pages_[page];
  if (entry.holders++ > 0) return;
  idle_.erase(entry.place);
  --num_free_;
}

void PagePool::make_unknown(Page& page) {
  known_.erase(page.known);
  page.content = 0;
}

PagePool::Content PagePool::page_content(std::span<const int64_t> ids, int64_t index, uint64_t before) const {
  const auto page = ids.subspan(index * page_size_, page_size_);
  return {before, {page.begin(), page.end()}};
}

}  // namespace roll
