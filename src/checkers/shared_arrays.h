// Which array in shared memory an access means, for accesses that leave it and hit another.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/ir.h"
#include "vgpu/observer.h"

namespace kernelsmith::checkers {

struct SharedArray {
  std::string name;
  uint64_t begin = 0;  // in the block's shared memory
  uint64_t end = 0;    // dynamic shared memory: ~0
  bool Contains(uint64_t offset, uint64_t bytes) const {
    return offset >= begin && offset < end && bytes <= end - offset;
  }
};

// The arrays of one kernel and which of them each access means. Arrays overlap where the program
// declares several names of its dynamic shared memory.
class SharedArrays {
 public:
  explicit SharedArrays(const vgpu::Kernel& kernel);

  // Fewer than two arrays: whoever leaves the one leaves shared memory.
  bool useful() const { return arrays_.size() > 1 && !meant_.empty(); }
  // Null: it cannot be told.
  const SharedArray* MeantBy(const vgpu::Instruction& instruction) const;
  // Null: the byte belongs to none.
  const SharedArray* At(uint64_t offset) const;

 private:
  void Collect(const vgpu::Kernel& kernel);
  void Match(const vgpu::Function& function);

  std::map<const ptx::Variable*, SharedArray> arrays_;
  std::map<const vgpu::Instruction*, const SharedArray*> meant_;
};

}  // namespace kernelsmith::checkers
