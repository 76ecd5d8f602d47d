#include "support/demangle.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

TEST(Demangle, WritesTheWholeDeclaration) {
  EXPECT_EQ(Demangle("_Z4copyPf"), "copy(float*)");
  EXPECT_EQ(Demangle("_ZN4mine2k2ILb1EEEvPf"), "void mine::k2<true>(float*)");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  EXPECT_EQ(Demangle("f"), "f");  // a type to the demangler: float
  EXPECT_EQ(Demangle("copy"), "copy");
  EXPECT_EQ(Demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(Demangle(""), "");
}

// The symbols are nvcc's.
TEST(KernelName, IsWhatALaunchNames) {
  EXPECT_EQ(KernelName("_Z4copyPf"), "copy");
  EXPECT_EQ(KernelName("f"), "f");
  EXPECT_EQ(KernelName("_ZN4mine2k2ILb1EEEvPf"), "mine::k2<true>");
  EXPECT_EQ(KernelName("_ZN29_GLOBAL__N__932ef5e0_4_k_cu_f5plainEPf"), "plain");
}

TEST(KernelName, KeepsTemplateArgumentsWithParenthesesWhole) {
  EXPECT_EQ(KernelName("_ZN29_GLOBAL__N__932ef5e0_4_k_cu_f5scaleILi4EL4Mode1EfEEvPT1_NS_1PE"),
            "scale<4, (Mode)1, float>");
  EXPECT_EQ(KernelName("_ZN29_GLOBAL__N__932ef5e0_4_k_cu_f5inner5applyIZ2goPfEUlfE_EEvS2_T_"),
            "inner::apply<go(float*)::{lambda(float)#1}>");
}

TEST(KernelName, DropsAnonymousNamespacesOfArgumentsToo) {
  EXPECT_EQ(KernelName("_ZN29_GLOBAL__N__932ef5e0_4_k_cu_f5inner5applyINS_3AddEEEvPfT_"),
            "inner::apply<Add>");
}

}  // namespace
}  // namespace kernelsmith
