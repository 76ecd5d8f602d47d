#include "measure/eager_model.h"

#include <gtest/gtest.h>

#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

using Tensor = EagerOperator::Tensor;

EagerOperator Make(std::string op, std::vector<Shape> inputs, Shape output) {
  EagerOperator made{.op = std::move(op)};
  for (Shape& shape : inputs) made.inputs.push_back({.shape = std::move(shape)});
  made.outputs.push_back({.shape = std::move(output)});
  return made;
}

TEST(EagerModel, WorkOfAProduct) {
  const OperatorWork work = WorkOf(Make("aten.addmm.default", {{8}, {4, 16}, {16, 8}}, {4, 8}));
  EXPECT_EQ(work.which, EagerClass::kMatmul);
  EXPECT_EQ(work.flops, 2.0 * 4 * 8 * 16);
  EXPECT_EQ(work.bytes, 4.0 * (8 + 64 + 128 + 32));
}

TEST(EagerModel, WorkOfConvolutions) {
  const OperatorWork plain =
      WorkOf(Make("aten.convolution.default", {{2, 8, 10, 10}, {64, 8, 3, 3}}, {2, 64, 8, 8}));
  EXPECT_EQ(plain.which, EagerClass::kConvolution);
  EXPECT_EQ(plain.flops, 2.0 * 2 * 64 * 8 * 8 * 8 * 9);
  EXPECT_EQ(plain.executed_flops, plain.flops);  // no channel is padded
  EagerOperator transposed =
      Make("aten.convolution.default", {{2, 8, 8, 8}, {8, 64, 3, 3}}, {2, 64, 17, 17});
  transposed.transposed = true;
  const OperatorWork back = WorkOf(transposed);
  EXPECT_EQ(back.flops, 2.0 * 2 * 8 * 64 * 64 * 9);
  EXPECT_GT(back.executed_flops, back.flops);  // zeros between the inputs
  const OperatorWork narrow =
      WorkOf(Make("aten.convolution.default", {{2, 3, 10, 10}, {16, 3, 3, 3}}, {2, 16, 8, 8}));
  EXPECT_GT(narrow.executed_flops, narrow.flops);
  EXPECT_EQ(
      WorkOf(Make("aten.convolution.default", {{2, 3, 9, 9}, {3, 1, 3, 3}}, {2, 3, 7, 7})).which,
      EagerClass::kDepthwiseConvolution);
}

TEST(EagerModel, Classes) {
  const auto of = [](const char* op) { return WorkOf(Make(op, {{4, 4}}, {4, 4})).which; };
  EXPECT_EQ(of("aten.add_.Tensor"), EagerClass::kPointwise);
  EXPECT_EQ(of("aten._softmax.default"), EagerClass::kSoftmax);
  EXPECT_EQ(of("aten.linalg_vector_norm.default"), EagerClass::kReduction);
  EXPECT_EQ(of("aten.native_layer_norm.default"), EagerClass::kNorm);
  EXPECT_EQ(of("aten.max_pool2d_with_indices.default"), EagerClass::kPool);
  EXPECT_EQ(of("aten.cumsum.default"), EagerClass::kScan);
}

// 16384 x 4096 floats times a number took 185.7 us on an H100; a product of 2048 351 us.
TEST(EagerModel, NearWhatWasMeasured) {
  const GpuModel& gpu = DefaultGpuModel();
  const double scaled =
      EstimateEager({Make("aten.mul.Tensor", {{16384, 4096}}, {16384, 4096})}, gpu).seconds;
  EXPECT_NEAR(scaled * 1e6, 185.7, 35);
  const double product =
      EstimateEager({Make("aten.mm.default", {{2048, 2048}, {2048, 2048}}, {2048, 2048})}, gpu)
          .seconds;
  EXPECT_NEAR(product * 1e6, 351, 70);
}

TEST(EagerModel, SlowerGpusTakeLonger) {
  const std::vector<EagerOperator> operators{
      Make("aten.mm.default", {{512, 512}, {512, 512}}, {512, 512}),
      Make("aten.relu.default", {{4096, 4096}}, {4096, 4096})};
  const double h100 = EstimateEager(operators, DefaultGpuModel()).seconds;
  for (const GpuModel& gpu : AllGpuModels()) {
    if (gpu.key == "b200" || gpu.key == "h100") continue;
    EXPECT_GT(EstimateEager(operators, gpu).seconds, h100) << gpu.key;
  }
}

TEST(EagerModel, ParsesWhatTheBridgeWrites) {
  const auto parsed = ParseEager(nlohmann::json::parse(
      R"([{"op": "aten.silu.default", "inputs": [{"shape": [2, 3], "dtype": "float16", "strides": [3, 1]}],
           "outputs": [{"shape": [2, 3], "dtype": "float16"}]}])"));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(WorkOf(parsed->front()).bytes, 24);
  EXPECT_FALSE(ParseEager(nlohmann::json::parse(R"([{"op": 3}])")).ok());
}

}  // namespace
}  // namespace kernelsmith
