// The child's side of the GPU: what the candidate asks of it becomes messages for the broker, which
// has the real one. What this process knows of memory and kernels is a mirror that answers
// questions of the API; nobody else believes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cudart/recorder.h"
#include "cudart/runtime.h"
#include "plan/protocol.h"
#include "support/rng.h"

namespace kernelsmith::host {

class DeviceClient : public cudart::Recorder {
 public:
  // Never destroyed, as Channel.
  static DeviceClient& Get();

  // Where the candidate's library lies: call sites are told relative to its start.
  void SetLibraryRange(uint64_t begin, uint64_t end);
  // From now on allocations are told to the broker. `busy`: the GPU never is done at once. One of
  // the two children has such a GPU, and each has another one of the same model, so that what host
  // code makes of the answers is seen.
  void Start(bool busy);

  cudaError_t OnWork(const cudart::Work& work, uint64_t stream) override;
  cudaError_t OnFree(uint64_t address) override;
  void OnSynchronise(const Awaited& awaited) override;
  void OnQuery() override;
  void OnModule(const std::string& ptx) override;
  void OnAttribute(const cudart::Kernel& kernel) override;
  void OnBadFree(uint64_t address) override;
  void OnUnsupported(const std::string& function) override;
  bool StillRuns() override;
  float ElapsedMilliseconds() override;
  uint64_t MemoryOfOthers() const override;
  uint64_t Identity() const override { return identity_; }
  bool prepares_kernels() const override { return false; }

  // `count` elements of `bytes` each from `address` on become `value`.
  void Fill(uint64_t address, uint64_t value, uint32_t element_bytes, uint64_t count);
  // Bytes of the host go to the device.
  void Upload(uint64_t address, const void* data, uint64_t bytes);
  // The host looks at device memory; nothing where that is not allocated.
  std::vector<std::byte> Read(uint64_t address, uint64_t bytes);
  // An operator of a library.
  void Library(std::string op, std::string arguments, std::vector<protocol::Tensor> tensors,
               std::vector<protocol::Tensor> outputs);

  // The stream to which operators of PyTorch go from now on.
  void SetCurrentStream(cudaStream_t stream);
  // The candidate's function comes back.
  void OnReturn() { CheckDeviceReads(); }

  // Where in the candidate's library the call came from, `skip` frames further out.
  uint64_t Site(int skip = 0) const;

 private:
  protocol::Place PlaceOf(uint64_t stream, int skip = 0) const;
  protocol::Place DefaultPlace() const;
  void OnAllocation(const vgpu::Allocation& allocation);
  cudaError_t SendCopy(const cudart::CopyWork& work, uint64_t stream);
  void SendGraph(const cudart::GraphProgram& program, uint64_t stream);
  // Makes what the device wrote to memory that the host can see visible to it.
  void ExchangeHostMemory();
  // Memory that the host writes without a call: what changed since we last looked is an upload.
  void UploadHostMemory(const protocol::Place& place);
  // The device reads memory of the host, and may do so until the host has waited for the stream.
  void NoteDeviceReads(uint64_t address, uint64_t bytes, uint64_t stream);
  void NoteDeviceReads(const cudart::KernelWork& kernel, uint64_t stream);
  // What it reads must still be there; a race ends the trace.
  void CheckDeviceReads();
  bool IsDeviceMemory(const void* pointer) const;

  uint64_t identity_ = RandomSeed();
  bool busy_ = false;
  int answers_until_done_ = 0;
  uint64_t library_begin_ = 0;
  uint64_t library_end_ = 0;
  std::map<uint64_t, std::vector<std::byte>> host_memory_;  // last known contents, by address
  std::map<const void*, uint32_t> events_;  // numbers of records; addresses are used again
  uint32_t next_event_ = 0;
  std::optional<uint64_t> current_stream_;  // none: the default stream
  bool several_streams_ = false;            // work went to another stream than the default one
  struct DeviceRead {
    uint64_t address = 0;
    std::vector<std::byte> contents;
    uint64_t stream = 0;
  };
  std::vector<DeviceRead> device_reads_;  // that the host has not waited for
};

}  // namespace kernelsmith::host
