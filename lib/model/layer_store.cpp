#include "model/layer_store.h"

#include <utility>

namespace roll {

namespace {

thread_local LayerStore* current_store = nullptr;

}  // namespace

LayerStore* LayerStore::current() {
  return current_store;
}

LayerStore::Guard::Guard(LayerStore* store) : before_(std::exchange(current_store, store)) {}

LayerStore::Guard::~Guard() {
  current_store = before_;
}

}  // namespace roll
