// The child's side of tracing: what the candidate asks of the GPU becomes lines of JSON for the
// parent. Nothing runs until the host looks at a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cudart/recorder.h"
#include "cudart/runtime.h"
#include "support/finding_kind.h"

namespace kernelsmith::tracer {

class TraceRecorder : public cudart::Recorder {
 public:
  // Never destroyed: candidates free things from exit handlers.
  static TraceRecorder& Get();

  // Lines go to this descriptor.
  void SetReply(int fd) { reply_ = fd; }
  // Where the host library lies: call sites are told relative to its start.
  void SetLibraryRange(uint64_t begin, uint64_t end);

  cudaError_t OnWork(const cudart::Work& work, uint64_t stream) override;
  cudaError_t OnFree(uint64_t address) override;
  void OnSynchronise() override;

  // The buffer of an argument, before the candidate is called.
  void AddInput(uint64_t address, uint64_t bytes, const std::string& name, uint32_t argument);

  // `count` elements of `bytes` each from `address` on become `value`.
  void Fill(uint64_t address, uint64_t value, uint32_t element_bytes, uint64_t count);
  // Bytes of the host go to the device.
  void Upload(uint64_t address, const void* data, uint64_t bytes);
  // The host is about to look at device memory; gives where.
  const std::byte* HostRead(uint64_t address, uint64_t bytes);
  // An operator of a library. `run` computes it if the host needs the result.
  void Library(nlohmann::json step, std::function<void()> run);
  // [buffer, offset] for the parent.
  nlohmann::json Reference(uint64_t address);

  // Runs `work` after all that was recorded so far; the plan does not know of it.
  void Later(std::function<void()> work) { pending_.push_back(std::move(work)); }

  void Phase(const char* name);
  // `out_of_memory`: it is for want of device memory.
  void Finding(FindingKind kind, const std::string& message, bool out_of_memory = false);
  void Emit(const nlohmann::json& line);
  void FlushReply();

  // Runs all that is pending.
  void Run();

 private:
  struct Seen {
    uint32_t index = 0;
    bool freed = false;
  };

  void Record(nlohmann::json step, uint64_t stream, int skip = 0);
  void RecordKernel(const cudart::KernelWork& work, uint64_t stream);
  cudaError_t RecordCopy(const cudart::CopyWork& work, uint64_t stream);
  void RecordFill(const cudart::FillWork& work, uint64_t stream);
  void RecordGraph(const cudart::GraphProgram& program, uint64_t stream);
  // Notes the buffer that `address` lies in; null if there is none.
  const Seen* Note(uint64_t address);
  void NotePointers(const std::byte* data, size_t bytes);
  // Memory that the host writes without a call: what changed since we last looked is an upload.
  void UploadHostMemory(uint64_t stream);
  void RememberHostMemory();
  bool IsDeviceMemory(const void* pointer);
  // Where in the host library the call came from, `skip` frames further out.
  uint64_t Site(int skip = 0);
  uint32_t StreamNumber(uint64_t stream);

  int reply_ = -1;
  std::string out_;
  uint64_t library_begin_ = 0;
  uint64_t library_end_ = 0;
  std::map<uint64_t, Seen> seen_;                           // what was seen, by the allocation's id
  std::map<uint64_t, std::vector<std::byte>> host_memory_;  // last known contents, by address
  std::map<uint64_t, uint32_t> streams_;
  std::map<const void*, uint32_t> events_;                       // numbers of records
  std::map<uint64_t, std::pair<std::string, uint32_t>> inputs_;  // inputs by their address
  std::deque<std::function<void()>> pending_;
  bool running_ = false;
};

std::string Hex(const std::byte* data, size_t bytes);

}  // namespace kernelsmith::tracer
