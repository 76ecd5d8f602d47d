#pragma once
#include <kernelsmith/light/atomic.h>
