// Fat binaries: what nvcc puts the device code of a program into. One fat binary holds entries for
// several architectures, as PTX text or as machine code (SASS), plain or compressed. Only the PTX
// is of use here.
//
// The format is not documented; these facts come from looking at what nvcc 13 writes:
//   header: u32 magic 0xba55ed50, u16 version, u16 size of this header, u64 bytes that follow it
//   entry:  u16 kind (1 PTX, 2 ELF), u16 version, u32 size of this header, u64 payload bytes,
//           u32 compressed bytes, u32 offset of {u32 offset, u32 length} of the options,
//           u16 minor, u16 major version of the PTX ISA, u32 architecture, u32 offset and u32
//           length of the source file's name, u64 flags (0x2000 LZ4, 0x8000 zstd, 0x100000 only for
//           exactly this architecture, 0x200000 only for its family), u64 zero, u64 uncompressed
//           bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith::cudart {

using Bytes = std::span<const std::byte>;

enum class Compression { kNone, kLz4, kZstd };

struct FatBinaryEntry {
  enum class Kind { kPtx, kSass, kOther };
  Kind kind = Kind::kOther;
  int architecture = 0;                // 90 for compute_90 or sm_90
  bool architecture_specific = false;  // compute_90a: runs on 9.0 only
  bool family_specific = false;        // compute_100f: runs on 10.x only
  int isa_major = 0;
  int isa_minor = 0;
  std::string file_name;  // the .cu file, where nvcc noted it
  std::string options;    // "--compile-only" marks relocatable code (-rdc=true)
  Compression compression = Compression::kNone;
  uint64_t uncompressed_bytes = 0;
  Bytes payload;  // points into the image that was parsed
};

struct FatBinary {
  size_t bytes = 0;  // that it takes, with its header; another one may follow
  std::vector<FatBinaryEntry> entries;
};

// The entries of the fat binary that `image` begins with. Plain PTX text counts as a fat binary
// with one entry: compilers may embed it as it is.
Result<FatBinary> ParseFatBinary(Bytes image);

// The entry's payload as text, decompressed, without padding.
Result<std::string> EntryText(const FatBinaryEntry& entry);

// The best PTX entry that `gpu` can run: the newest architecture not newer than the GPU. The error
// says what the binary holds instead (ErrorKind::kUnsupported). `file_name` names the binary in it.
Result<const FatBinaryEntry*> ChoosePtx(const FatBinary& binary, const GpuModel& gpu);

// The bytes from `address` to the end of readable memory around it, so that a header with a wrong
// size in a program's own memory can't lead outside of it. Empty if nothing is readable there.
Bytes ReadableFrom(const void* address);

}  // namespace kernelsmith::cudart
