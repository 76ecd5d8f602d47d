#pragma once
#include <kernelsmith/light/all.h>
