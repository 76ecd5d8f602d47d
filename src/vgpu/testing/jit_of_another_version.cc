// What libkernelsmith-jit.so of another version looks like.
extern "C" {
extern const char kernelsmith_jit_abi[];
const char kernelsmith_jit_abi[] = "another";
void kernelsmith_jit_compile() {}
}
