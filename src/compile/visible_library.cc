#include "compile/visible_library.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>

namespace kernelsmith {
namespace {

// The six-bit alphabet of LLVM bitcode.
constexpr std::string_view kAlphabet =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
constexpr int kCharBits = 6;
constexpr std::string_view kPrefix = "__nv_";
constexpr size_t kChanged = 2;  // the place in a name that changes, to `kMark`
constexpr char kMark = 'k';

uint64_t Encode(char c) { return kAlphabet.find(c); }

class Bits {
 public:
  explicit Bits(std::string& bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size() * 8; }
  // Up to 56 bits from `at`, the lowest first; beyond the end they are 0.
  uint64_t Read(size_t at, int count) const {
    uint64_t word = 0;
    const size_t byte = at / 8;
    if (byte >= bytes_.size()) return 0;
    std::memcpy(&word, bytes_.data() + byte, std::min<size_t>(sizeof word, bytes_.size() - byte));
    return word >> at % 8 & ((uint64_t{1} << count) - 1);
  }
  void Write(size_t at, int count, uint64_t value) {
    for (int i = 0; i < count; ++i, ++at) {
      const auto bit = static_cast<unsigned char>(1u << at % 8);
      const auto old = static_cast<unsigned char>(bytes_[at / 8]);
      bytes_[at / 8] = static_cast<char>((value >> i & 1) != 0 ? old | bit : old & ~bit);
    }
  }

 private:
  std::string& bytes_;
};

}  // namespace

Result<std::string> HideFunctions(std::string bitcode, std::span<const std::string_view> names) {
  const std::set<std::string_view> hidden(names.begin(), names.end());
  uint64_t prefix = 0;
  for (size_t i = 0; i < kPrefix.size(); ++i) prefix |= Encode(kPrefix[i]) << (kCharBits * i);
  constexpr int kPrefixBits = kCharBits * static_cast<int>(kPrefix.size());

  Bits bits(bitcode);
  size_t found = 0;
  for (size_t at = kCharBits; at + kPrefixBits <= bits.size(); ++at) {
    if (bits.Read(at, kPrefixBits) != prefix) continue;
    // A length below 32 is one group of six bits, whose highest says that another follows.
    const uint64_t length = bits.Read(at - kCharBits, kCharBits);
    if (length <= kPrefix.size() || length >= 32 || at + length * kCharBits > bits.size()) continue;
    std::string name;
    for (size_t i = 0; i < length; ++i) name += kAlphabet[bits.Read(at + i * kCharBits, kCharBits)];
    if (!hidden.contains(name)) continue;
    bits.Write(at + kChanged * kCharBits, kCharBits, Encode(kMark));
    ++found;
  }
  // Older versions lack a few functions; a file with hardly any of them has another form.
  if (found * 2 < names.size()) {
    return Unsupported("libdevice's bitcode has a form in which its function names are not found");
  }
  return bitcode;
}

}  // namespace kernelsmith
