// What instructions do to polynomials. Sums, differences and products of registers are exact in the
// ring of numbers modulo 2^32 or 2^64, so that nothing need be known of overflow there. Where the
// number itself matters (comparisons, widening, quotients) it must be shown to fit its type.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "sizes/run.h"
#include "vgpu/op_facts.h"
#include "vgpu/touch.h"

namespace kernelsmith::sizes {

using ptx::Comparison;
using vgpu::AddressBase;
using vgpu::Instruction;
using vgpu::MemorySpace;
using vgpu::Op;
using vgpu::Operand;
using vgpu::OperandBase;

namespace {

// States that one instruction may leave; beyond them selections are not followed.
constexpr size_t kMostSplits = 32;

Polynomial PowerOfTwo(int exponent) { return {Integer{1} << exponent}; }

bool IsWholeNumber(ptx::Type type) {
  const int bits = ptx::BitsOf(type);
  const ptx::TypeKind kind = ptx::KindOf(type);
  return (bits == 32 || bits == 64) &&
         (kind == ptx::TypeKind::kBits || kind == ptx::TypeKind::kSigned ||
          kind == ptx::TypeKind::kUnsigned);
}

// j if the number is 2^j.
std::optional<int> LogOf(Integer number) {
  if (number <= 0 || (number & (number - 1)) != 0) return std::nullopt;
  int log = 0;
  while (number > 1) {
    number >>= 1;
    ++log;
  }
  return log;
}

}  // namespace

std::string Run::LineOf(const Instruction& in) const {
  const SourceLocation where = vgpu::SourceLocationOf(function_, in);
  if (where.line > 0) return fmt::format("line {}", where.line);
  return fmt::format("PTX line {}", vgpu::PtxLocationOf(function_, in).line);
}

Value Run::Wraps(const Instruction& in) const {
  return Value::Unknown(
      facts_.ReasonOf(fmt::format("index arithmetic may leave its type at {}", LineOf(in))));
}

Value Run::NotFollowed(const Instruction& in) const {
  return Value::Unknown(
      facts_.ReasonOf(fmt::format("{} at {} is not followed", vgpu::NameOf(in.op), LineOf(in))));
}

Value Run::Read(const State& state, Operand operand) const {
  if (!operand.exists()) return {};
  switch (operand.base()) {
    case OperandBase::kRegister: {
      const auto found = state.registers.find(operand.offset());
      return found == state.registers.end() ? Value{} : found->second;
    }
    case OperandBase::kConstant: {
      const std::byte* bytes = function_.ConstantData() + operand.offset();
      if (operand.is_predicate()) {
        uint32_t mask = 0;
        std::memcpy(&mask, bytes, sizeof mask);
        return Value::Predicate(
            MakeCondition(mask != 0 ? Condition::Kind::kTrue : Condition::Kind::kFalse));
      }
      if (operand.bytes() == 4) {
        int32_t number = 0;
        std::memcpy(&number, bytes, sizeof number);
        return Value::Number(Polynomial(number));
      }
      if (operand.bytes() == 8) {
        int64_t number = 0;
        std::memcpy(&number, bytes, sizeof number);
        return Value::Number(Polynomial(number));
      }
      return {};
    }
    case OperandBase::kSpecial: {
      const auto known = launch_.registers.find(vgpu::GridRegisterOf(operand));
      return known == launch_.registers.end() ? Value{} : Value::Number(known->second);
    }
  }
  return {};
}

void Run::Write(State& state, Operand operand, Value value) {
  if (!operand.exists() || operand.base() != OperandBase::kRegister) return;
  if (value == Value{} && value.reason == 0) {
    state.registers.erase(operand.offset());
  } else {
    state.registers[operand.offset()] = std::move(value);
  }
}

void Run::Forget(const Instruction& in, State& state) const {
  vgpu::ForEachTouch(in, function_.list, false, [&](Operand operand, vgpu::Touch touch) {
    if (touch != vgpu::Touch::kRead) Write(state, operand, {});
  });
}

ConditionPointer Run::ConditionOf(const State& state, Operand operand, bool negated) const {
  const Value value = Read(state, operand);
  if (value.kind != Value::Kind::kPredicate) return MakeCondition(Condition::Kind::kUnknown);
  return negated ? Not(value.condition) : value.condition;
}

std::optional<Polynomial> Run::InRange(const State& state, const Polynomial& number, int bits,
                                       bool is_signed) const {
  const Polynomial size = PowerOfTwo(bits);
  if (number.IsConstant()) {
    const Integer modulus = size.Constant();
    Integer value = number.Constant() - FloorDivide(number.Constant(), modulus) * modulus;
    if (is_signed && value >= modulus / 2) value -= modulus;
    return Polynomial(value);
  }
  if (guessing_) return number;
  const Polynomial low = is_signed ? -PowerOfTwo(bits - 1) : Polynomial(0);
  const Polynomial high = (is_signed ? PowerOfTwo(bits - 1) : size) - Polynomial(1);
  if (!facts_.Natural(state, number - low) || !facts_.Natural(state, high - number)) {
    return std::nullopt;
  }
  return number;
}

void Run::Execute(uint32_t pc, States& states) {
  const Instruction& in = function_.code[pc];
  States more;
  for (State& state : states) {
    if (!IsGuarded(function_, in)) {
      ExecuteIn(pc, state, more);
      continue;
    }
    const ConditionPointer guard = ConditionOf(state, in.guard, in.guard_negated);
    States done;
    for (State each : facts_.Assume(state, *guard)) {
      ExecuteIn(pc, each, done);
      done.push_back(std::move(each));
    }
    State forgotten = state;
    Forget(in, forgotten);
    bool data = states.size() + more.size() >= kMostSplits;
    data |= std::all_of(done.begin(), done.end(),
                        [&](const State& each) { return each.registers == forgotten.registers; });
    if (data) {
      state = std::move(forgotten);
      continue;
    }
    for (State& each : facts_.Assume(state, *Not(guard))) done.push_back(std::move(each));
    if (done.empty()) continue;
    state = std::move(done.front());
    std::move(done.begin() + 1, done.end(), std::back_inserter(more));
  }
  std::move(more.begin(), more.end(), std::back_inserter(states));
}

void Run::ExecuteIn(uint32_t pc, State& state, States& more) {
  const Instruction& in = function_.code[pc];
  switch (in.op) {
    case Op::kLoad:
      return Load(pc, state);
    case Op::kStore:
    case Op::kAtom:
    case Op::kRed:
    case Op::kAtomVector:
    case Op::kCpAsync:
      return AccessMemory(pc, state);
    case Op::kSetp:
      return Compare(pc, state);
    case Op::kSelp:
      return Select(in, state, more);
    case Op::kMin:
    case Op::kMax:
      return Extreme(in, state, more);
    case Op::kPredAnd:
    case Op::kPredOr: {
      const ConditionPointer a = ConditionOf(state, in.a, false);
      const ConditionPointer b = ConditionOf(state, in.b, false);
      return Write(state, in.d, Value::Predicate(in.op == Op::kPredAnd ? And(a, b) : Or(a, b)));
    }
    case Op::kPredNot:
      return Write(state, in.d, Value::Predicate(ConditionOf(state, in.a, true)));
    case Op::kPredMov:
      return Write(state, in.d, Read(state, in.a));
    default:
      break;
  }
  if (vgpu::AccessesMemory(in.op) && !silent_) {
    // Shared memory by ways that are not followed.
    (*visit_)(state, {.pc = pc, .shared = true});
  }
  const bool shared_alone = in.op == Op::kLdmatrix || in.op == Op::kStmatrix ||
                            in.space == MemorySpace::kShared || in.space == MemorySpace::kLocal;
  if (vgpu::AccessesMemory(in.op) && !shared_alone) {
    Fail(pc, fmt::format("{} is not followed", vgpu::TextOf(function_, in)));
    return;
  }
  Value result = Compute(in, state);
  Forget(in, state);
  Write(state, in.d, std::move(result));
}

void Run::Load(uint32_t pc, State& state) {
  const Instruction& in = function_.code[pc];
  if (in.address != AddressBase::kParameters) return AccessMemory(pc, state);
  Forget(in, state);
  for (uint32_t i = 0; i < std::max<uint32_t>(in.list_count, 1); ++i) {
    const Operand to = in.list_count > 0 ? function_.list[in.list_first + i] : in.d;
    // A narrow one is extended.
    if (!to.exists() || in.bytes != to.bytes()) continue;
    Write(state, to, launch_.parameter(static_cast<uint32_t>(in.offset) + i * in.bytes, in.bytes));
  }
}

void Run::AccessMemory(uint32_t pc, State& state) {
  const Instruction& in = function_.code[pc];
  const bool copy = in.op == Op::kCpAsync;
  const bool elsewhere = in.space == MemorySpace::kLocal || in.address == AddressBase::kFrame;
  if (!silent_ && (copy || !elsewhere)) {
    Access access{.pc = pc, .shared = !copy && in.space == MemorySpace::kShared};
    access.bytes = copy ? in.bytes : uint32_t{in.bytes} * std::max<uint32_t>(in.width, 1);
    access.address = Read(state, copy ? in.b : in.a);
    const bool absolute = !copy && in.address == AddressBase::kAbsolute;
    if (absolute) access.address = Value::Number(Polynomial(0));
    if (!copy && access.address.kind == Value::Kind::kNumber) {
      access.address = Value::Number(access.address.number + Polynomial(in.offset));
    }
    (*visit_)(state, access);
  }
  Forget(in, state);
}

// What a comparison of data says is a number that nobody knows: 1 or 0.
ConditionPointer Run::OfData(uint32_t pc) {
  Symbol& symbol = data_[pc];
  if (symbol == 0) symbol = symbols_.Make(fmt::format("data{}", pc), true);
  return MakeCondition(Condition::Kind::kNatural, Polynomial::Of(symbol) - Polynomial(1));
}

void Run::Compare(uint32_t pc, State& state) {
  const Instruction& in = function_.code[pc];
  ConditionPointer result = OfData(pc);
  const Value a = Read(state, in.a);
  const Value b = Read(state, in.b);
  if (IsWholeNumber(in.type) && a.kind == Value::Kind::kNumber && b.kind == Value::Kind::kNumber) {
    const int bits = ptx::BitsOf(in.type);
    const bool equality = in.comparison == Comparison::kEq || in.comparison == Comparison::kNe;
    const bool is_signed = ptx::IsSigned(in.type) && in.comparison != Comparison::kLo &&
                           in.comparison != Comparison::kLs && in.comparison != Comparison::kHi &&
                           in.comparison != Comparison::kHs;
    std::optional<Polynomial> x = InRange(state, a.number, bits, is_signed || equality);
    std::optional<Polynomial> y = InRange(state, b.number, bits, is_signed || equality);
    if (equality && (!x || !y)) {
      x = InRange(state, a.number, bits, false);
      y = InRange(state, b.number, bits, false);
    }
    if (x && y) {
      using Kind = Condition::Kind;
      const Polynomial one(1);
      switch (in.comparison) {
        case Comparison::kEq:
          result = MakeCondition(Kind::kZero, *x - *y);
          break;
        case Comparison::kNe:
          result = MakeCondition(Kind::kNonzero, *x - *y);
          break;
        case Comparison::kLt:
        case Comparison::kLo:
          result = MakeCondition(Kind::kNatural, *y - *x - one);
          break;
        case Comparison::kLe:
        case Comparison::kLs:
          result = MakeCondition(Kind::kNatural, *y - *x);
          break;
        case Comparison::kGt:
        case Comparison::kHi:
          result = MakeCondition(Kind::kNatural, *x - *y - one);
          break;
        case Comparison::kGe:
        case Comparison::kHs:
          result = MakeCondition(Kind::kNatural, *x - *y);
          break;
        default:
          break;
      }
    }
  }
  if (in.bool_op != ptx::BoolOp::kNone) {
    const ConditionPointer c = ConditionOf(state, in.c, in.negate_c);
    result = in.bool_op == ptx::BoolOp::kAnd  ? And(result, c)
             : in.bool_op == ptx::BoolOp::kOr ? Or(result, c)
                                              : MakeCondition(Condition::Kind::kUnknown);
  }
  Forget(in, state);
  Write(state, in.d, Value::Predicate(std::move(result)));
}

void Run::Select(const Instruction& in, State& state, States& more) {
  const Value a = Read(state, in.a);
  const Value b = Read(state, in.b);
  const ConditionPointer condition = ConditionOf(state, in.c, in.negate_c);
  Forget(in, state);
  if (!IsWholeNumber(in.type)) return;
  if (a == b && a.kind == Value::Kind::kNumber) return Write(state, in.d, a);
  if ((a.kind != Value::Kind::kNumber && b.kind != Value::Kind::kNumber) ||
      more.size() >= kMostSplits) {
    return;
  }
  States both = facts_.Assume(state, *condition);
  for (State& each : both) Write(each, in.d, a);
  for (State& each : facts_.Assume(state, *Not(condition))) {
    Write(each, in.d, b);
    both.push_back(std::move(each));
  }
  if (both.empty()) return;
  state = std::move(both.front());
  std::move(both.begin() + 1, both.end(), std::back_inserter(more));
}

void Run::Extreme(const Instruction& in, State& state, States& more) {
  const Value a = Read(state, in.a);
  const Value b = Read(state, in.b);
  Forget(in, state);
  if (!IsWholeNumber(in.type) || a.kind != Value::Kind::kNumber || b.kind != Value::Kind::kNumber ||
      more.size() >= kMostSplits) {
    return;
  }
  const int bits = ptx::BitsOf(in.type);
  const bool is_signed = ptx::IsSigned(in.type);
  const std::optional<Polynomial> x = InRange(state, a.number, bits, is_signed);
  const std::optional<Polynomial> y = InRange(state, b.number, bits, is_signed);
  if (!x || !y) return Write(state, in.d, Wraps(in));
  const Polynomial difference = *y - *x;
  const Polynomial& at_most = in.op == Op::kMin ? *x : *y;   // the result where x <= y
  const Polynomial& at_least = in.op == Op::kMin ? *y : *x;  // where x > y
  if (!guessing_ && facts_.Natural(state, difference)) {
    return Write(state, in.d, Value::Number(at_most));
  }
  if (!guessing_ && facts_.Natural(state, -difference)) {
    return Write(state, in.d, Value::Number(at_least));
  }
  const ConditionPointer first = MakeCondition(Condition::Kind::kNatural, difference);
  States both = facts_.Assume(state, *first);
  for (State& each : both) Write(each, in.d, Value::Number(at_most));
  for (State& each : facts_.Assume(state, *Not(first))) {
    Write(each, in.d, Value::Number(at_least));
    both.push_back(std::move(each));
  }
  if (both.empty()) return;
  state = std::move(both.front());
  std::move(both.begin() + 1, both.end(), std::back_inserter(more));
}

Value Run::Extended(const Instruction& in, const State& state, const Value& a, bool is_signed) {
  if (a.kind != Value::Kind::kNumber) return a;
  const std::optional<Polynomial> number = InRange(state, a.number, 32, is_signed);
  return number ? Value::Number(*number) : Wraps(in);
}

Value Run::Compute(const Instruction& in, State& state) {
  const ptx::Type type = in.type;
  if (in.op == Op::kResize) {
    Value a = Read(state, in.a);
    const bool narrower = in.d.bytes() == 4 && in.a.bytes() == 8;
    if (narrower) return a;
    if (in.d.bytes() == 8 && in.a.bytes() == 4) return Extended(in, state, a, in.variant != 0);
    return {};
  }
  if (!IsWholeNumber(type) || in.sat) return {};
  Value a = Read(state, in.a);
  const Value b = Read(state, in.b);
  const Value c = Read(state, in.c);
  const auto numbers = [&](std::initializer_list<const Value*> values) -> const Value* {
    for (const Value* value : values) {
      if (value->kind != Value::Kind::kNumber) return value;
    }
    return nullptr;
  };
  const auto unknown = [](const Value* value) { return Value::Unknown(value->reason); };
  const int bits = ptx::BitsOf(type);
  const bool is_signed = ptx::IsSigned(type);
  switch (in.op) {
    case Op::kMov:
    case Op::kCvta:
    case Op::kCvtaTo:
      return a;
    case Op::kNeg:
    case Op::kNot:
      if (const Value* bad = numbers({&a})) return unknown(bad);
      return Value::Number(in.op == Op::kNeg ? -a.number : Polynomial(-1) - a.number);
    case Op::kAdd:
    case Op::kSub:
    case Op::kMulLo:
      if (const Value* bad = numbers({&a, &b})) return unknown(bad);
      return Value::Number(in.op == Op::kAdd   ? a.number + b.number
                           : in.op == Op::kSub ? a.number - b.number
                                               : a.number * b.number);
    case Op::kMadLo:
      if (const Value* bad = numbers({&a, &b, &c})) return unknown(bad);
      return Value::Number(a.number * b.number + c.number);
    case Op::kShl: {
      if (const Value* bad = numbers({&a, &b})) return unknown(bad);
      if (!b.number.IsConstant()) return NotFollowed(in);
      const Integer by = b.number.Constant();
      return by < 0 || by >= bits ? Value{}
                                  : Value::Number(a.number * PowerOfTwo(static_cast<int>(by)));
    }
    case Op::kMulWide:
    case Op::kMadWide: {
      if (bits != 32) return {};
      const Value x = Extended(in, state, a, is_signed);
      const Value y = Extended(in, state, b, is_signed);
      if (const Value* bad = numbers({&x, &y})) return unknown(bad);
      if (in.op == Op::kMulWide) return Value::Number(x.number * y.number);
      if (const Value* bad = numbers({&c})) return unknown(bad);
      return Value::Number(x.number * y.number + c.number);
    }
    case Op::kCvt:
      if (!IsWholeNumber(in.source_type)) {
        return ptx::IsFloat(in.source_type) ? Value{} : NotFollowed(in);
      }
      if (ptx::BitsOf(in.source_type) >= bits) return a;
      return Extended(in, state, a, ptx::IsSigned(in.source_type));
    case Op::kShr: {
      if (const Value* bad = numbers({&a, &b})) return unknown(bad);
      if (!b.number.IsConstant()) return NotFollowed(in);
      const Integer by = b.number.Constant();
      if (by < 0 || by >= bits) return {};
      const std::optional<Polynomial> x = InRange(state, a.number, bits, is_signed);
      if (!x) return Wraps(in);
      return Quotient(in, state, *x, PowerOfTwo(static_cast<int>(by)), false);
    }
    case Op::kDiv:
    case Op::kRem: {
      if (const Value* bad = numbers({&a, &b})) return unknown(bad);
      const std::optional<Polynomial> x = InRange(state, a.number, bits, is_signed);
      const std::optional<Polynomial> y = InRange(state, b.number, bits, is_signed);
      if (!x || !y) return Wraps(in);
      // Quotients of negative numbers are rounded the other way.
      if (!guessing_ &&
          (!facts_.Natural(state, *x) || !facts_.Natural(state, *y - Polynomial(1)))) {
        return Value::Unknown(facts_.ReasonOf(
            fmt::format("a division at {} may be of negative numbers or by 0", LineOf(in))));
      }
      return Quotient(in, state, *x, *y, in.op == Op::kRem);
    }
    case Op::kAnd:
      return Masked(in, state, a, b);
    case Op::kOr:
      if (const Value* bad = numbers({&a, &b})) return unknown(bad);
      return Joined(in, state, a.number, b.number);
    default:
      return NotFollowed(in);
  }
}

// a / b or a % b, rounded down; b is positive.
Value Run::Quotient(const Instruction& in, State& state, const Polynomial& a, const Polynomial& b,
                    bool rest) {
  // What is divisible comes out of it.
  Polynomial whole;
  Polynomial part;
  const auto& terms = b.terms();
  if (terms.size() != 1) {
    part = a;
  } else {
    for (const auto& [monomial, coefficient] : a.terms()) {
      const Integer divisor = terms[0].second;
      const std::optional<Monomial> quotient = monomial.DividedBy(terms[0].first);
      const Integer times = quotient ? FloorDivide(coefficient, divisor) : 0;
      const bool split = quotient && (monomial.IsOne() || coefficient % divisor == 0);
      if (split) {
        whole = whole + Polynomial::Of(*quotient) * Polynomial(times);
        part = part + Polynomial::Of(monomial) * Polynomial(coefficient - times * divisor);
      } else {
        part = part + Polynomial::Of(monomial) * Polynomial(coefficient);
      }
    }
  }
  const bool natural_part = guessing_ || facts_.Natural(state, part);
  if (natural_part && facts_.Natural(state, b - Polynomial(1) - part)) {
    return Value::Number(rest ? part : whole);
  }
  const bool natural_whole = natural_part || facts_.Natural(state, a);
  if (!natural_part) {
    whole = Polynomial(0);
    part = a;
  }
  if (!natural_whole && !b.IsConstant()) return Wraps(in);
  const Division division = facts_.Divide(state, part, b, natural_whole);
  return Value::Number(rest ? Polynomial::Of(division.rest)
                            : whole + Polynomial::Of(division.quotient));
}

// a & b with a mask of low bits, or of all but low bits. Low bits are those of the number whatever
// it is modulo 2^32.
Value Run::Masked(const Instruction& in, State& state, const Value& a, const Value& b) {
  if (a.kind == Value::Kind::kNumber && a.number.IsConstant() &&
      !(b.kind == Value::Kind::kNumber && b.number.IsConstant())) {
    return Masked(in, state, b, a);
  }
  if (a.kind != Value::Kind::kNumber || b.kind != Value::Kind::kNumber) {
    return Value::Unknown(a.kind != Value::Kind::kNumber ? a.reason : b.reason);
  }
  if (!b.number.IsConstant()) return NotFollowed(in);
  const Integer mask = b.number.Constant();
  if (mask == 0) return Value::Number(0);
  if (mask == -1) return a;
  const std::optional<int> low = LogOf(mask + 1);
  const std::optional<int> high = LogOf(-mask);
  if (low) return Quotient(in, state, a.number, PowerOfTwo(*low), true);
  if (high) {
    const Value rest = Quotient(in, state, a.number, PowerOfTwo(*high), true);
    return rest.kind == Value::Kind::kNumber ? Value::Number(a.number - rest.number) : rest;
  }
  return NotFollowed(in);
}

// a | b is a + b where a is a multiple of a power of two that b is below.
Value Run::Joined(const Instruction& in, State& state, const Polynomial& a, const Polynomial& b) {
  const auto multiple = [&](const Polynomial& high, const Polynomial& low) {
    Integer common = 0;
    for (const auto& [monomial, coefficient] : high.terms()) common |= coefficient;
    const Integer power = common & -common;
    return power > 0 && power <= (Integer{1} << 31) && facts_.Natural(state, low) &&
           facts_.Natural(state, Polynomial(power - 1) - low);
  };
  if (a == Polynomial(0) || b == Polynomial(0)) return Value::Number(a + b);
  if (multiple(a, b) || multiple(b, a)) return Value::Number(a + b);
  return Value::Unknown(facts_.ReasonOf(fmt::format("bits are put together at {}", LineOf(in))));
}

}  // namespace kernelsmith::sizes
