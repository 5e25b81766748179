// Proves knowledge of the job's secret without sending it: HMAC-SHA-256 (OpenSSL) over fresh numbers of both sides. An
// eavesdropper can replay nothing, but can guess a short secret: use long random ones. Later messages are neither
// signed nor encrypted.
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

/// Returns a new random number. SystemError: the system provides none.
Nonce fresh_nonce();
/// Returns 128 random bits as text.
std::string random_secret();
/// Derives a secret from a text of any length.
JobSecret parse_secret(std::string_view text);

/// Returns the message's authentication code, which needs the secret. `purpose` keeps proofs of one kind from serving
/// as another.
Digest make_proof(const JobSecret& secret, std::string_view purpose, std::span<const std::byte> message);
/// Compares in constant time, wherever they differ.
bool are_equal(const Digest& a, const Digest& b);

}  // namespace roll
