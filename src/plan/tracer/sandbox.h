// The walls around the candidate's host code.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace kernelsmith::tracer {

// No network, no new processes, no signals to others, no ptrace, and of the file system only
// `library`. `memory` is how many bytes of host memory may be added to what is in use. Gives the
// names of the walls that stand: namespaces need a system that allows them.
nlohmann::json EnterSandbox(const std::string& library, uint64_t memory, int reply);

// Once the library is loaded nothing needs to be opened any more.
void CloseFileSystem();

}  // namespace kernelsmith::tracer
