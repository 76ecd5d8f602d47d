// Which bytes of a kernel's arguments the kernel can read. What lies between parameters, or in a
// struct's padding, is whatever the caller's stack held: it differs from run to run and means
// nothing. All other bytes mean something.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace kernelsmith {

class ParameterUse {
 public:
  // Nothing is parsed before the first question: most candidates raise none.
  explicit ParameterUse(std::string_view ptx) : ptx_(ptx) {}

  // Whether `kernel` may read that byte of its parameter block. Of kernels that the PTX lacks every
  // byte counts.
  bool Reads(const std::string& kernel, size_t byte) const;
  // Whether there are variables in which a kernel could leave something for later launches. True
  // for PTX that can't be read.
  bool HasVariables() const;

 private:
  void Analyse() const;

  std::string ptx_;
  mutable std::once_flag once_;
  mutable std::map<std::string, std::vector<bool>, std::less<>> reads_;  // by kernel, by byte
  mutable bool has_variables_ = true;
};

}  // namespace kernelsmith
