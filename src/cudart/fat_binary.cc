#include "cudart/fat_binary.h"

#include <fmt/format.h>
#include <link.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

namespace kernelsmith::cudart {
namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr size_t kHeaderBytes = 16;
constexpr size_t kEntryHeaderBytes = 64;  // without names and options
constexpr uint64_t kLz4Flag = 0x2000;
constexpr uint64_t kZstdFlag = 0x8000;
constexpr uint64_t kArchitectureSpecificFlag = 0x100000;
constexpr uint64_t kFamilySpecificFlag = 0x200000;
// PTX of one source file is a few megabytes at most (CUB's largest: 10 MB); a claim beyond this is
// an attack or damage.
constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;

template <typename T>
T Read(Bytes bytes, size_t offset) {
  KS_CHECK(offset + sizeof(T) <= bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string TextAt(Bytes header, uint64_t offset, uint64_t length) {
  if (offset > header.size() || length > header.size() - offset) return {};
  return {reinterpret_cast<const char*>(header.data()) + offset, length};
}

bool LooksLikePtxText(Bytes image) {
  // A comment or a directive after blanks; a fat binary's magic is not text.
  for (const std::byte b : image.first(std::min<size_t>(image.size(), 4096))) {
    const char c = static_cast<char>(b);
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    return c == '/' || c == '.';
  }
  return false;
}

Bytes UpToNul(Bytes bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
  return bytes.first(static_cast<size_t>(end - bytes.begin()));
}

Result<FatBinaryEntry> ParseEntry(Bytes rest, size_t at, size_t* next) {
  if (rest.size() < kEntryHeaderBytes) {
    return InvalidInput(fmt::format("fat binary is cut off in the entry at byte {}", at));
  }
  const uint32_t header_bytes = Read<uint32_t>(rest, 4);
  const uint64_t payload_bytes = Read<uint64_t>(rest, 8);
  if (header_bytes < kEntryHeaderBytes || header_bytes > rest.size() ||
      payload_bytes > rest.size() - header_bytes) {
    return InvalidInput(
        fmt::format("fat binary entry at byte {} claims {} + {} bytes, only {} are there", at,
                    header_bytes, payload_bytes, rest.size()));
  }
  const Bytes header = rest.first(header_bytes);
  FatBinaryEntry entry;
  switch (Read<uint16_t>(rest, 0)) {
    case 1:
      entry.kind = FatBinaryEntry::Kind::kPtx;
      break;
    case 2:
      entry.kind = FatBinaryEntry::Kind::kSass;
      break;
    default:
      break;  // intermediate code for link-time optimisation and the like
  }
  entry.isa_minor = Read<uint16_t>(rest, 24);
  entry.isa_major = Read<uint16_t>(rest, 26);
  const uint32_t architecture = Read<uint32_t>(rest, 28);
  entry.architecture = architecture < 10'000 ? static_cast<int>(architecture) : 10'000;
  entry.file_name = TextAt(header, Read<uint32_t>(rest, 32), Read<uint32_t>(rest, 36));
  const uint32_t options_at = Read<uint32_t>(rest, 20);
  if (options_at >= kEntryHeaderBytes && header_bytes >= 8 && options_at <= header_bytes - 8) {
    entry.options =
        TextAt(header, Read<uint32_t>(header, options_at), Read<uint32_t>(header, options_at + 4));
  }
  const uint64_t flags = Read<uint64_t>(rest, 40);
  entry.architecture_specific = (flags & kArchitectureSpecificFlag) != 0;
  entry.family_specific = (flags & kFamilySpecificFlag) != 0;
  entry.compression = (flags & kZstdFlag)  ? Compression::kZstd
                      : (flags & kLz4Flag) ? Compression::kLz4
                                           : Compression::kNone;
  entry.payload = rest.subspan(header_bytes, payload_bytes);
  entry.uncompressed_bytes = payload_bytes;
  if (entry.compression != Compression::kNone) {
    const uint32_t compressed_bytes = Read<uint32_t>(rest, 16);
    if (compressed_bytes > payload_bytes) {
      return InvalidInput(
          fmt::format("fat binary entry at byte {} claims {} compressed bytes in a payload of {}",
                      at, compressed_bytes, payload_bytes));
    }
    entry.payload = entry.payload.first(compressed_bytes);
    entry.uncompressed_bytes = Read<uint64_t>(rest, 56);
  }
  *next = header_bytes + payload_bytes;
  return entry;
}

Result<std::string> DecompressLz4(const FatBinaryEntry& entry) {
  // One compressed byte stands for at most 255 others, so a bigger claim is wrong before any memory
  // is taken for it.
  if (entry.uncompressed_bytes / 255 > entry.payload.size()) {
    return InvalidInput("fat binary entry claims more text than its LZ4 data can hold");
  }
  std::string text(entry.uncompressed_bytes, '\0');
  const int written =
      LZ4_decompress_safe(reinterpret_cast<const char*>(entry.payload.data()), text.data(),
                          static_cast<int>(entry.payload.size()), static_cast<int>(text.size()));
  if (written < 0) return InvalidInput("fat binary entry has damaged LZ4 data");
  text.resize(static_cast<size_t>(written));
  return text;
}

Result<std::string> DecompressZstd(const FatBinaryEntry& entry) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  KS_CHECK(context != nullptr);
  // In pieces, so that memory grows with what is really there and not with what is claimed.
  ZSTD_inBuffer in{entry.payload.data(), entry.payload.size(), 0};
  std::string text;
  std::vector<char> piece(ZSTD_DStreamOutSize());
  for (;;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const size_t state = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(state)) {
      return InvalidInput(
          fmt::format("fat binary entry has damaged zstd data: {}", ZSTD_getErrorName(state)));
    }
    text.append(piece.data(), out.pos);
    if (text.size() > entry.uncompressed_bytes) {
      return InvalidInput("fat binary entry holds more text than it claims");
    }
    if (state == 0) return text;
    if (in.pos == in.size && out.pos < out.size) {
      return InvalidInput("fat binary entry's zstd data is cut off");
    }
  }
}

std::string ArchitectureName(const FatBinaryEntry& entry) {
  return fmt::format("{}_{}{}", entry.kind == FatBinaryEntry::Kind::kPtx ? "compute" : "sm",
                     entry.architecture,
                     entry.architecture_specific ? "a"
                     : entry.family_specific     ? "f"
                                                 : "");
}

bool Runs(const FatBinaryEntry& entry, const GpuModel& gpu) {
  const int own = gpu.compute_capability();
  if (entry.architecture_specific) return entry.architecture == own;
  if (entry.family_specific) {
    return entry.architecture / 10 == own / 10 && entry.architecture <= own;
  }
  return entry.architecture <= own;
}

}  // namespace

Result<FatBinary> ParseFatBinary(Bytes image) {
  FatBinary binary;
  if (image.size() < kHeaderBytes || Read<uint32_t>(image, 0) != kMagic) {
    if (!LooksLikePtxText(image)) {
      return InvalidInput(image.size() < kHeaderBytes ? "fat binary is cut off in its header"
                                                      : "fat binary has a wrong magic number");
    }
    FatBinaryEntry text;
    text.kind = FatBinaryEntry::Kind::kPtx;
    text.payload = UpToNul(image);
    text.uncompressed_bytes = text.payload.size();
    binary.bytes = text.payload.size();
    binary.entries.push_back(std::move(text));
    return binary;
  }
  const uint16_t header_bytes = Read<uint16_t>(image, 6);
  const uint64_t body_bytes = Read<uint64_t>(image, 8);
  if (header_bytes < kHeaderBytes || header_bytes > image.size() ||
      body_bytes > image.size() - header_bytes) {
    return InvalidInput(fmt::format("fat binary claims {} + {} bytes, only {} are there",
                                    header_bytes, body_bytes, image.size()));
  }
  binary.bytes = header_bytes + body_bytes;
  const Bytes body = image.subspan(header_bytes, body_bytes);
  for (size_t at = 0; at < body.size();) {
    size_t entry_bytes = 0;
    KS_TRY(FatBinaryEntry entry, ParseEntry(body.subspan(at), header_bytes + at, &entry_bytes));
    binary.entries.push_back(std::move(entry));
    at += entry_bytes;
  }
  return binary;
}

Result<std::string> EntryText(const FatBinaryEntry& entry) {
  if (entry.uncompressed_bytes > kMaxTextBytes) {
    return InvalidInput(
        fmt::format("fat binary entry claims {} bytes of text", entry.uncompressed_bytes));
  }
  std::string text;
  switch (entry.compression) {
    case Compression::kNone:
      text.assign(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
      break;
    case Compression::kLz4: {
      KS_TRY(text, DecompressLz4(entry));
      break;
    }
    case Compression::kZstd: {
      KS_TRY(text, DecompressZstd(entry));
      break;
    }
  }
  if (const size_t end = text.find('\0'); end != std::string::npos) text.resize(end);
  return text;
}

Result<const FatBinaryEntry*> ChoosePtx(const FatBinary& binary, const GpuModel& gpu) {
  const FatBinaryEntry* best = nullptr;
  std::string ptx;
  std::string sass;
  for (const FatBinaryEntry& entry : binary.entries) {
    if (entry.kind == FatBinaryEntry::Kind::kOther) continue;
    std::string& list = entry.kind == FatBinaryEntry::Kind::kPtx ? ptx : sass;
    list += (list.empty() ? "" : ", ") + ArchitectureName(entry);
    if (entry.kind != FatBinaryEntry::Kind::kPtx || !Runs(entry, gpu)) continue;
    if (best == nullptr || entry.architecture > best->architecture ||
        (entry.architecture == best->architecture && entry.architecture_specific)) {
      best = &entry;
    }
  }
  if (best != nullptr) return best;
  const int own = gpu.compute_capability();
  if (!ptx.empty()) {
    return Unsupported(
        fmt::format("has PTX only for {}, which {} (compute capability {}.{}) can't "
                    "run; build with -gencode arch=compute_{},code=compute_{} or "
                    "choose another GPU with --gpu",
                    ptx, gpu.name, gpu.major, gpu.minor, own, own));
  }
  return Unsupported(
      fmt::format("has no PTX{}; build with -gencode arch=compute_{},code=compute_{}",
                  sass.empty() ? "" : ", only machine code for " + sass, own, own));
}

namespace {

struct SegmentSearch {
  uintptr_t wanted = 0;
  uintptr_t end = 0;  // the end of the readable segment that holds it; 0: none does
};

int FindSegment(dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* search = static_cast<SegmentSearch*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (search->wanted < begin || search->wanted >= begin + header.p_memsz) continue;
    search->end = begin + header.p_memsz;
    return 1;
  }
  return 0;
}

}  // namespace

Bytes ReadableFrom(const void* address) {
  // Fat binaries lie in the program or a library of it. This needs no file, which a sandboxed
  // process could not open.
  SegmentSearch search{.wanted = reinterpret_cast<uintptr_t>(address)};
  ::dl_iterate_phdr(FindSegment, &search);
  if (search.end != 0) {
    return {static_cast<const std::byte*>(address), search.end - search.wanted};
  }
  const std::unique_ptr<FILE, decltype(&std::fclose)> maps(std::fopen("/proc/self/maps", "re"),
                                                           &std::fclose);
  if (maps == nullptr) return {};
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  uintptr_t reached = wanted;
  char line[512];
  while (std::fgets(line, sizeof(line), maps.get()) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char access = '-';
    // A line longer than the buffer goes on in pieces that don't look like a range.
    if (std::sscanf(line, "%lx-%lx %c", &begin, &end, &access) != 3 || end <= reached) continue;
    if (begin > reached || access != 'r') break;
    reached = end;
  }
  return {static_cast<const std::byte*>(address), reached - wanted};
}

}  // namespace kernelsmith::cudart
