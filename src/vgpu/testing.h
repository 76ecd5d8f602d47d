// For tests: a virtual GPU that runs kernels from PTX text.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ptx.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::vgpu {

class TestGpu {
 public:
  explicit TestGpu(VirtualGpu::Options options = {}) {
    options.print = [this](std::string_view text) { printed_ += text; };
    auto gpu = VirtualGpu::Create(std::move(options));
    EXPECT_TRUE(gpu.ok());
    gpu_ = std::move(*gpu);
  }

  VirtualGpu& gpu() { return *gpu_; }
  DeviceMemory& memory() { return gpu_->memory(); }
  const std::string& printed() const { return printed_; }
  LoadedModule& module() { return *module_; }

  // Loads a module from the text of its body; the header is added.
  Status Load(std::string_view body) {
    const std::string text = ".version 8.4\n.target sm_90a\n.address_size 64\n" + std::string(body);
    KS_TRY(ptx::Module parsed, ptx::Parse(text, "test.ptx"));
    KS_TRY(module_, LoadedModule::Load({std::make_shared<const ptx::Module>(std::move(parsed))},
                                       memory(), "test"));
    return {};
  }

  template <typename T>
  uint64_t Buffer(const std::vector<T>& values) {
    const auto address = memory().Allocate(values.size() * sizeof(T), AllocationKind::kDevice, "b");
    EXPECT_TRUE(address.ok());
    if (!values.empty()) {
      std::memcpy(memory().HostAlias(*address, values.size() * sizeof(T)), values.data(),
                  values.size() * sizeof(T));
    }
    return *address;
  }

  template <typename T>
  std::vector<T> Read(uint64_t address, size_t count) {
    std::vector<T> values(count);
    const void* bytes = memory().HostAlias(address, count * sizeof(T));
    EXPECT_NE(bytes, nullptr);
    if (bytes != nullptr) std::memcpy(values.data(), bytes, count * sizeof(T));
    return values;
  }

  // Arguments are 64-bit parameters.
  Result<LaunchResult> Launch(const std::string& entry, Dim3 grid, Dim3 block,
                              const std::vector<uint64_t>& arguments, uint32_t dynamic_shared = 0,
                              bool cooperative = false, Observer* observer = nullptr) {
    return gpu_->Launch({.module = module_.get(),
                         .entry = entry,
                         .grid = grid,
                         .block = block,
                         .dynamic_shared_bytes = dynamic_shared,
                         .parameters = std::as_bytes(std::span(arguments)),
                         .cooperative = cooperative,
                         .observer = observer});
  }

  // Launches and expects no fault.
  LaunchResult Run(const std::string& entry, Dim3 grid, Dim3 block,
                   const std::vector<uint64_t>& arguments, uint32_t dynamic_shared = 0,
                   bool cooperative = false) {
    auto result = Launch(entry, grid, block, arguments, dynamic_shared, cooperative);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().Format());
    if (!result.ok()) return {};
    EXPECT_FALSE(result->fault.has_value()) << result->fault->message;
    return *std::move(result);
  }

 private:
  std::string printed_;
  std::unique_ptr<VirtualGpu> gpu_;
  std::unique_ptr<LoadedModule> module_;
};

}  // namespace kernelsmith::vgpu
