// Collects the errors of a configuration, so that they are all reported at once. Used by reader.h and checker.h.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

class Complaints {
 public:
  /// Adds an error; `text` does not repeat the place.
  void add(const Place& place, const std::string& text) { list_.push_back({place, text}); }
  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }

  /// Throws a UserError if there are errors. Its message lists the first ten in the order of the file's lines, one per
  /// line as "place: text", then the places of the others.
  void throw_if_any() const;

 private:
  struct Complaint {
    Place place;
    std::string text;
  };
  std::vector<Complaint> list_;
};

}  // namespace roll
