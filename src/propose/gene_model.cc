#include "propose/gene_model.h"

#include <algorithm>
#include <cmath>

namespace kernelsmith {
namespace {

// Logarithms of times beyond the best: samples weigh less by e for each of these, and hopeless ones
// are all the same.
constexpr double kFar = 0.7;
constexpr double kHopeless = 3;
// Each value is thought to have so many samples without an effect, so that few real ones prove
// little.
constexpr double kPrior = 0.3;
constexpr int kRounds = 12;
// A trend goes on beyond the values that were seen, but not for ever.
constexpr double kTrend = 0.7;
constexpr double kLongestTrend = 0.4;
// What a value that nobody tried might gain.
constexpr double kCuriosity = 0.06;

}  // namespace

GeneModel::GeneModel(const std::vector<Sample>& samples) {
  if (samples.empty()) return;
  std::vector<double> times, weights;
  for (const Sample& sample : samples) times.push_back(std::log(sample.seconds));
  const double best = *std::min_element(times.begin(), times.end());
  double sum = 0, all = 0;
  for (double& time : times) {
    time = std::min(time, best + kHopeless);
    weights.push_back(std::exp((best - time) / kFar));
    sum += time * weights.back();
    all += weights.back();
  }
  mean_ = sum / all;
  std::vector<double> rest;  // what the model does not explain yet
  for (const double time : times) rest.push_back(time - mean_);
  for (size_t i = 0; i < samples.size(); ++i) {
    for (const auto& [gene, value] : samples[i].schedule.genes) {
      genes_[gene][value].weight += weights[i];
    }
  }
  // One gene after the other explains what the others leave.
  for (int round = 0; round < kRounds; ++round) {
    for (auto& [gene, effects] : genes_) {
      std::map<int64_t, double> left;
      for (size_t i = 0; i < samples.size(); ++i) {
        const auto at = samples[i].schedule.genes.find(gene);
        if (at == samples[i].schedule.genes.end()) continue;
        rest[i] += effects[at->second].added;
        left[at->second] += weights[i] * rest[i];
      }
      for (auto& [value, effect] : effects) effect.added = left[value] / (effect.weight + kPrior);
      for (size_t i = 0; i < samples.size(); ++i) {
        const auto at = samples[i].schedule.genes.find(gene);
        if (at != samples[i].schedule.genes.end()) rest[i] -= effects[at->second].added;
      }
    }
  }
}

// What the neighbours of a value make believe: between two that were seen it lies between them;
// beyond, the last step goes on.
double GeneModel::ByNeighbours(const codegen::Gene& gene, const Effects& effects, int64_t value) {
  std::vector<int64_t> values = gene.values;
  std::sort(values.begin(), values.end());
  const auto place = [&](int64_t of) {
    return static_cast<double>(std::lower_bound(values.begin(), values.end(), of) - values.begin());
  };
  std::vector<std::pair<double, double>> below, above;  // place and effect, the nearest first
  for (const auto& [other, effect] : effects) {
    if (effect.weight < kPrior) continue;
    if (other < value) below.emplace(below.begin(), place(other), effect.added);
    if (other > value) above.emplace_back(place(other), effect.added);
  }
  const double here = place(value);
  if (!below.empty() && !above.empty()) {
    const double share = (here - below[0].first) / (above[0].first - below[0].first);
    return below[0].second + share * (above[0].second - below[0].second);
  }
  const auto& side = below.empty() ? above : below;
  if (side.empty()) return 0;
  if (side.size() == 1) return side[0].second;
  const double slope = (side[0].second - side[1].second) / std::abs(side[0].first - side[1].first);
  const double trend = kTrend * slope * std::abs(here - side[0].first);
  return side[0].second + std::clamp(trend, -kLongestTrend, kLongestTrend);
}

double GeneModel::Promise(const codegen::Schedule& schedule,
                          const std::vector<codegen::Gene>& genes,
                          const std::vector<double>& weights) const {
  double promise = mean_;
  for (size_t i = 0; i < genes.size(); ++i) {
    const auto chosen = schedule.genes.find(genes[i].name);
    if (chosen == schedule.genes.end()) continue;
    Effect effect;
    double neighbours = 0;
    const auto effects = genes_.find(genes[i].name);
    if (effects != genes_.end()) {
      const auto seen = effects->second.find(chosen->second);
      if (seen != effects->second.end()) effect = seen->second;
      neighbours = ByNeighbours(genes[i], effects->second, chosen->second);
    }
    // The less is known of the value itself, the more its neighbours count.
    promise += effect.added + kPrior / (effect.weight + kPrior) * neighbours;
    promise -= kCuriosity * weights[i] / (1 + effect.weight);
  }
  return promise;
}

}  // namespace kernelsmith
