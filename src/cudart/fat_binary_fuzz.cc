// libFuzzer gives any bytes as a fat binary.
#include <cstdint>

#include "cudart/fat_binary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kernelsmith;
  const auto binary = cudart::ParseFatBinary(std::as_bytes(std::span<const uint8_t>(data, size)));
  if (!binary.ok()) return 0;
  for (const cudart::FatBinaryEntry& entry : binary->entries) (void)cudart::EntryText(entry);
  for (const GpuModel& model : AllGpuModels()) (void)cudart::ChoosePtx(*binary, model);
  return 0;
}
