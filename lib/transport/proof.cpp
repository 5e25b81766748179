#include "transport/proof.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace roll {

namespace {

Digest hmac(std::span<const std::byte> key, std::span<const std::byte> message) {
  Digest digest{};
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  if (!::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, message.size(),
              reinterpret_cast<unsigned char*>(digest.data()), nullptr))
    throw system_error("libcrypto: HMAC failed");
  return digest;
}

}  // namespace

Nonce fresh_nonce() {
  Nonce nonce{};
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) != 1)
    throw system_error("libcrypto: no random numbers");
  return nonce;
}

std::string random_secret() {
  const Nonce random = fresh_nonce();
  std::string text;
  for (const std::byte byte : std::span(random).first(16)) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

JobSecret parse_secret(std::string_view text) {
  return hmac(std::as_bytes(std::span("roll's job")), std::as_bytes(std::span(text)));
}

Digest make_proof(const JobSecret& secret, std::string_view purpose, std::span<const std::byte> message) {
  std::vector<std::byte> bytes(purpose.size() + 1);
  std::ranges::copy(std::as_bytes(std::span(purpose)), bytes.begin());  // including the final zero
  bytes.insert(bytes.end(), message.begin(), message.end());
  return hmac(secret, bytes);
}

bool are_equal(const Digest& a, const Digest& b) {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace roll
