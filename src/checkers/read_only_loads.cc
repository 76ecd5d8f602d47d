#include "checkers/read_only_loads.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checkers/checker.h"
#include "checkers/pointer_origins.h"

namespace kernelsmith::checkers {

using vgpu::AccessKind;
using vgpu::Function;
using vgpu::Instruction;

namespace {

// 64 million bytes of each side, in cells of 8; what comes later is not remembered.
constexpr size_t kMostCells = size_t{1} << 23;

const ptx::Instruction* SyntaxOf(const Function& function, const Instruction& in) {
  return in.location < function.locations.size() ? function.locations[in.location].syntax : nullptr;
}

bool IsReadOnlyLoad(const ptx::Instruction& instruction) {
  return instruction.opcode() == ptx::Opcode::kLd && instruction.Has(ptx::Modifier::kNc);
}

bool WritesGlobal(const ptx::Instruction& instruction) {
  switch (instruction.opcode()) {
    case ptx::Opcode::kSt:
    case ptx::Opcode::kAtom:
    case ptx::Opcode::kRed:
      break;
    default:
      return false;
  }
  const ptx::Space space = instruction.mnemonic->SpaceAt(0);
  return space == ptx::Space::kGlobal || space == ptx::Space::kNone;
}

}  // namespace

ReadOnlyLoads::ReadOnlyLoads(const vgpu::LaunchInfo& launch, vgpu::VirtualGpu& gpu)
    : gpu_(gpu), shared_window_(launch.shared_window), local_window_(launch.local_window) {
  if (launch.code == nullptr) return;
  std::vector<uint32_t> loads;
  std::vector<uint32_t> writes;
  for (const auto& function : launch.code->functions) Scan(*function, &loads, &writes);
  if (!useful() || launch.code->entry->syntax == nullptr) return;
  const ptx::Function& entry = *launch.code->entry->syntax;
  for (const uint32_t load : loads) {
    const auto from = gpu_.memory().Find(PointerOf(launch, entry, load));
    for (const uint32_t write : writes) {
      const auto to = gpu_.memory().Find(PointerOf(launch, entry, write));
      overlap_ = overlap_ || (from && to && from->id == to->id);
    }
  }
}

void ReadOnlyLoads::Scan(const Function& function, std::vector<uint32_t>* loads,
                         std::vector<uint32_t>* writes) {
  if (function.syntax == nullptr || function.module == nullptr) return;
  bool any = false;
  for (const ptx::Instruction& instruction : function.syntax->instructions) {
    has_loads_ = has_loads_ || IsReadOnlyLoad(instruction);
    has_writes_ = has_writes_ || WritesGlobal(instruction);
    any = any || IsReadOnlyLoad(instruction) || WritesGlobal(instruction);
  }
  if (!any || !function.is_entry) return;
  const PointerOrigins origins(*function.module, *function.syntax);
  const auto add = [](std::vector<uint32_t>* list, uint32_t parameter) {
    if (std::find(list->begin(), list->end(), parameter) == list->end()) list->push_back(parameter);
  };
  for (const ptx::Instruction& instruction : function.syntax->instructions) {
    const bool load = IsReadOnlyLoad(instruction);
    if (!load && !WritesGlobal(instruction)) continue;
    const PointerOrigin origin = origins.OfAddress(instruction);
    if (origin.kind != PointerOrigin::Kind::kParameter) continue;
    add(load ? loads : writes, origin.symbol.index);
  }
}

uint64_t ReadOnlyLoads::PointerOf(const vgpu::LaunchInfo& launch, const ptx::Function& entry,
                                  uint32_t parameter) {
  uint64_t offset = 0;
  for (uint32_t i = 0; i <= parameter; ++i) {
    const ptx::Variable& variable = entry.parameters[i];
    const auto alignment = static_cast<uint64_t>(std::max(variable.Alignment(), 1));
    offset = (offset + alignment - 1) / alignment * alignment;
    if (i < parameter) offset += variable.Size();
  }
  uint64_t pointer = 0;
  const void* bytes = gpu_.memory().HostAlias(launch.parameters + offset, sizeof pointer);
  if (bytes != nullptr) std::memcpy(&pointer, bytes, sizeof pointer);
  return pointer;
}

bool ReadOnlyLoads::IsWindow(uint64_t address) const {
  return address - shared_window_ < vgpu::kSharedWindowSize * vgpu::kSharedWindows ||
         address - local_window_ < vgpu::kLocalWindowSize;
}

std::optional<ReadOnlyLoads::Conflict> ReadOnlyLoads::Add(const std::string& kernel,
                                                          vgpu::WarpView& warp,
                                                          const vgpu::MemoryAccess& access) {
  const Instruction& in = *access.instruction;
  const bool load = access.kind == AccessKind::kLoad;
  if (load) {
    const ptx::Instruction* syntax = SyntaxOf(warp.function(), in);
    if (syntax == nullptr || !IsReadOnlyLoad(*syntax)) return std::nullopt;
  } else if (access.kind == AccessKind::kPrefetch || in.space == vgpu::MemorySpace::kShared ||
             in.space == vgpu::MemorySpace::kLocal) {
    return std::nullopt;
  }
  Side& own = load ? loads_ : writes_;
  const Side& other = load ? writes_ : loads_;
  const auto [known, added] = own.known.try_emplace(&in, static_cast<uint32_t>(own.places.size()));
  if (added) own.places.push_back(PlaceOf(kernel, warp, in, std::countr_zero(access.mask)));
  std::optional<Conflict> conflict;
  ForEachLane(access.mask, [&](int lane) {
    const uint64_t first = access.address[static_cast<size_t>(lane)];
    if (IsWindow(first)) return;
    for (uint64_t at = first; at < first + access.bytes;) {
      const uint64_t cell = at / 8;
      const uint64_t end = std::min(first + access.bytes, (cell + 1) * 8);
      const auto bits = static_cast<uint8_t>(((1u << (end - at)) - 1) << (at % 8));
      at = end;
      const auto hit = other.bytes.find(cell);
      if (!conflict && hit != other.bytes.end() && (hit->second & bits) != 0) {
        const Place& there = other.places[other.site.at(cell)];
        const Place here = PlaceOf(kernel, warp, in, lane);
        conflict = {
            .lane = lane, .stale = load, .load = load ? here : there, .write = load ? there : here};
      }
      if (own.bytes.size() >= kMostCells && !own.bytes.contains(cell)) continue;
      own.bytes[cell] |= bits;
      own.site[cell] = known->second;
    }
  });
  return conflict;
}

}  // namespace kernelsmith::checkers
