// The checker of what a kernel makes of the machine it runs on: clocks, where a thread runs, and
// addresses. They must not decide anything, or the kernel could be another one for the user than
// for the judge. They are followed through registers (environment_compute.cc) and memory
// (environment_memory.cc) as labels (environment_labels.h), and reported where they decide
// (environment.cc): a branch, a guard, which place is written, and what is in an output.
#pragma once

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkers/checker.h"
#include "checkers/environment_registers.h"
#include "vgpu/environment.h"
#include "vgpu/memory.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::checkers {

// Labels are kept for words of this many bytes.
inline constexpr uint64_t kWord = 4;
// Blocks of device malloc, and what local variables can count on.
inline constexpr uint64_t kSmallAlignment = 16;

class EnvironmentChecker final : public Checker {
  using Instruction = vgpu::Instruction;
  using Operand = vgpu::Operand;
  using WarpView = vgpu::WarpView;

 public:
  EnvironmentChecker(FindingSink& sink, vgpu::DeviceMemory& memory)
      : Checker(sink), memory_(memory) {}

  uint32_t interests() const override;
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override { return vgpu::ScreenChecks{}; }
  bool MayScreen() override { return !active_; }
  void OnScreenedWrite(uint64_t address, uint64_t bytes) override { Forget(address, bytes); }

  // -- the host -----------------------------------------------------------------------------------
  void OnParameterPointers(std::span<const uint32_t> offsets) override;
  void OnPointersWritten(std::span<const uint64_t> places) override;
  void OnFree(const vgpu::Allocation& allocation, uint64_t, const Place&) override;
  void OnFill(const HostCopy& fill) override;
  void OnDefined(uint64_t address, uint64_t bytes) override { Forget(address, bytes); }
  void OnCopy(const HostCopy& copy) override;
  void OnHostRead(uint64_t address, uint64_t bytes, const Place& where) override;

  // -- kernels ------------------------------------------------------------------------------------
  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override;
  void OnLaunchEnd(const vgpu::Fault*) override;
  void OnWarpBegin(WarpView& warp) override;
  void OnWarpEnd(WarpView& warp) override;
  void OnBlockEnd(uint64_t block) override { shared_.erase(block); }

  void OnFrameCopy(WarpView& warp, int lane, uint64_t to, uint64_t from, uint32_t bytes) override;
  void OnDeviceMalloc(WarpView&, int, uint64_t address, uint64_t size) override;

  void BeforeInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override;
  void AfterInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override;
  bool OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) override;

 private:
  // The widest access, in words: eight elements of eight bytes.
  static constexpr size_t kMostWords = 16;

  using WarpKey = std::pair<uint64_t, uint32_t>;
  static WarpKey KeyOf(const WarpView& warp) { return {warp.block_number(), warp.warp_in_block()}; }
  LabelledWarp& Warp(const WarpView& warp) { return warps_[KeyOf(warp)]; }

  // -- addresses ----------------------------------------------------------------------------------

  // The label of a value that is known to be an address.
  Label PointerLabel(uint64_t address);

  // Eight bytes of global memory are an address.
  void SetPointer(uint64_t place);

  // Variables of the module that are addresses from the beginning: tables of functions.
  void ScanVariables();

  // -- registers ----------------------------------------------------------------------------------

  Label LabelOf(const WarpView& warp, const Instruction& in, Operand operand, int lane);
  Label SpecialLabel(const vgpu::Function& function, const Instruction& in, Operand operand);
  Label SymbolLabel(const WarpView& warp, const Instruction& in, Operand operand);
  Labelled Operand1(const WarpView& warp, const Instruction& in, Operand operand, int lane);
  uint8_t OriginsOf(const WarpView& warp, const Instruction& in, Operand operand, int lane);
  void Set(Operand operand, int lane, Label label);

  // Anything of what the instruction reads may differ elsewhere.
  bool Touched(const Instruction& in, const vgpu::Function& function) const;

  // The results of an instruction of one lane's own operands.
  void Compute(WarpView& warp, const Instruction& in, uint32_t mask);
  Label ResultOf(const Instruction& in, const Labelled& a, const Labelled& b, const Labelled& c,
                 const Labelled& e);
  void Repack(WarpView& warp, const Instruction& in, int lane);
  void Shuffled(WarpView& warp, const Instruction& in, uint32_t mask);

  // Operands that are addresses of memory, not values.
  static bool IsPlace(const Instruction& in, Operand operand);

  // The rest: results that are made of several lanes' operands, or of memory in other ways than a
  // load's. All of them depend on all.
  void Mix(WarpView& warp, const Instruction& in, uint32_t mask);

  // -- memory -------------------------------------------------------------------------------------

  // The label of the word that holds the byte at `address`, as the lane sees it.
  Label WordAt(WarpView& warp, int lane, uint64_t address);
  void SetWordAt(WarpView& warp, int lane, uint64_t address, Label label, const Instruction& in);
  // The same label for all bytes, which are whole words or parts of some.
  void SetWords(WarpView& warp, int lane, uint64_t address, uint64_t bytes, Label label,
                const Instruction& in);
  uint8_t OriginsIn(WarpView& warp, int lane, uint64_t address, uint64_t bytes);

  void Read(WarpView& warp, const Instruction& in, int lane, uint64_t address, uint32_t bytes);
  // Words of a load or atomic; bytes of one word count as all of it.
  void TakeWords(WarpView& warp, int lane, uint64_t address, uint32_t bytes);

  // What a load of `bytes` bytes from byte `first` of the access on gives.
  Label LoadedLabel(int lane, uint32_t first, uint32_t bytes, uint64_t value);

  void Loaded(WarpView& warp, const Instruction& in, uint32_t mask);
  Label OldLabel(WarpView& warp, const Instruction& in, int lane);

  void Write(WarpView& warp, const Instruction& in, int lane, uint64_t address, uint32_t bytes);
  void Atomic(WarpView& warp, const Instruction& in, int lane, uint64_t address, uint32_t bytes);

  template <typename Visit>
  void ForEachWord(uint64_t address, uint64_t bytes, const Visit& visit) {
    if (bytes == 0) return;
    for (auto it = global_.lower_bound(address / kWord);
         it != global_.end() && it->first * kWord < address + bytes; ++it) {
      visit(it->first, it->second);
    }
  }
  void Forget(uint64_t address, uint64_t bytes);

  // -- uses ---------------------------------------------------------------------------------------

  void CheckGuard(WarpView& warp, const Instruction& in);
  void CheckUses(WarpView& warp, const Instruction& in, uint32_t mask);
  void Check(WarpView& warp, const Instruction& in, Operand operand, uint32_t mask,
             const char* what);
  void Use(WarpView& warp, const Instruction& in, int lane, uint8_t origins, const char* what);
  // The number of the store in places_, from 1 on.
  uint32_t StoreAt(WarpView& warp, const Instruction& in, int lane);
  void HostReads(uint64_t address, uint64_t bytes, const Place& where, const char* what);

  vgpu::DeviceMemory& memory_;
  LabelTable labels_;
  std::set<uint32_t> parameter_pointers_;  // of the launch that comes next
  std::map<std::pair<const vgpu::Kernel*, std::set<uint32_t>>, bool> looked_at_;
  std::map<uint64_t, LabelledWord> global_;  // by address / 4
  std::map<uint64_t, uint64_t> heap_;        // blocks of device malloc: address, bytes
  std::set<uint64_t> variables_;             // Allocation::id of the module's, looked at
  uint64_t scanned_ = 0;                     // DeviceMemory::generation of the last look
  std::map<std::pair<const Instruction*, uint64_t>, uint32_t> stores_;
  std::vector<Place> places_;
  std::map<std::tuple<const Instruction*, uint64_t, uint8_t>, size_t> known_;

  // The launch.
  vgpu::LaunchInfo launch_;
  bool active_ = false;
  uint64_t parameters_end_ = 0;
  SlotsOfFunctions slots_;
  std::map<WarpKey, LabelledWarp> warps_;
  std::map<uint64_t, std::unordered_map<uint64_t, Label>> shared_;  // by block and word

  // The instruction.
  LabelledFrame* frame_ = nullptr;
  std::array<std::array<Label, kMostWords>, vgpu::kWarpSize> loaded_{};
  std::array<uint8_t, vgpu::kWarpSize> bad_address_{};  // why the address is another elsewhere
  std::array<uint64_t, vgpu::kWarpSize> async_to_{};
  uint8_t taken_ = 0;  // by reads that are no plain loads
};

}  // namespace kernelsmith::checkers
