#include "verify/inputs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "support/rng.h"

namespace kernelsmith {
namespace {

constexpr Recipe kRecipes[] = {
    {"redrawn", false, "the task's values in another order; constant tensors varied"},
    {"single", false, "single elements changed by a lot"},
    {"scaled", false, "every tensor at its own scale between 1/8 and 8"},
    {"zeros", false, "all zero"},
    {"small", false, "a thousandth of the task's size"},
    {"rows", false, "constant rows"},
    {"ties", false, "few different values"},
    {"exact", false, "small integers, halves and powers of two, with which little is rounded"},
    {"numbers", false, "numbers that the kernels have in their code, and their neighbours", false,
     true},
    {"shifted", false, "a mean of four times the spread"},
    {"signed", false, "both signs, where the task draws no negative values"},
    {"large", true, "a thousand times the task's size"},
    {"offset", true, "samples with a mean of a thousand times the spread, of either sign"},
    {"tiny", true, "near the smallest normal numbers"},
    {"outliers", true, "single elements a million times the task's size"},
    {"far_numbers", true, "large numbers that the kernels have in their code", false, true},
    {"beyond_numbers", true, "samples that lie beyond a large number of the kernels", false, true},
    {"spike_first", true, "a value of 200 at the first place of every row", true},
    {"spike_last", true, "a value of 200 at the last place of every row", true},
    {"spikes", true, "a value of 200 somewhere in every row", true},
};

// What a tensor's own values say about what may stand in it.
struct Domain {
  bool fixed = false;
  bool constant = false;
  bool non_negative = false;
  bool unit = false;           // 0 to 1
  bool probabilities = false;  // rows that add up to one; fixed, too
  double spread = 1;           // RMS, or 1 for zeros
};

Domain DomainOf(const HostTensor& tensor) {
  Domain domain{.constant = true, .non_negative = true, .unit = true};
  std::set<double> distinct;
  double squares = 0;
  const int64_t count = tensor.count();
  for (int64_t i = 0; i < count; ++i) {
    const double value = tensor.at(i);
    if (!std::isfinite(value)) domain.fixed = true;  // an additive mask
    if (distinct.size() < 3) distinct.insert(value);
    domain.non_negative &= value >= 0;
    domain.unit &= value >= 0 && value <= 1;
    squares += value * value;
  }
  domain.constant = distinct.size() <= 1;
  // Two values in many elements: a mask or a flag.
  if (distinct.size() == 2 && count > 8) domain.fixed = true;
  // Rows that add up to one: probabilities, which permutations along the row keep.
  if (domain.unit && !domain.constant && !tensor.shape.empty() && tensor.shape.back() > 1) {
    const int64_t row = tensor.shape.back();
    bool sums = true;
    for (int64_t begin = 0; begin < count && sums; begin += row) {
      double sum = 0;
      for (int64_t i = begin; i < begin + row; ++i) sum += tensor.at(i);
      sums = std::abs(sum - 1) < 1e-2;
    }
    domain.probabilities = sums;
    if (sums) domain.fixed = true;
  }
  if (count > 0) domain.spread = std::sqrt(squares / static_cast<double>(count));
  if (!(domain.spread > 0) || !std::isfinite(domain.spread)) domain.spread = 1;
  return domain;
}

// The nearest value that the domain allows and the dtype holds.
void Put(HostTensor& tensor, int64_t i, double value, const Domain& domain) {
  if (domain.non_negative) value = std::abs(value);
  if (domain.unit && !domain.constant) value = value - std::floor(value / 2) * 2;  // into [0, 2)
  if (domain.unit && !domain.constant && value > 1) value = 2 - value;
  const double largest = tensor.dtype == DType::kFloat16 ? 65504.0 : 3e38;
  if (tensor.dtype != DType::kFloat64) value = std::clamp(value, -largest, largest);
  tensor.set(i, value);
}

// `pattern`: zeros stay where they are.
void Permute(HostTensor& tensor, bool pattern, Rng& rng) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (!pattern || tensor.at(i) != 0) places.push_back(i);
  }
  for (size_t i = places.size(); i-- > 1;) {
    const auto j = static_cast<size_t>(rng.Below(i + 1));
    const double a = tensor.at(places[i]);
    tensor.set(places[i], tensor.at(places[j]));
    tensor.set(places[j], a);
  }
}

// A constant tensor (weights of one, a bias of zero) hides what is done with it.
void Vary(HostTensor& tensor, const Domain& domain, Rng& rng) {
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = tensor.at(i);
    Put(tensor, i, value == 0 ? rng.Normal() : value * std::exp(rng.Normal() / 2), domain);
  }
}

double PowerOfTwo(Rng& rng, int low, int high) {
  return std::ldexp(1.0, low + static_cast<int>(rng.Below(static_cast<uint64_t>(high - low + 1))));
}

double Sign(Rng& rng) { return rng.Below(2) == 0 ? 1.0 : -1.0; }

void Scale(HostTensor& tensor, double factor, const Domain& domain) {
  if (domain.unit && !domain.constant && factor > 1) return;
  for (int64_t i = 0; i < tensor.count(); ++i) Put(tensor, i, tensor.at(i) * factor, domain);
}

void Shift(HostTensor& tensor, double by, const Domain& domain) {
  if (domain.unit && !domain.constant) return;
  for (int64_t i = 0; i < tensor.count(); ++i) Put(tensor, i, tensor.at(i) + by, domain);
}

// Every other sample (of the first axis) up, the others down: a maximum that starts at 0 is right
// for one sign, and what is normalised is most often within a sample.
void ShiftSamples(HostTensor& tensor, double by, const Domain& domain, Rng& rng) {
  if (domain.unit && !domain.constant) return;
  const int64_t samples = tensor.shape.size() < 2 ? 1 : std::max<int64_t>(tensor.shape[0], 1);
  const int64_t row = std::max<int64_t>(tensor.count() / samples, 1);
  by *= Sign(rng);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    Put(tensor, i, tensor.at(i) + (i / row % 2 == 0 ? by : -by), domain);
  }
}

// Few enough to be single elements, enough that each of several blocks has a chance to see one.
int64_t Singles(int64_t count) { return std::clamp<int64_t>(count / 64, 1, 32); }

void ChangeSingles(HostTensor& tensor, double low, double high, const Domain& domain, Rng& rng) {
  const int64_t count = tensor.count();
  if (count == 0) return;
  for (int64_t n = Singles(count); n > 0; --n) {
    const auto i = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(count)));
    const double size = low + (high - low) * rng.Uniform();
    Put(tensor, i, Sign(rng) * size * domain.spread, domain);
  }
}

void MakeRows(HostTensor& tensor, const Domain& domain, Rng& rng) {
  const int64_t row = tensor.shape.empty() ? 1 : std::max<int64_t>(tensor.shape.back(), 1);
  double value = 1;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    // Powers of two: sums of equal ones are exact, so honest kernels round nothing here.
    if (i % row == 0) value = Sign(rng) * PowerOfTwo(rng, -2, domain.unit ? 0 : 2);
    Put(tensor, i, value, domain);
  }
}

// One value in every row that exp can't hold, at its first place, its last or anywhere. It may be
// outside the draw's domain: the caller asks for finite results alone.
void PutSpikes(std::string_view where, HostTensor& tensor, const Domain& domain, Rng& rng) {
  const int64_t row = tensor.shape.empty() ? 1 : std::max<int64_t>(tensor.shape.back(), 1);
  const double spike = std::min(200 * std::max(domain.spread, 1.0), 65504.0);
  for (int64_t begin = 0; begin < tensor.count(); begin += row) {
    int64_t place = 0;
    if (where == "spike_last") place = row - 1;
    if (where == "spikes") place = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(row)));
    tensor.set(begin + place, spike);
  }
}

// Every other row with all its probability on one element: 0 * log(0) is 0 for PyTorch.
void MakeCertain(HostTensor& tensor, Rng& rng) {
  const int64_t row = tensor.shape.back();
  for (int64_t begin = 0; begin < tensor.count(); begin += 2 * row) {
    const auto certain = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(row)));
    for (int64_t i = 0; i < row; ++i) tensor.set(begin + i, i == certain ? 1 : 0);
  }
}

// Values with which sums, products and roundings are exact in every order, so that decisions among
// them have one answer. What may divide (weights of one, scales) gets powers of two.
void MakeExact(HostTensor& tensor, const Domain& domain, Rng& rng) {
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const bool divides = domain.constant || domain.non_negative;
    const double value = divides ? PowerOfTwo(rng, -2, 2) : static_cast<double>(rng.Below(13)) / 2;
    // The sign of zero, too.
    Put(tensor, i, divides ? value : std::copysign(value, Sign(rng)), domain);
  }
}

// Numbers up to 16 times the spread of the task's values are near ones, others are far: beyond them
// exponentials overflow, which is instability.
bool IsNear(double number, const Domain& domain) { return std::abs(number) <= 16 * domain.spread; }

// Far numbers that inputs may lie beyond: those that are more stand for infinity.
bool IsBeyondable(double number, const Domain& domain) {
  return !IsNear(number, domain) && std::abs(number) <= 1e6 * domain.spread;
}

// A third of the elements becomes such a number, or what is next to it.
void PutNumbers(HostTensor& tensor, const std::vector<double>& numbers, bool near,
                const Domain& domain, Rng& rng) {
  std::vector<double> chosen;
  for (const double number : numbers) {
    if (IsNear(number, domain) == near) chosen.push_back(number);
  }
  if (chosen.empty()) return;
  // Next to it in its own precision, and in those that a kernel may compare in.
  std::vector<double> steps = {0x1p-7, 0x1p-10, 0x1p-13, 0x1p-22};
  if (tensor.dtype == DType::kBfloat16) steps.resize(1);
  if (tensor.dtype == DType::kFloat16) steps.resize(2);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (rng.Below(3) != 0) continue;
    const double number = chosen[rng.Below(chosen.size())];
    constexpr double kSides[] = {-1, 0, 0, 1};
    const double side = kSides[rng.Below(std::size(kSides))];
    Put(tensor, i, number * (1 + side * steps[rng.Below(steps.size())]), domain);
  }
}

// Every other sample below all such numbers, the others above them: a maximum that starts at -10000
// is right as long as one element of a row is larger.
void PassNumbers(HostTensor& tensor, const std::vector<double>& numbers, const Domain& domain,
                 Rng& rng) {
  double number = 0;
  for (const double each : numbers) {
    if (IsBeyondable(each, domain)) number = std::max(number, each);
  }
  if (number == 0) return;
  const int64_t samples = tensor.shape.size() < 2 ? 1 : std::max<int64_t>(tensor.shape[0], 1);
  const int64_t row = std::max<int64_t>(tensor.count() / samples, 1);
  const double sign = Sign(rng);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double side = i / row % 2 == 0 ? sign : -sign;
    Put(tensor, i, side * number * (1.25 + rng.Uniform()), domain);
  }
}

bool HidesSigns(const Domain& domain) {
  return domain.non_negative && !domain.fixed && !domain.constant;
}

// torch.rand hides what is done to negative values and beyond 1 (ReLU, clamps, a maximum that
// starts at 0).
void MakeSigned(HostTensor& tensor, const Domain& domain, Rng& rng) {
  if (!HidesSigns(domain)) return;
  const double factor = domain.unit ? 8 : 1;
  const double largest = tensor.dtype == DType::kFloat16 ? 65504.0 : 3e38;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    tensor.set(i, Sign(rng) * std::min(factor * tensor.at(i), largest));
  }
}

void Change(std::string_view recipe, HostTensor& tensor, const Domain& domain, bool pattern,
            const std::vector<double>& numbers, Rng& rng) {
  if (domain.constant && recipe != "zeros") Vary(tensor, domain, rng);
  if (recipe == "redrawn") return Permute(tensor, pattern, rng);
  if (recipe == "single") return ChangeSingles(tensor, 4, 16, domain, rng);
  if (recipe == "scaled") return Scale(tensor, PowerOfTwo(rng, -3, 3), domain);
  if (recipe == "zeros") return Scale(tensor, 0, domain);
  if (recipe == "small") return Scale(tensor, 0x1p-10, domain);
  if (recipe == "rows") return MakeRows(tensor, domain, rng);
  if (recipe == "ties") {
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const double step = domain.spread / 2;
      Put(tensor, i, std::round(tensor.at(i) / step) * step, domain);
    }
    return;
  }
  if (recipe == "exact") return MakeExact(tensor, domain, rng);
  if (recipe == "numbers") return PutNumbers(tensor, numbers, /*near=*/true, domain, rng);
  if (recipe == "far_numbers") return PutNumbers(tensor, numbers, /*near=*/false, domain, rng);
  if (recipe == "beyond_numbers") return PassNumbers(tensor, numbers, domain, rng);
  if (recipe == "shifted") return Shift(tensor, Sign(rng) * 4 * domain.spread, domain);
  if (recipe == "signed") return MakeSigned(tensor, domain, rng);
  if (recipe == "large") return Scale(tensor, 0x1p10, domain);
  if (recipe == "offset") return ShiftSamples(tensor, 1024 * domain.spread, domain, rng);
  if (recipe == "tiny") return Scale(tensor, 0x1p-100, domain);
  if (recipe == "outliers") return ChangeSingles(tensor, 5e5, 1e6, domain, rng);
  return PutSpikes(recipe, tensor, domain, rng);
}

void Apply(std::string_view recipe, HostTensor& tensor, const Domain& domain,
           const std::vector<double>& numbers, Rng& rng) {
  const std::vector<int64_t> zeros =
      domain.constant ? std::vector<int64_t>() : PatternOfZeros(tensor);
  Change(recipe, tensor, domain, !zeros.empty(), numbers, rng);
  for (const int64_t i : zeros) tensor.set(i, 0);
}

}  // namespace

std::span<const Recipe> Recipes() { return kRecipes; }

const Recipe* FindRecipe(std::string_view name) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name == name) return &recipe;
  }
  return nullptr;
}

bool Applies(const Recipe& recipe, const TensorMap& base, const std::vector<InputTensor>& tensors,
             const std::vector<double>& numbers) {
  if (recipe.name != "signed" && !recipe.numbers) return true;
  return std::any_of(tensors.begin(), tensors.end(), [&](const InputTensor& input) {
    const auto found = base.find(input.name);
    if (found == base.end() || input.fixed || !IsFloat(found->second.dtype)) return false;
    const Domain domain = DomainOf(found->second);
    if (recipe.name == "signed") return HidesSigns(domain);
    return !domain.fixed && std::any_of(numbers.begin(), numbers.end(), [&](double number) {
      if (recipe.name == "beyond_numbers") return IsBeyondable(number, domain);
      return IsNear(number, domain) != recipe.harsh;
    });
  });
}

TensorMap MakeInputs(const Recipe& recipe, const TensorMap& base,
                     const std::vector<InputTensor>& tensors, uint64_t seed,
                     const InputOptions& options) {
  const Rng root(seed);
  TensorMap result;
  uint64_t stream = 0;
  for (const InputTensor& input : tensors) {
    Rng rng = root.Fork(stream++);
    const auto found = base.find(input.name);
    if (found == base.end()) continue;
    HostTensor tensor = found->second;
    if (IsFloat(tensor.dtype)) {
      Domain domain = DomainOf(tensor);
      if (!input.fixed && !domain.fixed) {
        Apply(recipe.name, tensor, domain, options.numbers, rng);
      }
      if (!input.fixed && domain.probabilities && recipe.name == "single") MakeCertain(tensor, rng);
    } else if (!input.fixed && options.permute_integers && recipe.name == "redrawn") {
      Permute(tensor, /*pattern=*/false, rng);
    }
    result.emplace(input.name, std::move(tensor));
  }
  return result;
}

}  // namespace kernelsmith
