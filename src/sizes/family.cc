#include "sizes/family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

namespace kernelsmith::sizes {
namespace {

using vgpu::GridRegister;

// Factors of a product that a length or a grid may be.
constexpr size_t kMostFactors = 5;
// Numbers that products are made of.
constexpr size_t kMostNumbers = 10;

// A number that differs from launch to launch.
struct Number {
  std::string name;
  Polynomial value;
  std::vector<Integer> seen;  // by launch
};

struct Product {
  Polynomial value;
  std::vector<Integer> seen;
  std::string text;
  size_t factors = 0;
};

bool AllEqual(const std::vector<Integer>& values) {
  return std::all_of(values.begin(), values.end(), [&](Integer each) { return each == values[0]; });
}

Integer CeilDivide(Integer a, Integer b) { return (a + b - 1) / b; }

class Fitting {
 public:
  Fitting(const vgpu::Function& kernel, std::span<const TracedLaunch> launches,
          const std::vector<std::string>& names, Integer most, SymbolTable& symbols, Facts& facts)
      : kernel_(kernel),
        launches_(launches),
        names_(names),
        most_(most),
        symbols_(symbols),
        facts_(facts) {}

  Family Run() {
    FindParameters();
    FitNumbers();
    FitBlock();
    FitGrid();
    MakeProducts();
    FitTargets();
    if (!domain_.empty()) {
      family_.domain = fmt::format("{} >= 1", fmt::join(domain_, ", "));
    }
    family_.values.parameter = [values = values_](uint32_t offset, uint32_t bytes) {
      const auto found = values.find({offset, bytes});
      return found == values.end() ? Value{} : found->second;
    };
    return std::move(family_);
  }

 private:
  using Place = std::pair<uint32_t, uint32_t>;  // offset, bytes

  std::string NameOf(uint32_t offset) const {
    uint32_t at = 0;
    for (size_t i = 0; i < kernel_.syntax->parameters.size(); ++i) {
      const ptx::Variable& parameter = kernel_.syntax->parameters[i];
      const auto alignment = static_cast<uint32_t>(std::max(parameter.Alignment(), 1));
      at = (at + alignment - 1) / alignment * alignment;
      const auto size = static_cast<uint32_t>(parameter.Size());
      if (offset >= at && offset < at + size) {
        std::string name =
            i < names_.size() && !names_[i].empty() ? names_[i] : fmt::format("argument{}", i);
        if (offset > at || size > 8) name += fmt::format(".{}", offset - at);
        return name;
      }
      at += size;
    }
    return fmt::format("byte{}", offset);
  }

  // Those that the kernel reads.
  void FindParameters() {
    std::set<Place> places;
    for (const vgpu::Instruction& in : kernel_.code) {
      if (in.op != vgpu::Op::kLoad || in.address != vgpu::AddressBase::kParameters ||
          ptx::IsFloat(in.type) || (in.bytes != 4 && in.bytes != 8)) {
        continue;
      }
      for (uint32_t i = 0; i < std::max<uint32_t>(in.list_count, 1); ++i) {
        places.emplace(static_cast<uint32_t>(in.offset) + i * in.bytes, in.bytes);
      }
    }
    for (const Place& place : places) {
      std::vector<BufferRef> pointers;
      std::vector<Integer> numbers;
      for (const TracedLaunch& launch : launches_) {
        const auto pointer =
            std::find_if(launch.step->pointers.begin(), launch.step->pointers.end(),
                         [&](const PointerPatch& each) {
                           return each.at < place.first + place.second && each.at + 8 > place.first;
                         });
        if (pointer != launch.step->pointers.end()) {
          if (pointer->at == place.first && place.second == 8) pointers.push_back(pointer->target);
          continue;
        }
        if (place.first + place.second > launch.step->parameters.size()) continue;
        const std::byte* bytes = launch.step->parameters.data() + place.first;
        int64_t number = 0;
        int32_t small = 0;
        std::memcpy(place.second == 8 ? static_cast<void*>(&number) : &small, bytes, place.second);
        numbers.push_back(place.second == 8 ? number : small);
      }
      if (pointers.size() == launches_.size()) {
        pointers_[place] = std::move(pointers);
      } else if (numbers.size() == launches_.size()) {
        scalars_[place] = std::move(numbers);
      }
      // A pointer here and a number there: nothing is known of it.
    }
  }

  void Assume(std::string text) { family_.assumptions.push_back(std::move(text)); }

  Symbol MakeNatural(const std::string& name, Integer least, Integer largest) {
    const Symbol symbol = symbols_.Make(name, true);
    if (least > 0) facts_.AddEverywhere(Polynomial::Of(symbol) - Polynomial(least));
    facts_.AddEverywhere(Polynomial(largest) - Polynomial::Of(symbol));
    return symbol;
  }

  // Numbers that the kernel gets: the same in every launch, one that follows from others, or free.
  void FitNumbers() {
    std::vector<std::pair<Place, std::vector<Integer>>> varying;
    for (const auto& [place, seen] : scalars_) {
      if (AllEqual(seen)) {
        values_[place] = Value::Number(Polynomial(seen[0]));
        Assume(fmt::format("{} = {}", NameOf(place.first), ToString(seen[0])));
      } else {
        varying.emplace_back(place, seen);
      }
    }
    const auto total = [](const std::vector<Integer>& seen) {
      Integer sum = 0;
      for (const Integer each : seen) sum += each < 0 ? -each : each;
      return sum;
    };
    std::sort(varying.begin(), varying.end(), [&](const auto& a, const auto& b) {
      return std::pair(total(a.second), a.first) < std::pair(total(b.second), b.first);
    });
    family_.varying = varying.size();
    for (const auto& [place, seen] : varying) {
      const std::string name = NameOf(place.first);
      const Integer least = *std::min_element(seen.begin(), seen.end());
      MakeProducts();
      if (const std::optional<Polynomial> rule = FollowingRule(name, seen)) {
        values_[place] = Value::Number(*rule);
        continue;
      }
      Number number{.name = name, .seen = seen};
      if (least < 0) {
        const Symbol symbol = symbols_.Make(name, false);
        number.value = Polynomial::Of(symbol);
        facts_.AddEverywhere(Polynomial(most_) - number.value);
        facts_.AddEverywhere(Polynomial(most_) + number.value);
        Assume(fmt::format("{} is any number", name));
      } else {
        number.value = Polynomial::Of(MakeNatural(name, least == 0 ? 0 : 1, most_));
        if (least == 0) Assume(fmt::format("{} >= 0", name));
        if (least > 0) domain_.push_back(name);
      }
      values_[place] = Value::Number(number.value);
      if (least > 0) numbers_.push_back(std::move(number));
    }
  }

  // A product of other numbers, or a quotient.
  std::optional<Polynomial> FollowingRule(const std::string& name,
                                          const std::vector<Integer>& seen) {
    for (const Product& product : products_) {
      if (product.factors > 0 && product.seen == seen) {
        Assume(fmt::format("{} = {}", name, product.text));
        return product.value;
      }
    }
    return std::nullopt;
  }

  static uint32_t Axis(const vgpu::Dim3& dim, int axis) {
    return axis == 0 ? dim.x : axis == 1 ? dim.y : dim.z;
  }
  static std::string AxisName(const char* what, int axis) {
    return fmt::format("{}.{}", what, "xyz"[axis]);
  }
  static GridRegister Register(GridRegister first, int axis) {
    return static_cast<GridRegister>(static_cast<int>(first) + axis);
  }

  std::vector<Integer> SeenOf(bool grid, int axis) const {
    std::vector<Integer> seen;
    for (const TracedLaunch& launch : launches_) {
      seen.push_back(Axis(grid ? launch.step->grid : launch.step->block, axis));
    }
    return seen;
  }

  void FitBlock() {
    std::vector<std::string> sizes;
    bool constant = true;
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<Integer> seen = SeenOf(false, axis);
      Polynomial size;
      if (AllEqual(seen)) {
        size = Polynomial(seen[0]);
        sizes.push_back(ToString(seen[0]));
      } else {
        const std::string name = AxisName("blockDim", axis);
        constexpr Integer kMostThreads = 1024;
        size = Polynomial::Of(MakeNatural(name, 1, axis == 2 ? Integer{64} : kMostThreads));
        numbers_.push_back({.name = name, .value = size, .seen = seen});
        constant = false;
      }
      family_.values.registers[Register(GridRegister::kNtidX, axis)] = size;
      family_.values.registers[Register(GridRegister::kTidX, axis)] =
          Index(AxisName("threadIdx", axis), size);
    }
    if (constant) Assume(fmt::format("blockDim = {}", fmt::join(sizes, " x ")));
    const Symbol lane = symbols_.Make("laneid", true);
    facts_.AddEverywhere(Polynomial(31) - Polynomial::Of(lane));
    family_.values.registers[GridRegister::kLaneid] = Polynomial::Of(lane);
  }

  // A symbol from 0 to below `size`.
  Polynomial Index(const std::string& name, const Polynomial& size) {
    if (size == Polynomial(1)) return Polynomial(0);
    const Symbol symbol = symbols_.Make(name, true);
    const Polynomial index = Polynomial::Of(symbol);
    facts_.AddEverywhere(size - Polynomial(1) - index);
    family_.ids[symbol] = size;
    return index;
  }

  void FitGrid() {
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<Integer> seen = SeenOf(true, axis);
      const std::string name = AxisName("gridDim", axis);
      MakeProducts();
      const Polynomial size = GridSize(name, seen, axis == 0 ? (Integer{1} << 31) - 1 : 65535);
      family_.values.registers[Register(GridRegister::kNctaidX, axis)] = size;
      family_.values.registers[Register(GridRegister::kCtaidX, axis)] =
          Index(AxisName("blockIdx", axis), size);
    }
  }

  Polynomial GridSize(const std::string& name, const std::vector<Integer>& seen, Integer limit) {
    if (AllEqual(seen)) {
      Assume(fmt::format("{} = {}", name, ToString(seen[0])));
      return {seen[0]};
    }
    for (const Product& product : products_) {
      if (product.factors == 0 || product.seen != seen) continue;
      Assume(fmt::format("{} = {}", name, product.text));
      facts_.AddEverywhere(Polynomial(limit) - product.value);
      return product.value;
    }
    const Polynomial size = Polynomial::Of(MakeNatural(name, 1, limit));
    for (const Product& product : products_) {
      if (product.factors == 0) continue;
      for (const Integer divisor : Divisors()) {
        bool fits = true;
        for (size_t i = 0; i < seen.size() && fits; ++i) {
          fits = CeilDivide(product.seen[i], divisor) == seen[i];
        }
        if (!fits) continue;
        const std::string text =
            product.factors > 1 ? fmt::format("({})", product.text) : product.text;
        Assume(fmt::format("{} = ceil({} / {})", name, text, ToString(divisor)));
        const Polynomial all = Polynomial(divisor) * size;
        facts_.AddEverywhere(all - product.value);
        facts_.AddEverywhere(product.value + Polynomial(divisor - 1) - all);
        // The same of the largest number, rounded as the grid is.
        if (product.factors == 1) {
          facts_.AddEverywhere(Polynomial(CeilDivide(most_, divisor)) - size);
        }
        return size;
      }
    }
    // No rule: any grid, which is what loops over the grid are for.
    numbers_.push_back({.name = name, .value = size, .seen = seen});
    return size;
  }

  // What grids are divided by: sizes of blocks and tiles.
  std::vector<Integer> Divisors() const {
    std::set<Integer> divisors;
    for (int log = 1; log <= 16; ++log) divisors.insert(Integer{1} << log);
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<Integer> seen = SeenOf(false, axis);
      if (!AllEqual(seen)) continue;
      for (Integer times = 1; times <= 32; ++times) divisors.insert(seen[0] * times);
    }
    divisors.erase(1);
    // The largest first would hide a smaller one that fits as well; small ones are usual.
    return {divisors.begin(), divisors.end()};
  }

  // All products of different numbers, the shortest first.
  void MakeProducts() {
    products_.clear();
    last_ = {0};
    Product none{.value = Polynomial(1), .seen = std::vector<Integer>(launches_.size(), 1)};
    products_.push_back(none);
    const size_t numbers = std::min(numbers_.size(), kMostNumbers);
    for (size_t i = 0; i < products_.size(); ++i) {
      if (products_[i].factors == kMostFactors) break;
      // Only numbers behind the last factor, so that each product is made once.
      for (size_t next = last_[i]; next < numbers; ++next) {
        Product longer = products_[i];
        longer.value = longer.value * numbers_[next].value;
        for (size_t k = 0; k < longer.seen.size(); ++k) longer.seen[k] *= numbers_[next].seen[k];
        longer.text += (longer.text.empty() ? "" : " * ") + numbers_[next].name;
        ++longer.factors;
        products_.push_back(std::move(longer));
        last_.resize(products_.size());
        last_.back() = next + 1;
      }
    }
  }

  // The length of what a pointer points to: a number times a product.
  void FitTargets() {
    for (const auto& [place, pointers] : pointers_) {
      Target target{.name = NameOf(place.first), .output = true};
      std::vector<Integer> seen;
      for (size_t i = 0; i < pointers.size(); ++i) {
        const Plan& plan = *launches_[i].plan;
        const PlanBuffer& buffer = plan.buffers[pointers[i].buffer];
        seen.push_back(static_cast<Integer>(buffer.bytes) -
                       static_cast<Integer>(pointers[i].offset));
        target.aligned &= pointers[i].offset % 16 == 0;
        target.output &=
            std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const PlanTensor& output) {
              return output.at == pointers[i] && ExtentBytes(output) == buffer.bytes;
            });
      }
      const Product* best = nullptr;
      Integer best_factor = 0;
      for (const Product& product : products_) {
        if (product.seen[0] == 0 || seen[0] % product.seen[0] != 0) continue;
        const Integer factor = seen[0] / product.seen[0];
        bool fits = factor > 0;
        for (size_t i = 0; i < seen.size() && fits; ++i) fits = product.seen[i] * factor == seen[i];
        if (fits && (best == nullptr || factor < best_factor)) {
          best = &product;
          best_factor = factor;
        }
      }
      const Symbol symbol = symbols_.Make(target.name, true);
      if (best != nullptr) {
        target.bytes = best->value * Polynomial(best_factor);
        facts_.AddEverywhere(Polynomial(most_) - best->value);
        const std::string count = ToString(best_factor);
        lengths_.push_back(best->factors == 0 ? fmt::format("{} has {} bytes", target.name, count)
                                              : fmt::format("{} has {} * {} bytes", target.name,
                                                            count, best->text));
      }
      values_[place] = Value::Number(Polynomial::Of(symbol));
      family_.targets[symbol] = std::move(target);
    }
    for (std::string& each : lengths_) Assume(std::move(each));
  }

  const vgpu::Function& kernel_;
  std::span<const TracedLaunch> launches_;
  const std::vector<std::string>& names_;
  Integer most_;
  SymbolTable& symbols_;
  Facts& facts_;
  Family family_;
  std::map<Place, std::vector<BufferRef>> pointers_;
  std::map<Place, std::vector<Integer>> scalars_;
  std::map<Place, Value> values_;
  std::vector<Number> numbers_;  // that lengths and grids may be products of
  std::vector<Product> products_;
  std::vector<size_t> last_;  // by product: the first number that may be added to it
  std::vector<std::string> domain_;
  std::vector<std::string> lengths_;
};

}  // namespace

Family FitFamily(const vgpu::Function& kernel, std::span<const TracedLaunch> launches,
                 const std::vector<std::string>& names, Integer most, SymbolTable& symbols,
                 Facts& facts) {
  return Fitting(kernel, launches, names, most, symbols, facts).Run();
}

}  // namespace kernelsmith::sizes
