#include "tensor/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kernelsmith {
namespace {

std::string File(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  return bytes + header + data;
}

std::string ErrorOf(const std::string& bytes) {
  const Result<Safetensors> result = ParseSafetensors(bytes, "f.safetensors");
  return result.ok() ? "" : result.error().message();
}

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const std::string header =
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"a":"b"},)"
      R"("e":{"dtype":"I64","shape":[0,3],"data_offsets":[8,8]}})";
  const Result<Safetensors> result =
      ParseSafetensors(File(header, std::string("\0\0\x80\x3f\0\0\0\xc0", 8)), "f");
  ASSERT_TRUE(result.ok()) << result.error().Format();
  const HostTensor& x = result->tensors.at("x");
  EXPECT_EQ(x.at(0), 1.0);
  EXPECT_EQ(x.at(1), -2.0);
  EXPECT_EQ(result->tensors.at("e").shape, (Shape{0, 3}));
  EXPECT_EQ(result->metadata.at("a"), "b");
}

TEST(Safetensors, RoundTripsEveryType) {
  Safetensors contents;
  contents.metadata["torch"] = "2";
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    const auto dtype = static_cast<DType>(i);
    contents.tensors["t" + std::to_string(i)] =
        MakeHostTensor(dtype, {3, 1}, {1, 0, IsFloat(dtype) ? -2.5 : 7});
  }
  const Result<Safetensors> back = ParseSafetensors(FormatSafetensors(contents), "f");
  ASSERT_TRUE(back.ok()) << back.error().Format();
  ASSERT_EQ(back->tensors.size(), contents.tensors.size());
  for (const auto& [name, tensor] : contents.tensors) {
    EXPECT_EQ(back->tensors.at(name).dtype, tensor.dtype);
    EXPECT_EQ(back->tensors.at(name).shape, tensor.shape);
    EXPECT_EQ(back->tensors.at(name).bytes, tensor.bytes);
  }
}

TEST(Safetensors, RefusesWhatDoesNotFit) {
  EXPECT_EQ(ErrorOf(""), "too short for a safetensors file");
  EXPECT_EQ(ErrorOf(std::string(8, '\xff')),
            "a header of 18446744073709551615 bytes in a file of 8");
  EXPECT_EQ(ErrorOf(File("[]", "")), "the header is no JSON object");
  EXPECT_EQ(ErrorOf(File("{\"x\":", "")), "the header is no JSON object");
  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return ErrorOf(File(R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape +
                            R"(,"data_offsets":)" + offsets + "}}",
                        std::string(8, 'x')));
  };
  EXPECT_EQ(entry("F32", "[2]", "[0,8]"), "");
  EXPECT_EQ(entry("F8_E4M3", "[2]", "[0,8]"), "tensor 'x': dtype F8_E4M3 is not supported");
  EXPECT_EQ(entry("F32", "[3]", "[0,8]"), "tensor 'x': 8 bytes of data where shape [3] needs 12");
  EXPECT_EQ(entry("F32", "[2]", "[4,12]"), "tensor 'x': data_offsets outside of the file");
  EXPECT_EQ(entry("F32", "[2]", "[8,0]"), "tensor 'x': data_offsets outside of the file");
  EXPECT_EQ(entry("F32", "[2]", "[-1,7]"), "tensor 'x': data_offsets that are no integers");
  EXPECT_EQ(entry("F32", "[-2]", "[0,8]"), "tensor 'x': a size that is no integer of 0 or more");
  EXPECT_EQ(entry("F32", "[4294967296,4294967296,4294967296]", "[0,8]"),
            "tensor 'x': a shape with too many elements");
  EXPECT_EQ(entry("F32", "[9223372036854775809]", "[0,8]"), "tensor 'x': a size out of range");
  EXPECT_EQ(
      ErrorOf(File(
          R"({"x":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
          "a")),
      "the header names a tensor twice");
}

TEST(Safetensors, SurvivesMutatedFiles) {
  Safetensors contents;
  contents.tensors["weight"] = MakeHostTensor(DType::kFloat32, {2, 2}, {1, 2, 3, 4});
  contents.tensors["index"] = MakeHostTensor(DType::kInt64, {3}, {1, 2, 3});
  const std::string good = FormatSafetensors(contents);
  std::mt19937 generator(1);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int edits = 1 + static_cast<int>(generator() % 4); edits > 0; --edits) {
      const size_t at = generator() % bytes.size();
      switch (generator() % 3) {
        case 0:
          bytes[at] = static_cast<char>(generator());
          break;
        case 1:
          bytes.erase(at, 1 + generator() % 8);
          break;
        default:
          bytes.insert(at, 1, "0123456789[]{},:\""[generator() % 17]);
      }
      if (bytes.empty()) break;
    }
    if (ParseSafetensors(bytes, "f").ok()) ++accepted;
  }
  EXPECT_GT(accepted, 0);  // changes in the data alone are fine
  EXPECT_LT(accepted, 20000);
}

TEST(DType, HalfAgreesWithItsDefinition) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    const int exponent = (half >> 10) & 0x1f;
    const int fraction = half & 0x3ff;
    if (exponent == 0x1f) {
      EXPECT_EQ(std::isnan(value), fraction != 0);
    } else {
      const double expected =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      EXPECT_EQ(value, static_cast<float>(half & 0x8000 ? -expected : expected));
    }
    if (!std::isnan(value)) EXPECT_EQ(FloatToHalf(value), half);
    const float wide = BfloatToFloat(half);
    if (!std::isnan(wide)) EXPECT_EQ(FloatToBfloat(wide), half);
  }
}

TEST(DType, RoundsToNearestEven) {
  EXPECT_EQ(RoundTo(DType::kFloat16, 1 + 0x1p-11), 1);               // tie to even
  EXPECT_EQ(RoundTo(DType::kFloat16, 1 + 3 * 0x1p-11), 1 + 0x1p-9);  // tie to even, up
  EXPECT_EQ(RoundTo(DType::kFloat16, 65519.99), 65504);
  EXPECT_EQ(RoundTo(DType::kFloat16, 65520), INFINITY);
  EXPECT_EQ(RoundTo(DType::kFloat16, 0x1p-25), 0);
  EXPECT_EQ(RoundTo(DType::kFloat16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(RoundTo(DType::kBfloat16, 1 + 0x1p-8), 1);
  EXPECT_EQ(RoundTo(DType::kBfloat16, 1 + 0x1.8p-8), 1 + 0x1p-7);
  // One rounding: through float32 this would become a tie and go to 1.
  EXPECT_EQ(RoundTo(DType::kBfloat16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(RoundTo(DType::kInt8, 130), -126);
  EXPECT_EQ(RoundTo(DType::kUint8, -1), 255);
  EXPECT_EQ(RoundTo(DType::kInt32, -1.9), -1);
  EXPECT_EQ(RoundTo(DType::kBool, 0.5), 1);
}

}  // namespace
}  // namespace kernelsmith
