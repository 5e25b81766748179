// Base class of communicators without asynchronous collectives: the start_... functions run the whole collective.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dist/communicator.h"

namespace roll {

class ImmediateCommunicator : public Communicator {
 public:
  std::unique_ptr<Pending> start_all_gather_bytes(std::string local, std::shared_ptr<std::vector<std::string>> all,
                                                  std::string_view name) override {
    return start([&] { *all = all_gather_bytes(local, name); });
  }

 protected:
  using Communicator::Communicator;
  std::unique_ptr<Pending> start(std::function<void()> collective) override {
    collective();
    return std::make_unique<Done>();
  }

 private:
  struct Done : Pending {
    void wait() override {}
    bool is_done() override { return true; }
  };
};

}  // namespace roll
