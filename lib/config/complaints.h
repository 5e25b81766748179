// Errors of a configuration, collected so that one run reports all of them.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

class Complaints {
 public:
  void add(const Place& place, const std::string& text) { list_.push_back({place, text}); }
  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }

  /// UserError with the first ten in the order of the files' lines, one per line, and where the others are; nothing
  /// when there are none.
  void throw_if_any() const;

 private:
  struct Complaint {
    Place place;
    std::string text;
  };
  std::vector<Complaint> list_;
};

}  // namespace roll
