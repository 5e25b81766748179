// Makes proofs that a process knows a secret, without sending the secret: HMAC-SHA-256 (OpenSSL) over fresh random
// numbers of both sides. Used by door.h and rendezvous.cpp. An eavesdropper can replay nothing, but can try out short
// secrets: use long random ones. Messages after the proofs are neither signed nor encrypted.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace roll {

using Digest = std::array<std::byte, 32>;
using Nonce = Digest;      // random number that is used once
using JobSecret = Digest;  // secret shared by the ranks of a job, or by the two sides of a connection

/// Returns a new random number. Throws SystemError if the system provides none.
Nonce fresh_nonce();
/// Returns 128 random bits as 32 hexadecimal digits, a text for parse_secret().
std::string random_secret();
/// Returns the secret derived from a text of any length, such as ROLL_JOB_SECRET.
JobSecret parse_secret(std::string_view text);

/// Returns the authentication code of `message`; it can be computed only with the secret. Both sides pass the same
/// `purpose`; a proof for one purpose is wrong for every other.
Digest make_proof(const JobSecret& secret, std::string_view purpose, std::span<const std::byte> message);
/// Returns true if both are equal; takes the same time for all values, so that a proof cannot be guessed byte by byte.
bool are_equal(const Digest& a, const Digest& b);

}  // namespace roll
