// libFuzzer is the child: a sequence of messages, half of them with fields of an honest one's kind.
#include <fuzzer/FuzzedDataProvider.h>

#include "plan/broker/testing.h"

namespace kernelsmith::broker {
namespace {

using protocol::Kind;

class HostileChild {
 public:
  explicit HostileChild(FuzzedDataProvider& data) : data_(data) {}

  void Run() {
    TestBroker test;
    for (int i = 0; i < 64 && data_.remaining_bytes() > 0; ++i) {
      if (test.Handle(Frame()) == Broker::Next::kEnd) break;
    }
    (void)test.broker().Conclude(data_.ConsumeBool());
  }

 private:
  std::string Frame() {
    const auto kind = static_cast<Kind>(
        data_.ConsumeIntegralInRange<uint32_t>(0, static_cast<uint32_t>(protocol::kLastKind) + 1));
    if (data_.ConsumeIntegralInRange(0, 7) == 0) {
      std::string frame = protocol::Encode(kind, protocol::LoadMessage{});
      return frame + data_.ConsumeRandomLengthString(64);
    }
    switch (kind) {
      case Kind::kAllocate:
        return protocol::Encode(
            kind, protocol::AllocateMessage{
                      Address(), Size(),
                      static_cast<protocol::Memory>(data_.ConsumeIntegralInRange<uint32_t>(0, 5)),
                      data_.ConsumeBool() ? "counter" : Text()});
      case Kind::kFree:
        return protocol::Encode(kind, protocol::FreeMessage{Address(), data_.ConsumeBool()});
      case Kind::kModule:
        return protocol::Encode(kind,
                                protocol::ModuleMessage{data_.ConsumeBool() ? kTestPtx : Text()});
      case Kind::kAttribute:
        return protocol::Encode(
            kind, protocol::AttributeMessage{Kernel(), data_.ConsumeIntegral<int32_t>(),
                                             data_.ConsumeBool(), data_.ConsumeIntegral<int8_t>()});
      case Kind::kLaunch:
        return protocol::Encode(kind, Launch());
      case Kind::kCopy:
        return protocol::Encode(
            kind, protocol::CopyMessage{Place(), Address(), Address(), Size(), Rows(), Rows(),
                                        Size(), Size(), Size(), Size()});
      case Kind::kFill:
        return protocol::Encode(
            kind, protocol::FillMessage{Place(), Address(), data_.ConsumeIntegral<uint64_t>(),
                                        data_.ConsumeIntegralInRange<uint32_t>(0, 9), Size(),
                                        Rows(), Rows(), Size(), Size()});
      case Kind::kUpload:
        return protocol::Encode(kind, protocol::UploadMessage{Place(), Address(), Bytes()});
      case Kind::kRead:
        return protocol::Encode(kind, protocol::ReadMessage{Place(), Address(), Size()});
      case Kind::kSynchronise:
        return protocol::Encode(kind, protocol::SynchroniseMessage{{{Address(), Size()}}});
      case Kind::kLibrary:
        return protocol::Encode(kind, Library());
      case Kind::kRecord:
      case Kind::kWait:
      case Kind::kWaited:
        return protocol::Encode(
            kind, protocol::EventMessage{Place(), data_.ConsumeIntegralInRange<uint32_t>(0, 3)});
      case Kind::kReturned:
        return protocol::Encode(kind, protocol::ReturnedMessage{.tensors = {Tensor()}});
      case Kind::kThrew:
        return protocol::Encode(kind, protocol::ThrewMessage{.text = Text()});
      default:
        return protocol::Encode(kind, protocol::LoadedMessage{Text()});
    }
  }

  uint64_t Address() {
    const uint64_t page = data_.ConsumeIntegralInRange<uint64_t>(0, 7);
    if (page == 7) return data_.ConsumeIntegral<uint64_t>();
    return TestBroker::first() + page * 4096 + 256 * data_.ConsumeIntegralInRange<uint64_t>(0, 2);
  }
  uint64_t Size() {
    return data_.ConsumeIntegralInRange(0, 7) == 0
               ? data_.ConsumeIntegral<uint64_t>()
               : data_.ConsumeIntegralInRange<uint64_t>(0, 8192);
  }
  uint64_t Rows() { return data_.ConsumeIntegralInRange(0, 15) == 0 ? Size() : 1; }
  std::string Text() { return data_.ConsumeRandomLengthString(40); }
  std::string Kernel() { return data_.ConsumeBool() ? "fill" : Text(); }
  std::vector<std::byte> Bytes() {
    const std::vector<uint8_t> bytes =
        data_.ConsumeBytes<uint8_t>(data_.ConsumeIntegralInRange<size_t>(0, 64));
    std::vector<std::byte> result;
    for (const uint8_t byte : bytes) result.push_back(std::byte{byte});
    return result;
  }
  protocol::Place Place() {
    return {data_.ConsumeIntegral<uint16_t>(), data_.ConsumeIntegralInRange<uint64_t>(0, 3)};
  }
  protocol::LaunchMessage Launch() {
    const auto side = [&] { return data_.ConsumeIntegralInRange<uint32_t>(0, 40); };
    protocol::LaunchMessage launch{Place(), Kernel(), {side(), 1, 1}, {side(), side(), 1}};
    launch.cluster = {data_.ConsumeIntegralInRange<uint32_t>(0, 2), 1, 1};
    launch.dynamic_shared = Size();
    launch.cooperative = data_.ConsumeBool();
    launch.programmatic = data_.ConsumeBool();
    const uint64_t to = Address();
    launch.parameters.resize(data_.ConsumeBool() ? 12 : 7);
    std::memcpy(launch.parameters.data(), &to, std::min<size_t>(8, launch.parameters.size()));
    return launch;
  }
  protocol::Tensor Tensor() {
    protocol::Tensor tensor{data_.ConsumeBool() ? "float32" : Text()};
    for (size_t i = data_.ConsumeIntegralInRange<size_t>(0, 3); i > 0; --i) {
      tensor.shape.push_back(static_cast<int64_t>(Size() % 64));
      tensor.strides.push_back(static_cast<int64_t>(Size()));
    }
    tensor.address = Address();
    return tensor;
  }
  protocol::LibraryMessage Library() {
    static constexpr const char* kOps[] = {"aten.add.Tensor", "aten.mm.default", "cublas.gemm",
                                           "kernelsmith.copy", "aten.relu.default"};
    static constexpr const char* kArguments[] = {"[{\"tensor\":0},{\"tensor\":1}]",
                                                 "[{\"tensor\":0}]", "[]", "[{\"tensor\":9}]"};
    protocol::LibraryMessage library{
        Place(), data_.ConsumeBool() ? kOps[data_.ConsumeIntegralInRange(0, 4)] : Text(),
        data_.ConsumeBool() ? kArguments[data_.ConsumeIntegralInRange(0, 3)] : Text()};
    library.tensors = {Tensor(), Tensor()};
    library.outputs = {Tensor()};
    return library;
  }

  FuzzedDataProvider& data_;
};

}  // namespace
}  // namespace kernelsmith::broker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  kernelsmith::broker::HostileChild(data).Run();
  return 0;
}
