// What the child asks of the GPU, as lines of JSON for the judge. Nothing runs until the host looks
// at a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cudart/runtime.h"
#include "plan/parameter_use.h"
#include "plan/protocol.h"
#include "support/finding_kind.h"

namespace kernelsmith::broker {

class TraceRecorder {
 public:
  // Lines go to this descriptor. `load_module` makes the candidate's variables exist. `use` knows
  // what kernels read of their parameters; it is asked only where calls are compared.
  TraceRecorder(int reply, std::function<void()> load_module, const ParameterUse& use)
      : reply_(reply), load_module_(std::move(load_module)), use_(use) {}

  // The buffer of an argument, before the candidate is called: number `argument` of the tensors in
  // set `set`.
  void AddInput(uint64_t address, const std::string& name, uint32_t set, uint32_t argument);

  bool IsInput(uint64_t address) const { return inputs_.contains(address); }

  void Launch(const protocol::Place& place, cudart::KernelWork work);
  void Copy(const protocol::CopyMessage& message);
  void Fill(const protocol::FillMessage& message);
  void Upload(protocol::UploadMessage message);
  // The host is about to look at device memory; null: there is none.
  const std::byte* Read(const protocol::ReadMessage& message);
  // An operator of a library. `run` computes it if the host needs the result.
  void Library(const protocol::LibraryMessage& message, std::function<void()> run);
  // `what`: record, wait or synchronise.
  void Event(const protocol::EventMessage& message, const char* what);
  void Free(uint64_t address);
  void Result(const std::vector<protocol::Tensor>& tensors);

  // Runs `work` after all that was recorded so far; the plan does not know of it.
  void Later(std::function<void()> work) { pending_.push_back(std::move(work)); }

  // A call of the candidate begins: `number` counts from 1, `set` is the set of its arguments.
  void BeginCall(uint32_t number, uint32_t set);
  // The same for one of many calls: nothing is written of a call that does what an earlier one with
  // the same set has done, but for where its own memory lies.
  void BeginRepeatableCall(uint32_t number, uint32_t set);
  void EndRepeatableCall();
  // How often each call that was written has happened, in order.
  const std::vector<uint32_t>& times() const { return times_; }

  void NoteAllocation(uint64_t id);
  // Allocations that the host code has and has not freed.
  int64_t live() const { return live_; }

  // `out_of_memory`: it is for want of device memory.
  void Finding(FindingKind kind, const std::string& message, uint64_t site = 0,
               bool out_of_memory = false);
  void Emit(const nlohmann::json& line);
  void FlushReply();

  // Runs all that is pending.
  void Run();
  // The same because the host looks at what kernels did.
  void Look() {
    ++looks_;
    Run();
  }
  // How often the host has looked at what kernels did.
  uint64_t looks() const { return looks_; }
  // Steps and buffers so far.
  uint64_t lines() const { return lines_; }

 private:
  void Record(nlohmann::json step, const protocol::Place& place,
              const std::vector<std::byte>& bytes = {});
  // Notes the buffer that `address` lies in and gives its number; nothing if there is none.
  std::optional<uint32_t> Note(uint64_t address, uint64_t* offset = nullptr);
  void NotePointers(const std::vector<std::byte>& bytes);
  // [buffer, offset] for the judge.
  nlohmann::json Reference(uint64_t address);
  nlohmann::json TensorLine(const protocol::Tensor& tensor);
  // The step as it is in every call that does the same: with names for memory and events that do
  // not depend on how many there were before. `bytes` are its raw bytes, if it has any.
  std::string Comparable(nlohmann::json step, const std::vector<std::byte>& bytes);
  nlohmann::json ComparablePlace(const nlohmann::json& reference) const;
  nlohmann::json ComparableBytes(std::vector<std::byte> bytes, const std::string& kernel);

  int reply_;
  std::function<void()> load_module_;
  const ParameterUse& use_;
  std::string out_;
  // The call that is being recorded. Its lines are held back until it is known whether they are
  // needed.
  struct Call {
    uint32_t set = 0;
    std::string lines;
    uint64_t line_count = 0;
    std::string comparable;              // what it does
    uint64_t first_allocation = 0;       // allocations of this call have this id or a later one
    std::vector<uint64_t> noted;         // the ids of buffers that it was the first to name
    std::map<uint32_t, size_t> events;   // numbers, in the order in which it names them
    std::map<uint32_t, size_t> streams;  // the same
    uint32_t fresh = 0;                  // buffers of its own so far
  };
  std::optional<Call> call_;
  std::map<std::pair<uint32_t, std::string>, size_t> known_calls_;  // set and what it does
  std::vector<uint32_t> times_;
  std::vector<std::string> names_;  // of buffers, for comparisons
  uint64_t last_allocation_ = 0;    // its id
  int64_t live_ = 0;
  uint64_t looks_ = 0;
  uint64_t lines_ = 0;
  std::map<uint64_t, uint32_t> seen_;     // buffers, by the allocation's id
  std::map<uint64_t, uint32_t> streams_;  // numbers, in the order in which they were seen
  struct Input {
    std::string name;
    uint32_t set = 0;
    uint32_t argument = 0;
  };
  std::map<uint64_t, Input> inputs_;  // by their address
  std::deque<std::function<void()>> pending_;
};

std::string Hex(const std::byte* data, size_t bytes);

}  // namespace kernelsmith::broker
