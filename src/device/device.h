// A device runs plans: with its own buffers, data that the candidate has never seen, poisoned
// outputs and workspaces, and a freshly loaded module. This is what every device can do; what can
// be watched while it runs is an ObservableDevice (observable_device.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/argument.h"
#include "plan/plan.h"
#include "support/finding_kind.h"
#include "support/result.h"

namespace kernelsmith {

// Where the plan's buffers lie.
struct MemoryLayout {
  enum class Kind : uint8_t {
    kGuarded,  // each between guard pages
    kPacked,   // one behind the other at multiples of 512 bytes, as PyTorch's allocator places them
    kScattered,  // in another order, with gaps of up to a gigabyte between them
  };
  Kind kind = Kind::kGuarded;
  uint64_t seed = 0;  // of the order and the gaps
};

struct RunRequest {
  const Plan* plan = nullptr;
  std::string ptx;  // the candidate's module
  std::string ptx_name = "candidate.ptx";
  // The tensors of the arguments, flattened, as the plan's inputs number them.
  std::vector<const CallArgument*> inputs;
  // What the preparation gets; empty: the same. Other data than the plan's shows results that the
  // candidate keeps from one call to the next.
  std::vector<const CallArgument*> preparation_inputs;
  uint64_t poison_seed = 1;  // fresh memory is filled with bytes from it
  MemoryLayout layout;
  // False: only times and what an observer sees count. Fresh memory has no poison and the outcome
  // no tensors, which at shapes for timing costs more than a sample of blocks does.
  bool results = true;
};

// How long a step of the plan took on this device. On the virtual GPU that is the time of the
// simulation, which says nothing about a GPU.
struct StepTime {
  size_t step = 0;
  std::chrono::nanoseconds duration{0};
};

struct RunOutcome {
  // Why the run ended early; outputs are then empty.
  struct Failure {
    size_t step = 0;
    FindingKind kind = FindingKind::kLaunchError;
    std::string message;
  };
  std::optional<Failure> failure;
  std::vector<HostTensor> outputs;  // as the plan lists them, row-major
  // Elements that still hold the poison: never written. One flag an element, per output.
  std::vector<std::vector<bool>> unwritten;
  // Those that the run changed, row-major; the others have no bytes. InputAfter() has all.
  std::vector<HostTensor> inputs;
  std::vector<bool> input_changed;  // any byte of the input's storage, gaps included
  std::vector<StepTime> times;      // of the plan's launches, in order
  std::chrono::nanoseconds duration{0};
};

// An input after the run.
inline const HostTensor& InputAfter(const RunOutcome& outcome, const CallArgument& before,
                                    size_t number) {
  return outcome.input_changed.at(number) ? outcome.inputs.at(number) : before.tensor;
}

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string Name() const = 0;
  // An error: the plan can't be run here at all (unsupported instruction or operator, bad PTX). A
  // kernel that goes wrong is an outcome with a failure.
  virtual Result<RunOutcome> Run(const RunRequest& request) = 0;
};

}  // namespace kernelsmith
