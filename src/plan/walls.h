// The names of the walls around host code, for tests that leave one out (TraceOptions).
#pragma once

namespace kernelsmith::walls {

inline constexpr const char* kEnvironment = "environment";    // no variables of the judge
inline constexpr const char* kDescriptors = "descriptors";    // no open files of the judge
inline constexpr const char* kNamespaces = "namespaces";      // no network, no other processes
inline constexpr const char* kLandlock = "landlock";          // no files
inline constexpr const char* kMemory = "memory";              // no more memory than allowed
inline constexpr const char* kCalls = "calls";                // no other system calls
inline constexpr const char* kInstructions = "instructions";  // none by the candidate's own code
inline constexpr const char* kChannel = "channel";            // no word to the broker but ours
inline constexpr const char* kCode = "code";                  // no new code once it is loaded

}  // namespace kernelsmith::walls
