// libFuzzer gives any bytes as a host library: a candidate decides much of what is in its own.
#include <cstdint>
#include <string_view>

#include "compile/elf_file.h"
#include "compile/host_library_scan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kernelsmith;
  const std::string_view library(reinterpret_cast<const char*>(data), size);
  const auto findings = ScanHostLibrary(library);
  (void)ReadHostFindings(WriteHostFindings(findings));
  const Result<ElfFile> file = ElfFile::Read(library);
  if (!file.ok()) return 0;
  for (const Elf64_Shdr& section : file->sections()) (void)file->BytesOf(section);
  for (const Elf64_Phdr& segment : file->segments()) (void)file->BytesOf(segment);
  return 0;
}
