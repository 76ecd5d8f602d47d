// What the child asks of the GPU, as lines of JSON for the judge. Nothing runs until the host looks
// at a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cudart/runtime.h"
#include "plan/protocol.h"
#include "support/finding_kind.h"

namespace kernelsmith::broker {

class TraceRecorder {
 public:
  // Lines go to this descriptor. `load_module` makes the candidate's variables exist.
  TraceRecorder(int reply, std::function<void()> load_module)
      : reply_(reply), load_module_(std::move(load_module)) {}

  // The buffer of an argument, before the candidate is called.
  void AddInput(uint64_t address, const std::string& name, uint32_t argument);

  bool IsInput(uint64_t address) const { return inputs_.contains(address); }

  void Launch(const protocol::Place& place, cudart::KernelWork work);
  void Copy(const protocol::CopyMessage& message);
  void Fill(const protocol::FillMessage& message);
  void Upload(protocol::UploadMessage message);
  // The host is about to look at device memory; null: there is none.
  const std::byte* Read(const protocol::ReadMessage& message);
  // An operator of a library. `run` computes it if the host needs the result.
  void Library(const protocol::LibraryMessage& message, std::function<void()> run);
  void Event(const protocol::EventMessage& message, bool record);
  void Free(uint64_t address);
  void Result(const std::vector<protocol::Tensor>& tensors);

  // Runs `work` after all that was recorded so far; the plan does not know of it.
  void Later(std::function<void()> work) { pending_.push_back(std::move(work)); }

  void Phase(const char* name);
  // `out_of_memory`: it is for want of device memory.
  void Finding(FindingKind kind, const std::string& message, uint64_t site = 0,
               bool out_of_memory = false);
  void Emit(const nlohmann::json& line);
  void FlushReply();

  // Runs all that is pending.
  void Run();
  // Steps and buffers so far.
  uint64_t lines() const { return lines_; }

 private:
  void Record(nlohmann::json step, const protocol::Place& place);
  // Notes the buffer that `address` lies in and gives its number; nothing if there is none.
  std::optional<uint32_t> Note(uint64_t address, uint64_t* offset = nullptr);
  void NotePointers(const std::vector<std::byte>& bytes);
  // [buffer, offset] for the judge.
  nlohmann::json Reference(uint64_t address);
  nlohmann::json TensorLine(const protocol::Tensor& tensor);

  int reply_;
  std::function<void()> load_module_;
  std::string out_;
  uint64_t lines_ = 0;
  std::map<uint64_t, uint32_t> seen_;     // buffers, by the allocation's id
  std::map<uint64_t, uint32_t> streams_;  // numbers, in the order in which they were seen
  std::map<uint64_t, std::pair<std::string, uint32_t>> inputs_;  // inputs by their address
  std::deque<std::function<void()>> pending_;
};

std::string Hex(const std::byte* data, size_t bytes);

}  // namespace kernelsmith::broker
