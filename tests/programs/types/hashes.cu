// NVCC:
// RUN: %kernelsmith run %x
// Integer-heavy code: SHA-256, CRC-32 with a table in constant memory, xxHash-like 64-bit mixing,
// and 128-bit arithmetic, each thread on its own message; known digests besides the host's.
#include "../check.h"

__constant__ unsigned g_round_constants[64];
__constant__ unsigned g_crc_table[256];

__host__ __device__ unsigned Rotate(unsigned x, int by) { return x >> by | x << (32 - by); }

// One-block messages (up to 55 bytes).
__host__ __device__ void Sha256(const unsigned char* text, int length, const unsigned* k,
                                unsigned* digest) {
  unsigned w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = 0;
    for (int b = 0; b < 4; ++b) {
      const int at = 4 * i + b;
      w[i] = w[i] << 8 | (at < length ? text[at] : at == length ? 0x80u : 0u);
    }
  }
  w[15] = length * 8;
  for (int i = 16; i < 64; ++i) {
    const unsigned s0 = Rotate(w[i - 15], 7) ^ Rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    const unsigned s1 = Rotate(w[i - 2], 17) ^ Rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  const unsigned start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned h[8];
  for (int i = 0; i < 8; ++i) h[i] = start[i];
  for (int i = 0; i < 64; ++i) {
    const unsigned s1 = Rotate(h[4], 6) ^ Rotate(h[4], 11) ^ Rotate(h[4], 25);
    const unsigned choice = (h[4] & h[5]) ^ (~h[4] & h[6]);
    const unsigned t1 = h[7] + s1 + choice + k[i] + w[i];
    const unsigned s0 = Rotate(h[0], 2) ^ Rotate(h[0], 13) ^ Rotate(h[0], 22);
    const unsigned t2 = s0 + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
    for (int j = 7; j > 0; --j) h[j] = h[j - 1];
    h[4] += t1;
    h[0] = t1 + t2;
  }
  for (int i = 0; i < 8; ++i) digest[i] = start[i] + h[i];
}

__host__ __device__ unsigned Crc(const unsigned char* text, int length, const unsigned* table) {
  unsigned crc = ~0u;
  for (int i = 0; i < length; ++i) crc = table[(crc ^ text[i]) & 0xff] ^ crc >> 8;
  return ~crc;
}

__host__ __device__ unsigned long long Mix(const unsigned char* text, int length) {
  unsigned long long hash = 0x27d4eb2f165667c5ull + length;
  for (int i = 0; i < length; ++i) {
    hash ^= text[i] * 0x9e3779b185ebca87ull;
    hash = (hash << 27 | hash >> 37) * 0xc2b2ae3d27d4eb4full + 0x165667b19e3779f9ull;
  }
  return hash ^ hash >> 33;
}

// A product and quotient of 128 bits.
__host__ __device__ unsigned long long Wide(unsigned long long a, unsigned long long b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b + (a ^ b);
  const unsigned __int128 quotient = product / (b | 1), rest = product % ((a >> 20) | 1);
  return static_cast<unsigned long long>(product >> 64) ^
         static_cast<unsigned long long>(quotient >> 3) ^ static_cast<unsigned long long>(rest);
}

constexpr int kMessage = 40;

__global__ void HashAll(const unsigned char* texts, const int* lengths, unsigned* sha,
                        unsigned* crc, unsigned long long* mixed, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned char* text = texts + i * kMessage;
  Sha256(text, lengths[i], g_round_constants, sha + 8 * i);
  crc[i] = Crc(text, lengths[i], g_crc_table);
  mixed[2 * i] = Mix(text, lengths[i]);
  mixed[2 * i + 1] = Wide(mixed[2 * i], mixed[2 * i] * 31 + i);
}

int main() {
  // The constants are the fractional parts of cube roots of primes.
  unsigned k[64], table[256];
  for (int count = 0, p = 2; count < 64; ++p) {
    bool prime = true;
    for (int d = 2; d * d <= p; ++d) prime &= p % d != 0;
    if (!prime) continue;
    const long double root = cbrtl(p);
    k[count++] = static_cast<unsigned>((root - floorl(root)) * 4294967296.0L);
  }
  for (unsigned i = 0; i < 256; ++i) {
    unsigned c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    table[i] = c;
  }
  CUDA_OK(cudaMemcpyToSymbol(g_round_constants, k, sizeof k));
  CUDA_OK(cudaMemcpyToSymbol(g_crc_table, table, sizeof table));

  const int n = 200;
  Random random(511);
  std::vector<unsigned char> texts(n * kMessage);
  std::vector<int> lengths = random.Ints(n, 0, kMessage + 1);
  for (unsigned char& c : texts) c = static_cast<unsigned char>(random.Bits());
  std::memcpy(&texts[0], "abc", 3);
  lengths[0] = 3;
  std::memcpy(&texts[kMessage], "123456789", 9);
  lengths[1] = 9;
  std::vector<unsigned> sha(8 * n), crc(n);
  std::vector<unsigned long long> mixed(2 * n);
  for (int i = 0; i < n; ++i) {
    Sha256(&texts[i * kMessage], lengths[i], k, &sha[8 * i]);
    crc[i] = Crc(&texts[i * kMessage], lengths[i], table);
    mixed[2 * i] = Mix(&texts[i * kMessage], lengths[i]);
    mixed[2 * i + 1] = Wide(mixed[2 * i], mixed[2 * i] * 31 + i);
  }
  DeviceArray<unsigned char> dtexts(texts);
  DeviceArray<int> dlengths(lengths);
  DeviceArray<unsigned> dsha(8 * n), dcrc(n);
  DeviceArray<unsigned long long> dmixed(2 * n);
  HashAll<<<(n + 63) / 64, 64>>>(dtexts.data(), dlengths.data(), dsha.data(), dcrc.data(),
                                 dmixed.data(), n);
  LAUNCH_OK();
  ExpectEqual("sha-256", dsha.Get(), sha);
  ExpectEqual("crc-32", dcrc.Get(), crc);
  ExpectEqual("mixed", dmixed.Get(), mixed);
  ExpectEqual("sha-256 of abc", dsha.Get()[0], 0xba7816bfu);
  ExpectEqual("crc-32 of 123456789", dcrc.Get()[1], 0xcbf43926u);
  std::printf("sha-256(abc) = %08x..., crc-32(123456789) = %08x\n", sha[0], crc[1]);
  return Finish();
}
