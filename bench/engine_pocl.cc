// The kernels in OpenCL on PoCL's CPU device.

#include "engine_bench.h"

#ifdef KS_HAVE_OPENCL

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <fmt/format.h>

#include <cstdlib>

namespace kernelsmith::bench {
namespace {

Result<void> Check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return {};
  return InvalidInput(fmt::format("OpenCL: {} failed with {}", what, status));
}

class Pocl final : public Contender {
 public:
  ~Pocl() override {
    Release();
    if (program_ != nullptr) clReleaseProgram(program_);
    if (queue_ != nullptr) clReleaseCommandQueue(queue_);
    if (context_ != nullptr) clReleaseContext(context_);
  }

  Result<void> Open(const std::string& source) {
    cl_uint count = 0;
    if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) {
      return InvalidInput("PoCL not found");
    }
    std::vector<cl_platform_id> platforms(count);
    clGetPlatformIDs(count, platforms.data(), nullptr);
    for (cl_platform_id platform : platforms) {
      char name[256] = {};
      clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
      if (std::string(name).find("Portable Computing Language") == std::string::npos) continue;
      if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device_, nullptr) == CL_SUCCESS) break;
    }
    if (device_ == nullptr) return InvalidInput("PoCL not found");
    cl_int status = 0;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    KS_RETURN_IF_ERROR(Check(status, "clCreateContext"));
    queue_ = clCreateCommandQueue(context_, device_, 0, &status);
    KS_RETURN_IF_ERROR(Check(status, "clCreateCommandQueue"));
    const char* text = source.c_str();
    program_ = clCreateProgramWithSource(context_, 1, &text, nullptr, &status);
    KS_RETURN_IF_ERROR(Check(status, "clCreateProgramWithSource"));
    return Check(clBuildProgram(program_, 1, &device_, "", nullptr, nullptr), "clBuildProgram");
  }

  std::string name() const override { return "PoCL"; }

  Result<void> Begin(const Problem& problem) override {
    problem_ = &problem;
    cl_int status = 0;
    kernel_ = clCreateKernel(program_, problem.kernel.c_str(), &status);
    KS_RETURN_IF_ERROR(Check(status, "clCreateKernel"));
    const auto input = [&](const std::vector<float>& data) {
      return clCreateBuffer(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, data.size() * 4,
                            const_cast<float*>(data.data()), &status);
    };
    a_ = input(problem.a);
    KS_RETURN_IF_ERROR(Check(status, "clCreateBuffer"));
    b_ = input(problem.b);
    KS_RETURN_IF_ERROR(Check(status, "clCreateBuffer"));
    out_ = clCreateBuffer(context_, CL_MEM_READ_WRITE, problem.outputs * 4, nullptr, &status);
    KS_RETURN_IF_ERROR(Check(status, "clCreateBuffer"));
    clSetKernelArg(kernel_, 0, sizeof a_, &a_);
    clSetKernelArg(kernel_, 1, sizeof b_, &b_);
    clSetKernelArg(kernel_, 2, sizeof out_, &out_);
    clSetKernelArg(kernel_, 3, 4, &problem.m);
    return Check(clSetKernelArg(kernel_, 4, 4, &problem.n), "clSetKernelArg");
  }

  Result<void> Run() override {
    const size_t local[2] = {problem_->block.x, problem_->block.y};
    const size_t global[2] = {size_t{problem_->grid.x} * local[0],
                              size_t{problem_->grid.y} * local[1]};
    KS_RETURN_IF_ERROR(Check(
        clEnqueueNDRangeKernel(queue_, kernel_, 2, nullptr, global, local, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel"));
    return Check(clFinish(queue_), "clFinish");
  }

  Result<std::vector<float>> End() override {
    std::vector<float> out(problem_->outputs);
    const cl_int status = clEnqueueReadBuffer(queue_, out_, CL_TRUE, 0, out.size() * 4, out.data(),
                                              0, nullptr, nullptr);
    Release();
    KS_RETURN_IF_ERROR(Check(status, "clEnqueueReadBuffer"));
    return out;
  }

 private:
  void Release() {
    for (cl_mem* buffer : {&a_, &b_, &out_}) {
      if (*buffer != nullptr) clReleaseMemObject(*buffer);
      *buffer = nullptr;
    }
    if (kernel_ != nullptr) clReleaseKernel(kernel_);
    kernel_ = nullptr;
  }

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem a_ = nullptr;
  cl_mem b_ = nullptr;
  cl_mem out_ = nullptr;
  const Problem* problem_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Contender>> MakePocl(const std::string& source, int threads) {
  // PoCL reads it when the first platform is asked for.
  setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(threads).c_str(), 1);
  auto pocl = std::make_unique<Pocl>();
  KS_RETURN_IF_ERROR(pocl->Open(source));
  return std::unique_ptr<Contender>(std::move(pocl));
}

}  // namespace kernelsmith::bench

#else

namespace kernelsmith::bench {

Result<std::unique_ptr<Contender>> MakePocl(const std::string&, int) {
  return InvalidInput("PoCL not found: built without OpenCL headers (ocl-icd-opencl-dev)");
}

}  // namespace kernelsmith::bench

#endif
