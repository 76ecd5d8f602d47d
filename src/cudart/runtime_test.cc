// The API as a program uses it, with device code registered the way nvcc's generated code does it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
}

namespace {

constexpr char kPtx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 counter = 5;
.visible .const .align 4 .u32 step[2] = {3, 4};

.visible .entry add(.param .u64 p, .param .u32 n, .param .u32 amount)
{
  .reg .pred %q;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  ld.param.u32 %r2, [amount];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r3, %r3, %r4, %r5;
  setp.ge.u32 %q, %r3, %r1;
  @%q bra done;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r4, [%rd3];
  add.s32 %r4, %r4, %r2;
  st.global.u32 [%rd3], %r4;
done:
  ret;
}

.visible .entry bounded(.param .u64 p)
.maxntid 64, 1, 1
{
  ret;
}

.visible .entry shared_user()
{
  .shared .align 4 .b8 tile[40000];
  ret;
}

.visible .entry wild(.param .u64 p)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry wait_for(.param .u64 flag, .param .u64 out)
{
  .reg .pred %q;
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %q, %r1, 0;
  @%q bra again;
  st.volatile.global.u32 [%rd2], %r1;
  ret;
}

.visible .entry count_up()
{
  .reg .b32 %r<4>;
  ld.const.u32 %r1, [step+4];
  atom.global.add.u32 %r2, [counter], %r1;
  ret;
}
)";

struct Wrapper {
  uint32_t magic = 0x466243b1;
  uint32_t version = 1;
  const void* image = kPtx;
  const void* more = nullptr;
};

// The addresses stand for kernels and variables, as stubs and shadow variables do.
char add_stub, bounded_stub, shared_stub, wild_stub, wait_stub, count_stub, missing_stub;
char counter_shadow, step_shadow;

class RuntimeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static Wrapper wrapper;
    void** handle = __cudaRegisterFatBinary(&wrapper);
    const auto kernel = [&](char* stub, const char* name) {
      __cudaRegisterFunction(handle, stub, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                             nullptr);
    };
    kernel(&add_stub, "add");
    kernel(&bounded_stub, "bounded");
    kernel(&shared_stub, "shared_user");
    kernel(&wild_stub, "wild");
    kernel(&wait_stub, "wait_for");
    kernel(&count_stub, "count_up");
    kernel(&missing_stub, "not_in_the_ptx");
    __cudaRegisterVar(handle, &counter_shadow, nullptr, "counter", 0, 4, 0, 0);
    __cudaRegisterVar(handle, &step_shadow, nullptr, "step", 0, 8, 1, 0);
  }

  // What an earlier case left behind is not this one's: variables have their first values again.
  void SetUp() override {
    (void)cudaGetLastError();
    ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  }

  static int Symbol(const void* shadow, size_t offset) {
    int value = -1;
    EXPECT_EQ(cudaMemcpyFromSymbol(&value, shadow, 4, offset, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }

  static cudaError_t Add(int* p, unsigned n, unsigned amount, cudaStream_t stream = nullptr) {
    void* arguments[] = {&p, &n, &amount};
    return cudaLaunchKernel(&add_stub, dim3((n + 63) / 64), dim3(64), arguments, 0, stream);
  }

  static std::vector<int> Fetch(const int* device, size_t n) {
    std::vector<int> host(n, -1);
    EXPECT_EQ(cudaMemcpy(host.data(), device, n * 4, cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }

  static int* Zeros(size_t n) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, n * 4), cudaSuccess);
    EXPECT_EQ(cudaMemset(p, 0, n * 4), cudaSuccess);
    return static_cast<int*>(p);
  }
};

TEST_F(RuntimeTest, RunsAKernel) {
  int* p = Zeros(100);
  EXPECT_EQ(Add(p, 100, 7), cudaSuccess);
  EXPECT_EQ(Add(p, 50, 1), cudaSuccess);
  std::vector<int> expected(100, 7);
  for (int i = 0; i < 50; ++i) expected[i] = 8;
  EXPECT_EQ(Fetch(p, 100), expected);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

TEST_F(RuntimeTest, LaunchErrorsAreNotSticky) {
  int* p = Zeros(4);
  unsigned n = 4;
  unsigned amount = 1;
  void* arguments[] = {&p, &n, &amount};
  const auto launch = [&](dim3 grid, dim3 block, size_t shared = 0, void* stub = &add_stub) {
    return cudaLaunchKernel(stub, grid, block, arguments, shared, nullptr);
  };
  EXPECT_EQ(launch(0, 32), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 1025), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, dim3(1, 1, 65)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, dim3(64, 32, 1)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1, 65536, 1), 32), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 32, 48 * 1024), cudaSuccess);
  EXPECT_EQ(launch(1, 32, 48 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 32, 10000, &shared_stub), cudaErrorInvalidValue);  // with 40000 static
  EXPECT_EQ(launch(1, 65, 0, &bounded_stub), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 64, 0, &bounded_stub), cudaSuccess);
  EXPECT_EQ(launch(1, 32, 0, &missing_stub), cudaErrorInvalidDeviceFunction);
  char unknown = 0;
  EXPECT_EQ(launch(1, 32, 0, &unknown), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(RuntimeTest, LargeSharedMemoryNeedsOptIn) {
  void* arguments[] = {nullptr};
  EXPECT_EQ(cudaFuncSetAttribute(&bounded_stub, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 227 * 1024 + 1),
            cudaErrorInvalidValue);
  EXPECT_EQ(
      cudaFuncSetAttribute(&bounded_stub, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024),
      cudaSuccess);
  void* p = nullptr;
  arguments[0] = &p;
  EXPECT_EQ(cudaLaunchKernel(&bounded_stub, 1, 64, arguments, 227 * 1024, nullptr), cudaSuccess);
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &bounded_stub), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 64);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 227 * 1024);
  int blocks = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &bounded_stub, 64, 100 * 1024),
            cudaSuccess);
  EXPECT_EQ(blocks, 2);  // 228 KB hold two of 101 KB
}

TEST_F(RuntimeTest, SymbolsHaveAddressesAndSizes) {
  size_t size = 0;
  EXPECT_EQ(cudaGetSymbolSize(&size, &step_shadow), cudaSuccess);
  EXPECT_EQ(size, 8U);
  int values[2] = {0, 0};
  EXPECT_EQ(cudaMemcpyFromSymbol(values, &step_shadow, 8, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(values[1], 4);
  const int ten = 10;
  EXPECT_EQ(cudaMemcpyToSymbol(&step_shadow, &ten, 4, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(&step_shadow, &ten, 4, 5, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernel(&count_stub, 1, 3, nullptr, 0, nullptr), cudaSuccess);
  int counted = 0;
  EXPECT_EQ(cudaMemcpyFromSymbol(&counted, &counter_shadow, 4, 0, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(counted, 5 + 3 * 10);
  EXPECT_EQ(cudaMemcpyToSymbol(&add_stub, &ten, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
}

TEST_F(RuntimeTest, CopiesCheckKindsAndBounds) {
  int* p = Zeros(4);
  int host[4] = {1, 2, 3, 4};
  EXPECT_EQ(cudaMemcpy(p, host, 16, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(p, host, 17, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host, p, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(p, host, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(p, host, 16, static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(host, 0, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(p + 1, 0xff, 12), cudaSuccess);
  EXPECT_EQ(Fetch(p, 4), (std::vector{1, -1, -1, -1}));
}

TEST_F(RuntimeTest, CopiesRowsAndSlices) {
  void* pitched = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&pitched, &pitch, 12, 3), cudaSuccess);
  EXPECT_EQ(pitch % 256, 0U);
  const int source[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(cudaMemcpy2D(pitched, pitch, source, 12, 12, 3, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemset2D(static_cast<char*>(pitched) + 4, pitch, 0, 4, 2), cudaSuccess);
  int back[9] = {};
  EXPECT_EQ(cudaMemcpy2D(back, 12, pitched, pitch, 12, 3, cudaMemcpyDeviceToHost), cudaSuccess);
  const int expected[9] = {1, 0, 3, 4, 0, 6, 7, 8, 9};
  EXPECT_EQ(std::memcmp(back, expected, sizeof(back)), 0);
  EXPECT_EQ(cudaMemcpy2D(back, 8, pitched, pitch, 12, 3, cudaMemcpyDeviceToHost),
            cudaErrorInvalidPitchValue);

  cudaPitchedPtr volume{};
  ASSERT_EQ(cudaMalloc3D(&volume, {8, 2, 2}), cudaSuccess);
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = {const_cast<int*>(source), 8, 2, 2};
  parameters.dstPtr = volume;
  parameters.extent = {8, 2, 2};
  parameters.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy3D(&parameters), cudaSuccess);
  std::swap(parameters.srcPtr, parameters.dstPtr);
  int again[9] = {};
  parameters.dstPtr.ptr = again;
  parameters.srcPos = {4, 0, 1};
  parameters.extent = {4, 2, 1};
  parameters.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3D(&parameters), cudaSuccess);
  EXPECT_EQ(again[0], 6);  // x = 1 of the second slice
  EXPECT_EQ(again[2], 8);
}

TEST_F(RuntimeTest, PinnedAndManagedMemoryIsSharedWithTheHost) {
  int* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&managed), 16, cudaMemAttachGlobal),
            cudaSuccess);
  for (int i = 0; i < 4; ++i) managed[i] = i;
  EXPECT_EQ(Add(managed, 4, 10), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(managed[3], 13);
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 16), cudaSuccess);
  pinned[0] = 1;
  int* device = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), pinned, 0), cudaSuccess);
  EXPECT_EQ(Add(device, 1, 5), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(pinned[0], 6);
  std::vector<int> own(4, 2);
  ASSERT_EQ(cudaHostRegister(own.data(), 16, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(own.data(), 16, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(Add(own.data(), 4, 1), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(own[2], 3);
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, managed), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pinned + 1), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, &attributes), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostUnregister(own.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

TEST_F(RuntimeTest, AKernelThatWaitsForTheHostGetsWhatItWaitsFor) {
  volatile int* flags = nullptr;
  ASSERT_EQ(
      cudaHostAlloc(reinterpret_cast<void**>(const_cast<int**>(&flags)), 8, cudaHostAllocMapped),
      cudaSuccess);
  flags[0] = 0;
  flags[1] = 0;
  const volatile int* flag = &flags[0];
  volatile int* out = &flags[1];
  void* arguments[] = {&flag, &out};
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(&wait_stub, 1, 1, arguments, 0, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(flags[1], 0);
  flags[0] = 42;
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(flags[1], 42);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeTest, AKernelThatWaitsForAnotherStreamGetsWhatItWaitsFor) {
  int* flag = Zeros(2);
  int* out = flag + 1;
  void* arguments[] = {&flag, &out};
  cudaStream_t first;
  cudaStream_t second;
  ASSERT_EQ(cudaStreamCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&second), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(&wait_stub, 1, 1, arguments, 0, first), cudaSuccess);
  EXPECT_EQ(Add(flag, 1, 9, second), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(Fetch(out, 1)[0], 9);
}

TEST_F(RuntimeTest, EventsOrderStreams) {
  int* p = Zeros(1);
  cudaEvent_t event;
  cudaEvent_t later;
  cudaStream_t other;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&later, cudaEventDefault), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded counts as done
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, event, later), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  EXPECT_EQ(Add(p, 1, 1), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(later, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, later, 0), cudaSuccess);
  EXPECT_EQ(Add(p, 1, 2, other), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(later), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, event, later), cudaSuccess);
  EXPECT_GE(ms, 0.0F);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(Fetch(p, 1)[0], 3);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeTest, HostFunctionsRunInOrder) {
  static std::vector<int>* order = new std::vector<int>;
  order->clear();
  static int* values = nullptr;
  int hundred = 100;  // outlives the callback: the device is synchronised
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&values), 4, cudaMemAttachGlobal),
            cudaSuccess);
  EXPECT_EQ(cudaLaunchHostFunc(
                nullptr, [](void*) { order->push_back(values[0]); }, nullptr),
            cudaSuccess);
  EXPECT_EQ(Add(values, 1, 3), cudaSuccess);
  EXPECT_EQ(
      cudaStreamAddCallback(
          nullptr,
          [](cudaStream_t, cudaError_t status, void* data) {
            order->push_back(values[0] + (status == cudaSuccess ? *static_cast<int*>(data) : 0));
          },
          &hundred, 0),
      cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(*order, (std::vector{0, 103}));
}

TEST_F(RuntimeTest, CapturedWorkRunsWhenTheGraphDoes) {
  int* p = Zeros(1);
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(Add(p, 1, 4, stream), cudaSuccess);
  EXPECT_EQ(Add(p, 1, 5, stream), cudaSuccess);
  cudaGraph_t graph;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(Fetch(p, 1)[0], 0);
  size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2U);
  cudaGraphNode_t root;
  count = 1;
  EXPECT_EQ(cudaGraphGetRootNodes(graph, &root, &count), cudaSuccess);
  EXPECT_EQ(count, 1U);
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(Fetch(p, 1)[0], 18);

  cudaKernelNodeParams parameters{};
  EXPECT_EQ(cudaGraphKernelNodeGetParams(root, &parameters), cudaSuccess);
  EXPECT_EQ(parameters.func, &add_stub);
  EXPECT_EQ(*static_cast<unsigned*>(parameters.kernelParams[2]), 4U);
  unsigned amount = 1000;
  void* arguments[] = {parameters.kernelParams[0], parameters.kernelParams[1], &amount};
  parameters.kernelParams = arguments;
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(exec, root, &parameters), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(Fetch(p, 1)[0], 18 + 1005);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
}

TEST_F(RuntimeTest, CaptureFollowsEventsIntoOtherStreams) {
  int* p = Zeros(2);
  cudaStream_t first;
  cudaStream_t second;
  cudaEvent_t fork;
  cudaEvent_t join;
  ASSERT_EQ(cudaStreamCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&second), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&fork), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&join), cudaSuccess);
  const auto capture = [&](bool joined) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_EQ(Add(p, 1, 1, first), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(fork, first), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(second, fork, 0), cudaSuccess);
    EXPECT_EQ(Add(p + 1, 1, 2, second), cudaSuccess);
    if (joined) {
      EXPECT_EQ(cudaEventRecord(join, second), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(first, join, 0), cudaSuccess);
    }
    const cudaError_t error = cudaStreamEndCapture(first, &graph);
    return std::pair(error, graph);
  };
  EXPECT_EQ(capture(false).first, cudaErrorStreamCaptureUnjoined);
  const auto [error, graph] = capture(true);
  ASSERT_EQ(error, cudaSuccess);
  size_t edges = 0;
  EXPECT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges), cudaSuccess);
  EXPECT_EQ(edges, 1U);
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, first), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(first), cudaSuccess);
  EXPECT_EQ(Fetch(p, 2), (std::vector{1, 2}));
}

TEST_F(RuntimeTest, CaptureForbidsSynchronising) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  cudaStreamCaptureStatus status;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 4), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(&count_stub, 1, 1, nullptr, 0, nullptr),
            cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(RuntimeTest, ThreadsLaunchAtTheSameTime) {
  constexpr int kThreads = 4;
  const int counted_before = Symbol(&counter_shadow, 0);
  const int step = Symbol(&step_shadow, 4);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      cudaStream_t stream;
      void* p = nullptr;
      wrong += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
      wrong += cudaMalloc(&p, 256) != cudaSuccess;
      wrong += cudaMemsetAsync(p, 0, 256, stream) != cudaSuccess;
      for (int i = 0; i < 20; ++i) {
        wrong += Add(static_cast<int*>(p), 64, static_cast<unsigned>(t + 1), stream) != cudaSuccess;
        wrong += cudaLaunchKernel(&count_stub, 1, 1, nullptr, 0, stream) != cudaSuccess;
      }
      int host[64] = {};
      wrong += cudaMemcpyAsync(host, p, 256, cudaMemcpyDeviceToHost, stream) != cudaSuccess;
      wrong += cudaStreamSynchronize(stream) != cudaSuccess;
      for (const int value : host) wrong += value != 20 * (t + 1);
      // Errors belong to the thread that made them.
      wrong += cudaLaunchKernel(&add_stub, 0, 0, nullptr, 0, stream) == cudaSuccess;
      wrong += cudaGetLastError() != cudaErrorInvalidConfiguration;
      wrong += cudaFree(p) != cudaSuccess;
      wrong += cudaStreamDestroy(stream) != cudaSuccess;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(Symbol(&counter_shadow, 0), counted_before + kThreads * 20 * step);
}

TEST_F(RuntimeTest, PoolsGiveAndTakeInStreamOrder) {
  cudaMemPool_t pool;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  uint64_t threshold = 12345;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  threshold = 0;
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  EXPECT_EQ(threshold, 12345U);
  void* p = nullptr;
  ASSERT_EQ(cudaMallocAsync(&p, 64, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(p, 0, 64, nullptr), cudaSuccess);
  EXPECT_EQ(Add(static_cast<int*>(p), 16, 2), cudaSuccess);
  EXPECT_EQ(Fetch(static_cast<int*>(p), 16), std::vector<int>(16, 2));
  EXPECT_EQ(cudaFreeAsync(p, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(p, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
}

TEST_F(RuntimeTest, TheDeviceIsAnH100) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_STREQ(properties.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.multiProcessorCount, 132);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
            cudaSuccess);
  EXPECT_EQ(value, 232448);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(100000), 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  size_t free_bytes = 0;
  size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_EQ(total, properties.totalGlobalMem);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(p, nullptr);
}

// Last: nothing works in this process afterwards.
TEST_F(RuntimeTest, AFaultIsStickyOnceItIsKnown) {
  int* p = Zeros(4);
  void* nowhere = reinterpret_cast<void*>(0x10);
  void* arguments[] = {&nowhere};
  EXPECT_EQ(cudaLaunchKernel(&wild_stub, 1, 1, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // not known yet
  EXPECT_EQ(Add(p, 4, 1), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  void* q = nullptr;
  EXPECT_EQ(cudaMalloc(&q, 4), cudaErrorIllegalAddress);
  EXPECT_EQ(Add(p, 4, 1), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaDeviceReset(), cudaErrorIllegalAddress);
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress),
               "an illegal memory access was encountered");
}

}  // namespace
