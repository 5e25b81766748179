// Sends typed messages between ranks. M is a struct with kMessage and fields() (base/message.h); all ranks send the
// same type. `ranks` is the communicator of the ranks that take part. Every function but decode_messages() is
// **Collective** over them. `name` identifies the call in errors. Malformed bytes throw decode_message()'s errors;
// these name the sender.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/message.h"
#include "dist/communicator.h"
#include "dist/mesh.h"

namespace roll {

/// Decodes `sent`: the encoded messages of all ranks, in rank order. `group` is the communicator's name in errors.
template <class M>
std::vector<M> decode_messages(const std::vector<std::string>& sent, std::string_view group) {
  std::vector<M> messages;
  for (const std::string& bytes : sent)
    messages.push_back(decode_message<M>(bytes, {static_cast<int>(messages.size()), group}));
  return messages;
}

/// Returns the messages of all ranks, in rank order.
template <class M>
std::vector<M> all_gather_messages(const M& local, Communicator& ranks, std::string_view name = M::kMessage.name) {
  return decode_messages<M>(ranks.all_gather_bytes(encode_message(local), name), ranks.group());
}

/// Returns the messages of all ranks on the first rank; an empty list elsewhere.
template <class M>
std::vector<M> gather_messages(const M& local, Communicator& ranks, std::string_view name = M::kMessage.name) {
  return decode_messages<M>(ranks.gather_bytes(encode_message(local), name), ranks.group());
}

/// Returns the `local` of rank `root` on all ranks; that of other ranks is ignored. `root`: a rank number within
/// `ranks`.
template <class M>
M broadcast_message(const M& local, int root, Communicator& ranks, std::string_view name = M::kMessage.name) {
  const bool is_root = ranks.rank() == root;
  return decode_message<M>(ranks.broadcast_bytes(is_root ? encode_message(local) : "", root, name),
                           {root, ranks.group()});
}

/// Sends the message of the role's ranks to all ranks of role.world(), and returns it on each rank. `local` must be
/// equal on the role's ranks; on other ranks it is ignored. **Collective** over role.world().
template <class M>
M broadcast_message(const M& local, RoleMesh& role, std::string_view name = M::kMessage.name) {
  return role.is_everywhere() ? local : broadcast_message(local, role.ranks().front(), role.world(), name);
}

}  // namespace roll
