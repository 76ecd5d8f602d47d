#include "propose/gene_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kernelsmith {
namespace {

using codegen::Gene;
using codegen::Schedule;

const std::vector<Gene> kGenes = {{"chunk", {1, 2, 4, 8, 16}, 8}, {"threads", {64, 128, 256}, 64}};

const std::vector<double> kWeights = {1, 1};

Schedule Chosen(int64_t chunk, int64_t threads) {
  Schedule schedule;
  schedule.genes = {{"chunk", chunk}, {"threads", threads}};
  return schedule;
}

TEST(GeneModel, TellsGoodValuesFromBadOnes) {
  const GeneModel model({{Chosen(8, 64), 2}, {Chosen(8, 128), 1}, {Chosen(4, 64), 2.1}});
  EXPECT_LT(model.Promise(Chosen(4, 128), kGenes, kWeights),
            model.Promise(Chosen(4, 64), kGenes, kWeights));
}

TEST(GeneModel, FollowsTrendsToValuesThatNobodyTried) {
  const GeneModel model({{Chosen(16, 64), 4}, {Chosen(8, 64), 2}, {Chosen(8, 128), 2}});
  EXPECT_LT(model.Promise(Chosen(4, 64), kGenes, kWeights),
            model.Promise(Chosen(8, 64), kGenes, kWeights));
  EXPECT_LT(model.Promise(Chosen(1, 64), kGenes, kWeights),
            model.Promise(Chosen(8, 64), kGenes, kWeights));
}

TEST(GeneModel, IsCuriousWhereNothingIsKnown) {
  const GeneModel model({{Chosen(8, 64), 2}, {Chosen(4, 64), 2}});
  EXPECT_LT(model.Promise(Chosen(8, 256), kGenes, kWeights),
            model.Promise(Chosen(8, 64), kGenes, kWeights));
}

TEST(GeneModel, HopelessSamplesDoNotDecide) {
  // 128 threads were bad in bad company only.
  const GeneModel model({{Chosen(8, 64), 2},
                         {Chosen(8, 128), 1.5},
                         {Chosen(16, 128), 900},
                         {Chosen(2, 128), 700},
                         {Chosen(16, 64), 800}});
  EXPECT_LT(model.Promise(Chosen(8, 128), kGenes, kWeights),
            model.Promise(Chosen(8, 64), kGenes, kWeights));
}

TEST(GeneModel, NeighboursSayMoreThanOneHopelessSample) {
  const GeneModel model({{Chosen(16, 64), 4}, {Chosen(8, 64), 2}, {Chosen(4, 128), 90}});
  EXPECT_LT(model.Promise(Chosen(4, 64), kGenes, kWeights),
            model.Promise(Chosen(8, 64), kGenes, kWeights));
}

TEST(GeneModel, SaysNothingWithoutSamples) {
  EXPECT_TRUE(std::isfinite(GeneModel({}).Promise(Chosen(8, 64), kGenes, kWeights)));
}

}  // namespace
}  // namespace kernelsmith
