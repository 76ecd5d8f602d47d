#pragma once

namespace kernelsmith::cudart {

// Makes it the thread's last error and returns it.
int SetNotSupported(int error);

}  // namespace kernelsmith::cudart
