// What nvcc's generated code calls: registration before main, and the two halves of <<<>>>.
#include <cstring>

#include "cudart/api.h"
#include "cudart/checking.h"

using namespace kernelsmith::cudart;

namespace {

DeviceModule* ModuleOf(void** handle) { return reinterpret_cast<DeviceModule*>(handle); }

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(Runtime::Get().registry().AddModule(wrapper));
}

void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}

void __cudaUnregisterFatBinary(void** handle) {
  Runtime::Get().registry().Remove(ModuleOf(handle));
}

void __cudaRegisterFunction(void** handle, const char* host_function, char* /*device_function*/,
                            const char* device_name, int /*thread_limit*/, uint3* /*thread*/,
                            uint3* /*block*/, dim3* /*block_size*/, dim3* /*grid_size*/,
                            int* /*warp_size*/) {
  Runtime::Get().registry().AddFunction(ModuleOf(handle), host_function, device_name);
}

void __cudaRegisterVar(void** handle, char* host_variable, char* /*device_address*/,
                       const char* device_name, int /*external*/, size_t size, int constant,
                       int /*global*/) {
  Runtime::Get().registry().AddVariable(
      ModuleOf(handle), host_variable,
      {.name = device_name, .size = size, .constant = constant != 0});
}

void __cudaRegisterManagedVar(void** handle, void** host_pointer, char* /*device_address*/,
                              const char* device_name, int /*external*/, size_t size, int constant,
                              int /*global*/) {
  Runtime::Get().registry().AddVariable(ModuleOf(handle), host_pointer,
                                        {.name = device_name,
                                         .size = size,
                                         .constant = constant != 0,
                                         .managed_pointer = host_pointer});
}

// Variables that live on the host and that device code may name (-rdc with unified tables): nothing
// to do until device code uses one, which then is an unresolved name.
void __cudaRegisterHostVar(void** /*handle*/, const char* /*device_name*/, char* /*host_variable*/,
                           size_t /*size*/) {}

void __cudaRegisterUnifiedTable(void** /*handle*/, void* /*table*/) {}

// Host code calls this before it first reads a __managed__ variable.
char __cudaInitModule(void** handle) {
  Runtime& runtime = Runtime::Get();
  if (runtime.Initialise() != cudaSuccess) return 0;
  DeviceModule* module = ModuleOf(handle);
  if (!runtime.registry().Contains(module)) return 0;
  return SetLast(module->Load(runtime.gpu(), runtime.model(), runtime.recorder())) == cudaSuccess
             ? 1
             : 0;
}

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                         struct CUstream_st* stream) {
  // Sets up, so that the place of the first launch is known to a checked run.
  if (Runtime::Get().Initialise() == cudaSuccess && Runtime::Get().checking() != nullptr) {
    Runtime::Get().checking()->OnLaunchSyntax();
  }
  Runtime::Thread().configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  auto& configurations = Runtime::Thread().configurations;
  if (configurations.empty()) return SetLast(cudaErrorMissingConfiguration);
  Runtime::Thread().in_launch_syntax = true;
  const ThreadState::CallConfiguration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  std::memcpy(stream, &top.stream, sizeof(top.stream));
  configurations.pop_back();
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  Kernel* found = Runtime::Get().registry().FindKernel(host_function);
  if (found == nullptr) return SetLast(cudaErrorInvalidDeviceFunction);
  *kernel = reinterpret_cast<cudaKernel_t>(found);
  return cudaSuccess;
}

}  // extern "C"
