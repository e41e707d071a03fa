#include "pmemsim/designs/backend/line_crypto.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace pmemsim {
namespace {

// Throws if the library refuses a request. It only does if it is broken or out of memory.
void must(bool done) {
  if (!done)
    throw std::runtime_error("the library libcrypto does not support AES-128, SHA-1, MD5 or HMAC");
}

const unsigned char* bytes_of(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

template <auto Free>
struct Freeing {
  template <class Object>
  void operator()(Object* object) const {
    Free(object);
  }
};

}  // namespace

struct LineCipher::Library {
  std::unique_ptr<EVP_CIPHER_CTX, Freeing<EVP_CIPHER_CTX_free>> context{EVP_CIPHER_CTX_new()};
};

LineCipher::LineCipher(const Key& key) : library_(std::make_unique<Library>()) {
  EVP_CIPHER_CTX* const context = library_->context.get();
  must(context != nullptr &&
       EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), nullptr, bytes_of(key.data()), nullptr) == 1);
}

LineCipher::~LineCipher() = default;

LineData LineCipher::apply(Line place, std::uint64_t counter, const LineData& data) const {
  // Each block of the pad has a number of its own: a line's number has 58 bits, which leaves room
  // for it.
  constexpr std::size_t kBlocks = kLineBytes / sizeof(Key);
  std::array<std::uint64_t, 2 * kBlocks> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks[2 * i] = place.number * kBlocks + i;
    blocks[2 * i + 1] = counter;
  }
  std::array<std::uint64_t, 2 * kBlocks> pad;
  int size = 0;
  must(EVP_EncryptUpdate(library_->context.get(), reinterpret_cast<unsigned char*>(pad.data()),
                         &size, reinterpret_cast<const unsigned char*>(blocks.data()),
                         sizeof blocks) == 1);
  std::array<std::uint64_t, 2 * kBlocks> words;
  std::memcpy(words.data(), data.data(), sizeof words);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] ^= pad[i];
  LineData result;
  std::memcpy(result.data(), words.data(), sizeof words);
  return result;
}

struct LineHash::Library {
  std::unique_ptr<EVP_MD, Freeing<EVP_MD_free>> digest;
  std::unique_ptr<EVP_MD_CTX, Freeing<EVP_MD_CTX_free>> context;
  std::unique_ptr<EVP_MAC, Freeing<EVP_MAC_free>> keyed;
  std::unique_ptr<EVP_MAC_CTX, Freeing<EVP_MAC_CTX_free>> keyed_context;
};

LineHash::LineHash(const char* digest) : library_(std::make_unique<Library>()) {
  library_->digest.reset(EVP_MD_fetch(nullptr, digest, nullptr));
  library_->context.reset(EVP_MD_CTX_new());
  must(library_->digest != nullptr && library_->context != nullptr);
}

LineHash::LineHash(const Key& key) : library_(std::make_unique<Library>()) {
  library_->keyed.reset(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  must(library_->keyed != nullptr);
  library_->keyed_context.reset(EVP_MAC_CTX_new(library_->keyed.get()));
  std::string name = "SHA1";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.data(), 0),
      OSSL_PARAM_construct_end()};
  must(library_->keyed_context != nullptr &&
       EVP_MAC_init(library_->keyed_context.get(), bytes_of(key.data()), key.size(), parameters) ==
           1);
}

LineHash::~LineHash() = default;

std::uint64_t LineHash::of(std::span<const std::byte> first,
                           std::span<const std::byte> second) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  if (EVP_MAC_CTX* const keyed = library_->keyed_context.get()) {
    std::size_t size = 0;
    must(EVP_MAC_init(keyed, nullptr, 0, nullptr) == 1 &&
         EVP_MAC_update(keyed, bytes_of(first.data()), first.size()) == 1 &&
         EVP_MAC_update(keyed, bytes_of(second.data()), second.size()) == 1 &&
         EVP_MAC_final(keyed, digest.data(), &size, digest.size()) == 1);
  } else {
    EVP_MD_CTX* const context = library_->context.get();
    must(EVP_DigestInit_ex2(context, library_->digest.get(), nullptr) == 1 &&
         EVP_DigestUpdate(context, first.data(), first.size()) == 1 &&
         EVP_DigestUpdate(context, second.data(), second.size()) == 1 &&
         EVP_DigestFinal_ex(context, digest.data(), nullptr) == 1);
  }
  std::uint64_t kept = 0;
  std::memcpy(&kept, digest.data(), sizeof kept);
  return kept;
}

}  // namespace pmemsim
