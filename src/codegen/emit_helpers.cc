// Device functions that kernels call.
#include <algorithm>

#include "codegen/emit.h"

namespace kernelsmith::codegen {
namespace {

struct Helper {
  const char* name;
  std::vector<const char*> needs;
  const char* source;
};

const std::vector<Helper>& Helpers() {
  static const std::vector<Helper> helpers = {
      {"Maximum",
       {},
       "// The larger of two; NaN if one is, as in PyTorch.\n"
       "template <typename T>\n"
       "__device__ T Maximum(T a, T b) {\n"
       "  return a > b || a != a ? a : b;\n"
       "}\n"},
      {"Minimum",
       {},
       "// The smaller of two; NaN if one is, as in PyTorch.\n"
       "template <typename T>\n"
       "__device__ T Minimum(T a, T b) {\n"
       "  return a < b || a != a ? a : b;\n"
       "}\n"},
      {"FloorQuotient",
       {},
       "// Rounded down, as Python's //.\n"
       "__device__ int64_t FloorQuotient(int64_t a, int64_t b) {\n"
       "  const int64_t q = a / b;\n"
       "  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;\n"
       "}\n"},
      {"Add",
       {},
       "struct Add {\n"
       "  template <typename T>\n"
       "  __device__ T operator()(T a, T b) const { return a + b; }\n"
       "};\n"},
      {"Multiply",
       {},
       "struct Multiply {\n"
       "  template <typename T>\n"
       "  __device__ T operator()(T a, T b) const { return a * b; }\n"
       "};\n"},
      {"TakeMax",
       {},
       "// The larger of two; NaN if one is, as in PyTorch.\n"
       "struct TakeMax {\n"
       "  template <typename T>\n"
       "  __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; }\n"
       "};\n"},
      {"TakeMin",
       {},
       "// The smaller of two; NaN if one is, as in PyTorch.\n"
       "struct TakeMin {\n"
       "  template <typename T>\n"
       "  __device__ T operator()(T a, T b) const { return a < b || a != a ? a : b; }\n"
       "};\n"},
      {"Either",
       {},
       "struct Either {\n"
       "  __device__ bool operator()(bool a, bool b) const { return a || b; }\n"
       "};\n"},
      {"Both",
       {},
       "struct Both {\n"
       "  __device__ bool operator()(bool a, bool b) const { return a && b; }\n"
       "};\n"},
      {"wmma", {}, "namespace wmma = nvcuda::wmma;  // tensor cores\n"},
      {"WarpReduce",
       {},
       "// Combines the values of a warp; every lane gets the result.\n"
       "template <typename T, typename Combine>\n"
       "__device__ T WarpReduce(T value, Combine combine) {\n"
       "  for (int offset = 16; offset > 0; offset /= 2) {\n"
       "    value = combine(value, __shfl_xor_sync(0xffffffff, value, offset));\n"
       "  }\n"
       "  return value;\n"
       "}\n"},
      {"LanesReduce",
       {},
       "// Combines the values of neighbouring lanes; every one of them gets the result.\n"
       "template <int kLanes, typename T, typename Combine>\n"
       "__device__ T LanesReduce(T value, Combine combine) {\n"
       "  for (int offset = kLanes / 2; offset > 0; offset /= 2) {\n"
       "    value = combine(value, __shfl_xor_sync(0xffffffff, value, offset));\n"
       "  }\n"
       "  return value;\n"
       "}\n"},
      {"BlockReduce",
       {"WarpReduce"},
       "// Combines the values of a block; every thread gets the result.\n"
       "template <int kThreads, typename T, typename Combine>\n"
       "__device__ T BlockReduce(T value, Combine combine) {\n"
       "  __shared__ T partial[kThreads / 32];\n"
       "  value = WarpReduce(value, combine);\n"
       "  __syncthreads();  // the last reduction may still be read\n"
       "  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;\n"
       "  __syncthreads();\n"
       "  value = partial[threadIdx.x % (kThreads / 32)];\n"
       "  for (int offset = kThreads / 64; offset > 0; offset /= 2) {\n"
       "    value = combine(value, __shfl_xor_sync(0xffffffff, value, offset));\n"
       "  }\n"
       "  return value;\n"
       "}\n"},
      {"BetterOf",
       {},
       "// Whether the second candidate beats the first: a better value, NaN best of all, or an "
       "earlier position.\n"
       "template <typename T, typename Index>\n"
       "__device__ bool BetterOf(T value, Index at, T other, Index other_at, bool largest) {\n"
       "  if (other_at < 0 || at < 0) return other_at >= 0;\n"
       "  const bool nan = value != value, other_nan = other != other;\n"
       "  if (nan != other_nan) return other_nan;\n"
       "  if (!nan && value != other) return largest ? other > value : other < value;\n"
       "  return other_at < at;\n"
       "}\n"},
      {"WarpExtreme",
       {"BetterOf"},
       "// The extreme value of a warp and its first position; every lane gets both.\n"
       "template <typename T, typename Index>\n"
       "__device__ void WarpExtreme(T& value, Index& at, bool largest) {\n"
       "  for (int offset = 16; offset > 0; offset /= 2) {\n"
       "    const T other = __shfl_xor_sync(0xffffffff, value, offset);\n"
       "    const Index other_at = __shfl_xor_sync(0xffffffff, at, offset);\n"
       "    if (BetterOf(value, at, other, other_at, largest)) {\n"
       "      value = other;\n"
       "      at = other_at;\n"
       "    }\n"
       "  }\n"
       "}\n"},
      {"BlockExtreme",
       {"WarpExtreme"},
       "// The same for a block.\n"
       "template <int kThreads, typename T, typename Index>\n"
       "__device__ void BlockExtreme(T& value, Index& at, bool largest) {\n"
       "  __shared__ T values[kThreads / 32];\n"
       "  __shared__ Index positions[kThreads / 32];\n"
       "  WarpExtreme(value, at, largest);\n"
       "  __syncthreads();  // the last reduction may still be read\n"
       "  if (threadIdx.x % 32 == 0) {\n"
       "    values[threadIdx.x / 32] = value;\n"
       "    positions[threadIdx.x / 32] = at;\n"
       "  }\n"
       "  __syncthreads();\n"
       "  value = values[0];\n"
       "  at = positions[0];\n"
       "  for (int warp = 1; warp < kThreads / 32; ++warp) {\n"
       "    if (BetterOf(value, at, values[warp], positions[warp], largest)) {\n"
       "      value = values[warp];\n"
       "      at = positions[warp];\n"
       "    }\n"
       "  }\n"
       "}\n"},
      {"Precedes",
       {},
       "// Whether b stands before a in the order; NaN is the largest, equal values keep their "
       "order.\n"
       "template <typename T>\n"
       "__device__ bool Precedes(T b, int64_t b_at, T a, int64_t a_at, bool descending) {\n"
       "  const bool a_nan = a != a, b_nan = b != b;\n"
       "  if (a_nan != b_nan) return descending ? b_nan : a_nan;\n"
       "  if (!a_nan && a != b) return descending ? b > a : b < a;\n"
       "  return b_at < a_at;\n"
       "}\n"},
      {"Pack",
       {},
       "// Neighbours in memory that are moved at once.\n"
       "template <typename T, int kCount>\n"
       "struct alignas(sizeof(T) * kCount) Pack {\n"
       "  T items[kCount];\n"
       "};\n"
       "template <int kCount, typename T>\n"
       "__device__ Pack<T, kCount> LoadPack(const T* from) {\n"
       "  return *reinterpret_cast<const Pack<T, kCount>*>(from);\n"
       "}\n"},
      {"StorePack",
       {"Pack"},
       "template <typename T, int kCount>\n"
       "__device__ void StorePack(T* to, const Pack<T, kCount>& pack) {\n"
       "  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;\n"
       "}\n"},
      {"IsAligned",
       {"Pack"},
       "// Whether packs can be loaded from here on.\n"
       "template <int kCount, typename T>\n"
       "__device__ bool IsAligned(const T* from) {\n"
       "  return reinterpret_cast<uintptr_t>(from) % sizeof(Pack<T, kCount>) == 0;\n"
       "}\n"},
      {"CopyAsync",
       {},
       "// Begins a copy of neighbours into shared memory, past the registers.\n"
       "template <int kCount, typename T>\n"
       "__device__ void CopyAsync(T* to, const T* from) {\n"
       "  __pipeline_memcpy_async(to, from, kCount * sizeof(T));\n"
       "}\n"},
      {"AtomicAddLong",
       {},
       "__device__ void AtomicAddLong(int64_t* at, int64_t value) {\n"
       "  atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long "
       "long>(value));\n"
       "}\n"},
  };
  return helpers;
}

}  // namespace

bool IsHelperName(const std::string& name) {
  const std::vector<Helper>& helpers = Helpers();
  return name == "Blocks" || name == "CheckTensor" ||  // helpers of the host code
         std::any_of(helpers.begin(), helpers.end(),
                     [&](const Helper& helper) { return name == helper.name; });
}

std::string HelperSource(const std::set<std::string>& names) {
  std::set<std::string> wanted = names;
  const std::vector<Helper>& helpers = Helpers();
  for (size_t i = helpers.size(); i-- > 0;) {
    if (!wanted.contains(helpers[i].name)) continue;
    for (const char* need : helpers[i].needs) wanted.insert(need);
  }
  std::string text;
  for (const Helper& helper : helpers) {
    if (wanted.contains(helper.name)) text += std::string(helper.source) + "\n";
  }
  return text;
}

}  // namespace kernelsmith::codegen
