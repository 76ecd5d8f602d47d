#include "plan/protocol.h"

namespace kernelsmith::protocol {

FrameHeader ReadFrameHeader(const std::byte* bytes) {
  FrameHeader header;
  std::memcpy(&header.kind, bytes, sizeof header.kind);
  std::memcpy(&header.length, bytes + sizeof header.kind, sizeof header.length);
  return header;
}

}  // namespace kernelsmith::protocol
