// Allocates KV-cache pages, with reference counts and a prefix cache; used by the scheduler. It manages page numbers
// only, not the memory. A holder is a sequence that uses a page. A page without holders is free; if it is in the prefix
// cache, it keeps its content until take() needs it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace roll {

/// Not thread-safe.
class PagePool {
 public:
  /// Pages are numbered 0 .. num_pages - 1. `page_size`: tokens per page.
  PagePool(int64_t num_pages, int64_t page_size);

  int64_t page_size() const { return page_size_; }
  int64_t num_pages() const { return std::ssize(pages_); }
  /// Returns the number of pages that take() can allocate.
  int64_t num_free() const { return num_free_; }

  /// Allocates a free page for one holder; nullopt if all pages are held. Prefers pages outside the prefix cache, then
  /// the least recently used one in it, which leaves the cache.
  std::optional<int32_t> take();
  /// Adds a holder to a page that has at least one; throws Bug if it has none.
  void share(int32_t page);
  /// Removes a holder; after the last one, the page is free. Throws Bug if it has none.
  void give_back(int32_t page);

  /// Returns the cached pages of the longest known prefix of `ids`, in order; empty if no prefix is known. A prefix is
  /// a number of full pages. The caller becomes a holder of each page and must give it back.
  std::vector<int32_t> find_prefix(std::span<const int64_t> ids);
  /// Adds pages to the prefix cache, except a last one that `ids` does not fill and those whose content is cached in
  /// another page. `pages`: held by the caller; pages[i] holds the keys and values of tokens [i * page_size, (i + 1) *
  /// page_size) of `ids`.
  void remember(std::span<const int64_t> ids, std::span<const int32_t> pages);
  /// Empties the prefix cache, for new weights. Holders keep their pages.
  void forget();

 private:
  /// Key of a cached page: content number of the prefix before it (0: none), and the page's own token ids.
  using Content = std::pair<uint64_t, std::vector<int64_t>>;
  struct Page {
    int64_t num_holders = 0;
    uint64_t content = 0;  // unique number of the prefix up to the page's end; 0: unknown
    std::map<Content, int32_t>::iterator cache_entry{};
    std::list<int32_t>::iterator idle_position{};  // position in idle_pages_ while cached and not held
  };

  void hold(int32_t page);
  void remove_from_cache(Page& page);
  Content page_content(std::span<const int64_t> ids, int64_t index, uint64_t prefix_content) const;

  int64_t page_size_, num_free_;
  std::vector<Page> pages_;
  std::vector<int32_t> uncached_pages_;  // free pages with unknown content
  std::list<int32_t> idle_pages_;        // cached pages that nobody holds, least recently used first
  std::map<Content, int32_t> cached_pages_;
  uint64_t last_content_ = 0;
};

}  // namespace roll
