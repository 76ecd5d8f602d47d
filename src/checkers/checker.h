// A checker hears of what kernels do (vgpu::Observer) and of what the host does, and reports to a
// sink. CheckerList runs several as one.
//
// Operations. Everything that runs in a stream (kernel, copy, fill, free) is an operation with a
// number. OnSubmit says after which others it runs; OnHostWait that the host waited for some, so
// that whatever is submitted later runs after them too. What is not ordered so may overlap.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkers/finding.h"
#include "vgpu/observer.h"
#include "vgpu/screen_source.h"

namespace kernelsmith::checkers {

// Rows that an operation (or the host, with operation 0) copies or fills.
struct HostCopy {
  uint64_t operation = 0;
  uint64_t to = 0;
  uint64_t from = 0;         // fills: 0
  bool to_device = false;    // `to` is an address of the virtual GPU
  bool from_device = false;  // false for fills and for copies from host memory
  uint64_t width = 0;        // bytes of a row
  uint64_t height = 1;
  uint64_t depth = 1;
  uint64_t to_pitch = 0;
  uint64_t from_pitch = 0;
  uint64_t to_slice = 0;
  uint64_t from_slice = 0;
  Place place;                 // the place of the call
  const char* what = nullptr;  // for messages; null: a copy, or a fill

  // Calls row(to, from) for the first bytes of each row.
  template <typename Row>
  void ForEachRow(const Row& row) const {
    for (uint64_t z = 0; z < depth; ++z) {
      for (uint64_t y = 0; y < height; ++y) {
        row(to + z * to_slice + y * to_pitch, from + z * from_slice + y * from_pitch);
      }
    }
  }
};

// Calls visit(lane) for each lane in `lanes`.
template <typename Visit>
void ForEachLane(uint32_t lanes, const Visit& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// A call of the API that failed.
struct ApiError {
  std::string call;    // "cudaMemcpy"
  std::string name;    // "cudaErrorInvalidValue"
  std::string detail;  // what we know beyond that
  bool launch = false;
  bool ignored = false;  // as far as can be told; see cudart/checking.h
  Place place;
};

// Called by one thread at a time. Findings go to the sink that the checker was made with.
class Checker : public vgpu::Observer {
 public:
  explicit Checker(FindingSink& sink) : sink_(sink) {}

  // Memory of the program. OnFree comes before the memory goes.
  virtual void OnAllocate(const vgpu::Allocation& allocation, const Place& where) {}
  virtual void OnFree(const vgpu::Allocation& allocation, uint64_t operation, const Place& where) {}
  // cudaFree of something that is no live allocation.
  virtual void OnBadFree(uint64_t address, const Place& where) {}
  virtual void OnCopy(const HostCopy& copy) {}  // before it happens; symbols too
  virtual void OnFill(const HostCopy& fill) {}
  // [address, address + bytes) now holds a value by other means: a library call, an input.
  virtual void OnDefined(uint64_t address, uint64_t bytes) {}
  // [address, address + bytes) is an output of a plan: all of it counts.
  virtual void OnHostRead(uint64_t address, uint64_t bytes, const Place& where) {}

  // Eight bytes at each of these offsets in the parameters of the launch that comes next are
  // addresses of device memory.
  virtual void OnParameterPointers(std::span<const uint32_t> offsets) {}
  // The same for addresses in device memory that the host writes.
  virtual void OnPointersWritten(std::span<const uint64_t> places) {}

  virtual void OnSubmit(uint64_t operation, std::span<const uint64_t> after) {}
  virtual void OnHostWait(std::span<const uint64_t> operations) {}
  // A launch that may run beside these until its threads have waited (griddepcontrol.wait).
  virtual void OnMayBeginEarly(uint64_t operation, std::span<const uint64_t> beside) {}

  virtual void OnApiError(const ApiError& error) {}
  // The program ends.
  virtual void Finish() {}

  // -- screened launches (vgpu/screen.h): between OnLaunchBegin and OnLaunchEnd nothing is heard of
  // What the screen looks for in this checker's stead. Nullopt: it must see every launch.
  virtual std::optional<vgpu::ScreenChecks> ScreenedChecks() const { return std::nullopt; }
  // May the launch that began last be screened?
  virtual bool MayScreen() { return true; }
  // See vgpu::ScreenSource.
  virtual const uint8_t* DefinedBytes(const vgpu::Allocation& allocation) { return nullptr; }
  virtual void OnScreenedWrite(uint64_t address, uint64_t bytes) {}
  virtual bool IsInOrder(std::span<const vgpu::ScreenFootprint> touched) { return true; }
  virtual bool WantsExactReads() const { return false; }

 protected:
  FindingSink& sink() { return sink_; }

 private:
  FindingSink& sink_;
};

// Fans out. Launches on several threads take turns: each holds the list from its begin to its end,
// except while its blocks give way (OnPause).
//
// If all of them can be screened, so is the list. EngineSettings::full_checks makes them see every
// launch nevertheless.
class CheckerList final : public Checker, private vgpu::ScreenSource {
 public:
  explicit CheckerList(FindingSink& sink);
  ~CheckerList() override;
  void Add(std::unique_ptr<Checker> checker);
  bool empty() const { return all_.empty(); }
  vgpu::Screen* screen() override;
  // Blocks of every launch that run, as far as it has them; the others do not.
  void OnlyBlocks(std::function<std::vector<uint64_t>(uint64_t count)> choose) {
    choose_ = std::move(choose);
  }
  vgpu::BlockChoice ChooseBlocks(const vgpu::LaunchInfo& launch) override;

  uint32_t interests() const override { return interests_; }
  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override;
  void OnLaunchEnd(const vgpu::Fault* fault) override;
  void OnPause(uint64_t launch_id) override;
  void OnResume(uint64_t launch_id) override;
  void OnBlockBegin(uint64_t block_number) override;
  void OnBlockEnd(uint64_t block_number) override;
  void OnWarpBegin(vgpu::WarpView& warp) override;
  void OnWarpEnd(vgpu::WarpView& warp) override;
  void BeforeInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  void AfterInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  bool OnMemoryAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override;
  bool OnBadAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access, uint32_t bad,
                   vgpu::BadAccess why) override;
  void OnFrameCopy(vgpu::WarpView& warp, int lane, uint64_t to, uint64_t from,
                   uint32_t bytes) override;
  void OnIndexArithmetic(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  void OnDeviceMalloc(vgpu::WarpView& warp, int lane, uint64_t address, uint64_t size) override;
  bool OnDeviceFree(vgpu::WarpView& warp, int lane, uint64_t address) override;
  void OnResultWritten(vgpu::WarpView& warp, uint64_t address, uint64_t bytes) override;
  void OnDeviceCopy(uint64_t operation, uint64_t to, uint64_t from, uint64_t bytes) override;
  void OnBarrier(vgpu::WarpView& warp, const vgpu::BarrierEvent& event) override;
  void OnBarrierReleased(uint64_t block_number, uint32_t barrier) override;
  void OnFence(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  void OnWarpSync(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  void OnWarpBarrier(vgpu::WarpView& warp, uint32_t lanes) override;
  void OnAsyncGroup(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override;
  void OnMbarrierEnded(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override;
  void OnClusterArrive(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask,
                       uint32_t phase) override;
  void OnClusterEnded(vgpu::WarpView& warp, uint32_t mask, uint32_t phase) override;
  void OnExit(vgpu::WarpView& warp, uint32_t mask) override;

  void OnAllocate(const vgpu::Allocation& allocation, const Place& where) override;
  void OnFree(const vgpu::Allocation& allocation, uint64_t operation, const Place& where) override;
  void OnBadFree(uint64_t address, const Place& where) override;
  void OnCopy(const HostCopy& copy) override;
  void OnFill(const HostCopy& fill) override;
  void OnDefined(uint64_t address, uint64_t bytes) override;
  void OnHostRead(uint64_t address, uint64_t bytes, const Place& where) override;
  void OnParameterPointers(std::span<const uint32_t> offsets) override;
  void OnPointersWritten(std::span<const uint64_t> places) override;
  void OnSubmit(uint64_t operation, std::span<const uint64_t> after) override;
  void OnHostWait(std::span<const uint64_t> operations) override;
  void OnMayBeginEarly(uint64_t operation, std::span<const uint64_t> beside) override;
  void OnApiError(const ApiError& error) override;
  void Finish() override;

 private:
  const uint8_t* DefinedBytes(const vgpu::Allocation& allocation) override;
  void OnScreenedWrite(uint64_t address, uint64_t bytes) override;
  bool IsInOrder(std::span<const vgpu::ScreenFootprint> touched) override;
  bool WantsExactReads() const override;
  template <typename Call>
  void HostEvent(const Call& call);

  std::mutex mutex_;  // held by the launch whose turn it is
  std::vector<std::unique_ptr<Checker>> all_;
  std::vector<Checker*> instructions_;  // those with the interest
  std::vector<Checker*> accesses_;
  std::vector<Checker*> bad_accesses_;
  std::vector<Checker*> index_arithmetic_;
  std::function<std::vector<uint64_t>(uint64_t)> choose_;
  uint32_t interests_ = 0;
  std::unique_ptr<vgpu::Screen> screen_;  // made when first asked for
};

}  // namespace kernelsmith::checkers
