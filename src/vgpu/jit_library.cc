#include "vgpu/jit_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>
#include <vector>

namespace kernelsmith::vgpu {

JitLibrary FindJitLibrary(const std::string& given) {
  constexpr const char* kFile = "libkernelsmith-jit.so";
  std::vector<std::filesystem::path> places;
  if (!given.empty()) places.emplace_back(given);
  // Beside the library or program that this code is part of, or in lib/kernelsmith of a folder
  // above it.
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&FindJitLibrary), &self) != 0 &&
      self.dli_fname != nullptr) {
    std::error_code ignored;
    std::filesystem::path file = std::filesystem::canonical(self.dli_fname, ignored);
    if (ignored) file = std::filesystem::read_symlink("/proc/self/exe", ignored);
    places.push_back(file.parent_path() / kFile);
    for (std::filesystem::path at = file.parent_path(); at.has_relative_path();
         at = at.parent_path()) {
      places.push_back(at / "lib" / "kernelsmith" / kFile);
    }
  }
  for (const std::filesystem::path& place : places) {
    std::error_code ignored;
    if (!std::filesystem::exists(place, ignored)) continue;
    void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return {nullptr, ::dlerror()};
    void* symbol = ::dlsym(handle, jit::kCompileSymbol);
    const void* abi = ::dlsym(handle, jit::kAbiSymbol);
    if (symbol == nullptr || abi == nullptr) {
      return {nullptr, place.string() + " is no compiler of kernels"};
    }
    // It reads the engine's data structures: another build of them would be read wrong.
    if (std::string_view(static_cast<const char*>(abi)) != KS_JIT_ABI) {
      return {nullptr, place.string() + " belongs to another version of kernelsmith"};
    }
    return {reinterpret_cast<jit::CompileFunction>(symbol), {}};
  }
  return {nullptr, std::string(kFile) + " was not found"};
}

}  // namespace kernelsmith::vgpu
