#include "rollout/page_pool.h"

#include "base/error.h"

namespace roll {

PagePool::PagePool(int64_t num_pages, int64_t page_size)
    : page_size_(page_size), num_free_(num_pages), pages_(num_pages) {
  for (int64_t page = num_pages; page-- > 0;) uncached_pages_.push_back(static_cast<int32_t>(page));
}

std::optional<int32_t> PagePool::take() {
  if (num_free_ == 0) return {};
  int32_t page = 0;
  if (!uncached_pages_.empty()) {
    page = uncached_pages_.back();
    uncached_pages_.pop_back();
  } else {
    page = idle_pages_.front();
    idle_pages_.pop_front();
    remove_from_cache(pages_[page]);
  }
  --num_free_;
  pages_[page].num_holders = 1;
  return page;
}

void PagePool::share(int32_t page) {
  ROLL_CHECK(pages_[page].num_holders > 0, "a shared page is held");
  ++pages_[page].num_holders;
}

void PagePool::give_back(int32_t page) {
  Page& entry = pages_[page];
  ROLL_CHECK(entry.num_holders > 0, "a page that is given back was held");
  if (--entry.num_holders > 0) return;
  ++num_free_;
  if (entry.content == 0)
    uncached_pages_.push_back(page);
  else
    entry.idle_position = idle_pages_.insert(idle_pages_.end(), page);
}

std::vector<int32_t> PagePool::find_prefix(std::span<const int64_t> ids) {
  std::vector<int32_t> found;
  uint64_t prefix_content = 0;
  for (int64_t i = 0; (i + 1) * page_size_ <= std::ssize(ids); ++i) {
    const auto known = cached_pages_.find(page_content(ids, i, prefix_content));
    if (known == cached_pages_.end()) break;
    hold(known->second);
    found.push_back(known->second);
    prefix_content = pages_[known->second].content;
  }
  return found;
}

void PagePool::remember(std::span<const int64_t> ids, std::span<const int32_t> pages) {
  uint64_t prefix_content = 0;
  for (int64_t i = 0; (i + 1) * page_size_ <= std::ssize(ids); ++i) {
    Page& page = pages_[pages[i]];
    const auto [known, is_new] = cached_pages_.emplace(page_content(ids, i, prefix_content), pages[i]);
    // Another page may hold the same tokens already; later pages then continue that page's prefix.
    if (is_new) {
      page.content = ++last_content_;
      page.cache_entry = known;
    }
    prefix_content = pages_[known->second].content;
  }
}

void PagePool::forget() {
  for (const int32_t page : idle_pages_) uncached_pages_.push_back(page);
  idle_pages_.clear();
  for (Page& page : pages_)
    if (page.content != 0) remove_from_cache(page);
}

void PagePool::hold(int32_t page) {
  Page& entry = pages_[page];
  if (entry.num_holders++ > 0) return;
  idle_pages_.erase(entry.idle_position);
  --num_free_;
}

void PagePool::remove_from_cache(Page& page) {
  cached_pages_.erase(page.cache_entry);
  page.content = 0;
}

PagePool::Content PagePool::page_content(std::span<const int64_t> ids, int64_t index, uint64_t prefix_content) const {
  const auto page = ids.subspan(index * page_size_, page_size_);
  return {prefix_content, {page.begin(), page.end()}};
}

}  // namespace roll
