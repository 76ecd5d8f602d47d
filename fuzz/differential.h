// Runs a program under the interpreter and as compiled code, and says where they differ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program.h"
#include "support/result.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::fuzz {

// For the fuzzer's own test: compiled code gets a program in which `from` is replaced by `to`.
struct Breakage {
  std::string from;
  std::string to;
};

struct Comparison {
  std::string difference;  // empty: none
  bool compiled = false;
  std::string fallback;
  bool faulted = false;
  bool sliced = false;
  uint64_t lane_instructions = 0;
  double compile_ms = 0;
};

class Differential {
 public:
  static Result<std::unique_ptr<Differential>> Create(std::optional<Breakage> breakage);

  // An error: the program is not valid, or can't be launched.
  Result<Comparison> Compare(const Program& program);

 private:
  Differential() = default;
  struct Outcome;
  struct How {
    vgpu::Engine engine = vgpu::Engine::kInterpreter;
    uint32_t threads = 1;
    bool covered = false;
    vgpu::Observer* observer = nullptr;
    vgpu::SliceRecord* slice = nullptr;
  };
  Result<Outcome> Run(vgpu::LoadedModule& module, const Program& program, uint64_t output,
                      const How& how);
  // Where a slice does not write what the program writes; empty: nowhere.
  Result<std::string> CompareSlices(vgpu::LoadedModule& module, const Program& program,
                                    uint64_t output, Comparison& comparison);
  Result<std::unique_ptr<vgpu::LoadedModule>> Load(const std::string& text);

  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  std::optional<Breakage> breakage_;
};

}  // namespace kernelsmith::fuzz
