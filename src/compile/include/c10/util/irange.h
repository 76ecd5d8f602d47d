#pragma once
#include <kernelsmith/light/irange.h>
