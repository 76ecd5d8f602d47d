// Lines for the person who runs the program, on standard error, where the CUDA API has only a
// number to give.
#pragma once

#include <string_view>

namespace kernelsmith::cudart {

// "kernelsmith: message". Nothing if the settings want it quiet.
void Say(std::string_view message);
// A line that CUDA itself would print, as it is.
void SayAsCuda(std::string_view line);

}  // namespace kernelsmith::cudart
