# Included by src/vgpu/CMakeLists.txt; paths are relative to src/vgpu.
set(KS_VGPU_MATH_SOURCES math/arith_f64.cc)
set(KS_VGPU_MATH_TESTS)
