// What the parameters of kernels are called in their source, for people.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kernelsmith::sizes {

// By the kernel's name without namespaces and template arguments. `code` has no comments. What
// can't be understood is left out.
std::map<std::string, std::vector<std::string>> ParameterNames(std::string_view code);

// The name by which ParameterNames has a kernel that people know as "space::Kernel<float>".
std::string PlainName(std::string_view kernel);

}  // namespace kernelsmith::sizes
