// Every struct that holds keys has
//
//   template <class V> void fields(V& v) { v("pg_clip", pg_clip, "ratio is kept in 1 -+ pg_clip"); ... }
//
// the one place where a key's name, default, allowed values and meaning stand. A visitor `v` offers
//   v(key, member, doc)                     member: bool, int64_t, double, std::string, an enum with names or a chosen
//                                           row (base/names.h), a vector, a map with text keys, an optional of those,
//                                           another such struct, or a type with from_config_text
//   v(key, member, doc, range)              its numbers (range.h); without one: any finite number
//   v.bool_or_text(key, text, doc)          true and false become "true" and "false"
//   v.noted({keys}, reason)                 accepted, with a note that it means nothing here; `image_*` is a pattern
//   v.refused({keys}, reason)               an error, unless null, false, 0 or empty
//   v.refused_above_one({keys}, reason)     an error, unless that or 1: sizes of a layout
//
// Walk visits all members of such a struct, groups within groups included.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/names.h"
#include "config/range.h"

namespace roll {

using KeyList = std::initializer_list<const char*>;

/// Asks only whether a type has fields().
struct FieldsProbe {
  template <class M>
  void operator()(const char*, M&, const char*, const Range& = {}) {}
  void bool_or_text(const char*, std::string&, const char*) {}
  void noted(KeyList, const char*) {}
  void refused(KeyList, const char*) {}
  void refused_above_one(KeyList, const char*) {}
};

template <class T>
concept HasFields = requires(T& t, FieldsProbe& v) {
  t.fields(v);
};

/// What stands in a fields() line.
struct KeyInfo {
  std::string path;                  // "actor_train.training_args.learning_rate"
  std::string key;                   // its last part
  std::vector<std::string> allowed;  // words; empty: no list
  Range range;                       // of numbers
  std::string doc;                   // or the reason of a noted or refused key
};

/// The words that a member takes, alone, in a list, or null beside them; empty where it is no word.
template <class M>
struct WordsOf {
  static std::vector<std::string> all() { return {}; }
};
template <IsWord M>
struct WordsOf<M> : Words<M> {};
template <class M>
struct WordsOf<std::optional<M>> : WordsOf<M> {};
template <class M>
struct WordsOf<std::vector<M>> : WordsOf<M> {};

/// Stand-ins for a member where a key has none.
struct Noted {};
struct Refused {};

/// Calls f(const KeyInfo&, member) for every key of `config` and of the groups in it, the group before its keys; an f
/// that returns false is not shown the keys of that group. A map of groups is walked by its entries; when it is empty
/// and `with_examples`, by one default entry "<name>". A list of groups is walked likewise, by its numbers.
template <class F>
class Walk {
 public:
  Walk(F& f, bool with_examples, std::string prefix = "")
      : f_(f), with_examples_(with_examples), prefix_(std::move(prefix)) {}

  template <class M>
  void operator()(const char* key, M& member, const char* doc, const Range& range = finite()) {
    const KeyInfo info{prefix_ + key, key, WordsOf<M>::all(), range, doc};
    if constexpr (std::is_void_v<decltype(f_(info, member))>)
      f_(info, member);
    else if (!f_(info, member))
      return;
    descend(prefix_ + key, member);
  }
  void bool_or_text(const char* key, std::string& member, const char* doc) { (*this)(key, member, doc); }
  void noted(KeyList keys, const char* reason) {
    Noted noted;
    for (const char* key : keys) f_(KeyInfo{prefix_ + key, key, {}, {}, reason}, noted);
  }
  void refused(KeyList keys, const char* reason) {
    Refused refused;
    for (const char* key : keys) f_(KeyInfo{prefix_ + key, key, {}, {}, reason}, refused);
  }
  void refused_above_one(KeyList keys, const char* reason) { refused(keys, reason); }

 private:
  template <HasFields M>
  void descend(const std::string& path, M& member) {
    Walk inner(f_, with_examples_, path + ".");
    member.fields(inner);
  }
  template <HasFields M>
  void descend(const std::string& path, std::map<std::string, M>& members) {
    for (auto& [name, member] : members) descend(path + "." + name, member);
    M example;
    if (members.empty() && with_examples_) descend(path + ".<name>", example);
  }
  template <HasFields M>
  void descend(const std::string& path, std::vector<M>& members) {
    for (size_t i = 0; i < members.size(); ++i) descend(fmt::format("{}[{}]", path, i), members[i]);
    M example;
    if (members.empty() && with_examples_) descend(path + "[0]", example);
  }
  template <class M>
  void descend(const std::string&, M&) {}

  F& f_;
  bool with_examples_;
  std::string prefix_;
};

template <HasFields T, class F>
void walk(T& config, F&& f, bool with_examples = false) {
  Walk<std::remove_reference_t<F>> visitor(f, with_examples);
  config.fields(visitor);
}

}  // namespace roll
