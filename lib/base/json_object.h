// Objects that keep the order of their keys and are built key by key.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json.h"

namespace roll {

/// Adds a key that `object` does not have. operator[] would first compare it with all keys that are there.
inline void add_new(Json& object, const std::string& key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(key, std::move(value));
}

}  // namespace roll
