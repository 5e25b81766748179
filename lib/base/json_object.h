// Adds keys to ordered JSON objects in constant time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json.h"

namespace roll {

/// Adds `key`, which `object` must not have yet (this is not checked). operator[] would first compare it with all
/// existing keys.
inline void add_new(Json& object, const std::string& key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(key, std::move(value));
}

}  // namespace roll
