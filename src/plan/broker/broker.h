// The broker has the GPU that the candidate's host code talks to: buffers, device code, variables,
// and the plan that comes of it. Its other side is hostile (plan/protocol.h): every message is
// checked, and one that no honest child could send ends the trace.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "plan/broker/recorder.h"
#include "plan/parameter_use.h"
#include "plan/plan.h"
#include "plan/protocol.h"

namespace kernelsmith::broker {

class Broker {
 public:
  // `ptx` is the candidate's device code, as it was compiled. The runtime is set up.
  Broker(int reply, std::string ptx, PlanLimits limits);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  TraceRecorder& recorder() { return recorder_; }

  enum class Next {
    kGoOn,      // the child goes on
    kReturned,  // its function returned: `returned` has the result
    kEnd,       // there is nothing more to see; a finding says why
  };
  // One message. `answer` is a frame for the child, or empty.
  Next Handle(uint32_t kind, std::string_view payload, std::string* answer);

  const protocol::ReturnedMessage& returned() const { return returned_; }
  // The result of the call that counts: lines of the trace, or a finding. False: no result.
  bool Conclude(bool direct);
  // Many calls follow one another, and nothing that they launch runs unless the host can see it.
  void ExpectManyCalls() { many_calls_ = true; }

 private:
  Next Forged(const std::string& what);
  Next Problem(FindingKind kind, const std::string& what, uint64_t site = 0,
               bool out_of_memory = false);
  template <typename Message>
  Next With(std::string_view payload, Next (Broker::*handle)(const Message&));

  Next OnLoaded(const protocol::LoadedMessage& message);
  Next OnModule(const protocol::ModuleMessage& message);
  Next OnAllocate(const protocol::AllocateMessage& message);
  Next OnFree(const protocol::FreeMessage& message);
  Next OnAttribute(const protocol::AttributeMessage& message);
  Next OnLaunch(const protocol::LaunchMessage& message);
  Next OnCopy(const protocol::CopyMessage& message);
  Next OnFill(const protocol::FillMessage& message);
  Next OnUpload(const protocol::UploadMessage& message);
  Next OnRead(const protocol::ReadMessage& message);
  Next OnSynchronise(const protocol::SynchroniseMessage& message);
  Next OnLibrary(const protocol::LibraryMessage& message);
  Next OnRecord(const protocol::EventMessage& message);
  Next OnWait(const protocol::EventMessage& message);
  Next OnWaited(const protocol::EventMessage& message);
  Next OnReturned(const protocol::ReturnedMessage& message);
  Next OnThrew(const protocol::ThrewMessage& message);

  // The candidate's device code, loaded when it is first needed; null, with a finding, if it can't.
  cudart::DeviceModule* Module();
  cudart::Kernel* FindKernel(const std::string& name);
  bool IsTensor(const protocol::Tensor& tensor) const;
  // Addresses are never given twice, so one of memory that was freed is a use of it.
  bool IsFreed(uint64_t address) const;
  Next UsedAfterFree(const std::string& what, const protocol::Place& place);
  protocol::DataMessage Answer(std::vector<std::byte> bytes);

  std::string ptx_;
  PlanLimits limits_;
  ParameterUse parameter_use_;
  TraceRecorder recorder_;
  cudart::DeviceModule* module_ = nullptr;
  bool tried_to_load_ = false;
  bool told_of_module_ = false;
  bool device_code_fails_ = false;
  bool many_calls_ = false;
  uint64_t uploaded_ = 0;
  uint64_t registered_ = 0;
  uint64_t allocations_ = 0;
  std::set<uint32_t> events_;
  std::map<uint64_t, uint64_t> freed_;  // where memory began that was freed, and where it ended
  std::string* answer_ = nullptr;
  protocol::ReturnedMessage returned_;
};

}  // namespace kernelsmith::broker
