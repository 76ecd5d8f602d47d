#pragma once
#include <kernelsmith/light/cuda.h>
