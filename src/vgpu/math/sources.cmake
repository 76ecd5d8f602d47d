# Included by src/vgpu/CMakeLists.txt; paths are relative to src/vgpu.
set(KS_VGPU_MATH_SOURCES math/arith_f64.cc math/libdevice.cc math/matrix.cc)
set(KS_VGPU_MATH_TESTS
    math/approx_test.cc math/arith_test.cc math/convert_test.cc math/integer_test.cc
    math/libdevice_test.cc    math/matrix_test.cc math/mbarrier_test.cc math/round_test.cc)
