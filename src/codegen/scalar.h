// What one element is computed by: a graph of operations on loaded values, constants and indices.
//
// Float16 and bfloat16 values are computed in float; a cast between float types is no operation, so
// that what is stored is rounded once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/int_expr.h"
#include "tensor/dtype.h"

namespace kernelsmith::codegen {

// Position in Program::buffers.
using BufferId = size_t;

// One row a function of scalars: what it is written as in CUDA.
struct Function {
  const char* name;
  const char* in_float;  // "{0}" is the first operand; null: not for floats
  const char* in_double;
  const char* in_integer;  // null: operands are converted to float
  bool truth = false;      // the result is a bool
  int cost = 1;            // against one multiply-add
};
const Function& FunctionByName(std::string_view name);

class ScalarNode {
 public:
  enum class Kind {
    kConstant,   // number or integer
    kLoad,       // buffer[index]
    kIndex,      // an Int as a value
    kParameter,  // a number that the host passes: its C++ text is `name`
    kCall,       // function(args)
    kCast,       // args[0] in dtype
    kGuard,      // args[0] ? args[1] : args[2], of which only that one may be evaluated
    kVariable,   // a local variable of the kernel that is being written
  };
  using Hash = std::pair<uint64_t, uint64_t>;

  Kind kind = Kind::kConstant;
  DType dtype = DType::kFloat32;
  double number = 0;
  int64_t integer = 0;
  BufferId buffer = 0;
  std::vector<Int> index;  // kLoad; kIndex has one
  std::string name;        // kParameter, kVariable
  const Function* function = nullptr;
  std::vector<Scalar> args;

  const Hash& hash() const { return hash_; }
  static Scalar Make(ScalarNode node);

 private:
  Hash hash_;
};

Scalar Number(double value, DType dtype = DType::kFloat32);
Scalar Integer(int64_t value, DType dtype = DType::kInt64);
Scalar Truth(bool value);
Scalar Load(BufferId buffer, std::vector<Int> index, DType dtype);
Scalar Index(const Int& index, DType dtype = DType::kInt64);
Scalar HostNumber(const std::string& text, DType dtype);
Scalar Variable(const std::string& name, DType dtype);
Scalar Cast(const Scalar& value, DType dtype);
// The result has the operands' common type, or bool.
Scalar Call(std::string_view function, std::vector<Scalar> args);
Scalar Guard(const Scalar& condition, const Scalar& value, const Scalar& otherwise);

Scalar operator+(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a, const Scalar& b);
Scalar operator*(const Scalar& a, const Scalar& b);
Scalar operator/(const Scalar& a, const Scalar& b);

// `a < b` of indices, as a truth value; folded where it can be shown.
Scalar LessThan(const Int& a, const Int& b);
Scalar NotNegative(const Int& a);
Scalar And(const Scalar& a, const Scalar& b);

bool SameScalar(const Scalar& a, const Scalar& b);
// If the value is an index and nothing else.
std::optional<Int> AsIndex(const Scalar& value);
bool IsConstant(const Scalar& value, double number);
bool IsMinusInfinity(const Scalar& value);
bool IsCall(const Scalar& value, std::string_view name);

// Every node once, operands first; those inside indices too.
void VisitScalars(const Scalar& value, const std::function<void(const Scalar&)>& visit);
bool UsesAxis(const Scalar& value, const Atom& axis);
bool LoadsFrom(const Scalar& value, BufferId buffer);
std::set<BufferId> Loaded(const Scalar& value);
// Operations of one evaluation, in multiply-adds.
int CostOf(const Scalar& value);

Scalar SubstituteIndices(const Scalar& value,
                         const std::function<std::optional<Int>(const Atom&)>& replace);
// With loads replaced; null keeps one.
Scalar SubstituteLoads(const Scalar& value,
                       const std::function<Scalar(const ScalarNode&)>& replace);

// The type a value has in registers.
DType RegisterType(DType dtype);

}  // namespace kernelsmith::codegen
