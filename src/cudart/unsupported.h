#pragma once

namespace kernelsmith::cudart {

// The function is not supported: this error becomes the thread's last one and is returned.
int SetNotSupported(const char* function, int error);

}  // namespace kernelsmith::cudart
