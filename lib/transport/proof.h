// How ranks show each other that they know the job's secret without saying it: HMAC-SHA-256 (OpenSSL's) over numbers
// that both sides make for this one conversation. What was overheard opens nothing later, and teaches nothing but a
// chance to guess at a short secret: give long random ones. What ranks say afterwards is neither signed nor hidden.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace roll {

using Digest = std::array<std::byte, 32>;
using Nonce = Digest;      // a number that is used once
using JobSecret = Digest;  // known to the ranks of one job

/// SystemError: the system has no random numbers.
Nonce fresh_nonce();
/// 128 random bits as text.
std::string random_secret();
/// The secret that a text of any length stands for.
JobSecret secret_of(std::string_view text);

/// The message's authentication code, which needs the secret. `purpose` keeps proofs of one kind from serving as
/// another.
Digest proof_of(const JobSecret& secret, std::string_view purpose, std::span<const std::byte> message);
/// Compares in a time that does not depend on where they differ.
bool are_equal(const Digest& a, const Digest& b);

}  // namespace roll
